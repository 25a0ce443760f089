//! Observes a running program for its list: every function of the main program has a hook that counts calls; hooks of functions that are
//! called too often remove themselves. Variables are read now and then, and before MPI is finalised. Only processes of this host take part.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sintonia_link::probe_protocol::{
    CommandOutcome, ControlInfo, HookCount, HookKind, HookTarget, ProbeCommand, ProbeMessage, Recorded, SurveyReport,
};
use sintonia_link::value_location::{AccessError, ValueLocation};
use sintonia_symbols::{ListedFunction, ListedVariable, ModuleCache, ProgramImage, ResolvedFunction};

use super::{CallFigures, ObservedRun, ProgramList, is_number, is_of_program};
use crate::bind::decode_value;
use crate::collector::{CollectorEvent, ProcessCollector, ProcessConnection};

const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Interval between reports of a process that may end without finalising MPI.
const SURVEY_INTERVAL: Duration = Duration::from_secs(1);
/// Messages in flight at the end of the program arrive within this time.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Functions that are hooked: the probe has room for about as many hooks.
const MOST_FUNCTIONS: usize = 2000;

/// Observes the processes of a run.
pub struct ProgramSurvey {
    collector: ProcessCollector,
    files: ModuleCache,
    processes: HashMap<u32, SurveyedProcess>,
    /// Processes that have ended.
    ended: Vec<SurveyedProcess>,
    /// The list, without calls and values, and what its lines stand for.
    list: Option<(ProgramList, Vec<ListedVariable>)>,
    /// The control variables, once they were asked for.
    controls: Option<Vec<ControlInfo>>,
    problems: Vec<String>,
}

/// What a command was for.
enum Pending {
    Hook(usize),
    Survey,
    Controls,
    Other,
}

struct SurveyedProcess {
    connection: ProcessConnection,
    rank: u32,
    last_command: u64,
    pending: HashMap<u64, Pending>,
    /// The function of each hook.
    functions: HashMap<u32, usize>,
    /// Functions that could not be hooked.
    refused: HashMap<usize, String>,
    /// Calls of each function.
    calls: HashMap<usize, FunctionCalls>,
    /// Where the values of variables are, by index of the variable.
    locations: Vec<(usize, ValueLocation)>,
    values: Vec<u64>,
    /// When it was let run.
    running_since: Option<Instant>,
    next_survey: Instant,
    observed_seconds: f64,
}

/// Calls of a function in one process.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct FunctionCalls {
    calls: u64,
    seconds: f64,
    counted_seconds: f64,
    is_too_often: bool,
}

impl SurveyedProcess {
    fn new(connection: ProcessConnection) -> SurveyedProcess {
        SurveyedProcess {
            rank: connection.rank_and_size.map_or(0, |(rank, _)| rank),
            connection,
            last_command: 0,
            pending: HashMap::new(),
            functions: HashMap::new(),
            refused: HashMap::new(),
            calls: HashMap::new(),
            locations: Vec::new(),
            values: Vec::new(),
            running_since: None,
            next_survey: Instant::now(),
            observed_seconds: 0.0,
        }
    }

    /// Sends a command; a process that cannot be reached is about to be reported as disconnected.
    fn send(&mut self, command: ProbeCommand, pending: Pending) {
        self.last_command += 1;
        if self.connection.send_command(self.last_command, command).is_ok() {
            self.pending.insert(self.last_command, pending);
        }
    }

    /// Hooks all functions, asks for values, and lets the process run: it executes commands in their order.
    fn start(&mut self, functions: &[ListedFunction], variables: &[ListedVariable]) {
        for index in chosen(functions) {
            for copy in &functions[index].copies {
                self.send(hook_command(copy), Pending::Hook(index));
            }
        }
        let location = |(index, variable): (usize, &ListedVariable)| {
            let resolved = variable.resolved.as_ref()?;
            let is_shown = is_number(&resolved.value_type) && !resolved.location.is_thread_local();
            is_shown.then(|| (index, resolved.location.clone()))
        };
        self.locations = variables.iter().enumerate().filter_map(location).collect();
        self.send(ProbeCommand::Resume, Pending::Other);
        self.running_since = Some(Instant::now());
        self.next_survey = Instant::now();
    }

    fn ask(&mut self) {
        if self.running_since.is_some() && Instant::now() >= self.next_survey {
            self.next_survey = Instant::now() + SURVEY_INTERVAL;
            let locations = self.locations.iter().map(|(_, location)| location.clone()).collect();
            self.send(ProbeCommand::Survey(locations), Pending::Survey);
        }
    }

    fn handle_answer(&mut self, number: u64, outcome: CommandOutcome) -> Option<Result<Vec<ControlInfo>, String>> {
        match (self.pending.remove(&number)?, outcome) {
            (Pending::Hook(function), CommandOutcome::Hooked(hook)) => drop(self.functions.insert(hook, function)),
            (Pending::Hook(function), CommandOutcome::Refused(why)) => drop(self.refused.insert(function, why)),
            (Pending::Survey, CommandOutcome::Surveyed(report)) => self.handle_survey(report),
            (Pending::Controls, CommandOutcome::Controls(list)) => return Some(Ok(list)),
            (Pending::Controls, CommandOutcome::Refused(why)) => return Some(Err(why)),
            _ => {}
        }
        None
    }

    fn handle_survey(&mut self, report: SurveyReport) {
        self.values = report.values;
        self.observed_seconds = self.running_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        let mut now: HashMap<usize, FunctionCalls> = HashMap::new();
        for HookCount { hook, calls, seconds, counted_seconds } in report.hooks {
            let Some(function) = self.functions.get(&hook) else { continue };
            let sum = now.entry(*function).or_default();
            sum.calls += calls;
            sum.seconds += seconds;
            sum.counted_seconds = sum.counted_seconds.max(counted_seconds);
        }
        self.calls.retain(|_, calls| calls.is_too_often);
        now.into_iter().for_each(|(function, calls)| _ = self.calls.entry(function).or_insert(calls));
    }

    fn handle_throttled(&mut self, hook: u32, calls: u64, seconds_per_call: f64) {
        let Some(function) = self.functions.get(&hook) else { return };
        let counted_seconds = self.running_since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        let figures = FunctionCalls { calls, seconds: calls as f64 * seconds_per_call, counted_seconds, is_too_often: true };
        self.calls.insert(*function, figures);
    }
}

/// The functions that are hooked, if there are too many those of the program before those of libraries, and the larger ones.
fn chosen(functions: &[ListedFunction]) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..functions.len()).filter(|index| !functions[*index].is_startup()).collect();
    let size = |index: usize| functions[index].copies.iter().map(|copy| copy.size).max().unwrap_or(0);
    chosen.sort_by_key(|index| (!is_of_program(&functions[*index]), std::cmp::Reverse(size(*index))));
    let mut copies = 0;
    chosen.retain(|index| {
        copies += functions[*index].copies.len();
        copies <= MOST_FUNCTIONS
    });
    chosen
}

fn hook_command(copy: &ResolvedFunction) -> ProbeCommand {
    ProbeCommand::Hook {
        function: HookTarget { address: copy.address, size: copy.size as usize, padding: copy.padding as usize },
        kind: HookKind::Wrap { stack: copy.uses_stack },
        at_entry: Vec::new(),
        at_exit: Vec::new(),
        may_throttle: true,
        recorded: Recorded::TOTALS,
    }
}

impl ProgramSurvey {
    /// Observes the processes of a collector.
    pub fn new(collector: ProcessCollector) -> ProgramSurvey {
        ProgramSurvey {
            collector,
            files: ModuleCache::default(),
            processes: HashMap::new(),
            ended: Vec::new(),
            list: None,
            controls: None,
            problems: Vec::new(),
        }
    }

    /// Runs until `is_over`; none if no process of an MPI program was seen.
    pub fn run(mut self, is_over: impl Fn() -> bool) -> Option<ProgramList> {
        while !is_over() {
            self.poll();
            std::thread::sleep(POLL_INTERVAL);
        }
        let end = Instant::now() + DRAIN_TIMEOUT;
        loop {
            self.poll();
            if self.processes.is_empty() || Instant::now() > end {
                return self.finish();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn poll(&mut self) {
        let events: Vec<CollectorEvent> = self.collector.events().collect();
        events.into_iter().for_each(|event| self.handle_event(event));
        self.processes.values_mut().for_each(SurveyedProcess::ask);
    }

    fn handle_event(&mut self, event: CollectorEvent) {
        match event {
            CollectorEvent::Connected(connection) => {
                let id = connection.id;
                let mut process = SurveyedProcess::new(*connection);
                // The same in all processes of a program.
                if self.controls.is_none() {
                    self.controls = Some(Vec::new());
                    process.send(ProbeCommand::ListControls, Pending::Controls);
                }
                process.send(ProbeCommand::Begin, Pending::Other);
                self.processes.insert(id, process);
            }
            CollectorEvent::Message(id, message) => self.handle_message(id, message),
            CollectorEvent::Disconnected(id) => self.ended.extend(self.processes.remove(&id)),
            CollectorEvent::Rejected(what) => self.problem(format!("a connection that does not belong to this run was refused: {what}")),
        }
    }

    fn handle_message(&mut self, id: u32, message: ProbeMessage) {
        if let ProbeMessage::Rank { rank, .. } = message {
            return self.start_process(id, rank);
        }
        let Some(process) = self.processes.get_mut(&id) else { return };
        match message {
            ProbeMessage::Answer { number, outcome } => match process.handle_answer(number, outcome) {
                Some(Ok(controls)) => self.controls = Some(controls),
                Some(Err(why)) => self.problem(why),
                None => {}
            },
            ProbeMessage::Surveyed(report) => process.handle_survey(report),
            ProbeMessage::Throttled { hook, calls, seconds_per_call } => process.handle_throttled(hook, calls, seconds_per_call),
            ProbeMessage::Hello { .. } | ProbeMessage::Rank { .. } | ProbeMessage::Clock { .. } | ProbeMessage::Finalizing => {}
        }
    }

    /// MPI is initialised in a process: hooks its functions.
    fn start_process(&mut self, id: u32, rank: u32) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        process.rank = rank;
        let image = ProgramImage::from_process(process.connection.pid, &mut self.files);
        let Some((image, path)) = image.ok().and_then(|image| image.modules.first().map(|own| own.path.clone()).map(|path| (image, path)))
        else {
            process.send(ProbeCommand::Resume, Pending::Other);
            return self.problem("the files of a process cannot be read".into());
        };
        let (functions, variables) = (image.list_functions(), image.list_variables());
        let (list, _) =
            self.list.get_or_insert_with(|| (ProgramList::new(path.clone(), &image, &functions, &variables), variables.clone()));
        if list.program != path {
            process.send(ProbeCommand::Resume, Pending::Other);
            return self.problem(format!("another program of the run, {}, is not listed", path.display()));
        }
        process.start(&functions, &variables);
    }

    fn problem(&mut self, what: String) {
        if !self.problems.contains(&what) {
            self.problems.push(what);
        }
    }

    fn finish(mut self) -> Option<ProgramList> {
        self.ended.extend(self.processes.drain().map(|(_, process)| process));
        let mut observed: Vec<SurveyedProcess> = self.ended.into_iter().filter(|process| process.running_since.is_some()).collect();
        observed.sort_by_key(|process| process.rank);
        let (mut list, variables) = self.list?;
        let seconds = observed.iter().map(|process| process.observed_seconds).fold(0.0, f64::max);
        list.run = Some(ObservedRun { processes: observed.len(), seconds });
        for (index, line) in list.functions.iter_mut().enumerate() {
            let calls: Vec<FunctionCalls> = observed.iter().filter_map(|process| process.calls.get(&index)).copied().collect();
            line.calls = (!calls.is_empty()).then(|| figures(&calls));
            let refused = observed.iter().find_map(|process| process.refused.get(&index));
            match refused.filter(|_| calls.is_empty()) {
                Some(why) => (line.can_be_hooked, line.why_not) = (false, Some(why.clone())),
                None if !calls.is_empty() => (line.can_be_hooked, line.why_not) = (true, None),
                None => {}
            }
        }
        for (index, line) in list.variables.iter_mut().enumerate() {
            let values: Vec<f64> = observed.iter().filter_map(|process| process.value(index, &variables[index])).collect();
            line.value = values.first().copied();
            line.differs = values.iter().any(|value| value.to_bits() != values[0].to_bits());
        }
        list.controls = self.controls.unwrap_or_default();
        list.problems.extend(self.problems);
        let uncounted = list.functions.iter().filter(|line| line.can_be_hooked && line.calls.is_none()).count();
        if uncounted > 0 {
            list.problems.push(format!("the calls of {uncounted} functions were not counted: at most {MOST_FUNCTIONS} are hooked at once"));
        }
        list.sort();
        Some(list)
    }
}

impl SurveyedProcess {
    fn value(&self, variable: usize, listed: &ListedVariable) -> Option<f64> {
        let position = self.locations.iter().position(|(index, _)| *index == variable)?;
        let bits = *self.values.get(position)?;
        let kind = &listed.resolved.as_ref()?.value_type;
        AccessError::from_marker(bits).is_none().then(|| decode_value(kind, bits))
    }
}

/// The figures of a function from its calls in each process.
fn figures(calls: &[FunctionCalls]) -> CallFigures {
    let sum = |value: fn(&FunctionCalls) -> f64| calls.iter().map(value).sum::<f64>();
    let count: u64 = calls.iter().map(|one| one.calls).sum();
    let (seconds, counted) = (sum(|one| one.seconds), sum(|one| one.counted_seconds));
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    CallFigures {
        calls: count,
        calls_per_second: ratio(count as f64, counted),
        seconds_per_call: ratio(seconds, count as f64),
        share_of_time: ratio(seconds, counted),
        is_too_often: calls.iter().any(|one| one.is_too_often),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_means_of_the_processes() {
        let one = FunctionCalls { calls: 30, seconds: 1.5, counted_seconds: 3.0, is_too_often: false };
        let other = FunctionCalls { calls: 10, seconds: 0.5, counted_seconds: 1.0, is_too_often: true };
        let expected = CallFigures { calls: 40, calls_per_second: 10.0, seconds_per_call: 0.05, share_of_time: 0.5, is_too_often: true };
        assert_eq!(figures(&[one, other]), expected);
        assert_eq!(figures(&[FunctionCalls::default()]).calls_per_second, 0.0);
    }
}
