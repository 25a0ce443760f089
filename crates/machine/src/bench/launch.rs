//! One launch, as its leading process goes through it: nodes, messages, shared links, collectives.

use std::io::Write;
use std::time::Instant;

use sintonia_mpi::BenchmarkCalls;

use super::command::{BenchAnswer, BenchCommand};
use super::core_wait::{BUSY_TIME, LIMITED_SHARE, processor_share};
use super::host_use::{HostTicks, host_use};
use super::leader::{BenchLeader, share_end};
use super::memory_schedule::MemorySchedule;
use super::{
    BenchError, BenchQuantity, BenchRecord, BenchSample, BenchSettings, CostMode, ProcessBinding, collectives, compute, memory, messages,
    shared_link,
};
use crate::{ArithmeticOp, Named, NumberType};

/// Percentage of the time for nodes and for messages; the rest is for collectives.
const NODE_TIME_PERCENT: u32 = 20;
const MESSAGE_TIME_PERCENT: u32 = 50;
/// Links that processes share get this part of the time after messages, where there are any.
const SHARED_LINK_PARTS: usize = 6;

/// Leads the processes that a launcher started.
pub(super) fn lead_launch(timed: &BenchmarkCalls, settings: &BenchSettings, out: &mut dyn Write) -> Result<(), BenchError> {
    let (began, time, start_ticks) = (Instant::now(), settings.time_left(), HostTicks::now());
    let places = gather_bindings(timed)?;
    let time = if seems_limited(&places) { time.saturating_sub(BUSY_TIME) } else { time };
    let until = |share: u32| began + time * share / 100;
    BenchRecord::Hello { library: Some(timed.world().library()), places: places.clone() }.write(out)?;
    let mut leader = BenchLeader::new(timed, settings, places, time, out);
    let kinds = node_type_ranks(&leader.bindings);
    for (node, rank) in kinds.iter().enumerate() {
        measure_node(&mut leader, node, *rank, share_end(until(NODE_TIME_PERCENT), kinds.len() - node))?;
    }
    let pairs = messages::representative_pairs(&leader.bindings);
    for (index, (class, pair)) in pairs.iter().enumerate() {
        messages::measure_pair(
            &mut leader,
            *class,
            *pair,
            share_end(until(NODE_TIME_PERCENT + MESSAGE_TIME_PERCENT), pairs.len() - index),
        )?;
    }
    shared_link::measure(&mut leader, share_end(until(100), SHARED_LINK_PARTS))?;
    collectives::measure(&mut leader, until(100))?;
    end_launch(&mut leader, &start_ticks)
}

/// Measures this node, without other processes.
pub(super) fn measure_node_only(settings: &BenchSettings, out: &mut dyn Write) -> Result<(), BenchError> {
    let (began, time, start_ticks) = (Instant::now(), settings.time_left(), HostTicks::now());
    let place = ProcessBinding::measured();
    let places = vec![place.clone()];
    let is_limited = seems_limited(&places);
    let time = if is_limited { time.saturating_sub(BUSY_TIME) } else { time };
    BenchRecord::Hello { library: None, places }.write(out)?;
    let mut samples = Vec::new();
    compute::measure(0, settings.seed, time / 2, |sample| samples.push(sample));
    write_compute_samples(0, samples, out)?;
    let mut schedule = MemorySchedule::new(began + time / 2, &place, settings);
    while let Some((amount, time)) = schedule.next() {
        let mut samples = Vec::new();
        memory::measure(0, amount, settings.seed, time, |sample| samples.push(sample));
        samples.into_iter().try_for_each(|sample| BenchRecord::Sample(sample).write(out))?;
        BenchRecord::Done(schedule.done_percent()).write(out)?;
    }
    schedule.write_left_out(0, out)?;
    if is_limited {
        BenchRecord::ProcessorShares(vec![processor_share()]).write(out)?;
    }
    host_use(&[HostTicks::now().since(&start_ticks)]).into_iter().try_for_each(|used| BenchRecord::HostUse(used).write(out))?;
    Ok(BenchRecord::End.write(out)?)
}

/// Writes the costs of arithmetic of a node type, and which number types there was no time for.
fn write_compute_samples(node: usize, samples: Vec<BenchSample>, out: &mut dyn Write) -> Result<(), BenchError> {
    for &of in NumberType::ALL {
        let is_measured = |sample: &BenchSample| matches!(sample.quantity, BenchQuantity::Compute { of: other, .. } if other == of);
        if !samples.iter().any(is_measured) {
            let quantity = BenchQuantity::Compute { node, of, what: ArithmeticOp::Add, manner: CostMode::Latency };
            BenchRecord::LeftOut(quantity, 0).write(out)?;
        }
    }
    Ok(samples.into_iter().try_for_each(|sample| BenchRecord::Sample(sample).write(out))?)
}

/// Measures a node type by one of its processes.
fn measure_node(leader: &mut BenchLeader, node: usize, rank: usize, until: Instant) -> Result<(), BenchError> {
    let seed = leader.settings.seed;
    let time = until.saturating_duration_since(Instant::now()) / 2;
    let order = BenchCommand::Compute(node, seed, time.as_secs_f64());
    let samples = leader.collect_samples(rank, order, |tell| compute::measure(node, seed, time, tell))?;
    write_compute_samples(node, samples, leader.out)?;
    let mut schedule = MemorySchedule::new(until, &leader.bindings[rank], &leader.settings);
    while let Some((amount, time)) = schedule.next() {
        let order = BenchCommand::Memory(node, amount, seed, time.as_secs_f64());
        let samples = leader.collect_samples(rank, order, |tell| memory::measure(node, amount, seed, time, tell))?;
        samples.into_iter().try_for_each(|sample| BenchRecord::Sample(sample).write(leader.out))?;
        leader.report_progress()?;
    }
    schedule.write_left_out(node, leader.out)
}

/// The binding of each process.
fn gather_bindings(timed: &BenchmarkCalls) -> Result<Vec<ProcessBinding>, BenchError> {
    let size = timed.world().size();
    let mut places = vec![ProcessBinding::measured(); size];
    for _ in 1..size {
        let (from, message) = timed.world().receive()?;
        places[from] = serde_json::from_slice(&message)?;
    }
    Ok(places)
}

/// The first rank on each node type.
fn node_type_ranks(places: &[ProcessBinding]) -> Vec<usize> {
    let is_first = |rank: &usize| places[..*rank].iter().all(|before| before.node_type() != places[*rank].node_type());
    (0..places.len()).filter(is_first).collect()
}

/// Whether a quota seems to stop one of the processes, so that this is measured again at the end: a short disturbance is over by then.
fn seems_limited(places: &[ProcessBinding]) -> bool {
    places.iter().any(|place| place.processor_share < LIMITED_SHARE)
}

/// Measures the share of a processor of all processes at the same time.
fn measure_processor_shares(leader: &mut BenchLeader) -> Result<(), BenchError> {
    leader.send_to_all(&BenchCommand::ProcessorShare)?;
    let mut shares = vec![processor_share(); leader.bindings.len()];
    for _ in 1..shares.len() {
        let (from, message) = leader.timed.wait_for_message()?;
        if let BenchAnswer::ProcessorShare(share) = serde_json::from_slice(&message)? {
            shares[from] = share;
        }
    }
    Ok(BenchRecord::ProcessorShares(shares).write(leader.out)?)
}

/// Ends the other processes, and reports what else used the hosts.
fn end_launch(leader: &mut BenchLeader, start_ticks: &HostTicks) -> Result<(), BenchError> {
    if seems_limited(&leader.bindings) {
        measure_processor_shares(leader)?;
    }
    leader.send_to_all(&BenchCommand::Leave)?;
    let mut ticks = vec![HostTicks::now().since(start_ticks)];
    for _ in 1..leader.bindings.len() {
        if let BenchAnswer::HostTicks(more) = leader.receive_answer()? {
            ticks.push(more);
        }
    }
    host_use(&ticks).into_iter().try_for_each(|used| BenchRecord::HostUse(used).write(leader.out))?;
    Ok(BenchRecord::End.write(leader.out)?)
}
