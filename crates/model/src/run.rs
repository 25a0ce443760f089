//! One recorded run as a model needs it: how long it took, what that time was made of, how busy each role was, and what it sent.
//!
//! The time of a run goes from the moment the first rank leaves `MPI_Init` to the moment the last one comes to `MPI_Finalize`. The parts of
//! its critical path, with the time until the rank left `MPI_Init` on which that path begins, add up to exactly this time. Which of two
//! ranks the path goes by is chance where they are equally late; so of each part it is also known what a rank spends in it on average,
//! without waiting, whether the path goes by or not.

use std::collections::{BTreeMap, HashMap};

use sintonia_insight::gaps::Gaps;
use sintonia_insight::path::Path;
use sintonia_insight::segment::{self, Segment};
use sintonia_insight::wait::{self, Wait};
use sintonia_mpi::{Operation, Role as Does};
use sintonia_program::company::Alone;
use sintonia_program::graph::{ProgramGraph, Role, Visit};
use sintonia_program::history::{History, Line};
use sintonia_recording::Recording;

use crate::part::{Part, Spot};

/// The parameter that is the number of ranks.
pub const RANKS: &str = "p";

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it is called: the path of the recording.
    pub name: String,
    /// The command that was recorded.
    pub command: Vec<String>,
    /// How many hosts it ran on.
    pub hosts: usize,
    /// Its parameters, the number of ranks among them.
    pub parameters: BTreeMap<String, f64>,
    /// Seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
    pub seconds: f64,
    /// Seconds before and after that: in `MPI_Init` and in `MPI_Finalize`, from the first rank that entered to the last one that left.
    pub around_s: f64,
    /// The parts of its time; none if only sums were recorded.
    pub parts: BTreeMap<Part, PartTime>,
    /// The roles of its ranks.
    pub roles: Vec<RoleTime>,
    /// What was called where.
    pub traffic: BTreeMap<Spot, Traffic>,
}

/// How long a part took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartTime {
    /// Seconds of it on the critical path.
    pub path_s: f64,
    /// Seconds that a rank spent in it without waiting for others, on average over the ranks that came by.
    pub each_s: f64,
    /// How many ranks came by.
    pub ranks: usize,
}

/// How busy the ranks of a role were.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleTime {
    /// What the role is called.
    pub name: String,
    /// How many ranks have it.
    pub ranks: usize,
    /// What its ranks call: that is how it is known again in another run.
    pub spots: Vec<Spot>,
    /// Seconds that its busiest rank computed or was in operations without waiting for others.
    pub busy_s: f64,
}

/// What was called at a spot, by all ranks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many ranks came by.
    pub ranks: u64,
    /// How many calls.
    pub calls: u64,
    /// Bytes that they sent or received, whichever is more.
    pub bytes: u64,
}

/// Why a recording cannot be used for a model.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// It cannot be replayed.
    #[error(transparent)]
    Replay(#[from] sintonia_insight::Error),
    /// It does not hold the whole run.
    #[error("{name}: rank {rank} is not there completely ({why}), so the time of this run says nothing; record it again")]
    Incomplete {
        /// The recording.
        name: String,
        /// The rank.
        rank: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A parameter has the name of the number of ranks, and another value.
    #[error("{name}: the parameter {RANKS} is {given}, but the run had {ranks} ranks; {RANKS} is always the number of ranks")]
    OtherRanks {
        /// The recording.
        name: String,
        /// What `--param` said.
        given: f64,
        /// How many there were.
        ranks: usize,
    },
    /// Nothing was recorded.
    #[error("{name} holds no MPI calls: there is nothing to fit")]
    Empty {
        /// The recording.
        name: String,
    },
}

impl Run {
    /// How often `progress` is called for a recording.
    pub fn steps(recording: &Recording) -> usize {
        recording.header.ranks.len() * (1 + ProgramGraph::READINGS)
    }

    /// Reads a run; `progress` is called after each reading of a rank.
    pub fn of(name: &str, recording: &Recording, progress: &(dyn Fn() + Sync)) -> Result<Run, Unusable> {
        let mut run = Run {
            name: name.to_owned(),
            command: recording.header.command.clone(),
            hosts: recording.header.hosts.len(),
            parameters: parameters(name, recording)?,
            seconds: 0.0,
            around_s: 0.0,
            parts: BTreeMap::new(),
            roles: Vec::new(),
            traffic: BTreeMap::new(),
        };
        if recording.header.profile {
            // Sums know neither order nor waits: only how long it all took.
            let efficiency = sintonia_insight::Run::of(name, recording, &Alone, progress)?;
            run.seconds = efficiency.work_s;
        } else {
            let history = History::read(recording, &Alone, progress)?;
            let graph = ProgramGraph::of(recording, progress)?;
            run.understand(recording, &history, &graph)?;
        }
        if let Some((rank, why)) = Gaps::of(recording, &Alone).incomplete.into_iter().next() {
            return Err(Unusable::Incomplete { name: name.to_owned(), rank, why });
        }
        run.around_s = (whole_s(recording) - run.seconds).max(0.0);
        Ok(run)
    }

    fn understand(&mut self, recording: &Recording, history: &History, graph: &ProgramGraph) -> Result<(), Unusable> {
        let span = Span::of(history).ok_or_else(|| Unusable::Empty { name: self.name.clone() })?;
        let waits = wait::find(history);
        let path = Path::of(history, &waits, &Alone);
        self.seconds = seconds(span.length());
        self.parts = PartSums::of(recording, history, &waits, &path).into_times();
        let start = seconds(span.length() - path.length_ns());
        self.parts.insert(Part::Start, PartTime { path_s: start, each_s: start, ranks: recording.header.size });
        let busy = busy(history, &waits);
        self.roles = graph.roles.iter().map(|role| RoleTime::of(recording, graph, role, &busy)).collect();
        for role in &graph.roles {
            for (node, visit) in &role.visits {
                let node = &graph.nodes[*node];
                self.traffic.entry(Spot::of(recording, node.operation, node.site)).or_default().add(role, visit);
            }
        }
        Ok(())
    }
}

impl RoleTime {
    fn of(recording: &Recording, graph: &ProgramGraph, role: &Role, busy: &HashMap<u32, i64>) -> RoleTime {
        let spot = |(node, _): &(usize, Visit)| Spot::of(recording, graph.nodes[*node].operation, graph.nodes[*node].site);
        let mut spots: Vec<Spot> = role.visits.iter().map(spot).collect();
        spots.sort_unstable();
        spots.dedup();
        let busiest = role.ranks.iter().filter_map(|rank| busy.get(rank)).max();
        RoleTime { name: role.name.clone(), ranks: role.ranks.len(), spots, busy_s: seconds(busiest.copied().unwrap_or(0)) }
    }
}

impl Traffic {
    fn add(&mut self, role: &Role, visit: &Visit) {
        self.ranks += role.ranks.len() as u64;
        self.calls += visit.calls.count;
        self.bytes = self.bytes.saturating_add(visit.sent.max(visit.received));
    }
}

/// The run between `MPI_Init` and `MPI_Finalize`.
struct Span {
    begin: i64,
    end: i64,
}

impl Span {
    fn of(history: &History) -> Option<Span> {
        let begin = history.lines.iter().filter_map(begin).min()?;
        let end = history.lines.iter().filter_map(end).max()?;
        (begin <= end).then_some(Span { begin, end })
    }

    fn length(&self) -> i64 {
        self.end - self.begin
    }
}

/// When a line has left the call that starts MPI, or enters its first call if that is another thread's.
fn begin(line: &Line) -> Option<i64> {
    let init = (0..line.len()).find(|row| line.role(*row) == Does::Init);
    init.map(|row| line.calls.leave[row]).or_else(|| line.calls.enter.first().copied())
}

/// When a line enters the call that ends MPI, or leaves its last one if there is none.
fn end(line: &Line) -> Option<i64> {
    let finalize = (0..line.len()).rev().find(|row| line.role(*row) == Does::Finalize);
    finalize.map(|row| line.calls.enter[row]).or_else(|| line.calls.leave.last().copied())
}

/// Nanoseconds that each rank was not waiting for others, on the thread that started MPI.
fn busy(history: &History, waits: &[Vec<Wait>]) -> HashMap<u32, i64> {
    let mut busy = HashMap::new();
    for (line, waits) in history.lines.iter().zip(waits) {
        let waited: i64 = waits.iter().filter(|wait| is_work(line, wait.row as usize)).map(|wait| wait.ns).sum();
        if let Some((begin, end)) = begin(line).zip(end(line)) {
            busy.entry(line.rank).or_insert((end - begin - waited).max(0));
        }
    }
    busy
}

/// The parts of a run in nanoseconds.
struct PartSums {
    sums: BTreeMap<Part, (i64, BTreeMap<u32, i64>)>,
}

impl PartSums {
    fn of(recording: &Recording, history: &History, waits: &[Vec<Wait>], path: &Path) -> PartSums {
        let operations = operations(history);
        let spot = |site: u32| match operations.get(&site) {
            Some(operation) => Spot::of(recording, *operation, site),
            None => Spot { operation: "MPI".into(), place: "an unknown place".into() },
        };
        let computation = |segment: &Segment| Part::Computation { from: spot(segment.from), to: spot(segment.to) };
        let mut parts = PartSums { sums: BTreeMap::new() };
        for (segment, ns) in &path.segments {
            parts.on_path(computation(segment), *ns);
        }
        for (site, ns) in &path.calls {
            parts.on_path(Part::Communication { at: spot(*site) }, *ns);
        }
        for (segment, ranks) in segment::segments(history, &Alone) {
            ranks.iter().for_each(|(rank, spent)| parts.on_rank(computation(&segment), *rank, spent.ns));
        }
        for (line, waits) in history.lines.iter().zip(waits) {
            for (site, ns) in in_calls(line, waits) {
                parts.on_rank(Part::Communication { at: spot(site) }, line.rank, ns);
            }
        }
        parts
    }

    fn on_path(&mut self, part: Part, ns: i64) {
        self.sums.entry(part).or_default().0 += ns;
    }

    fn on_rank(&mut self, part: Part, rank: u32, ns: i64) {
        *self.sums.entry(part).or_default().1.entry(rank).or_default() += ns;
    }

    /// The parts that take time.
    fn into_times(self) -> BTreeMap<Part, PartTime> {
        let time = |path: i64, ranks: BTreeMap<u32, i64>| PartTime {
            path_s: seconds(path),
            each_s: ranks.values().map(|ns| seconds(*ns)).sum::<f64>() / ranks.len().max(1) as f64,
            ranks: ranks.len(),
        };
        let times = self.sums.into_iter().map(|(part, (path, ranks))| (part, time(path, ranks)));
        times.filter(|(_, time)| time.path_s > 0.0 || time.each_s > 0.0).collect()
    }
}

/// Nanoseconds that a line was in the calls of each call site without waiting, between the start and the end of MPI.
fn in_calls(line: &Line, waits: &[Wait]) -> HashMap<u32, i64> {
    let mut sums: HashMap<u32, i64> = HashMap::new();
    for row in (0..line.len()).filter(|row| is_work(line, *row)) {
        *sums.entry(segment::site(line, row)).or_default() += line.calls.leave[row] - line.calls.enter[row];
    }
    for wait in waits.iter().filter(|wait| is_work(line, wait.row as usize)) {
        *sums.entry(segment::site(line, wait.row as usize)).or_default() -= wait.ns;
    }
    sums
}

/// Whether a call is between the start and the end of MPI.
fn is_work(line: &Line, row: usize) -> bool {
    !matches!(line.role(row), Does::Init | Does::Finalize)
}

/// The operation that is called at each call site.
fn operations(history: &History) -> HashMap<u32, Operation> {
    history.lines.iter().flat_map(|line| &line.calls.shapes).map(|shape| (shape.site, shape.operation)).collect()
}

fn parameters(name: &str, recording: &Recording) -> Result<BTreeMap<String, f64>, Unusable> {
    let mut parameters = recording.header.parameters.clone();
    let ranks = recording.header.size;
    match parameters.insert(RANKS.to_owned(), ranks as f64) {
        Some(given) if given != ranks as f64 => Err(Unusable::OtherRanks { name: name.to_owned(), given, ranks }),
        _ => Ok(parameters),
    }
}

/// Seconds from the first moment of any rank to the last one.
fn whole_s(recording: &Recording) -> f64 {
    let begin = recording.header.ranks.iter().map(|rank| rank.begin_ns).min();
    let end = recording.header.ranks.iter().map(|rank| rank.end_ns).max();
    begin.zip(end).map_or(0.0, |(begin, end)| seconds(end.saturating_sub(begin)))
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
