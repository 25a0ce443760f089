//! Read access to a recording, sealed or not. The readers of its calls have files of their own, each with the method that opens it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use tempfile::TempDir;

use crate::call_paths::CallPaths;
use crate::call_table::{CallDescriptor, CallTable, DescriptorTotals};
use crate::counters::{self, CounterIntervalKind, RankCounters};
use crate::definitions::{LIVE_DIR, MAX_RANKS, parse_ranks};
use crate::error::Error;
use crate::excerpt::RecordingExcerpt;
use crate::file_io::{self, RankFileIo};
use crate::header::{self, CallSiteDefinition, ProcessExit, RecordedRank, RecordingHeader};
use crate::neighbours::{self, TopologyNeighbours};
use crate::off_cpu::{self, ThreadOffCpu};
use crate::openmp::{self, RegionExecution};
use crate::samples::{self, StackFrame, ThreadSamples};
use crate::seal;
use crate::sealed::{self, BlockReader, FileFault, FunctionTable, TableBuilder};
use crate::totals::TotalsBuilder;

/// Name of `MPI_COMM_WORLD` in the header.
const WORLD_NAME: &str = "MPI_COMM_WORLD";

/// An open recording.
pub struct Recording {
    /// Everything except the calls.
    pub header: RecordingHeader,
    folder: PathBuf,
    functions: FunctionTable,
    members: Vec<CommunicatorMembers>,
    named_groups: Vec<OnceLock<Vec<i32>>>,
    /// The communicators that are a `MPI_COMM_WORLD`: there may be thousands of others.
    worlds: Vec<u32>,
    unknown_site: CallSiteDefinition,
    call_paths: OnceLock<CallPaths>,
    stack_frames: OnceLock<Vec<StackFrame>>,
    /// Problems found in the files of ranks.
    faults: Mutex<BTreeMap<u32, IncompleteReason>>,
    /// The part that is read instead of the whole.
    excerpt: Option<RecordingExcerpt>,
    /// Temporary directory with the sealed copy of an unsealed recording.
    _temporary: Option<TempDir>,
}

/// The members of a communicator, parsed on first use.
#[derive(Default)]
struct CommunicatorMembers {
    members: OnceLock<Vec<i32>>,
    remote: OnceLock<Vec<i32>>,
    neighbours: OnceLock<HashMap<u32, TopologyNeighbours>>,
}

/// Why the data of a rank is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncompleteReason {
    /// The rank has no data.
    NoData,
    /// Its file is missing.
    FileMissing,
    /// Its file is truncated at this offset.
    FileTruncated(u64),
    /// Its file is damaged at this offset.
    FileDamaged(u64),
    /// It was killed, or its host failed.
    CutShort,
    /// Number of its blocks that were lost or damaged during the run.
    DamagedBlocks(u64),
}

impl fmt::Display for IncompleteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IncompleteReason::NoData => write!(f, "no data"),
            IncompleteReason::FileMissing => write!(f, "its file is missing"),
            IncompleteReason::FileTruncated(byte) => write!(f, "its file is truncated at byte {byte}"),
            IncompleteReason::FileDamaged(byte) => write!(f, "its file is damaged at byte {byte}"),
            IncompleteReason::CutShort => write!(f, "cut short"),
            IncompleteReason::DamagedBlocks(blocks) => write!(f, "{blocks} damaged block{}", if *blocks == 1 { "" } else { "s" }),
        }
    }
}

impl Recording {
    /// Opens a recording. An unsealed one (the run is still going on, or `record` was killed) is sealed into a temporary directory.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        let not_a_recording = |what: &str| Error::NotARecording { path: path.to_owned(), what: what.to_owned() };
        let checked = |header: RecordingHeader| {
            let plausible = header.size <= MAX_RANKS && header.ranks.iter().all(|rank| (rank.rank as usize) < MAX_RANKS);
            if plausible { Ok(header) } else { Err(not_a_recording("it claims more processes than any machine runs")) }
        };
        if !path.exists() {
            return Err(Error::Missing { path: path.to_owned() });
        }
        if !path.is_dir() {
            return Err(not_a_recording("it is a file"));
        }
        if path.join(header::FILE_NAME).exists() {
            return Ok(Recording::new(checked(RecordingHeader::read(path)?)?, path.to_owned(), None));
        }
        if !path.join(LIVE_DIR).is_dir() {
            return Err(not_a_recording(&format!("it has no {}", header::FILE_NAME)));
        }
        let temporary = tempfile::tempdir().map_err(|source| Error::Io { path: std::env::temp_dir(), source })?;
        let header = checked(seal::seal_copy(path, temporary.path())?)?;
        Ok(Recording::new(header, temporary.path().to_owned(), Some(temporary)))
    }

    /// Opens several recordings whose parts are to be compared: the callers that tell the call paths of a line apart are the same in all.
    pub fn open_all<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Vec<Recording>, Error> {
        let mut recordings: Vec<Recording> = paths.into_iter().map(|path| Recording::open(path.as_ref())).collect::<Result<_, _>>()?;
        let call_paths = CallPaths::new_common(&recordings.iter().map(|recording| &recording.header.sites[..]).collect::<Vec<_>>());
        recordings.iter_mut().zip(call_paths).for_each(|(recording, paths)| recording.call_paths = OnceLock::from(paths));
        Ok(recordings)
    }

    fn new(header: RecordingHeader, folder: PathBuf, temporary: Option<TempDir>) -> Recording {
        Recording {
            functions: FunctionTable::from_names(&header.operations),
            members: header.communicators.iter().map(|_| CommunicatorMembers::default()).collect(),
            named_groups: header.groups.iter().map(|_| OnceLock::new()).collect(),
            worlds: (0u32..).zip(&header.communicators).filter(|(_, known)| known.made_by == WORLD_NAME).map(|(index, _)| index).collect(),
            header,
            folder,
            unknown_site: CallSiteDefinition::default(),
            call_paths: OnceLock::new(),
            stack_frames: OnceLock::new(),
            faults: Mutex::default(),
            excerpt: None,
            _temporary: temporary,
        }
    }

    /// The same recording, of which only a part is read.
    pub(crate) fn with_excerpt(self, excerpt: RecordingExcerpt) -> Recording {
        Recording { excerpt: Some(excerpt), ..self }
    }

    pub(crate) fn excerpt(&self) -> Option<&RecordingExcerpt> {
        self.excerpt.as_ref()
    }

    /// The calls of a rank, one table per thread, as far as they are readable. Empty for a rank without data and for a profile.
    pub fn tables(&self, rank: u32) -> Result<Vec<CallTable>, Error> {
        if let Some(threads) = self.excerpt_threads(rank) {
            return Ok(threads.iter().map(|thread| thread.calls.clone()).collect());
        }
        let Some((rank, mut blocks)) = self.open_blocks(rank)?.filter(|_| !self.header.profile) else { return Ok(Vec::new()) };
        let mut builders: BTreeMap<u16, TableBuilder> = BTreeMap::new();
        for (thread, calls) in self.count_calls(rank)? {
            builders.insert(thread, TableBuilder::new(thread, calls));
        }
        self.for_each_block(rank, &mut blocks, |block| {
            let builder = builders.entry(block.header().thread).or_insert_with_key(|thread| TableBuilder::new(*thread, 0));
            builder.add(block, &self.functions, &rank.clock)
        });
        Ok(builders.into_values().map(|builder| builder.table).filter(|table| !table.is_empty()).collect())
    }

    /// The threads of a rank that called MPI. Empty for a rank without data and for a profile.
    pub fn threads(&self, rank: u32) -> Result<Vec<u16>, Error> {
        if let Some(threads) = self.excerpt_threads(rank) {
            return Ok(threads.iter().map(|thread| thread.calls.thread).collect());
        }
        let threads = self.header.rank(rank).filter(|_| !self.header.profile).map(|rank| self.count_calls(rank)).transpose()?;
        Ok(threads.unwrap_or_default().into_keys().collect())
    }

    /// The directory with its files; temporary for an unsealed recording.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn functions(&self) -> &FunctionTable {
        &self.functions
    }

    /// When the threads of a rank were off the processor. Empty if they never were, if it is not known ([`RecordedRank::off_cpu`]), and if
    /// the file is damaged.
    pub fn off_cpu(&self, rank: u32) -> Result<Vec<ThreadOffCpu>, Error> {
        let Some(clock) = self.header.rank(rank).map(|rank| rank.clock.to_fixed_point()) else { return Ok(Vec::new()) };
        let threads = off_cpu::read(self.folder(), rank)?;
        let threads = threads.iter().map(|thread| thread.map_times(|ticks| clock.ticks_to_ns(ticks as u64)));
        Ok(self.cut_off_cpu(rank, threads.collect()))
    }

    /// The samples of a rank's threads. Empty if there are none, and if the file is damaged.
    pub fn samples(&self, rank: u32) -> Result<Vec<ThreadSamples>, Error> {
        let Some(clock) = self.header.rank(rank).map(|rank| rank.clock.to_fixed_point()) else { return Ok(Vec::new()) };
        let frames = self.stack_frames()?.len();
        let mut threads = samples::read(self.folder(), rank)?;
        for thread in &mut threads {
            thread.samples.retain(|sample| (sample.frame as usize) < frames);
            thread.samples.iter_mut().for_each(|sample| sample.time = clock.ticks_to_ns(sample.time as u64));
        }
        self.cut_samples(rank, &mut threads);
        Ok(threads)
    }

    /// What was counted of a rank's threads between MPI calls, or between samples. Empty if nothing was, and if the file is damaged.
    pub fn counters(&self, rank: u32, intervals: CounterIntervalKind) -> Result<RankCounters, Error> {
        let Some(clock) = self.header.rank(rank).map(|rank| rank.clock.to_fixed_point()) else { return Ok(RankCounters::default()) };
        let counters = counters::read(self.folder(), rank, intervals)?.map_times(|ticks| clock.ticks_to_ns(ticks as u64));
        Ok(self.cut_counters(rank, counters))
    }

    /// The frames of sampled stacks, each after its caller. Empty if there are no samples.
    pub fn stack_frames(&self) -> Result<&[StackFrame], Error> {
        if let Some(frames) = self.stack_frames.get() {
            return Ok(frames);
        }
        let frames = samples::read_frames(self.folder())?;
        Ok(self.stack_frames.get_or_init(|| frames))
    }

    /// Whether there is a file of the OpenMP regions of a rank.
    pub fn has_openmp_regions(&self, rank: u32) -> bool {
        self.folder().join(openmp::file_name(rank)).exists()
    }

    /// The OpenMP regions of a rank, in the order of their begin. Empty if it ran none, if they were not recorded, and if the file is
    /// damaged.
    pub fn openmp_regions(&self, rank: u32) -> Result<Vec<RegionExecution>, Error> {
        let Some(clock) = self.header.rank(rank).map(|rank| rank.clock.to_fixed_point()) else { return Ok(Vec::new()) };
        let mut regions = openmp::read(self.folder(), rank)?;
        for region in &mut regions {
            region.map_times(|ticks| clock.ticks_to_ns(ticks as u64), |ticks| clock.duration_ns(ticks) as u64);
        }
        Ok(self.cut_openmp_regions(rank, regions))
    }

    /// What a rank did with files. Empty if it used none, if that was not recorded, and if the file is damaged.
    pub fn file_io(&self, rank: u32) -> Result<RankFileIo, Error> {
        let Some(clock) = self.header.rank(rank).map(|rank| rank.clock) else { return Ok(RankFileIo::default()) };
        let mut io = file_io::read(self.folder(), rank)?;
        let fixed = clock.to_fixed_point();
        io.convert(|ticks| fixed.ticks_to_ns(ticks as u64), clock.ns_per_tick);
        Ok(self.cut_file_io(rank, io))
    }

    /// Totals of a rank's calls per descriptor.
    ///
    /// Tags and request identities are cleared, because totals do not depend on them. In a profile, and with tens of thousands of different
    /// descriptors, the sizes in a descriptor are the upper bound of a size class; the sizes in the totals are exact.
    pub fn totals(&self, rank: u32) -> Result<Vec<(CallDescriptor, DescriptorTotals)>, Error> {
        if let Some(threads) = self.excerpt_threads(rank) {
            return Ok(Recording::excerpt_totals(threads));
        }
        let Some((rank, mut blocks)) = self.open_blocks(rank)? else { return Ok(Vec::new()) };
        let (mut totals, mut builder) = (TotalsBuilder::default(), TableBuilder::new(0, 0));
        self.for_each_block(rank, &mut blocks, |block| {
            if let Some(sums) = block.totals() {
                let mut descriptors = Vec::new();
                block.read_descriptors(&self.functions, &mut descriptors)?;
                totals.add_sums(descriptors, &sums, rank.clock.ns_per_tick);
                return Some(());
            }
            builder.clear();
            builder.add(block, &self.functions, &rank.clock)?;
            totals.add_calls(&builder.table);
            Some(())
        });
        Ok(totals.into_totals())
    }

    /// Nanoseconds in MPI of each thread of a rank of a profile.
    pub fn profile_threads(&self, rank: u32) -> Result<BTreeMap<u16, u64>, Error> {
        let mut threads: BTreeMap<u16, u64> = BTreeMap::new();
        let Some((rank, mut blocks)) = self.open_blocks(rank)? else { return Ok(threads) };
        self.for_each_block(rank, &mut blocks, |block| {
            let (mut totals, mut descriptors) = (TotalsBuilder::default(), Vec::new());
            let sums = block.totals()?;
            block.read_descriptors(&self.functions, &mut descriptors)?;
            totals.add_sums(descriptors, &sums, rank.clock.ns_per_tick);
            let ns: u64 = totals.into_totals().iter().map(|(_, totals)| totals.total_ns).fold(0, u64::saturating_add);
            let sum = threads.entry(block.header().thread).or_default();
            *sum = sum.saturating_add(ns);
            Some(())
        });
        Ok(threads)
    }

    /// The ranks with incomplete data, and why.
    pub fn incomplete_ranks(&self) -> Vec<(u32, IncompleteReason)> {
        self.header.ranks.par_iter().for_each(|rank| {
            // An I/O error here is reported when the calls are read.
            let _ = self.count_calls(rank);
        });
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let known: BTreeMap<u32, &RecordedRank> = self.header.ranks.iter().map(|rank| (rank.rank, rank)).collect();
        let reason = |number: u32| match known.get(&number) {
            None => Some(IncompleteReason::NoData),
            Some(rank) if rank.damaged_blocks > 0 => Some(IncompleteReason::DamagedBlocks(rank.damaged_blocks)),
            Some(rank) if rank.end == ProcessExit::CutShort => Some(IncompleteReason::CutShort),
            Some(_) => None,
        };
        // A rank that has nothing in a part of the run is not incomplete.
        let ranks = (0..self.header.size as u32).filter(|rank| self.excerpt.is_none() || known.contains_key(rank));
        ranks.filter_map(|rank| Some((rank, faults.get(&rank).copied().or_else(|| reason(rank))?))).collect()
    }

    /// Members of a communicator as ranks of the recording, in communicator order; empty if the index is invalid.
    pub fn members(&self, communicator: u32) -> &[i32] {
        self.cached_ranks(communicator, |group| &group.members, |c| Some(&c.members))
    }

    /// The remote group of an intercommunicator; otherwise empty.
    pub fn remote(&self, communicator: u32) -> &[i32] {
        self.cached_ranks(communicator, |group| &group.remote, |c| c.remote.as_ref())
    }

    /// Index of a rank's `MPI_COMM_WORLD`; spawned processes have their own.
    pub fn world(&self, rank: u32) -> u32 {
        // Ranks of a world are contiguous.
        let contains = |number: &u32| {
            let members = self.members(*number);
            members.first().zip(members.last()).is_some_and(|(first, last)| (*first..=*last).contains(&(rank as i32)))
        };
        self.worlds.iter().copied().find(contains).unwrap_or(0)
    }

    /// The neighbours of a rank in a communicator; `None` without a topology or in an old recording.
    pub fn neighbours(&self, communicator: u32, rank: u32) -> Option<&TopologyNeighbours> {
        let index = communicator as usize;
        let (group, defined) = self.members.get(index).zip(self.header.communicators.get(index))?;
        group.neighbours.get_or_init(|| neighbours::decode(&defined.neighbours)).get(&rank)
    }

    /// The ranks of a group named by a call; empty if the index is invalid.
    pub fn named_group(&self, number: i32) -> &[i32] {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let Some((group, ranks)) = self.named_groups.get(index).zip(self.header.groups.get(index)) else { return &[] };
        group.get_or_init(|| parse_ranks(ranks).unwrap_or_default())
    }

    fn cached_ranks<'a>(
        &'a self,
        communicator: u32,
        known: impl Fn(&'a CommunicatorMembers) -> &'a OnceLock<Vec<i32>>,
        text: impl Fn(&'a header::CommunicatorDefinition) -> Option<&'a String>,
    ) -> &'a [i32] {
        let index = communicator as usize;
        let Some((group, defined)) = self.members.get(index).zip(self.header.communicators.get(index)) else { return &[] };
        known(group).get_or_init(|| text(defined).and_then(|ranks| parse_ranks(ranks)).unwrap_or_default())
    }

    /// A call site; an empty one if the index is invalid.
    pub fn site(&self, site: u32) -> &CallSiteDefinition {
        self.header.sites.get(site as usize).unwrap_or(&self.unknown_site)
    }

    /// The call paths of its call sites.
    pub fn call_paths(&self) -> &CallPaths {
        self.call_paths.get_or_init(|| CallPaths::new(&self.header.sites))
    }

    /// The file of a rank.
    pub(crate) fn rank_path(&self, rank: u32) -> PathBuf {
        self.folder.join(sealed::file_name(rank))
    }

    /// The entry and the file of a rank; `None` if it has no data.
    pub(crate) fn open_blocks(&self, rank: u32) -> Result<Option<(&RecordedRank, BlockReader)>, Error> {
        let Some(rank) = self.header.rank(rank) else { return Ok(None) };
        match BlockReader::open(&self.rank_path(rank.rank)) {
            Ok(blocks) => Ok(Some((rank, blocks))),
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                self.note_incomplete(rank.rank, IncompleteReason::FileMissing);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Number of calls of each thread in the file of a rank.
    fn count_calls(&self, rank: &RecordedRank) -> Result<BTreeMap<u16, usize>, Error> {
        let mut counts = BTreeMap::new();
        if self.excerpt.is_some() {
            return Ok(counts);
        }
        let Some((_, mut blocks)) = self.open_blocks(rank.rank)? else { return Ok(counts) };
        while let Some(header) = blocks.next_header() {
            match header {
                // Each call takes at least a byte, so a larger count is damage and must not be allocated.
                Ok(header) if header.calls <= header.body => *counts.entry(header.thread).or_default() += header.calls,
                Ok(_) => {}
                Err(fault) => self.note_fault(rank.rank, fault),
            }
        }
        let lost = !self.header.profile && counts.values().map(|n| *n as u64).sum::<u64>() < rank.calls;
        if lost {
            self.note_incomplete(rank.rank, IncompleteReason::FileTruncated(blocks.position()));
        }
        Ok(counts)
    }

    /// Passes every readable block to `use_block` and notes the others.
    fn for_each_block(&self, rank: &RecordedRank, blocks: &mut BlockReader, mut use_block: impl FnMut(&sealed::SealedBlock) -> Option<()>) {
        while self.next_block(rank, blocks, &mut use_block) {}
    }

    /// Passes the next readable block to `use_block` and notes unreadable ones before it; `false` at the end.
    pub(crate) fn next_block(
        &self,
        rank: &RecordedRank,
        blocks: &mut BlockReader,
        mut use_block: impl FnMut(&sealed::SealedBlock) -> Option<()>,
    ) -> bool {
        loop {
            let at = blocks.position();
            match blocks.next() {
                None => return false,
                Some(Ok(block)) if use_block(&block).is_some() => return true,
                Some(Ok(_)) => self.note_fault(rank.rank, FileFault::Damaged(at)),
                Some(Err(fault)) => self.note_fault(rank.rank, fault),
            }
        }
    }

    pub(crate) fn note_fault(&self, rank: u32, fault: FileFault) {
        self.note_incomplete(
            rank,
            match fault {
                FileFault::Truncated(at) => IncompleteReason::FileTruncated(at),
                FileFault::Damaged(at) => IncompleteReason::FileDamaged(at),
            },
        );
    }

    fn note_incomplete(&self, rank: u32, reason: IncompleteReason) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).entry(rank).or_insert(reason);
    }
}
