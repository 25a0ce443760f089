//! What is found in the history of a run, put together over all ranks.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::Operation;
use sintonia_program::company::Company;
use sintonia_program::graph::ProgramGraph;
use sintonia_program::history::{History, Repair, Unmatched};
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::advice::clues::{Clues, Sites};
use crate::advice::replay::{self, Replay};
use crate::advice::{self, Suspect, evidence};
use crate::delay::{self, Costs};
use crate::gaps::Gaps;
use crate::ideal::Ideal;
use crate::path::Path;
use crate::phases::{self, PhaseEfficiency};
use crate::segment::{self, Segments};
use crate::wait::{self, PATTERNS, Pattern, Wait};

/// What was found; every process of the company has all of it.
pub struct Findings {
    /// Waits by kind and the call that waited.
    pub waits: Vec<Waits>,
    /// Nanoseconds that the run would take on an ideal network, from MPI_Init to MPI_Finalize.
    pub ideal_ns: i64,
    /// The critical path.
    pub path: Path,
    /// What computation made others wait.
    pub costs: Costs,
    /// How long each rank computed where.
    pub segments: Segments,
    /// Ranks of which not everything is known.
    pub gaps: Gaps,
    /// Messages with one end.
    pub unmatched: Unmatched,
    /// What had to be put right about the clocks.
    pub repair: Repair,
    /// The phases of the program, and how well the time in each was used.
    pub phases: Vec<PhaseEfficiency>,
    /// What the rules of advice look at.
    pub clues: Clues,
    /// What makes the run longer than it has to be, most first.
    pub suspects: Vec<Suspect>,
}

/// The waits of one kind at one call site.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// What kind they are.
    pub pattern: &'static Pattern,
    /// The function that waited.
    pub operation: Operation,
    /// Its call site.
    pub site: u32,
    /// What each rank waited there.
    pub ranks: BTreeMap<u32, Waited>,
    /// The ranks that were waited for, and how long.
    pub causes: BTreeMap<u32, i64>,
    /// The same by the rank that waited and the one it waited for.
    pub between: BTreeMap<(u32, u32), i64>,
}

/// What one rank waited at a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Waited {
    /// Nanoseconds.
    pub ns: i64,
    /// How often.
    pub times: u64,
    /// The longest.
    pub longest_ns: i64,
}

impl Findings {
    /// Reads the history of a recording and looks for everything; `progress` is called after each rank that was read.
    pub fn of(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<Findings, Error> {
        let mut history = History::read(recording, company, progress)?;
        let waits = wait::find(&history);
        let ideal = Ideal::of(recording, Some(&history))?;
        let graph = ProgramGraph::with(recording, company, progress)?;
        let mut findings = Findings {
            ideal_ns: ideal.elapsed_ns,
            phases: phases::phases(&graph, &history, &ideal, company),
            path: Path::of(&history, &waits, company),
            costs: delay::costs(recording, &history, &waits, company),
            segments: segment::segments(&history, company),
            waits: by_site(&history, &waits, company),
            gaps: Gaps::of(recording, company),
            unmatched: unmatched(&history, company),
            repair: history.repair,
            clues: Clues::default(),
            suspects: Vec::new(),
        };
        if recording.header.size > 1 {
            findings.suspect(recording, &mut history, &waits, company)?;
        }
        Ok(findings)
    }

    /// Looks for what makes the run longer than it has to be: one process alone makes nobody wait.
    fn suspect(&mut self, recording: &Recording, history: &mut History, waits: &[Vec<Wait>], company: &dyn Company) -> Result<(), Error> {
        replay::mark_waiting_sends(history, waits, company);
        let (sites, hosts) = (Sites::of_recording(recording), evidence::hosts(recording));
        let replay = Replay::new(recording, history, waits, &sites, &hosts, company);
        self.clues = Clues::of(recording, history, &replay, sites.clone(), company);
        self.suspects = advice::weigh(recording, self, &replay)?;
        Ok(())
    }
}

impl Waits {
    /// Nanoseconds of all ranks together.
    pub fn ns(&self) -> i64 {
        self.ranks.values().map(|waited| waited.ns).sum()
    }

    /// How often any rank waited.
    pub fn times(&self) -> u64 {
        self.ranks.values().map(|waited| waited.times).sum()
    }

    /// The longest wait.
    pub fn longest_ns(&self) -> i64 {
        self.ranks.values().map(|waited| waited.longest_ns).max().unwrap_or(0)
    }

    /// The ranks that count: each waited more than a tenth of the mean.
    pub fn main_ranks(&self) -> Vec<u32> {
        evidence::main_ranks(&self.ranks.iter().map(|(rank, waited)| (*rank, waited.ns)).collect())
    }
}

fn unmatched(history: &History, company: &dyn Company) -> Unmatched {
    let mine = [history.unmatched.sends, history.unmatched.receives];
    let all = company.swap(vec![vec![mine]; company.size()]).into_iter().flatten();
    all.fold(Unmatched::default(), |sum, [sends, receives]| Unmatched { sends: sum.sends + sends, receives: sum.receives + receives })
}

/// What a rank waited, or was waited for, on its way to other processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Row {
    waited: Waited,
    pattern: u32,
    operation: u32,
    site: u32,
    rank: u32,
    /// The rank that was waited for, or the one that waited if nobody in particular was.
    cause: u32,
    padding: u32,
}

fn by_site(history: &History, waits: &[Vec<Wait>], company: &dyn Company) -> Vec<Waits> {
    let mut sums: BTreeMap<(u32, u32, u32, u32, u32), Waited> = BTreeMap::new();
    for (line, waits) in history.lines.iter().zip(waits) {
        for wait in waits {
            let shape = &line.calls.shapes[line.calls.shape[wait.row as usize] as usize];
            let pattern = PATTERNS.iter().position(|pattern| pattern == wait.pattern).unwrap_or(0) as u32;
            let cause = wait.cause.known().map_or(line.rank, |cause| cause.rank);
            let sum = sums.entry((pattern, shape.operation.0.into(), shape.site, line.rank, cause)).or_default();
            sum.add(Waited { ns: wait.ns, times: 1, longest_ns: wait.ns });
        }
    }
    let row = |((pattern, operation, site, rank, cause), waited)| Row { waited, pattern, operation, site, rank, cause, padding: 0 };
    let mine: Vec<Row> = sums.into_iter().map(row).collect();
    let mut all: BTreeMap<(u32, u32, u32), Waits> = BTreeMap::new();
    for row in company.swap(vec![mine; company.size()]).into_iter().flatten() {
        let waits = all.entry((row.pattern, row.operation, row.site)).or_insert_with(|| Waits {
            pattern: &PATTERNS[row.pattern as usize],
            operation: Operation(row.operation as u16),
            site: row.site,
            ranks: BTreeMap::new(),
            causes: BTreeMap::new(),
            between: BTreeMap::new(),
        });
        waits.ranks.entry(row.rank).or_default().add(row.waited);
        if row.cause != row.rank {
            *waits.causes.entry(row.cause).or_default() += row.waited.ns;
            *waits.between.entry((row.rank, row.cause)).or_default() += row.waited.ns;
        }
    }
    let mut all: Vec<Waits> = all.into_values().collect();
    all.sort_by_key(|waits| std::cmp::Reverse(waits.ns()));
    all
}

impl Waited {
    fn add(&mut self, other: Waited) {
        self.ns += other.ns;
        self.times += other.times;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}
