//! Which worker gets which task.
//!
//! As in JoiN, half of a batch is assigned up front in proportion to worker speed; the rest goes to workers as they become idle. When no
//! task is left, an idle worker gets a *replica* of a task that still runs elsewhere, and the first result counts. Before any task is
//! replicated, tasks that were assigned but not started are stolen from their workers.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// How tasks are distributed over workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DistributionPolicy {
    /// Half up front, the rest on completion, replicas at the end.
    #[default]
    Mixed,
    /// All up front; only stragglers are replicated.
    Static,
}

/// One task of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// Index of its batch.
    pub batch: usize,
    /// Index within the batch, from 0.
    pub index: usize,
}

/// A task handed to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskAssignment {
    /// The assigned task.
    pub task: TaskId,
    /// Whether another worker runs it, too.
    pub replica: bool,
}

/// A task that is running on at least one worker.
#[derive(Debug, Clone)]
struct RunningTask {
    started: Instant,
    workers: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct BatchStatus {
    completed: Vec<bool>,
    remaining: usize,
    /// The longest duration of a finished task.
    longest_duration: Duration,
}

/// Tracks which worker has which task.
#[derive(Debug, Clone, Default)]
pub struct TaskAllocator {
    policy: DistributionPolicy,
    batches: BTreeMap<usize, BatchStatus>,
    /// Tasks assigned up front and not started yet, by worker.
    assigned: BTreeMap<usize, VecDeque<TaskId>>,
    /// Tasks not assigned to any worker.
    unassigned: VecDeque<TaskId>,
    running: BTreeMap<TaskId, RunningTask>,
}

/// A task that runs this many times as long as the longest finished one is replicated under either policy.
const STRAGGLER_FACTOR: u32 = 4;
/// Shorter tasks are never stragglers.
const MIN_STRAGGLER_TIME: Duration = Duration::from_secs(1);

impl TaskAllocator {
    /// An allocator without batches.
    pub fn new(policy: DistributionPolicy) -> TaskAllocator {
        TaskAllocator { policy, ..TaskAllocator::default() }
    }

    /// Starts a batch and assigns its tasks to these workers in proportion to their speed factors.
    pub fn start_batch(&mut self, batch: usize, tasks: usize, workers: &[(usize, f64)]) {
        self.batches.insert(batch, BatchStatus { completed: vec![false; tasks], remaining: tasks, longest_duration: Duration::ZERO });
        let beforehand = match self.policy {
            DistributionPolicy::Mixed => tasks / 2,
            DistributionPolicy::Static => tasks,
        };
        let all: Vec<TaskId> = (0..tasks).map(|index| TaskId { batch, index }).collect();
        self.distribute(&all[..beforehand], workers);
        self.unassigned.extend(&all[beforehand..]);
    }

    fn distribute(&mut self, tasks: &[TaskId], workers: &[(usize, f64)]) {
        let factors: Vec<f64> = workers.iter().map(|(_, factor)| *factor).collect();
        for (task, to) in tasks.iter().zip(weighted_round_robin(&factors)) {
            self.assigned.entry(workers[to].0).or_default().push_back(*task);
        }
        if workers.is_empty() {
            self.unassigned.extend(tasks);
        }
    }

    /// The next task for an idle worker.
    pub fn assign_next(&mut self, worker: usize, now: Instant) -> Option<TaskAssignment> {
        let own = self.assigned.get_mut(&worker).and_then(VecDeque::pop_front);
        let task = own
            .or_else(|| self.unassigned.pop_front())
            .or_else(|| if self.policy == DistributionPolicy::Mixed { self.steal() } else { None });
        if let Some(task) = task {
            self.running.insert(task, RunningTask { started: now, workers: vec![worker] });
            return Some(TaskAssignment { task, replica: false });
        }
        let task = self.pick_replica(worker, now)?;
        self.running.get_mut(&task)?.workers.push(worker);
        Some(TaskAssignment { task, replica: true })
    }

    /// Takes the last task of the worker with the most tasks not started yet.
    fn steal(&mut self) -> Option<TaskId> {
        self.assigned.values_mut().max_by_key(|queue| queue.len())?.pop_back()
    }

    /// The running task with the fewest replicas; the oldest of these.
    fn pick_replica(&self, worker: usize, now: Instant) -> Option<TaskId> {
        let may = |(task, under_way): &(&TaskId, &RunningTask)| {
            !under_way.workers.contains(&worker) && (self.policy == DistributionPolicy::Mixed || self.is_straggler(task, under_way, now))
        };
        let least = self.running.iter().filter(may).min_by_key(|(_, under_way)| (under_way.workers.len(), under_way.started));
        least.map(|(task, _)| *task)
    }

    fn is_straggler(&self, task: &TaskId, under_way: &RunningTask, now: Instant) -> bool {
        let longest = self.batches.get(&task.batch).map_or(Duration::ZERO, |batch| batch.longest_duration);
        longest > Duration::ZERO && now.saturating_duration_since(under_way.started) > MIN_STRAGGLER_TIME.max(longest * STRAGGLER_FACTOR)
    }

    /// Records a result; returns whether it is the first of its task.
    pub fn complete(&mut self, task: TaskId, took: Duration) -> bool {
        self.running.remove(&task);
        let Some(batch) = self.batches.get_mut(&task.batch) else { return false };
        let Some(done) = batch.completed.get_mut(task.index) else { return false };
        if std::mem::replace(done, true) {
            return false;
        }
        batch.remaining -= 1;
        batch.longest_duration = batch.longest_duration.max(took);
        true
    }

    /// Whether the batch has started and all its tasks are complete.
    pub fn is_batch_complete(&self, batch: usize) -> bool {
        self.batches.get(&batch).is_some_and(|batch| batch.remaining == 0)
    }

    /// Removes a lost worker and redistributes its tasks.
    pub fn remove_worker(&mut self, worker: usize, others: &[(usize, f64)]) {
        let mut orphans: Vec<TaskId> = Vec::new();
        self.running.retain(|task, under_way| {
            under_way.workers.retain(|other| *other != worker);
            if under_way.workers.is_empty() {
                orphans.push(*task);
            }
            !under_way.workers.is_empty()
        });
        orphans.extend(self.assigned.remove(&worker).unwrap_or_default());
        match self.policy {
            // Orphaned tasks have waited longest.
            DistributionPolicy::Mixed => orphans.into_iter().rev().for_each(|task| self.unassigned.push_front(task)),
            DistributionPolicy::Static => self.distribute(&orphans, others),
        }
    }
}

/// An endless weighted round robin: each worker in proportion to its factor, its turns spread evenly.
fn weighted_round_robin(factors: &[f64]) -> impl Iterator<Item = usize> {
    let mut given = vec![0.0; factors.len()];
    std::iter::from_fn(move || {
        let next = |worker: &usize| (given[*worker] + 1.0) / factors[*worker];
        let worker = (0..factors.len()).min_by(|one, other| next(one).total_cmp(&next(other)))?;
        given[worker] += 1.0;
        Some(worker)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: [(usize, f64); 2] = [(0, 1.0), (1, 1.0)];

    fn indexes(assignments: impl IntoIterator<Item = Option<TaskAssignment>>) -> Vec<usize> {
        assignments.into_iter().map(|assignment| assignment.unwrap().task.index).collect()
    }

    #[test]
    fn round_robin_is_proportional_and_spread() {
        assert_eq!(weighted_round_robin(&[1.0, 0.5]).take(6).collect::<Vec<_>>(), [0, 0, 1, 0, 0, 1]);
        assert_eq!(weighted_round_robin(&[1.0, 1.0, 1.0]).take(4).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert_eq!(weighted_round_robin(&[]).next(), None);
    }

    #[test]
    fn half_is_assigned_up_front_and_the_rest_on_demand() {
        let now = Instant::now();
        let mut allocation = TaskAllocator::new(DistributionPolicy::Mixed);
        allocation.start_batch(0, 8, &ALIKE);
        // 0 and 2 were assigned to the first worker, 1 and 3 to the second, 4 to 7 to neither.
        assert_eq!(indexes((0..5).map(|_| allocation.assign_next(0, now))), [0, 2, 4, 5, 6]);
        assert_eq!(indexes((0..3).map(|_| allocation.assign_next(1, now))), [1, 3, 7]);
    }

    #[test]
    fn tasks_not_started_are_stolen_before_any_is_replicated() {
        let now = Instant::now();
        let mut allocation = TaskAllocator::new(DistributionPolicy::Mixed);
        allocation.start_batch(0, 4, &ALIKE);
        let given: Vec<TaskAssignment> = (0..5).map_while(|_| allocation.assign_next(0, now)).collect();
        assert_eq!(given.iter().map(|given| given.task.index).collect::<Vec<_>>(), [0, 2, 3, 1], "1 was assigned to the other worker");
        assert!(given.iter().all(|given| !given.replica));
        let replica = allocation.assign_next(1, now).unwrap();
        assert_eq!((replica.task.index, replica.replica), (0, true));
    }

    #[test]
    fn the_first_result_counts_and_the_batch_ends_with_the_last_task() {
        let now = Instant::now();
        let mut allocation = TaskAllocator::new(DistributionPolicy::Mixed);
        allocation.start_batch(3, 1, &ALIKE);
        let [own, replica] = [0, 1].map(|worker| allocation.assign_next(worker, now).unwrap());
        assert_eq!((own.task, own.replica, replica.replica), (replica.task, false, true));
        assert!(!allocation.is_batch_complete(3));
        assert!(allocation.complete(own.task, Duration::ZERO));
        assert!(!allocation.complete(own.task, Duration::ZERO));
        assert!(allocation.is_batch_complete(3));
        assert_eq!(allocation.assign_next(0, now), None);
    }

    #[test]
    fn tasks_of_a_lost_worker_go_to_the_others() {
        let now = Instant::now();
        for policy in [DistributionPolicy::Mixed, DistributionPolicy::Static] {
            let mut allocation = TaskAllocator::new(policy);
            allocation.start_batch(0, 6, &ALIKE);
            assert!(allocation.assign_next(0, now).is_some());
            allocation.remove_worker(0, &ALIKE[1..]);
            let mut left: Vec<usize> = std::iter::from_fn(|| allocation.assign_next(1, now)).map(|given| given.task.index).collect();
            left.sort_unstable();
            assert_eq!(left, [0, 1, 2, 3, 4, 5], "{policy:?}");
        }
    }

    #[test]
    fn with_static_policy_only_stragglers_are_replicated() {
        let now = Instant::now();
        let mut allocation = TaskAllocator::new(DistributionPolicy::Static);
        allocation.start_batch(0, 4, &ALIKE);
        let slow = allocation.assign_next(0, now).unwrap().task;
        for _ in 0..2 {
            let task = allocation.assign_next(1, now).unwrap().task;
            assert!(allocation.complete(task, Duration::from_millis(500)));
        }
        assert_eq!(allocation.assign_next(1, now + Duration::from_millis(1900)), None);
        assert_eq!(allocation.assign_next(1, now + Duration::from_millis(2100)), Some(TaskAssignment { task: slow, replica: true }));
    }

    /// The completion time if `seconds(worker, task)` is the duration of a task.
    fn completion_time(policy: DistributionPolicy, tasks: usize, workers: usize, seconds: impl Fn(usize, usize) -> f64) -> f64 {
        let start = Instant::now();
        let mut allocation = TaskAllocator::new(policy);
        allocation.start_batch(0, tasks, &(0..workers).map(|worker| (worker, 1.0 / seconds(worker, 0))).collect::<Vec<_>>());
        // When each worker is idle next, and the task it has finished then.
        let mut team: Vec<(Duration, usize, Option<TaskId>)> = (0..workers).map(|worker| (Duration::ZERO, worker, None)).collect();
        loop {
            team.sort_unstable();
            let (now, worker, done) = team[0];
            done.map(|task| allocation.complete(task, Duration::ZERO));
            if allocation.is_batch_complete(0) {
                return now.as_secs_f64();
            }
            match allocation.assign_next(worker, start + now) {
                Some(given) => team[0] = (now + Duration::from_secs_f64(seconds(worker, given.task.index)), worker, Some(given.task)),
                None => drop(team.remove(0)),
            }
        }
    }

    #[test]
    fn mixed_ends_within_two_tasks_of_an_even_share() {
        // The longest tasks come last, which is the worst case; the last worker may be five times slower than the others.
        let task = |index: usize| 0.024 + 0.004 * index as f64;
        let total: f64 = (0..40).map(task).sum();
        for (workers, slower) in [(1, 1.0), (2, 1.0), (4, 1.0), (4, 5.0), (8, 1.0)] {
            let times = |worker: usize| if worker + 1 == workers { slower } else { 1.0 };
            let even = total / (0..workers).map(|worker| 1.0 / times(worker)).sum::<f64>();
            let [mixed, fixed] = [DistributionPolicy::Mixed, DistributionPolicy::Static]
                .map(|policy| completion_time(policy, 40, workers, |worker, index| times(worker) * task(index)));
            println!("{workers} workers, the last {slower} times slower: even {even:.3}, mixed {mixed:.3}, static {fixed:.3}");
            assert!(even * 0.999_999 <= mixed.min(fixed), "{even} {mixed} {fixed}");
            // A faster worker replicates the slowest worker's last task no later than one task after the even share.
            assert!(mixed <= even + 2.0 * task(39), "{workers} {slower}: {mixed} {even}");
        }
    }

    #[test]
    fn without_workers_tasks_wait_for_one() {
        let mut allocation = TaskAllocator::new(DistributionPolicy::Static);
        allocation.start_batch(0, 1, &[]);
        assert!(allocation.assign_next(5, Instant::now()).is_some());
    }
}
