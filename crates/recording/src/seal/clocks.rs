//! Clock alignment: one time scale for all ranks.
//!
//! Ticks are converted to a host's monotonic clock by linear interpolation between the readings of its processes. Hosts are aligned by the
//! offsets that their processes measured against rank 0. Ranks on one host share a clock, so there is no error between them.

use std::collections::HashMap;

use crate::header::LinearClock;
use crate::seal::process::ProcessDefinitions;
use crate::seal::ranked_process::RankedProcess;
use crate::seal::stream::StreamSummary;

/// Assumed clock error between hosts that were never compared: clusters mostly use NTP.
const UNCOMPARED_ERROR_S: f64 = 1.0;
/// Assumed clock drift between hosts after the last comparison: the tolerance of cheap crystals.
const ASSUMED_DRIFT: f64 = 20e-6;
/// Upper limit for a measured drift; larger values from very short runs are rejected.
const MAX_DRIFT: f64 = 200e-6;

/// What determines the clock of a process: its host, and whether it uses the time stamp counter or nanoseconds.
type ClockKey<'a> = (&'a str, bool);

fn key(process: &ProcessDefinitions) -> ClockKey<'_> {
    (&process.host, process.time_stamp_counter)
}

/// Conversion of ticks to a host's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct HostClock {
    ticks: u64,
    monotonic_ns: u64,
    ns_per_tick: f64,
}

impl HostClock {
    /// Line through the two readings furthest apart, extended by block anchors that are close to it. Anchors are checked because a killed
    /// process may leave garbage in a block.
    fn fit(readings: &[(u64, u64)], anchors: &[(u64, u64)]) -> HostClock {
        let clock = HostClock::through_extremes(readings.iter().copied());
        let fits = |anchor: &&(u64, u64)| match clock {
            None => true,
            Some(clock) => {
                let distance = clock.ticks_to_monotonic(anchor.0).abs_diff(anchor.1 as i64) as f64;
                distance < 1e6 + 1e-3 * anchor.0.abs_diff(clock.ticks) as f64 * clock.ns_per_tick
            }
        };
        let all = readings.iter().chain(anchors.iter().filter(fits)).copied();
        // With a single reading, one tick is taken as one nanosecond.
        let (ticks, monotonic_ns) = readings.first().copied().unwrap_or_default();
        HostClock::through_extremes(all).unwrap_or(HostClock { ticks, monotonic_ns, ns_per_tick: 1.0 })
    }

    fn through_extremes(readings: impl Iterator<Item = (u64, u64)> + Clone) -> Option<HostClock> {
        let (first, last) = (readings.clone().min()?, readings.max()?);
        let ns_per_tick = last.1.saturating_sub(first.1) as f64 / (last.0 - first.0) as f64;
        (ns_per_tick.is_finite() && ns_per_tick > 0.0).then_some(HostClock { ticks: first.0, monotonic_ns: first.1, ns_per_tick })
    }

    /// Monotonic clock in nanoseconds. Integer arithmetic for large values, to keep full precision.
    fn ticks_to_monotonic(&self, ticks: u64) -> i64 {
        (self.monotonic_ns as i64).wrapping_add((ticks.wrapping_sub(self.ticks) as i64 as f64 * self.ns_per_tick) as i64)
    }
}

/// Conversion of a host's monotonic clock to the time of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClockAlignment {
    local_ns: i64,
    reference_ns: i64,
    rate: f64,
    error_s: f64,
}

impl ClockAlignment {
    const IDENTITY: ClockAlignment = ClockAlignment { local_ns: 0, reference_ns: 0, rate: 1.0, error_s: 0.0 };

    fn to_reference(self, monotonic: i64) -> i64 {
        self.reference_ns.wrapping_add((monotonic.wrapping_sub(self.local_ns) as f64 * self.rate) as i64)
    }

    /// Composes two alignments.
    fn then(&self, next: &ClockAlignment) -> ClockAlignment {
        ClockAlignment {
            local_ns: self.local_ns,
            reference_ns: next.to_reference(self.reference_ns),
            rate: self.rate * next.rate,
            error_s: self.error_s + next.error_s,
        }
    }
}

/// The clocks of all hosts before alignment.
pub(super) struct HostClocks<'a> {
    clocks: HashMap<ClockKey<'a>, HostClock>,
    /// Offset from a host's monotonic clock to the Unix epoch.
    epoch_offsets: HashMap<&'a str, i64>,
}

impl<'a> HostClocks<'a> {
    /// Collects the clock readings of all processes.
    pub(super) fn new<'s>(processes: impl Iterator<Item = (&'a ProcessDefinitions, &'s StreamSummary)>) -> HostClocks<'a> {
        let mut readings: HashMap<ClockKey, [Vec<(u64, u64)>; 2]> = HashMap::new();
        let mut epoch_offsets = HashMap::new();
        for (process, summary) in processes {
            let [direct, anchors] = readings.entry(key(process)).or_default();
            direct.extend(process.readings.iter().map(|reading| (reading.ticks, reading.monotonic_ns)));
            anchors.extend(summary.anchors.into_iter().flatten());
            if let Some(reading) = process.readings.first() {
                epoch_offsets.entry(process.host.as_str()).or_insert(reading.realtime_ns.wrapping_sub(reading.monotonic_ns) as i64);
            }
        }
        let clocks = readings.into_iter().map(|(key, [direct, anchors])| (key, HostClock::fit(&direct, &anchors))).collect();
        HostClocks { clocks, epoch_offsets }
    }

    fn monotonic_ns(&self, process: &ProcessDefinitions, ticks: u64) -> i64 {
        self.clocks[&key(process)].ticks_to_monotonic(ticks)
    }

    /// Nanoseconds since the Unix epoch, by the clock of the process's host.
    pub(super) fn epoch_ns(&self, process: &ProcessDefinitions, ticks: u64) -> i64 {
        self.monotonic_ns(process, ticks).wrapping_add(self.epoch_offset(&process.host))
    }

    /// Ticks of a process at a time in nanoseconds since the Unix epoch.
    pub(super) fn ticks_at(&self, process: &ProcessDefinitions, since_1970: i64) -> u64 {
        let clock = &self.clocks[&key(process)];
        let since = since_1970.wrapping_sub(self.epoch_offset(&process.host)).wrapping_sub(clock.monotonic_ns as i64);
        clock.ticks.wrapping_add((since as f64 / clock.ns_per_tick) as i64 as u64)
    }

    fn epoch_offset(&self, host: &str) -> i64 {
        self.epoch_offsets.get(host).copied().unwrap_or(0)
    }
}

/// The aligned clocks of a recording.
pub(super) struct AlignedClocks {
    /// One per process, in order.
    pub clocks: Vec<LinearClock>,
    /// Time zero in seconds since the Unix epoch, by the clock of its host, if known.
    pub zero_s: Option<f64>,
    /// Upper bound of the clock error between hosts, in seconds.
    pub error_s: f64,
    /// Hosts whose clocks were never compared.
    pub not_compared: Vec<String>,
}

/// Aligns the clocks of the processes of one recording. Time zero is the first call of any process.
pub(super) fn align(hosts: &HostClocks, members: &[RankedProcess]) -> AlignedClocks {
    let (alignments, not_compared) = align_hosts(hosts, members);
    let reference = |member: &RankedProcess, ticks: u64| {
        alignments[member.process().host.as_str()].to_reference(hosts.monotonic_ns(member.process(), ticks))
    };
    let first = members.iter().min_by_key(|member| reference(member, member.raw.span().0));
    let zero = first.map_or(0, |member| reference(member, member.raw.span().0));
    let zero_s = first
        .filter(|member| hosts.epoch_offsets.contains_key(member.process().host.as_str()))
        .map(|member| hosts.epoch_ns(member.process(), member.raw.span().0) as f64 / 1e9);
    // Ranks with a common clock share its origin, so that equal ticks are equal times.
    let mut origins: HashMap<ClockKey, u64> = HashMap::new();
    for member in members {
        let origin = origins.entry(key(member.process())).or_insert(member.raw.span().0);
        *origin = member.raw.span().0.min(*origin);
    }
    let clock = |member: &RankedProcess| {
        let origin_ticks = origins[&key(member.process())];
        let ns_per_tick = hosts.clocks[&key(member.process())].ns_per_tick * alignments[member.process().host.as_str()].rate;
        LinearClock { origin_ticks, origin_ns: reference(member, origin_ticks).wrapping_sub(zero) as f64, ns_per_tick }
    };
    let error_s = if alignments.len() > 1 { alignments.values().map(|a| a.error_s).fold(0.0, f64::max) } else { 0.0 };
    AlignedClocks { clocks: members.iter().map(clock).collect(), zero_s, error_s, not_compared }
}

/// The alignment of every host, and the hosts that could be aligned only by wall clock time.
fn align_hosts<'a>(hosts: &HostClocks, members: &[RankedProcess<'a>]) -> (HashMap<&'a str, ClockAlignment>, Vec<String>) {
    let mut alignments: HashMap<&str, ClockAlignment> = HashMap::new();
    let worlds = members.iter().map(|member| member.world).max().map_or(0, |last| last + 1);
    for world in 0..worlds {
        let members: Vec<&RankedProcess> = members.iter().filter(|member| member.world == world).collect();
        let reference = reference_host(&members);
        if world == 0 {
            alignments.extend(reference.map(|host| (host, ClockAlignment::IDENTITY)));
        }
        // Offsets are measured against rank 0 of the same world, whose clock must be aligned first.
        let base = match reference {
            Some(host) => alignments.get(host).copied(),
            None => (world == 0).then_some(ClockAlignment::IDENTITY),
        };
        let Some(base) = base else { continue };
        for host in host_names(&members) {
            if let Some(measured) = measured_alignment(hosts, &members, host).filter(|_| !alignments.contains_key(host)) {
                alignments.insert(host, measured.then(&base));
            }
        }
    }
    let mut not_compared = Vec::new();
    let all: Vec<&RankedProcess> = members.iter().collect();
    for host in host_names(&all) {
        if !alignments.contains_key(host) {
            not_compared.push(host.to_owned());
            let alignment = wall_clock_alignment(hosts, &alignments, host);
            alignments.insert(host, alignment);
        }
    }
    (alignments, not_compared)
}

fn host_names<'a>(members: &[&RankedProcess<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = members.iter().map(|member| member.process().host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The host of rank 0. If rank 0 has no data: the only host that was not compared with it, if unique.
fn reference_host<'a>(members: &[&RankedProcess<'a>]) -> Option<&'a str> {
    if let Some(first) = members.iter().find(|member| member.rank == member.first) {
        return Some(&first.process().host);
    }
    let compared = |host: &str| members.iter().any(|member| member.process().host == host && !member.process().offsets.is_empty());
    let mut others = host_names(members).into_iter().filter(|host| !compared(host));
    others.next().filter(|_| others.next().is_none())
}

/// Alignment from measured offsets: a line through the best one in the first and the best one in the second half.
fn measured_alignment(hosts: &HostClocks, members: &[&RankedProcess], host: &str) -> Option<ClockAlignment> {
    let here = members.iter().filter(|member| member.process().host == host);
    let mut points: Vec<(i64, i64, i64)> = here
        .clone()
        .flat_map(|member| {
            member.process().offsets.iter().map(|o| (hosts.monotonic_ns(member.process(), o.ticks), o.reference_ns, o.error_ns))
        })
        .collect();
    points.sort_unstable();
    let (begin, end) = (points.first()?.0, points.last()?.0);
    let middle = begin.saturating_add(end.saturating_sub(begin) / 2);
    let best = |from: i64, to: i64| points.iter().filter(|p| (from..=to).contains(&p.0)).min_by_key(|p| p.2).copied();
    let (first, last) = (best(begin, middle)?, best(middle.saturating_add(1), end));
    let error_s = |point: (i64, i64, i64)| point.2.max(0) as f64 / 1e9;
    if let Some(last) = last {
        let rate = last.1.saturating_sub(first.1) as f64 / last.0.saturating_sub(first.0) as f64;
        if (rate - 1.0).abs() < MAX_DRIFT {
            return Some(ClockAlignment { local_ns: first.0, reference_ns: first.1, rate, error_s: error_s(first).max(error_s(last)) });
        }
    }
    let until = here.map(|member| hosts.monotonic_ns(member.process(), member.raw.span().1)).max().unwrap_or(first.0);
    let drift_s = until.saturating_sub(first.0).max(0) as f64 / 1e9 * ASSUMED_DRIFT;
    Some(ClockAlignment { local_ns: first.0, reference_ns: first.1, rate: 1.0, error_s: error_s(first) + drift_s })
}

/// Alignment of a host without measured offsets, by wall clock time.
fn wall_clock_alignment(hosts: &HostClocks, alignments: &HashMap<&str, ClockAlignment>, host: &str) -> ClockAlignment {
    let Some((other, alignment)) = alignments.iter().min_by_key(|(name, _)| **name) else { return ClockAlignment::IDENTITY };
    let to_other = hosts.epoch_offset(host).wrapping_sub(hosts.epoch_offset(other));
    let shift = ClockAlignment { local_ns: 0, reference_ns: to_other, rate: 1.0, error_s: UNCOMPARED_ERROR_S };
    shift.then(alignment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::{ClockReading, MeasuredClockOffset};
    use crate::seal::raw_process::RawProcess;

    const EPOCH: u64 = 1_700_000_000_000_000_000;

    /// A process whose ticks are half nanoseconds of a monotonic clock that is `ahead` of that of rank 0, with calls from 1000 to 3000.
    fn process(host: &str, ahead: u64, offsets: &[(u64, i64, i64)]) -> RawProcess {
        let reading = |ticks: u64| ClockReading { ticks, monotonic_ns: ticks / 2 + ahead, realtime_ns: EPOCH + ticks / 2 };
        let offset = |(ticks, reference_ns, error_ns): &(u64, i64, i64)| MeasuredClockOffset {
            ticks: *ticks,
            reference_ns: *reference_ns,
            error_ns: *error_ns,
        };
        let mut processes = RawProcess::scan(ProcessDefinitions {
            host: host.into(),
            time_stamp_counter: true,
            readings: vec![reading(0), reading(2_000_000_000)],
            offsets: offsets.iter().map(offset).collect(),
            ..ProcessDefinitions::default()
        })
        .unwrap();
        processes.summary = StreamSummary { first: Some(1000), last: 3000, ..StreamSummary::default() };
        processes
    }

    fn aligned(processes: &[RawProcess]) -> AlignedClocks {
        let members: Vec<RankedProcess> = (0..processes.len() as u32)
            .map(|rank| RankedProcess { rank, world: 0, first: 0, size: processes.len() as u32, raw: &processes[rank as usize] })
            .collect();
        align(&HostClocks::new(processes.iter().map(|processes| (&processes.process, &processes.summary))), &members)
    }

    #[test]
    fn when_time_begins_is_not_known_where_nobody_read_the_time_of_day() {
        let mut processes = [process("a", 0, &[])];
        processes[0].process.readings.clear();
        assert_eq!(aligned(&processes).zero_s, None);
    }

    #[test]
    fn ranks_of_one_host_share_one_clock_without_error() {
        let mut processes = [process("a", 0, &[]), process("a", 0, &[])];
        processes[1].summary.first = Some(400);
        let aligned = aligned(&processes);
        assert_eq!(aligned.clocks[0], aligned.clocks[1]);
        assert_eq!((aligned.clocks[0].ticks_to_ns(400), aligned.clocks[0].ticks_to_ns(1000)), (0, 300));
        assert_eq!(aligned.zero_s, Some((EPOCH + 200) as f64 / 1e9));
        assert_eq!((aligned.error_s, aligned.not_compared.len()), (0.0, 0));
    }

    #[test]
    fn the_rate_comes_from_the_readings_that_are_furthest_apart() {
        let readings = [(5000, 50_000), (1000, 10_000), (1001, 10_500)];
        let clock = |readings: &[(u64, u64)], anchors: &[(u64, u64)]| HostClock::fit(readings, anchors);
        assert_eq!(clock(&readings, &[]), HostClock { ticks: 1000, monotonic_ns: 10_000, ns_per_tick: 10.0 });
        assert_eq!(clock(&readings, &[(9000, 98_000)]).ns_per_tick, 11.0);
        assert_eq!(clock(&readings, &[(9000, 980_000_000), (0, 7_000_000)]).ns_per_tick, 10.0, "nonsense is left out");
        assert_eq!(clock(&[(7, 9)], &[(9, 19)]).ns_per_tick, 5.0);
        assert_eq!(clock(&[(7, 9)], &[]), HostClock { ticks: 7, monotonic_ns: 9, ns_per_tick: 1.0 });
        assert_eq!(clock(&[], &[]).ns_per_tick, 1.0);
    }

    #[test]
    fn hosts_are_aligned_by_what_they_measured_at_start_and_end() {
        // The clock of b is a million ahead and loses ten parts in a million against that of a.
        let start = (2000, 1000, 300);
        let end = (2_000_000_000, 1_000_010_000, 200);
        let worse = (2_000_000_100, 5_000_000_000, 90_000);
        let processes = [process("a", 0, &[]), process("b", 1_000_000, &[start, end, worse])];
        let aligned = aligned(&processes);
        assert_eq!(aligned.error_s, 300e-9);
        let clock = &aligned.clocks[1];
        assert_eq!((clock.ticks_to_ns(2000), clock.ticks_to_ns(2_000_000_000)), (500, 1_000_009_500));
        assert_eq!(aligned.clocks[0].ticks_to_ns(2000), 500);
    }

    #[test]
    fn one_measurement_aligns_but_says_how_far_clocks_may_drift() {
        let mut processes = [process("a", 0, &[]), process("b", 777, &[(1000, 500, 100)])];
        processes[1].summary.last = 1000 + 2_000_000_000;
        let aligned = aligned(&processes);
        assert_eq!(aligned.clocks[1].ticks_to_ns(1000), 0);
        assert!((aligned.error_s - (100e-9 + ASSUMED_DRIFT)).abs() < 1e-9, "{}", aligned.error_s);
    }

    #[test]
    fn hosts_that_were_never_compared_are_aligned_by_the_time_of_day() {
        let aligned = aligned(&[process("a", 0, &[]), process("b", 5_000_000, &[])]);
        assert_eq!((aligned.clocks[0].ticks_to_ns(1000), aligned.clocks[1].ticks_to_ns(1000)), (0, 0));
        assert_eq!((aligned.error_s, aligned.not_compared), (UNCOMPARED_ERROR_S, vec!["b".to_owned()]));
    }

    #[test]
    fn a_missing_rank_0_does_not_keep_the_others_from_being_aligned() {
        let mut processes = [process("a", 0, &[]), process("b", 1_000_000, &[(1000, 500, 10), (2_000_000_000, 1_000_000_000, 10)])];
        processes.rotate_left(1);
        let members: Vec<RankedProcess> =
            (0..2).map(|n| RankedProcess { rank: n + 1, world: 0, first: 0, size: 3, raw: &processes[n as usize] }).collect();
        let aligned = align(&HostClocks::new(processes.iter().map(|processes| (&processes.process, &processes.summary))), &members);
        assert_eq!((aligned.error_s, aligned.not_compared.len()), (10e-9, 0));
        assert_eq!((aligned.clocks[0].ticks_to_ns(1000), aligned.clocks[1].ticks_to_ns(1000)), (0, 0));
    }
}
