//! The run time of a placement, by replay.
//!
//! Without a topology in the machine file, messages would not contend and placement would hardly matter. As all ranks of a host share its
//! link, every host then gets a link in each direction with the bandwidth of large messages.

mod hill_climb;

pub use hill_climb::{TimedPlacement, hill_climb};

use sintonia_machine::{Machine, PairClass, UncertainValue};
use sintonia_replay::Error;
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::engine::{ReplayCosts, replay};
use sintonia_replay::platform::{IntervalBound, Platform, RankPlacement as Nodes};
use sintonia_replay::schedule::Schedule;

use crate::{Cluster, Placement};

/// A recorded run on a machine, replayed with different placements.
pub struct ReplayTrial<'a> {
    schedule: &'a dyn Schedule,
    machine: Machine,
    hosts_by_slot: Vec<u32>,
}

impl<'a> ReplayTrial<'a> {
    /// The run on a machine whose nodes are the hosts of the cluster.
    pub fn new(schedule: &'a dyn Schedule, machine: &Machine, cluster: &Cluster) -> ReplayTrial<'a> {
        let mut machine = machine.clone();
        if machine.topology.is_none() {
            machine.topology = Some(cluster.single_switch(host_link_rate(&machine, cluster)));
        }
        ReplayTrial { schedule, machine, hosts_by_slot: cluster.hosts_by_slot() }
    }

    /// Run time in seconds with the machine's figures at their middle.
    pub fn middle_s(&self, placement: &Placement) -> Result<f64, Error> {
        self.seconds_at(placement, IntervalBound::Middle)
    }

    /// Run time in seconds with the machine's figures at their lower bound, middle and upper bound.
    pub fn seconds_interval(&self, placement: &Placement) -> Result<[f64; 3], Error> {
        let (low, (middle, high)) = rayon::join(
            || self.seconds_at(placement, IntervalBound::Low),
            || rayon::join(|| self.seconds_at(placement, IntervalBound::Middle), || self.seconds_at(placement, IntervalBound::High)),
        );
        Ok([low?, middle?, high?])
    }

    fn seconds_at(&self, placement: &Placement, end: IntervalBound) -> Result<f64, Error> {
        let nodes = placement.0.iter().map(|slot| self.hosts_by_slot[*slot as usize]).collect();
        let platform = Platform::new(&self.machine, self.schedule.ranks(), &Nodes::Nodes(nodes), end)?;
        Ok(replay(self.schedule, &ReplayCosts::Machine(Box::new(platform)), &ReplayChanges::default(), None)?.replayed_s)
    }
}

/// Link bandwidth of a host: that of large messages, slow where they are slow.
fn host_link_rate(machine: &Machine, cluster: &Cluster) -> UncertainValue {
    let pieces = machine.network(PairClass::OtherNode).and_then(crate::machine::transfer_timing);
    let slope = pieces.map(|pieces| <[f64; 3]>::from(pieces.last().slope)).filter(|[low, ..]| *low > 0.0);
    let measured = slope.and_then(|[low, middle, high]| UncertainValue::new(high.recip(), middle.recip(), low.recip()).ok());
    measured.or_else(|| UncertainValue::exact(cluster.bytes_per_s).ok()).unwrap_or(UncertainValue::ONE)
}
