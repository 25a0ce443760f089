//! Writes regions that have ended to a file of the process.
//!
//! A region takes a record, and one for each thread. Short regions are summed up, since a program may run a million of them in a second:
//! the executions of one call site within a hundredth of a second become one. If the file grows too fast, longer ones are summed up as
//! well.

use std::sync::atomic::Ordering;

use sintonia_recording::raw::openmp::{
    DURATIONS, MAGIC, MAX_EXECUTIONS, MAX_THREADS, RECORD_WORDS, RawLock, RawRegion, RawSummary, RawThread, ThreadActivity,
};

use super::team::{MAX_LOCK_SITES, Team};
use crate::breakable_lock::BreakableLock;
use crate::cancellation::CancellationGuard;
use crate::clock::{self, ticks};
use crate::process::{self, ProcessState};
use crate::record_stream::RecordStream;

/// Shorter regions are summed up.
const SHORT_NS: u64 = 10_000;
/// If the file grows too fast, shorter regions are summed up.
const LONG_NS: u64 = 1_000_000;
/// Executions are summed up for this time.
const SUMMED_NS: u64 = 10_000_000;
/// The file may have this many bytes more than [`BYTES_PER_SECOND`] allow.
const BYTES_AT_ONCE: u64 = 16 << 20;
/// How fast the file may grow.
const BYTES_PER_SECOND: u64 = 2 << 20;
/// Call sites whose regions are summed up at the same time.
const SUMMED_SITES: usize = 64;

static RECORDER: BreakableLock<Option<RegionRecorder>> = BreakableLock::new(None);

struct RegionRecorder {
    stream: RecordStream<RECORD_WORDS>,
    teams: Vec<&'static Team>,
    idle_teams: Vec<&'static Team>,
    sums: Vec<Option<SummedRegion>>,
    /// The sum to look at next.
    next_sum: usize,
    begin: u64,
    ticks_per_ms: u64,
    bytes: u64,
}

// SAFETY: the memory of the stream belongs to it alone.
unsafe impl Send for RegionRecorder {}

/// Several executions of a region.
struct SummedRegion {
    region: RawRegion,
    /// End of the last one.
    end: u64,
    longest: f64,
    threads: Vec<[f64; DURATIONS]>,
    /// The locks of each thread.
    locks: Vec<Vec<RawLock>>,
}

/// A team for at most this many threads. Its region is in progress from here on.
pub(super) fn take_team(threads: usize) -> Option<&'static Team> {
    let _guard = CancellationGuard::new();
    let mut recorder = RECORDER.lock()?;
    // Recording may have ended meanwhile.
    if process::state() != ProcessState::Recording {
        return None;
    }
    let recorder = recorder.get_or_insert_with(RegionRecorder::new);
    let threads = threads.min(MAX_THREADS);
    let fitting = recorder.idle_teams.iter().rposition(|team| team.capacity() >= threads);
    let team = match fitting {
        Some(index) => recorder.idle_teams.swap_remove(index),
        None => {
            let team = Team::new(threads.next_power_of_two());
            recorder.teams.push(team);
            team
        }
    };
    team.is_active.store(true, Ordering::Relaxed);
    Some(team)
}

/// Records a region that has ended, and takes its team back.
pub(super) fn record(team: &'static Team, end: u64) {
    let _guard = CancellationGuard::new();
    let Some(mut recorder) = RECORDER.lock() else { return };
    let Some(recorder) = recorder.as_mut() else { return };
    if process::state() == ProcessState::Recording && !process::is_recording_off() {
        recorder.record(team, end, false);
    }
    team.is_active.store(false, Ordering::Relaxed);
    recorder.idle_teams.push(team);
}

/// Writes what would be lost with the process, and the regions in progress: a program may exit inside one.
pub(crate) fn finish() {
    let Some(mut recorder) = RECORDER.lock() else { return };
    let Some(recorder) = recorder.as_mut() else { return };
    let now = ticks();
    for index in 0..SUMMED_SITES {
        recorder.flush(index);
    }
    for index in 0..recorder.teams.len() {
        let team = recorder.teams[index];
        if team.is_active.load(Ordering::Relaxed) {
            recorder.record(team, now, true);
        }
    }
    recorder.stream.finish();
}

impl RegionRecorder {
    fn new() -> RegionRecorder {
        let now = ticks();
        let ticks_per_ms = clock::to_ticks(1_000_000, clock::nanoseconds(libc::CLOCK_MONOTONIC), now).max(1);
        RegionRecorder {
            stream: RecordStream::new("omp", MAGIC, "OpenMP regions".into()),
            teams: Vec::new(),
            idle_teams: Vec::new(),
            sums: (0..SUMMED_SITES).map(|_| None).collect(),
            next_sum: 0,
            begin: now,
            ticks_per_ms,
            bytes: 0,
        }
    }

    fn ticks_of(&self, nanoseconds: u64) -> u64 {
        nanoseconds * self.ticks_per_ms / 1_000_000
    }

    fn record(&mut self, team: &Team, end: u64, is_unfinished: bool) {
        let begin = team.begin.load(Ordering::Relaxed);
        let threads = team.size.load(Ordering::Relaxed).min(team.capacity());
        // A region inside another one that has no threads of its own is a part of that one.
        if end <= begin || threads == 0 || (threads == 1 && team.level() > 0) {
            return;
        }
        let region = RawRegion {
            begin,
            duration: end - begin,
            site: team.site.load(Ordering::Relaxed),
            caller: team.caller.load(Ordering::Relaxed).checked_sub(1).map(|caller| caller as u16),
            threads: threads as u16,
            level: team.level() as u8,
            is_unfinished,
            executions: 1,
            has_summary: false,
        };
        if !is_unfinished && region.duration < self.longest_summed(end) {
            self.add_to_sum(region, team, end);
        } else {
            self.append(region.to_words());
            for number in 0..threads {
                self.append(team.thread(number, end).to_words());
            }
            for lock in (0..threads).flat_map(|number| team.locks(number)) {
                self.append(lock.to_words());
            }
        }
        self.flush_old_sum(end);
    }

    /// Regions shorter than this are summed up.
    fn longest_summed(&self, now: u64) -> u64 {
        let elapsed_ms = now.saturating_sub(self.begin) / self.ticks_per_ms;
        let is_too_fast = self.bytes > BYTES_AT_ONCE + elapsed_ms * BYTES_PER_SECOND / 1000;
        self.ticks_of(if is_too_fast { LONG_NS } else { SHORT_NS })
    }

    fn add_to_sum(&mut self, region: RawRegion, team: &Team, end: u64) {
        let index = (region.site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SUMMED_SITES;
        let is_same = self.sums[index].as_ref().is_some_and(|sum| sum.takes(&region));
        if !is_same {
            self.flush(index);
        }
        let sum = self.sums[index].get_or_insert_with(|| SummedRegion {
            region: RawRegion { duration: 0, executions: 0, has_summary: true, ..region },
            end,
            longest: 0.0,
            threads: vec![[0.0; DURATIONS]; usize::from(region.threads)],
            locks: vec![Vec::new(); usize::from(region.threads)],
        });
        sum.add(&region, team, end);
    }

    /// Writes one of the sums if it is old: each is looked at now and then.
    fn flush_old_sum(&mut self, now: u64) {
        self.next_sum = (self.next_sum + 1) % SUMMED_SITES;
        let oldest = now.saturating_sub(self.ticks_of(SUMMED_NS));
        if self.sums[self.next_sum].as_ref().is_some_and(|sum| sum.region.begin < oldest) {
            self.flush(self.next_sum);
        }
    }

    fn flush(&mut self, index: usize) {
        let Some(sum) = self.sums[index].take() else { return };
        self.append(sum.region.to_words());
        for (number, durations) in (0..).zip(&sum.threads) {
            self.append(RawThread { number, durations: durations.map(|ticks| ticks as f32) }.to_words());
        }
        let span = sum.end.saturating_sub(sum.region.begin) as f32;
        self.append(RawSummary { longest: sum.longest as f32, span }.to_words());
        for lock in sum.locks.iter().flatten() {
            self.append(lock.to_words());
        }
    }

    fn append(&mut self, record: [u64; RECORD_WORDS]) {
        self.bytes += size_of_val(&record) as u64;
        self.stream.append(record);
    }
}

impl SummedRegion {
    fn takes(&self, other: &RawRegion) -> bool {
        let key = |region: &RawRegion| (region.site, region.caller, region.threads, region.level);
        key(&self.region) == key(other) && self.region.executions < MAX_EXECUTIONS
    }

    fn add(&mut self, region: &RawRegion, team: &Team, end: u64) {
        self.region.duration += region.duration;
        self.region.executions += 1;
        self.end = end;
        let mut longest = 0.0_f64;
        for (number, sums) in self.threads.iter_mut().enumerate() {
            let durations = team.thread(number, end).durations.map(f64::from);
            longest = longest.max(durations[ThreadActivity::Useful as usize]);
            for (sum, duration) in sums.iter_mut().zip(durations) {
                *sum += duration;
            }
        }
        self.longest += longest;
        for (number, sums) in self.locks.iter_mut().enumerate() {
            team.locks(number).for_each(|lock| add_lock(sums, lock));
        }
    }
}

/// Adds what a thread did at one place to its sums.
fn add_lock(sums: &mut Vec<RawLock>, lock: RawLock) {
    if let Some(sum) = sums.iter_mut().find(|sum| sum.site == lock.site) {
        sum.acquisitions = sum.acquisitions.saturating_add(lock.acquisitions);
        (sum.waited, sum.held) = (sum.waited + lock.waited, sum.held + lock.held);
    } else if sums.len() < MAX_LOCK_SITES {
        sums.push(lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_several_executions_are_added_by_call_site() {
        let lock = |site| RawLock { thread: 0, site, acquisitions: 2, waited: 1.5, held: 4.0 };
        let mut sums = Vec::new();
        (0..20).chain([3]).for_each(|site| add_lock(&mut sums, lock(site)));
        assert_eq!(sums.len(), MAX_LOCK_SITES);
        assert_eq!((sums[2], sums[3]), (lock(2), RawLock { acquisitions: 4, waited: 3.0, held: 8.0, ..lock(3) }));
    }
}
