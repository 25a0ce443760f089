//! One recorded run as the model needs it: its time, the parts of that time, the busy time of each role, and its traffic.
//!
//! The time of a run is from the first rank leaving `MPI_Init` to the last rank entering `MPI_Finalize`. The parts of its critical path, plus
//! the time until its first rank left `MPI_Init`, add up exactly to this time. Which of two equally late ranks the path visits is chance, so
//! each part also has the mean time of a rank in it, without waiting, on the path or not.

use std::collections::{BTreeMap, HashMap};

use sintonia_fit::quantity_kind::QuantityKind;
use sintonia_insight::critical_path::CriticalPathProfile;
use sintonia_insight::segment::{self, Segment};
use sintonia_insight::wait_states::{self, WaitInstance};
use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_program::core_shortage::CoreShortage;
use sintonia_program::graph::{NodeVisits, ProgramGraph, ProgramRole};
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::definitions::parse_ranks;
use sintonia_recording::header::RecordingHeader;
use sintonia_recording::host::{CacheDescription, ProcessMemory};

use crate::run_totals::{self, RunTotal};
use crate::undisturbed::UndisturbedTimes;
use sintonia_insight::program_part::{OperationSite, ProgramPart};

/// The parameter that is the number of ranks.
pub const RANKS_PARAMETER: &str = "p";

/// What a parameter of runs is.
pub(crate) fn parameter_kind(name: &str) -> QuantityKind {
    if name == RANKS_PARAMETER { QuantityKind::Processes } else { QuantityKind::Size }
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredRun {
    /// Its name: the path of the recording.
    pub name: String,
    /// The recorded command.
    pub command: Vec<String>,
    /// The number of hosts.
    pub hosts: usize,
    /// Its parameters, including the number of ranks.
    pub parameters: BTreeMap<String, f64>,
    /// Seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
    pub seconds: f64,
    /// Seconds in `MPI_Init` and `MPI_Finalize`, from the first rank entering to the last rank leaving.
    pub init_finalize_s: f64,
    /// The parts of its time; none for a profile.
    pub parts: BTreeMap<ProgramPart, PartTime>,
    /// The function that takes most of a computation, where there are samples.
    pub functions: BTreeMap<ProgramPart, String>,
    /// The roles of its ranks.
    pub roles: Vec<RoleTime>,
    /// The traffic of each operation site.
    pub traffic: BTreeMap<OperationSite, SiteTraffic>,
    /// Seconds that waiting for cores added to its time, which does not contain them; `None` if it is not known when ranks waited.
    pub scheduling_s: Option<f64>,
    /// The waiting for a core, if it was noticeable.
    pub core_waits: Option<RunCoreWaits>,
    /// Its memory, if it is known.
    pub memory: Option<RunMemory>,
    /// Totals over all threads of all ranks, by name.
    pub totals: BTreeMap<String, RunTotal>,
}

/// The memory of a run, and the caches of its first host.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMemory {
    /// Bytes that the rank with most used after `MPI_Init`.
    pub working_set_bytes: u64,
    /// Logical processors of the host.
    pub processors: usize,
    /// Its caches, nearest first, each with the number of processors that share it.
    pub caches: Vec<(CacheDescription, usize)>,
}

/// How a run was affected by waiting for a core.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCoreWaits {
    /// What happened, in a sentence.
    pub statement: String,
    /// Seconds of the run as recorded.
    pub recorded_s: f64,
    /// Whether the waiting was removed. It cannot be if only its sum is known.
    pub is_removed: bool,
    /// Whether the times of its communication are known; otherwise they are lower bounds.
    pub has_communication: bool,
}

/// The time of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartTime {
    /// Its seconds on the critical path.
    pub path_s: f64,
    /// Mean seconds per rank without waiting, over the ranks that execute it.
    pub mean_rank_s: f64,
    /// The number of ranks that execute it.
    pub ranks: usize,
}

/// The busy time of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleTime {
    /// The name of the role.
    pub name: String,
    /// The number of ranks with this role.
    pub ranks: usize,
    /// The operation sites of its ranks, which identify it in other runs.
    pub sites: Vec<OperationSite>,
    /// Seconds that its busiest rank computed or was in operations without waiting.
    pub busy_s: f64,
}

/// The traffic of an operation site, over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteTraffic {
    /// The number of ranks that execute it.
    pub ranks: u64,
    /// The number of calls.
    pub calls: u64,
    /// Bytes sent or received, whichever is more.
    pub bytes: u64,
}

/// Why a recording cannot be used for a model.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// It cannot be replayed.
    #[error(transparent)]
    Replay(#[from] sintonia_insight::Error),
    /// A parameter is named like the number of ranks, with another value.
    #[error(
        "{name}: the parameter {RANKS_PARAMETER} is {given}, but the run had {ranks} ranks; {RANKS_PARAMETER} is always the number of ranks"
    )]
    RanksMismatch {
        /// The recording.
        name: String,
        /// The value from `--param`.
        given: f64,
        /// The number of ranks.
        ranks: usize,
    },
    /// It holds no calls.
    #[error("{name} holds no MPI calls: there is nothing to fit")]
    Empty {
        /// The recording.
        name: String,
    },
}

impl MeasuredRun {
    /// How often `progress` is called for a recording.
    pub fn progress_steps(recording: &Recording) -> usize {
        recording.header.ranks.len() * (1 + ProgramGraph::PASSES)
    }

    /// Reads a run; `progress` is called after each reading of a rank.
    pub fn from_recording(name: &str, recording: &Recording, progress: &(dyn Fn() + Sync)) -> Result<MeasuredRun, RunError> {
        let mut run = MeasuredRun {
            name: name.to_owned(),
            command: recording.header.command.clone(),
            hosts: recording.header.hosts.len(),
            parameters: parameters(name, recording)?,
            seconds: 0.0,
            init_finalize_s: 0.0,
            parts: BTreeMap::new(),
            functions: BTreeMap::new(),
            roles: Vec::new(),
            traffic: BTreeMap::new(),
            scheduling_s: None,
            core_waits: None,
            memory: RunMemory::from_header(&recording.header),
            totals: run_totals::totals(recording)?,
        };
        let shortage = CoreShortage::from_recording(recording)?;
        let recorded_s;
        if recording.header.profile {
            // Profiles have neither order nor waits, only the total time.
            let efficiency = sintonia_insight::RunEfficiency::from_recording(name, recording, &SingleProcess, progress)?;
            run.seconds = efficiency.work_s;
            recorded_s = run.seconds;
            run.core_waits = shortage.map(|shortage| RunCoreWaits::kept(&shortage, &recording.header));
        } else {
            let mut history = History::read(recording, &SingleProcess, progress)?;
            recorded_s = RunSpan::from_history(&history).map_or(0.0, |span| ns_to_seconds(span.length()));
            let mut has_communication = true;
            if let Some(times) = undisturbed_times(recording, &history, shortage.is_some())? {
                has_communication = times.has_communication;
                history = times.apply(recording, history);
                run.scheduling_s = Some(0.0);
            }
            let graph = ProgramGraph::from_history(recording, &history, &SingleProcess, progress)?;
            run.analyse(recording, &history, &graph)?;
            let is_removed = run.scheduling_s.is_some();
            run.scheduling_s = run.scheduling_s.map(|_| (recorded_s - run.seconds).max(0.0));
            run.core_waits = shortage.map(|shortage| RunCoreWaits {
                recorded_s,
                is_removed,
                has_communication,
                ..RunCoreWaits::kept(&shortage, &recording.header)
            });
        }
        run.init_finalize_s = (total_seconds(recording) - recorded_s).max(0.0);
        Ok(run)
    }

    fn analyse(&mut self, recording: &Recording, history: &History, graph: &ProgramGraph) -> Result<(), RunError> {
        let span = RunSpan::from_history(history).ok_or_else(|| RunError::Empty { name: self.name.clone() })?;
        let waits = wait_states::find_waits(history);
        let path = CriticalPathProfile::from_history(history, &waits, &SingleProcess);
        self.seconds = ns_to_seconds(span.length());
        self.parts = PartSums::from_history(recording, history, &waits, &path).into_times();
        let start = ns_to_seconds(span.length() - path.length_ns());
        self.parts.insert(ProgramPart::Start, PartTime { path_s: start, mean_rank_s: start, ranks: recording.header.size });
        let busy = busy_time_by_rank(history, &waits);
        self.roles = graph.roles.iter().map(|role| RoleTime::new(recording, graph, role, &busy)).collect();
        self.functions = part_functions(recording, graph);
        for role in &graph.roles {
            for (node, visit) in &role.visits {
                let node = &graph.nodes[*node];
                self.traffic.entry(OperationSite::new(recording, node.operation, node.site)).or_default().add(role, visit);
            }
        }
        Ok(())
    }
}

/// The function that takes most of each computation that has samples.
fn part_functions(recording: &Recording, graph: &ProgramGraph) -> BTreeMap<ProgramPart, String> {
    let site = |node: usize| OperationSite::new(recording, graph.nodes[node].operation, graph.nodes[node].site);
    let segments = graph.roles.iter().flat_map(|role| &role.segments);
    let named = segments.filter_map(|segment| {
        let function = graph.segment_function(segment.from, segment.to)?.to_owned();
        Some((segment.times.total_ns, ProgramPart::Computation { from: site(segment.from), to: site(segment.to) }, function))
    });
    let mut named: Vec<(u64, ProgramPart, String)> = named.collect();
    // Several nodes can have the same place; the one with most time comes last and counts.
    named.sort_unstable();
    named.into_iter().map(|(_, part, function)| (part, function)).collect()
}

/// The times of the calls without waiting for a core; `None` if it is not known when ranks waited. A run in which the waiting was not
/// noticeable and that cannot be replayed keeps its times.
fn undisturbed_times(recording: &Recording, history: &History, is_noticeable: bool) -> Result<Option<UndisturbedTimes>, RunError> {
    if !UndisturbedTimes::are_known(recording) {
        return Ok(None);
    }
    match UndisturbedTimes::replay(recording, history) {
        Err(error) if is_noticeable => Err(error.into()),
        replayed => Ok(replayed.ok()),
    }
}

impl RunCoreWaits {
    /// Waiting for a core that is in the times of a run.
    fn kept(shortage: &CoreShortage, header: &RecordingHeader) -> RunCoreWaits {
        RunCoreWaits { statement: shortage.statement(header), recorded_s: 0.0, is_removed: false, has_communication: true }
    }
}

impl RunMemory {
    /// The memory of a run; `None` if it is not known of all ranks, or if the caches are not.
    fn from_header(header: &RecordingHeader) -> Option<RunMemory> {
        let host = header.host_descriptions.first().filter(|host| !host.caches.is_empty())?;
        let all: Vec<ProcessMemory> = header.ranks.iter().map(|rank| rank.memory).collect::<Option<_>>()?;
        let caches = host.caches.iter().map(|cache| (cache.clone(), count_processors(&cache.processors)));
        Some(RunMemory {
            working_set_bytes: all.iter().map(ProcessMemory::working_set_bytes).max()?,
            processors: count_processors(&host.processors),
            caches: caches.collect(),
        })
    }
}

/// The number of processors of a list such as `0-3,8`; at least one.
fn count_processors(list: &str) -> usize {
    parse_ranks(list.trim()).map_or(1, |processors| processors.len().max(1))
}

impl RoleTime {
    fn new(recording: &Recording, graph: &ProgramGraph, role: &ProgramRole, busy: &HashMap<u32, i64>) -> RoleTime {
        let operation_site =
            |(node, _): &(usize, NodeVisits)| OperationSite::new(recording, graph.nodes[*node].operation, graph.nodes[*node].site);
        let mut sites: Vec<OperationSite> = role.visits.iter().map(operation_site).collect();
        sites.sort_unstable();
        sites.dedup();
        let busiest = role.ranks.iter().filter_map(|rank| busy.get(rank)).max();
        RoleTime { name: role.name.clone(), ranks: role.ranks.len(), sites, busy_s: ns_to_seconds(busiest.copied().unwrap_or(0)) }
    }
}

impl SiteTraffic {
    fn add(&mut self, role: &ProgramRole, visit: &NodeVisits) {
        self.ranks += role.ranks.len() as u64;
        self.calls += visit.calls.count;
        self.bytes = self.bytes.saturating_add(visit.sent.max(visit.received));
    }
}

/// The time between `MPI_Init` and `MPI_Finalize`.
struct RunSpan {
    begin: i64,
    end: i64,
}

impl RunSpan {
    fn from_history(history: &History) -> Option<RunSpan> {
        let begin = history.locations.iter().filter_map(location_begin).min()?;
        let end = history.locations.iter().filter_map(location_end).max()?;
        (begin <= end).then_some(RunSpan { begin, end })
    }

    fn length(&self) -> i64 {
        self.end - self.begin
    }
}

/// When a location left `MPI_Init`, or entered its first call if another thread initialised MPI.
fn location_begin(location: &Location) -> Option<i64> {
    let init = (0..location.len()).find(|row| location.role(*row) == FunctionRole::Init);
    init.map(|row| location.calls.leave[row]).or_else(|| location.calls.enter.first().copied())
}

/// When a location entered `MPI_Finalize`, or left its last call if there is none.
fn location_end(location: &Location) -> Option<i64> {
    let finalize = (0..location.len()).rev().find(|row| location.role(*row) == FunctionRole::Finalize);
    finalize.map(|row| location.calls.enter[row]).or_else(|| location.calls.leave.last().copied())
}

/// Nanoseconds each rank was not waiting, on the thread that initialised MPI.
fn busy_time_by_rank(history: &History, waits: &[Vec<WaitInstance>]) -> HashMap<u32, i64> {
    let mut busy = HashMap::new();
    for (location, waits) in history.locations.iter().zip(waits) {
        let waited: i64 = waits.iter().filter(|wait| is_between_init_and_finalize(location, wait.row as usize)).map(|wait| wait.ns).sum();
        if let Some((begin, end)) = location_begin(location).zip(location_end(location)) {
            busy.entry(location.rank).or_insert((end - begin - waited).max(0));
        }
    }
    busy
}

/// The parts of a run in nanoseconds.
struct PartSums {
    sums: BTreeMap<ProgramPart, (i64, BTreeMap<u32, i64>)>,
}

impl PartSums {
    fn from_history(recording: &Recording, history: &History, waits: &[Vec<WaitInstance>], path: &CriticalPathProfile) -> PartSums {
        let operations = operation_by_site(history);
        let operation_site = |site: u32| match operations.get(&site) {
            Some(operation) => OperationSite::new(recording, *operation, site),
            None => OperationSite { operation: "MPI".into(), place: "an unknown location".into() },
        };
        let computation =
            |segment: &Segment| ProgramPart::Computation { from: operation_site(segment.from), to: operation_site(segment.to) };
        let mut parts = PartSums { sums: BTreeMap::new() };
        for (segment, ns) in &path.segments {
            parts.add_path_time(computation(segment), *ns);
        }
        for (site, ns) in &path.calls {
            parts.add_path_time(ProgramPart::Communication { at: operation_site(*site) }, *ns);
        }
        for (segment, ranks) in segment::segment_times(history, None, &SingleProcess) {
            ranks.iter().for_each(|(rank, spent)| parts.add_rank_time(computation(&segment), *rank, spent.ns));
        }
        for (location, waits) in history.locations.iter().zip(waits) {
            for (site, ns) in time_in_calls(location, waits) {
                parts.add_rank_time(ProgramPart::Communication { at: operation_site(site) }, location.rank, ns);
            }
        }
        parts
    }

    fn add_path_time(&mut self, part: ProgramPart, ns: i64) {
        self.sums.entry(part).or_default().0 += ns;
    }

    fn add_rank_time(&mut self, part: ProgramPart, rank: u32, ns: i64) {
        *self.sums.entry(part).or_default().1.entry(rank).or_default() += ns;
    }

    /// The parts that take time.
    fn into_times(self) -> BTreeMap<ProgramPart, PartTime> {
        let time = |path: i64, ranks: BTreeMap<u32, i64>| PartTime {
            path_s: ns_to_seconds(path),
            mean_rank_s: ranks.values().map(|ns| ns_to_seconds(*ns)).sum::<f64>() / ranks.len().max(1) as f64,
            ranks: ranks.len(),
        };
        let times = self.sums.into_iter().map(|(part, (path, ranks))| (part, time(path, ranks)));
        times.filter(|(_, time)| time.path_s > 0.0 || time.mean_rank_s > 0.0).collect()
    }
}

/// Nanoseconds in the calls of each call site without waiting, between `MPI_Init` and `MPI_Finalize`.
fn time_in_calls(location: &Location, waits: &[WaitInstance]) -> HashMap<u32, i64> {
    let mut sums: HashMap<u32, i64> = HashMap::new();
    for row in (0..location.len()).filter(|row| is_between_init_and_finalize(location, *row)) {
        *sums.entry(segment::call_site(location, row)).or_default() += location.calls.leave[row] - location.calls.enter[row];
    }
    for wait in waits.iter().filter(|wait| is_between_init_and_finalize(location, wait.row as usize)) {
        *sums.entry(segment::call_site(location, wait.row as usize)).or_default() -= wait.ns;
    }
    sums
}

/// Whether a call is between `MPI_Init` and `MPI_Finalize`.
fn is_between_init_and_finalize(location: &Location, row: usize) -> bool {
    !matches!(location.role(row), FunctionRole::Init | FunctionRole::Finalize)
}

/// The operation of each call site.
fn operation_by_site(history: &History) -> HashMap<u32, FunctionId> {
    history.locations.iter().flat_map(|location| &location.calls.descriptors).map(|shape| (shape.site, shape.function)).collect()
}

fn parameters(name: &str, recording: &Recording) -> Result<BTreeMap<String, f64>, RunError> {
    let mut parameters = recording.header.parameters.clone();
    let ranks = recording.header.size;
    match parameters.insert(RANKS_PARAMETER.to_owned(), ranks as f64) {
        Some(given) if given != ranks as f64 => Err(RunError::RanksMismatch { name: name.to_owned(), given, ranks }),
        _ => Ok(parameters),
    }
}

/// Seconds from the first event of any rank to the last.
fn total_seconds(recording: &Recording) -> f64 {
    let begin = recording.header.ranks.iter().map(|rank| rank.begin_ns).min();
    let end = recording.header.ranks.iter().map(|rank| rank.end_ns).max();
    begin.zip(end).map_or(0.0, |(begin, end)| ns_to_seconds(end.saturating_sub(begin)))
}

fn ns_to_seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
