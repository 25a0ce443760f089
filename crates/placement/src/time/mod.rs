//! How long a recorded run takes with its ranks placed so: it is replayed.
//!
//! Without a topology in the machine file no message would ever be in another's way, and a placement would hardly matter. What is certain is
//! that all ranks of a host share its link, so every host then has a link each way that is as fast as large messages are.

mod climb;

pub use climb::{Timed, climb};

use sintonia_machine::{Figure, Machine, PairClass};
use sintonia_replay::Error;
use sintonia_replay::changes::Changes;
use sintonia_replay::engine::{Costs, replay};
use sintonia_replay::platform::{End, Placement as Nodes, Platform};
use sintonia_replay::schedule::Schedule;

use crate::{Cluster, Placement};

/// A recorded run on a machine, to be replayed with its ranks in different places.
pub struct Trial<'a> {
    schedule: &'a dyn Schedule,
    machine: Machine,
    hosts_by_slot: Vec<u32>,
}

impl<'a> Trial<'a> {
    /// The run on a machine whose nodes are the hosts of the cluster.
    pub fn new(schedule: &'a dyn Schedule, machine: &Machine, cluster: &Cluster) -> Trial<'a> {
        let mut machine = machine.clone();
        if machine.topology.is_none() {
            machine.topology = Some(cluster.one_switch(rate(&machine, cluster)));
        }
        Trial { schedule, machine, hosts_by_slot: cluster.hosts_by_slot() }
    }

    /// Seconds, most likely.
    pub fn middle(&self, placement: &Placement) -> Result<f64, Error> {
        self.at(placement, End::Middle)
    }

    /// Seconds if everything on the machine is as quick as it may be, most likely, and as slow as it may be.
    pub fn seconds(&self, placement: &Placement) -> Result<[f64; 3], Error> {
        let (low, (middle, high)) = rayon::join(
            || self.at(placement, End::Low),
            || rayon::join(|| self.at(placement, End::Middle), || self.at(placement, End::High)),
        );
        Ok([low?, middle?, high?])
    }

    fn at(&self, placement: &Placement, end: End) -> Result<f64, Error> {
        let nodes = placement.0.iter().map(|slot| self.hosts_by_slot[*slot as usize]).collect();
        let platform = Platform::new(&self.machine, self.schedule.ranks(), &Nodes::Nodes(nodes), end)?;
        Ok(replay(self.schedule, &Costs::Machine(Box::new(platform)), &Changes::default(), None)?.seconds)
    }
}

/// How fast the link of a host is: as large messages are, slow where they are slow.
fn rate(machine: &Machine, cluster: &Cluster) -> Figure {
    let pieces = machine.network(PairClass::OtherNode).and_then(crate::machine::transfer);
    let slope = pieces.map(|pieces| <[f64; 3]>::from(pieces.last().slope)).filter(|[low, ..]| *low > 0.0);
    let measured = slope.and_then(|[low, middle, high]| Figure::new(high.recip(), middle.recip(), low.recip()).ok());
    measured.or_else(|| Figure::exact(cluster.bytes_per_s).ok()).unwrap_or(Figure::ONE)
}
