//! One time for all ranks.
//!
//! Ticks become nanoseconds of a host's monotonic clock by a straight line through what its processes read, and hosts are aligned by the
//! differences that their processes measured against rank 0. Ranks on one host share one clock, so between them there is no error at all.

use std::collections::HashMap;

use crate::header::Clock;
use crate::seal::process::Process;
use crate::seal::stream::Survey;
use crate::seal::worlds::Member;

/// How wrong clocks of different hosts are assumed to be where nobody compared them: hosts of a cluster are set by network time, mostly.
const NOT_COMPARED_S: f64 = 1.0;
/// How far clocks of different hosts may drift apart while nobody compares them: what cheap crystals are allowed.
const DRIFT: f64 = 20e-6;
/// More than clocks of different hosts ever drift apart: what a very short run seems to show is not believed.
const MOST_DRIFT: f64 = 200e-6;

/// What the clock of a process depends on: its host, and whether it counts ticks of the processor or nanoseconds.
type ClockKey<'a> = (&'a str, bool);

fn key(process: &Process) -> ClockKey<'_> {
    (&process.host, process.time_stamp_counter)
}

/// From ticks to nanoseconds of a host's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct HostLine {
    ticks: u64,
    monotonic_ns: u64,
    ns_per_tick: f64,
}

impl HostLine {
    /// The line through the readings that are furthest apart, and on through the anchors of blocks if they are near it: a process that is
    /// killed may leave anything in a block.
    fn through(readings: &[(u64, u64)], anchors: &[(u64, u64)]) -> HostLine {
        let line = HostLine::furthest(readings.iter().copied());
        let fits = |anchor: &&(u64, u64)| match line {
            None => true,
            Some(line) => {
                let distance = line.monotonic(anchor.0).abs_diff(anchor.1 as i64) as f64;
                distance < 1e6 + 1e-3 * anchor.0.abs_diff(line.ticks) as f64 * line.ns_per_tick
            }
        };
        let all = readings.iter().chain(anchors.iter().filter(fits)).copied();
        // With one reading alone, ticks are taken for nanoseconds.
        let (ticks, monotonic_ns) = readings.first().copied().unwrap_or_default();
        HostLine::furthest(all).unwrap_or(HostLine { ticks, monotonic_ns, ns_per_tick: 1.0 })
    }

    fn furthest(readings: impl Iterator<Item = (u64, u64)> + Clone) -> Option<HostLine> {
        let (first, last) = (readings.clone().min()?, readings.max()?);
        let ns_per_tick = last.1.saturating_sub(first.1) as f64 / (last.0 - first.0) as f64;
        (ns_per_tick.is_finite() && ns_per_tick > 0.0).then_some(HostLine { ticks: first.0, monotonic_ns: first.1, ns_per_tick })
    }

    /// Nanoseconds of the monotonic clock. Whole numbers wherever they can be large, so that nothing is lost.
    fn monotonic(&self, ticks: u64) -> i64 {
        (self.monotonic_ns as i64).wrapping_add((ticks.wrapping_sub(self.ticks) as i64 as f64 * self.ns_per_tick) as i64)
    }
}

/// From one host's monotonic clock to the time of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Alignment {
    at: i64,
    reference: i64,
    rate: f64,
    error_s: f64,
}

impl Alignment {
    const ITSELF: Alignment = Alignment { at: 0, reference: 0, rate: 1.0, error_s: 0.0 };

    fn reference(&self, monotonic: i64) -> i64 {
        self.reference.wrapping_add((monotonic.wrapping_sub(self.at) as f64 * self.rate) as i64)
    }

    /// First this one, then another.
    fn then(&self, next: &Alignment) -> Alignment {
        Alignment {
            at: self.at,
            reference: next.reference(self.reference),
            rate: self.rate * next.rate,
            error_s: self.error_s + next.error_s,
        }
    }
}

/// The clocks of all hosts, before they are aligned.
pub struct HostClocks<'a> {
    lines: HashMap<ClockKey<'a>, HostLine>,
    /// What to add to a host's monotonic clock to get the time since 1970.
    since_1970: HashMap<&'a str, i64>,
}

impl<'a> HostClocks<'a> {
    /// From everything that processes read off their clocks.
    pub fn new<'s>(processes: impl Iterator<Item = (&'a Process, &'s Survey)>) -> HostClocks<'a> {
        let mut readings: HashMap<ClockKey, [Vec<(u64, u64)>; 2]> = HashMap::new();
        let mut since_1970 = HashMap::new();
        for (process, survey) in processes {
            let [direct, anchors] = readings.entry(key(process)).or_default();
            direct.extend(process.readings.iter().map(|reading| (reading.ticks, reading.monotonic_ns)));
            anchors.extend(survey.anchors.into_iter().flatten());
            if let Some(reading) = process.readings.first() {
                since_1970.entry(process.host.as_str()).or_insert(reading.realtime_ns.wrapping_sub(reading.monotonic_ns) as i64);
            }
        }
        let lines = readings.into_iter().map(|(key, [direct, anchors])| (key, HostLine::through(&direct, &anchors))).collect();
        HostClocks { lines, since_1970 }
    }

    fn monotonic(&self, process: &Process, ticks: u64) -> i64 {
        self.lines[&key(process)].monotonic(ticks)
    }

    /// Nanoseconds since 1970, by the clock of the process's host.
    pub fn since_1970(&self, process: &Process, ticks: u64) -> i64 {
        self.monotonic(process, ticks).wrapping_add(self.to_1970(&process.host))
    }

    /// The ticks of a process at a moment in nanoseconds since 1970.
    pub fn ticks_at(&self, process: &Process, since_1970: i64) -> u64 {
        let line = &self.lines[&key(process)];
        let since = since_1970.wrapping_sub(self.to_1970(&process.host)).wrapping_sub(line.monotonic_ns as i64);
        line.ticks.wrapping_add((since as f64 / line.ns_per_tick) as i64 as u64)
    }

    fn to_1970(&self, host: &str) -> i64 {
        self.since_1970.get(host).copied().unwrap_or(0)
    }
}

/// The clocks of the ranks of a recording.
pub struct Aligned {
    /// One for each process, in their order.
    pub clocks: Vec<Clock>,
    /// When time begins, in seconds since 1970 by the clock of the host where it does, if a process has read it there.
    pub zero_s: Option<f64>,
    /// How wrong times on different hosts can be against each other, in seconds.
    pub error_s: f64,
    /// Hosts whose clocks were never compared with the others.
    pub not_compared: Vec<String>,
}

/// Aligns the clocks of the processes of one recording; time begins when the first of them makes its first call.
pub fn align(hosts: &HostClocks, members: &[Member]) -> Aligned {
    let (alignments, not_compared) = align_hosts(hosts, members);
    let reference =
        |member: &Member, ticks: u64| alignments[member.process().host.as_str()].reference(hosts.monotonic(member.process(), ticks));
    let first = members.iter().min_by_key(|member| reference(member, member.left.span().0));
    let zero = first.map_or(0, |member| reference(member, member.left.span().0));
    let zero_s = first
        .filter(|member| hosts.since_1970.contains_key(member.process().host.as_str()))
        .map(|member| hosts.since_1970(member.process(), member.left.span().0) as f64 / 1e9);
    // Ranks that share a clock share its origin too: then the same tick is the same moment on all of them.
    let mut origins: HashMap<ClockKey, u64> = HashMap::new();
    for member in members {
        let origin = origins.entry(key(member.process())).or_insert(member.left.span().0);
        *origin = member.left.span().0.min(*origin);
    }
    let clock = |member: &Member| {
        let origin_ticks = origins[&key(member.process())];
        let ns_per_tick = hosts.lines[&key(member.process())].ns_per_tick * alignments[member.process().host.as_str()].rate;
        Clock { origin_ticks, origin_ns: reference(member, origin_ticks).wrapping_sub(zero) as f64, ns_per_tick }
    };
    let error_s = if alignments.len() > 1 { alignments.values().map(|a| a.error_s).fold(0.0, f64::max) } else { 0.0 };
    Aligned { clocks: members.iter().map(clock).collect(), zero_s, error_s, not_compared }
}

/// The alignment of every host, and the hosts that could only be aligned by the time of day.
fn align_hosts<'a>(hosts: &HostClocks, members: &[Member<'a>]) -> (HashMap<&'a str, Alignment>, Vec<String>) {
    let mut alignments: HashMap<&str, Alignment> = HashMap::new();
    let worlds = members.iter().map(|member| member.world).max().map_or(0, |last| last + 1);
    for world in 0..worlds {
        let members: Vec<&Member> = members.iter().filter(|member| member.world == world).collect();
        let reference = reference_host(&members);
        if world == 0 {
            alignments.extend(reference.map(|host| (host, Alignment::ITSELF)));
        }
        // Differences are measured against rank 0 of the own world, whose clock must be known first.
        let base = match reference {
            Some(host) => alignments.get(host).copied(),
            None => (world == 0).then_some(Alignment::ITSELF),
        };
        let Some(base) = base else { continue };
        for host in host_names(&members) {
            if let Some(measured) = measured(hosts, &members, host).filter(|_| !alignments.contains_key(host)) {
                alignments.insert(host, measured.then(&base));
            }
        }
    }
    let mut not_compared = Vec::new();
    let all: Vec<&Member> = members.iter().collect();
    for host in host_names(&all) {
        if !alignments.contains_key(host) {
            not_compared.push(host.to_owned());
            let alignment = by_time_of_day(hosts, &alignments, host);
            alignments.insert(host, alignment);
        }
    }
    (alignments, not_compared)
}

fn host_names<'a>(members: &[&Member<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = members.iter().map(|member| member.process().host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The host of rank 0; if rank 0 left nothing, the only host that was not compared with it.
fn reference_host<'a>(members: &[&Member<'a>]) -> Option<&'a str> {
    if let Some(first) = members.iter().find(|member| member.rank == member.first) {
        return Some(&first.process().host);
    }
    let compared = |host: &str| members.iter().any(|member| member.process().host == host && !member.process().offsets.is_empty());
    let mut others = host_names(members).into_iter().filter(|host| !compared(host));
    others.next().filter(|_| others.next().is_none())
}

/// The line through what the processes of a host measured: through the best difference near the start and the best near the end.
fn measured(hosts: &HostClocks, members: &[&Member], host: &str) -> Option<Alignment> {
    let here = members.iter().filter(|member| member.process().host == host);
    let mut points: Vec<(i64, i64, i64)> = here
        .clone()
        .flat_map(|member| {
            member.process().offsets.iter().map(|o| (hosts.monotonic(member.process(), o.ticks), o.reference_ns, o.error_ns))
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
        if (rate - 1.0).abs() < MOST_DRIFT {
            return Some(Alignment { at: first.0, reference: first.1, rate, error_s: error_s(first).max(error_s(last)) });
        }
    }
    let until = here.map(|member| hosts.monotonic(member.process(), member.left.span().1)).max().unwrap_or(first.0);
    let drift_s = until.saturating_sub(first.0).max(0) as f64 / 1e9 * DRIFT;
    Some(Alignment { at: first.0, reference: first.1, rate: 1.0, error_s: error_s(first) + drift_s })
}

/// The alignment of a host that nobody compared with the others: by the time of day that it and one of them showed.
fn by_time_of_day(hosts: &HostClocks, alignments: &HashMap<&str, Alignment>, host: &str) -> Alignment {
    let Some((other, alignment)) = alignments.iter().min_by_key(|(name, _)| **name) else { return Alignment::ITSELF };
    let to_other = hosts.to_1970(host).wrapping_sub(hosts.to_1970(other));
    let shift = Alignment { at: 0, reference: to_other, rate: 1.0, error_s: NOT_COMPARED_S };
    shift.then(alignment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::{ClockOffset, ClockReading};
    use crate::seal::left::Left;

    const EPOCH: u64 = 1_700_000_000_000_000_000;

    /// A process whose ticks are half nanoseconds of a monotonic clock that is `ahead` of that of rank 0, with calls from 1000 to 3000.
    fn process(host: &str, ahead: u64, offsets: &[(u64, i64, i64)]) -> Left {
        let reading = |ticks: u64| ClockReading { ticks, monotonic_ns: ticks / 2 + ahead, realtime_ns: EPOCH + ticks / 2 };
        let offset = |(ticks, reference_ns, error_ns): &(u64, i64, i64)| ClockOffset {
            ticks: *ticks,
            reference_ns: *reference_ns,
            error_ns: *error_ns,
        };
        let mut left = Left::look_through(Process {
            host: host.into(),
            time_stamp_counter: true,
            readings: vec![reading(0), reading(2_000_000_000)],
            offsets: offsets.iter().map(offset).collect(),
            ..Process::default()
        })
        .unwrap();
        left.survey = Survey { first: Some(1000), last: 3000, ..Survey::default() };
        left
    }

    fn aligned(left: &[Left]) -> Aligned {
        let members: Vec<Member> = (0..left.len() as u32)
            .map(|rank| Member { rank, world: 0, first: 0, size: left.len() as u32, left: &left[rank as usize] })
            .collect();
        align(&HostClocks::new(left.iter().map(|left| (&left.process, &left.survey))), &members)
    }

    #[test]
    fn when_time_begins_is_not_known_where_nobody_read_the_time_of_day() {
        let mut left = [process("a", 0, &[])];
        left[0].process.readings.clear();
        assert_eq!(aligned(&left).zero_s, None);
    }

    #[test]
    fn ranks_of_one_host_share_one_clock_without_error() {
        let mut left = [process("a", 0, &[]), process("a", 0, &[])];
        left[1].survey.first = Some(400);
        let aligned = aligned(&left);
        assert_eq!(aligned.clocks[0], aligned.clocks[1]);
        assert_eq!((aligned.clocks[0].nanoseconds(400), aligned.clocks[0].nanoseconds(1000)), (0, 300));
        assert_eq!(aligned.zero_s, Some((EPOCH + 200) as f64 / 1e9));
        assert_eq!((aligned.error_s, aligned.not_compared.len()), (0.0, 0));
    }

    #[test]
    fn the_rate_comes_from_the_readings_that_are_furthest_apart() {
        let readings = [(5000, 50_000), (1000, 10_000), (1001, 10_500)];
        let line = |readings: &[(u64, u64)], anchors: &[(u64, u64)]| HostLine::through(readings, anchors);
        assert_eq!(line(&readings, &[]), HostLine { ticks: 1000, monotonic_ns: 10_000, ns_per_tick: 10.0 });
        assert_eq!(line(&readings, &[(9000, 98_000)]).ns_per_tick, 11.0);
        assert_eq!(line(&readings, &[(9000, 980_000_000), (0, 7_000_000)]).ns_per_tick, 10.0, "nonsense is left out");
        assert_eq!(line(&[(7, 9)], &[(9, 19)]).ns_per_tick, 5.0);
        assert_eq!(line(&[(7, 9)], &[]), HostLine { ticks: 7, monotonic_ns: 9, ns_per_tick: 1.0 });
        assert_eq!(line(&[], &[]).ns_per_tick, 1.0);
    }

    #[test]
    fn hosts_are_aligned_by_what_they_measured_at_start_and_end() {
        // The clock of b is a million ahead and loses ten parts in a million against that of a.
        let start = (2000, 1000, 300);
        let end = (2_000_000_000, 1_000_010_000, 200);
        let worse = (2_000_000_100, 5_000_000_000, 90_000);
        let left = [process("a", 0, &[]), process("b", 1_000_000, &[start, end, worse])];
        let aligned = aligned(&left);
        assert_eq!(aligned.error_s, 300e-9);
        let clock = &aligned.clocks[1];
        assert_eq!((clock.nanoseconds(2000), clock.nanoseconds(2_000_000_000)), (500, 1_000_009_500));
        assert_eq!(aligned.clocks[0].nanoseconds(2000), 500);
    }

    #[test]
    fn one_measurement_aligns_but_says_how_far_clocks_may_drift() {
        let mut left = [process("a", 0, &[]), process("b", 777, &[(1000, 500, 100)])];
        left[1].survey.last = 1000 + 2_000_000_000;
        let aligned = aligned(&left);
        assert_eq!(aligned.clocks[1].nanoseconds(1000), 0);
        assert!((aligned.error_s - (100e-9 + DRIFT)).abs() < 1e-9, "{}", aligned.error_s);
    }

    #[test]
    fn hosts_that_were_never_compared_are_aligned_by_the_time_of_day() {
        let aligned = aligned(&[process("a", 0, &[]), process("b", 5_000_000, &[])]);
        assert_eq!((aligned.clocks[0].nanoseconds(1000), aligned.clocks[1].nanoseconds(1000)), (0, 0));
        assert_eq!((aligned.error_s, aligned.not_compared), (NOT_COMPARED_S, vec!["b".to_owned()]));
    }

    #[test]
    fn a_missing_rank_0_does_not_keep_the_others_from_being_aligned() {
        let mut left = [process("a", 0, &[]), process("b", 1_000_000, &[(1000, 500, 10), (2_000_000_000, 1_000_000_000, 10)])];
        left.rotate_left(1);
        let members: Vec<Member> = (0..2).map(|n| Member { rank: n + 1, world: 0, first: 0, size: 3, left: &left[n as usize] }).collect();
        let aligned = align(&HostClocks::new(left.iter().map(|left| (&left.process, &left.survey))), &members);
        assert_eq!((aligned.error_s, aligned.not_compared.len()), (10e-9, 0));
        assert_eq!((aligned.clocks[0].nanoseconds(1000), aligned.clocks[1].nanoseconds(1000)), (0, 0));
    }
}
