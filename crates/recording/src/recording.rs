//! A recording as everything else sees it: a header and tables of calls, whatever state its files are in.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use tempfile::TempDir;

use crate::calls::{Calls, Lane};
use crate::definitions::{LIVE_FOLDER, MOST_RANKS, read_ranks};
use crate::error::Error;
use crate::excerpt::{Excerpts, Survey};
use crate::header::{self, End, Header, Rank, Site};
use crate::neighbours::{self, Neighbours};
use crate::seal;
use crate::sealed::{self, Blocks, Fault, Merge, Operations};
use crate::table::{CallTable, Shape, Totals};
use crate::thread::ThreadCalls;
use crate::totals::Summary;

/// What made the communicator of all processes that started together.
const WORLD: &str = "MPI_COMM_WORLD";

/// A recording.
pub struct Recording {
    /// Everything about it except the calls.
    pub header: Header,
    folder: PathBuf,
    operations: Operations,
    groups: Vec<Group>,
    named_groups: Vec<OnceLock<Vec<i32>>>,
    unknown_site: Site,
    /// What was found to be wrong with the files of ranks.
    faults: Mutex<BTreeMap<u32, Incomplete>>,
    /// Where a recording that was never sealed is sealed for as long as it is read.
    _temporary: Option<TempDir>,
}

/// The members of a communicator, read when first asked for.
#[derive(Default)]
struct Group {
    members: OnceLock<Vec<i32>>,
    remote: OnceLock<Vec<i32>>,
    neighbours: OnceLock<HashMap<u32, Neighbours>>,
}

/// Why not everything is known of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// It left nothing.
    Absent,
    /// Its file is not there.
    FileMissing,
    /// Its file ends at this byte, before its end.
    FileCut(u64),
    /// Its file is damaged at this byte.
    FileDamaged(u64),
    /// It was killed, or its host vanished.
    CutShort,
    /// So many of its blocks were lost or damaged while it ran.
    Damaged(u64),
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incomplete::Absent => write!(f, "left nothing"),
            Incomplete::FileMissing => write!(f, "its file is missing"),
            Incomplete::FileCut(byte) => write!(f, "its file is cut at byte {byte}"),
            Incomplete::FileDamaged(byte) => write!(f, "its file is damaged at byte {byte}"),
            Incomplete::CutShort => write!(f, "cut short"),
            Incomplete::Damaged(blocks) => write!(f, "{blocks} damaged block{}", if *blocks == 1 { "" } else { "s" }),
        }
    }
}

impl Recording {
    /// Opens a recording. One that was never sealed, because the run goes on or `record` was killed, is sealed in a temporary place.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        let not_a_recording = |what: &str| Error::NotARecording { path: path.to_owned(), what: what.to_owned() };
        let checked = |header: Header| {
            let believable = header.size <= MOST_RANKS && header.ranks.iter().all(|rank| (rank.rank as usize) < MOST_RANKS);
            if believable { Ok(header) } else { Err(not_a_recording("it tells of more processes than any machine runs")) }
        };
        if !path.exists() {
            return Err(Error::Missing { path: path.to_owned() });
        }
        if !path.is_dir() {
            return Err(not_a_recording("it is a file"));
        }
        if path.join(header::FILE).exists() {
            return Ok(Recording::new(checked(Header::read(path)?)?, path.to_owned(), None));
        }
        if !path.join(LIVE_FOLDER).is_dir() {
            return Err(not_a_recording(&format!("it has no {}", header::FILE)));
        }
        let temporary = tempfile::tempdir().map_err(|source| Error::Io { path: std::env::temp_dir(), source })?;
        let header = checked(seal::seal_copy(path, temporary.path())?)?;
        Ok(Recording::new(header, temporary.path().to_owned(), Some(temporary)))
    }

    fn new(header: Header, folder: PathBuf, temporary: Option<TempDir>) -> Recording {
        Recording {
            operations: Operations::named(&header.operations),
            groups: header.communicators.iter().map(|_| Group::default()).collect(),
            named_groups: header.groups.iter().map(|_| OnceLock::new()).collect(),
            header,
            folder,
            unknown_site: Site::default(),
            faults: Mutex::default(),
            _temporary: temporary,
        }
    }

    /// The calls of a rank, one table per thread; as many as can be read. There is none for a rank that left nothing, and in a profile.
    pub fn tables(&self, rank: u32) -> Result<Vec<CallTable>, Error> {
        let Some((rank, mut blocks)) = self.blocks(rank)?.filter(|_| !self.header.profile) else { return Ok(Vec::new()) };
        let mut merges: BTreeMap<u16, Merge> = BTreeMap::new();
        for (thread, calls) in self.count(rank)? {
            merges.insert(thread, Merge::new(thread, calls));
        }
        self.each_block(rank, &mut blocks, |block| {
            let merge = merges.entry(block.header().thread).or_insert_with_key(|thread| Merge::new(*thread, 0));
            merge.add(block, &self.operations, &rank.clock)
        });
        Ok(merges.into_values().map(|merge| merge.table).filter(|table| !table.is_empty()).collect())
    }

    /// The calls of a rank one by one, in the order in which they ended: for whoever must not need more memory for longer runs. There is
    /// none for a rank that left nothing, and in a profile.
    pub fn calls(&self, rank: u32) -> Result<Calls<'_>, Error> {
        let mut lanes = Vec::new();
        for thread in self.threads(rank)? {
            if let Some((rank, blocks)) = self.blocks(rank)? {
                lanes.push(Lane::new(Parts { recording: self, rank, blocks: blocks.only(thread), part: Merge::new(thread, 0) }));
            }
        }
        Ok(Calls { lanes })
    }

    /// The threads of a rank that called MPI, each to be read a few calls at a time; none for a rank that left nothing, and in a profile.
    pub fn threads(&self, rank: u32) -> Result<Vec<u16>, Error> {
        let threads = self.header.rank(rank).filter(|_| !self.header.profile).map(|rank| self.count(rank)).transpose()?;
        Ok(threads.unwrap_or_default().into_keys().collect())
    }

    /// The calls of one thread; `None` for a rank that left nothing.
    pub fn thread(&self, rank: u32, thread: u16) -> Option<ThreadCalls<'_>> {
        let path = self.folder.join(sealed::file_name(rank));
        self.header.rank(rank).map(|rank| ThreadCalls::new(self, rank, thread, path))
    }

    /// The blocks of a rank, for whoever wants to come back to some of its calls; `None` for a rank that left nothing, and in a profile.
    pub fn survey(&self, rank: u32) -> Result<Option<Survey<'_>>, Error> {
        let found = self.blocks(rank)?.filter(|_| !self.header.profile);
        Ok(found.map(|(rank, blocks)| Survey::new(self, rank, blocks)))
    }

    /// Reads calls of a rank where a survey found them; `None` for a rank that left nothing.
    pub fn excerpts(&self, rank: u32) -> Result<Option<Excerpts>, Error> {
        let path = self.folder.join(sealed::file_name(rank));
        self.header.rank(rank).map(|rank| Excerpts::open(rank, path)).transpose()
    }

    /// The folder that holds its files; that of a recording which was never sealed is a temporary one.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.operations
    }

    /// The calls of a rank summed up by shape.
    ///
    /// Sums do not care for order, so tags and the identity of listed requests are left out of the shapes. In a profile, and in a
    /// recording with tens of thousands of different shapes, the bytes in a shape are the upper bound of a size class; the bytes in the
    /// totals are exact.
    pub fn totals(&self, rank: u32) -> Result<Vec<(Shape, Totals)>, Error> {
        let Some((rank, mut blocks)) = self.blocks(rank)? else { return Ok(Vec::new()) };
        let (mut summary, mut merge) = (Summary::default(), Merge::new(0, 0));
        self.each_block(rank, &mut blocks, |block| {
            if let Some(sums) = block.sums() {
                let mut shapes = Vec::new();
                block.shapes(&self.operations, &mut shapes)?;
                summary.add_sums(shapes, &sums, rank.clock.ns_per_tick);
                return Some(());
            }
            merge.clear();
            merge.add(block, &self.operations, &rank.clock)?;
            summary.add_calls(&merge.table);
            Some(())
        });
        Ok(summary.into_totals())
    }

    /// The ranks of which not everything is known, and why.
    pub fn incomplete_ranks(&self) -> Vec<(u32, Incomplete)> {
        self.header.ranks.par_iter().for_each(|rank| {
            // Whatever keeps the file from being read is told by whoever reads its calls.
            let _ = self.count(rank);
        });
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let known: BTreeMap<u32, &Rank> = self.header.ranks.iter().map(|rank| (rank.rank, rank)).collect();
        let why = |number: u32| match known.get(&number) {
            None => Some(Incomplete::Absent),
            Some(rank) if rank.damaged_blocks > 0 => Some(Incomplete::Damaged(rank.damaged_blocks)),
            Some(rank) if rank.end == End::CutShort => Some(Incomplete::CutShort),
            Some(_) => None,
        };
        (0..self.header.size as u32).filter_map(|rank| Some((rank, faults.get(&rank).copied().or_else(|| why(rank))?))).collect()
    }

    /// The members of a communicator, as ranks of the recording in their order; empty if there is no such communicator.
    pub fn members(&self, communicator: u32) -> &[i32] {
        self.group(communicator, |group| &group.members, |c| Some(&c.members))
    }

    /// The other group of an intercommunicator; empty if it is none.
    pub fn remote(&self, communicator: u32) -> &[i32] {
        self.group(communicator, |group| &group.remote, |c| c.remote.as_ref())
    }

    /// The `MPI_COMM_WORLD` of a rank, by number: processes that were spawned have one of their own.
    pub fn world(&self, rank: u32) -> u32 {
        let worlds = self.header.communicators.iter().enumerate().filter(|(_, communicator)| communicator.made_by == WORLD);
        // The ranks of a world follow each other.
        let holds = |number: &u32| {
            let members = self.members(*number);
            members.first().zip(members.last()).is_some_and(|(first, last)| (*first..=*last).contains(&(rank as i32)))
        };
        worlds.map(|(place, _)| place as u32).find(holds).unwrap_or(0)
    }

    /// The neighbours of a rank in a communicator; `None` if it has no topology, or an old recording does not tell.
    pub fn neighbours(&self, communicator: u32, rank: u32) -> Option<&Neighbours> {
        let place = communicator as usize;
        let (group, defined) = self.groups.get(place).zip(self.header.communicators.get(place))?;
        group.neighbours.get_or_init(|| neighbours::read(&defined.neighbours)).get(&rank)
    }

    /// The ranks of a group that a call named; empty if there is no such group.
    pub fn named_group(&self, number: i32) -> &[i32] {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let Some((group, ranks)) = self.named_groups.get(place).zip(self.header.groups.get(place)) else { return &[] };
        group.get_or_init(|| read_ranks(ranks).unwrap_or_default())
    }

    fn group<'a>(
        &'a self,
        communicator: u32,
        known: impl Fn(&'a Group) -> &'a OnceLock<Vec<i32>>,
        text: impl Fn(&'a header::Communicator) -> Option<&'a String>,
    ) -> &'a [i32] {
        let place = communicator as usize;
        let Some((group, defined)) = self.groups.get(place).zip(self.header.communicators.get(place)) else { return &[] };
        known(group).get_or_init(|| text(defined).and_then(|ranks| read_ranks(ranks)).unwrap_or_default())
    }

    /// A call site; one without a name if there is no such number.
    pub fn site(&self, site: u32) -> &Site {
        self.header.sites.get(site as usize).unwrap_or(&self.unknown_site)
    }

    /// The rank and its file; `None` if there is nothing of it.
    fn blocks(&self, rank: u32) -> Result<Option<(&Rank, Blocks)>, Error> {
        let Some(rank) = self.header.rank(rank) else { return Ok(None) };
        match Blocks::open(&self.folder.join(sealed::file_name(rank.rank))) {
            Ok(blocks) => Ok(Some((rank, blocks))),
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                self.note(rank.rank, Incomplete::FileMissing);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// How many calls of each thread the file of a rank holds.
    fn count(&self, rank: &Rank) -> Result<BTreeMap<u16, usize>, Error> {
        let mut counts = BTreeMap::new();
        let Some((_, mut blocks)) = self.blocks(rank.rank)? else { return Ok(counts) };
        while let Some(header) = blocks.skip() {
            match header {
                // More calls than bytes are not counted: the block cannot be read, and no room should be made for it.
                Ok(header) if header.calls <= header.body => *counts.entry(header.thread).or_default() += header.calls,
                Ok(_) => {}
                Err(fault) => self.fault(rank.rank, fault),
            }
        }
        let lost = !self.header.profile && counts.values().map(|n| *n as u64).sum::<u64>() < rank.calls;
        if lost {
            self.note(rank.rank, Incomplete::FileCut(blocks.position()));
        }
        Ok(counts)
    }

    /// Hands out the blocks that can be read, and notes those that cannot.
    fn each_block(&self, rank: &Rank, blocks: &mut Blocks, mut use_block: impl FnMut(&sealed::Block) -> Option<()>) {
        while self.next_block(rank, blocks, &mut use_block) {}
    }

    /// Hands out the next block that can be read, notes those before it that cannot, and says whether there was one.
    pub(crate) fn next_block(&self, rank: &Rank, blocks: &mut Blocks, mut use_block: impl FnMut(&sealed::Block) -> Option<()>) -> bool {
        loop {
            let at = blocks.position();
            match blocks.next() {
                None => return false,
                Some(Ok(block)) if use_block(&block).is_some() => return true,
                Some(Ok(_)) => self.fault(rank.rank, Fault::Damaged(at)),
                Some(Err(fault)) => self.fault(rank.rank, fault),
            }
        }
    }

    pub(crate) fn fault(&self, rank: u32, fault: Fault) {
        self.note(
            rank,
            match fault {
                Fault::Cut(at) => Incomplete::FileCut(at),
                Fault::Damaged(at) => Incomplete::FileDamaged(at),
            },
        );
    }

    fn note(&self, rank: u32, why: Incomplete) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).entry(rank).or_insert(why);
    }
}

/// The calls of one thread, a part at a time.
pub(crate) struct Parts<'a> {
    recording: &'a Recording,
    rank: &'a Rank,
    blocks: Blocks,
    part: Merge,
}

impl Parts<'_> {
    /// Goes on to the next part, with shapes of its own, and says whether there is one.
    pub fn advance(&mut self) -> bool {
        let Parts { recording, rank, blocks, part } = self;
        part.clear();
        recording.next_block(rank, blocks, |block| part.add(block, &recording.operations, &rank.clock))
    }

    /// The part.
    pub fn table(&self) -> &CallTable {
        &self.part.table
    }
}
