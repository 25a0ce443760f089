//! The order of a schedule's operations on each CPU.
//!
//! A rank of a GOAL schedule is a graph, a location of the [engine](crate::engine) is a sequence of calls. Which of several ready operations a
//! CPU takes first depends on the machine, so the LogGOPS simulation of that machine decides: operations are listed in the order in which
//! they start there, and wildcard receives are matched as there. Completion stays what the graph says: an operation waits for its
//! prerequisites and for nothing else.

use rustc_hash::FxHashMap;
use sintonia_formats::goal::GoalSchedule;
use sintonia_formats::goal::graph::{GoalOp, GoalOpKind};

use super::simulator::{GoalObserver, simulate_observed};
use super::{GoalError, LogGopsParameters};

/// A step of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuStep {
    /// Starts an operation.
    Start(u32),
    /// Waits until a message that was started on this CPU is complete.
    Complete(u32),
    /// Sends a signal to another CPU of the rank.
    Signal(u8),
    /// Waits for the next signal of another CPU of the rank.
    AwaitSignal(u8),
}

/// A step in 32 bits: there are as many as operations.
#[derive(Clone, Copy)]
struct PackedStep(u32);

impl PackedStep {
    const KIND_SHIFT: u32 = 30;

    fn unpack(self) -> CpuStep {
        let operand = self.0 & ((1 << PackedStep::KIND_SHIFT) - 1);
        match self.0 >> PackedStep::KIND_SHIFT {
            0 => CpuStep::Start(operand),
            1 => CpuStep::Complete(operand),
            2 => CpuStep::Signal(operand as u8),
            _ => CpuStep::AwaitSignal(operand as u8),
        }
    }
}

impl From<CpuStep> for PackedStep {
    fn from(step: CpuStep) -> PackedStep {
        let (kind, operand) = match step {
            CpuStep::Start(operation) => (0, operation),
            CpuStep::Complete(operation) => (1, operation),
            CpuStep::Signal(cpu) => (2, cpu.into()),
            CpuStep::AwaitSignal(cpu) => (3, cpu.into()),
        };
        PackedStep(kind << PackedStep::KIND_SHIFT | operand)
    }
}

/// The steps of a CPU: a range of all steps.
struct CpuRange {
    rank: u32,
    cpu: u8,
    first: usize,
    end: usize,
}

/// The steps of all CPUs.
pub(crate) struct GoalOrder {
    steps: Vec<PackedStep>,
    /// By rank and CPU.
    cpus: Vec<CpuRange>,
    /// The channel of the message that each wildcard receive matches.
    wildcard_channels: FxHashMap<u32, u32>,
}

impl GoalOrder {
    /// The order on a machine.
    pub(crate) fn new(goal: &GoalSchedule, machine: &LogGopsParameters) -> Result<GoalOrder, GoalError> {
        let mut log = EventLog::new(goal);
        simulate_observed(goal, machine, &mut log)?;
        let mut order =
            GoalOrder { steps: Vec::with_capacity(goal.operations().len()), cpus: Vec::new(), wildcard_channels: log.wildcard_channels };
        let mut planner = RankPlanner::new(goal, machine.eager_bytes);
        for rank in 0..goal.rank_count() {
            let first = goal.rank_operations(rank).start * log.events_per_operation;
            planner.plan(rank, &log.events[first..log.next[rank]]);
            let is_idle = planner.steps.iter().all(Vec::is_empty);
            for (cpu, steps) in (0..=u8::MAX).zip(&mut planner.steps) {
                // Every rank has a location, also one that does nothing.
                if !steps.is_empty() || is_idle && cpu == 0 {
                    let first = order.steps.len();
                    order.steps.append(steps);
                    order.cpus.push(CpuRange { rank: rank as u32, cpu, first, end: order.steps.len() });
                }
            }
        }
        Ok(order)
    }

    /// All ranks and CPUs that have something to do, sorted.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = (u32, u8)> {
        self.cpus.iter().map(|range| (range.rank, range.cpu))
    }

    /// The first CPU of a rank.
    pub(crate) fn first_cpu(&self, rank: u32) -> Option<u8> {
        let first = self.cpus.partition_point(|range| range.rank < rank);
        self.cpus.get(first).map(|range| range.cpu)
    }

    /// The steps of a CPU.
    pub(crate) fn steps(&self, rank: u32, cpu: u8) -> impl Iterator<Item = CpuStep> {
        let found = self.cpus.binary_search_by_key(&(rank, cpu), |range| (range.rank, range.cpu));
        let steps = found.map_or(&[][..], |index| &self.steps[self.cpus[index].first..self.cpus[index].end]);
        steps.iter().map(|step| step.unpack())
    }

    /// The channel of the message that an operation sends or receives.
    pub(crate) fn channel(&self, operation: u32, described: &GoalOp) -> usize {
        let matched = self.wildcard_channels.get(&operation).map(|channel| *channel as usize);
        matched.or(described.channel()).unwrap_or(0)
    }
}

/// Starts and completions of operations, by rank, in time order.
struct EventLog<'a> {
    goal: &'a GoalSchedule,
    events: Vec<u32>,
    /// Where the next event of each rank is written.
    next: Vec<usize>,
    /// Completions are only needed if operations of other CPUs wait for them.
    events_per_operation: usize,
    wildcard_channels: FxHashMap<u32, u32>,
}

/// Marks completions.
const COMPLETION: u32 = 1 << 31;

impl EventLog<'_> {
    fn new(goal: &GoalSchedule) -> EventLog<'_> {
        let events_per_operation = if goal.cpus() > 1 { 2 } else { 1 };
        EventLog {
            goal,
            events: vec![0; goal.operations().len() * events_per_operation],
            next: (0..goal.rank_count()).map(|rank| goal.rank_operations(rank).start * events_per_operation).collect(),
            events_per_operation,
            wildcard_channels: FxHashMap::default(),
        }
    }

    fn push(&mut self, operation: u32, event: u32) {
        let rank = self.goal.rank_of(&self.goal.operations()[operation as usize]);
        self.events[self.next[rank]] = event;
        self.next[rank] += 1;
    }
}

impl GoalObserver for EventLog<'_> {
    fn start(&mut self, operation: u32) {
        self.push(operation, operation);
    }

    fn complete(&mut self, operation: u32) {
        if self.events_per_operation > 1 {
            self.push(operation, operation | COMPLETION);
        }
    }

    fn match_receive(&mut self, receive: u32, send: u32) {
        let channel = |operation: u32| self.goal.operations()[operation as usize].channel();
        if let (Some(posted), Some(sent)) = (channel(receive), channel(send))
            && self.goal.channels()[posted].is_wildcard()
        {
            self.wildcard_channels.insert(receive, sent as u32);
        }
    }
}

/// An operation that another one waits for.
#[derive(Clone, Copy)]
struct OperationDependency {
    operation: u32,
    start_only: bool,
}

/// Turns the events of a rank into the steps of its CPUs.
struct RankPlanner<'a> {
    goal: &'a GoalSchedule,
    /// Up to this size, sends are complete at once.
    eager_bytes: u64,
    /// First operation of the rank.
    base: usize,
    /// Where the prerequisites of each operation begin, and those of all end.
    first_prerequisites: Vec<usize>,
    prerequisites: Vec<OperationDependency>,
    /// Whether the request of each operation is completed.
    is_completed: Vec<bool>,
    signals: SignalCounts,
    /// The steps of each CPU.
    steps: Vec<Vec<PackedStep>>,
}

impl RankPlanner<'_> {
    fn new(goal: &GoalSchedule, eager_bytes: u64) -> RankPlanner<'_> {
        RankPlanner {
            goal,
            eager_bytes,
            base: 0,
            first_prerequisites: Vec::new(),
            prerequisites: Vec::new(),
            is_completed: Vec::new(),
            signals: SignalCounts::default(),
            steps: vec![Vec::new(); goal.cpus().max(1)],
        }
    }

    fn plan(&mut self, rank: usize, events: &[u32]) {
        let operations = self.goal.rank_operations(rank);
        self.base = operations.start;
        self.collect_prerequisites(operations.clone());
        self.is_completed.clear();
        self.is_completed.resize(operations.len(), false);
        self.signals = SignalCounts::default();
        for event in events {
            match event & COMPLETION {
                0 => self.start(*event),
                _ => self.complete(event & !COMPLETION),
            }
        }
        operations.for_each(|operation| self.complete_request(operation as u32));
    }

    /// The file lists dependents, not prerequisites.
    fn collect_prerequisites(&mut self, operations: std::ops::Range<usize>) {
        let goal = self.goal;
        let mut end = 0;
        self.first_prerequisites.clear();
        for operation in &goal.operations()[operations.clone()] {
            self.first_prerequisites.push(end);
            end += operation.dependency_count as usize;
        }
        self.first_prerequisites.push(end);
        self.prerequisites.resize(end, OperationDependency { operation: 0, start_only: false });
        let mut next = self.first_prerequisites.clone();
        for operation in operations {
            for dependent in goal.dependents(operation) {
                let slot = &mut next[dependent.operation() - self.base];
                self.prerequisites[*slot] = OperationDependency { operation: operation as u32, start_only: dependent.waits_for_start() };
                *slot += 1;
            }
        }
    }

    fn start(&mut self, operation: u32) {
        let index = operation as usize - self.base;
        let cpu = self.cpu(operation);
        for position in self.first_prerequisites[index]..self.first_prerequisites[index + 1] {
            let prerequisite = self.prerequisites[position];
            let from = self.cpu(prerequisite.operation);
            if from != cpu {
                let missing = self.signals.await_signal(prerequisite, from, cpu);
                self.steps[usize::from(cpu)].extend((0..missing).map(|_| PackedStep::from(CpuStep::AwaitSignal(from))));
            } else if !prerequisite.start_only {
                self.complete_request(prerequisite.operation);
            }
        }
        self.signal_dependents(OperationDependency { operation, start_only: true });
        self.push(cpu, CpuStep::Start(operation));
    }

    /// An operation is complete: CPUs that wait for it are told.
    fn complete(&mut self, operation: u32) {
        let cpu = self.cpu(operation);
        let goal = self.goal;
        let mut dependents = goal.dependents(operation as usize).iter().filter(|dependent| !dependent.waits_for_start());
        if dependents.any(|dependent| goal.operations()[dependent.operation()].cpu != cpu) {
            self.complete_request(operation);
            self.signal_dependents(OperationDependency { operation, start_only: false });
        }
    }

    fn signal_dependents(&mut self, prerequisite: OperationDependency) {
        let (goal, from) = (self.goal, self.cpu(prerequisite.operation));
        for dependent in goal.dependents(prerequisite.operation as usize) {
            let to = goal.operations()[dependent.operation()].cpu;
            let concerned = dependent.waits_for_start() == prerequisite.start_only && to != from;
            if concerned && self.signals.send(prerequisite, from, to) {
                self.push(from, CpuStep::Signal(to));
            }
        }
    }

    /// Completes the request of a message, once.
    fn complete_request(&mut self, operation: u32) {
        let described = &self.goal.operations()[operation as usize];
        let has_request = match described.kind {
            GoalOpKind::Compute => false,
            GoalOpKind::Receive => true,
            GoalOpKind::Send => described.size > self.eager_bytes,
        };
        if has_request && !std::mem::replace(&mut self.is_completed[operation as usize - self.base], true) {
            self.push(described.cpu, CpuStep::Complete(operation));
        }
    }

    fn cpu(&self, operation: u32) -> u8 {
        self.goal.operations()[operation as usize].cpu
    }

    fn push(&mut self, cpu: u8, step: CpuStep) {
        self.steps[usize::from(cpu)].push(step.into());
    }
}

/// Signals between the CPUs of a rank. A CPU sends them in time order, so waiting for one includes all earlier ones.
#[derive(Default)]
struct SignalCounts {
    /// By sender and receiver.
    sent: FxHashMap<(u8, u8), u32>,
    awaited: FxHashMap<(u8, u8), u32>,
    /// Number of the signal for the start or end of an operation, by receiver.
    numbers: FxHashMap<(u32, bool, u8), u32>,
}

impl SignalCounts {
    /// Numbers the signal of an operation to a CPU; false if it was sent before.
    fn send(&mut self, prerequisite: OperationDependency, from: u8, to: u8) -> bool {
        let key = (prerequisite.operation, prerequisite.start_only, to);
        if self.numbers.contains_key(&key) {
            return false;
        }
        let count = self.sent.entry((from, to)).or_default();
        *count += 1;
        self.numbers.insert(key, *count);
        true
    }

    /// How many further signals must have come.
    fn await_signal(&mut self, prerequisite: OperationDependency, from: u8, to: u8) -> u32 {
        let number = self.numbers.get(&(prerequisite.operation, prerequisite.start_only, to)).copied().unwrap_or(0);
        let awaited = self.awaited.entry((from, to)).or_default();
        let missing = number.saturating_sub(*awaited);
        *awaited += missing;
        missing
    }
}
