//! Who gets which task.
//!
//! As in JoiN, half of the tasks of a batch are dealt beforehand, in proportion to how fast the workers are; the rest goes to whoever is done
//! first. When nothing is left to be given, who is done gets a *replica* of a task that is still under way elsewhere, and the first
//! result counts. A task that was dealt to a worker that has not begun it is given to another before anything is done twice.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// How tasks are given to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Half of them beforehand, the rest on completion, and replicas at the end.
    #[default]
    Mixed,
    /// All beforehand; replicas only of what takes far too long.
    Static,
}

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The position of its batch.
    pub batch: usize,
    /// Its number in the batch, from 0.
    pub index: usize,
}

/// What is given to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// The task.
    pub task: Task,
    /// Whether another worker has it, too.
    pub replica: bool,
}

/// A task that some workers have.
#[derive(Debug, Clone)]
struct UnderWay {
    since: Instant,
    workers: Vec<usize>,
}

/// How far a batch is.
#[derive(Debug, Clone, Default)]
struct Batch {
    done: Vec<bool>,
    left: usize,
    /// The longest time that one of its tasks has taken.
    longest: Duration,
}

/// Who has what.
#[derive(Debug, Clone, Default)]
pub struct Allocation {
    policy: Policy,
    batches: BTreeMap<usize, Batch>,
    /// What is left of what was dealt, by worker.
    dealt: BTreeMap<usize, VecDeque<Task>>,
    /// What was dealt to nobody.
    open: VecDeque<Task>,
    under_way: BTreeMap<Task, UnderWay>,
}

/// A task that takes so many times as long as the longest before it is given to another, too, whatever the policy.
const FAR_OVER: u32 = 4;
/// What is shorter is not far over anything.
const SHORTEST: Duration = Duration::from_secs(1);

impl Allocation {
    /// Nobody has anything.
    pub fn new(policy: Policy) -> Allocation {
        Allocation { policy, ..Allocation::default() }
    }

    /// A batch can begin: its tasks are dealt to these workers, by their factors.
    pub fn begin(&mut self, batch: usize, tasks: usize, workers: &[(usize, f64)]) {
        self.batches.insert(batch, Batch { done: vec![false; tasks], left: tasks, longest: Duration::ZERO });
        let beforehand = match self.policy {
            Policy::Mixed => tasks / 2,
            Policy::Static => tasks,
        };
        let all: Vec<Task> = (0..tasks).map(|index| Task { batch, index }).collect();
        self.deal(&all[..beforehand], workers);
        self.open.extend(&all[beforehand..]);
    }

    fn deal(&mut self, tasks: &[Task], workers: &[(usize, f64)]) {
        let factors: Vec<f64> = workers.iter().map(|(_, factor)| *factor).collect();
        for (task, to) in tasks.iter().zip(round_robin(&factors)) {
            self.dealt.entry(workers[to].0).or_default().push_back(*task);
        }
        if workers.is_empty() {
            self.open.extend(tasks);
        }
    }

    /// What a worker that has nothing to do gets.
    pub fn next(&mut self, worker: usize, now: Instant) -> Option<Given> {
        let own = self.dealt.get_mut(&worker).and_then(VecDeque::pop_front);
        let task = own.or_else(|| self.open.pop_front()).or_else(|| if self.policy == Policy::Mixed { self.anothers() } else { None });
        if let Some(task) = task {
            self.under_way.insert(task, UnderWay { since: now, workers: vec![worker] });
            return Some(Given { task, replica: false });
        }
        let task = self.to_repeat(worker, now)?;
        self.under_way.get_mut(&task)?.workers.push(worker);
        Some(Given { task, replica: true })
    }

    /// The last task of the worker that has most of them still to do.
    fn anothers(&mut self) -> Option<Task> {
        self.dealt.values_mut().max_by_key(|queue| queue.len())?.pop_back()
    }

    /// The task under way that fewest workers have, and of these the oldest.
    fn to_repeat(&self, worker: usize, now: Instant) -> Option<Task> {
        let may = |(task, under_way): &(&Task, &UnderWay)| {
            !under_way.workers.contains(&worker) && (self.policy == Policy::Mixed || self.is_far_over(task, under_way, now))
        };
        let least = self.under_way.iter().filter(may).min_by_key(|(_, under_way)| (under_way.workers.len(), under_way.since));
        least.map(|(task, _)| *task)
    }

    fn is_far_over(&self, task: &Task, under_way: &UnderWay, now: Instant) -> bool {
        let longest = self.batches.get(&task.batch).map_or(Duration::ZERO, |batch| batch.longest);
        longest > Duration::ZERO && now.saturating_duration_since(under_way.since) > SHORTEST.max(longest * FAR_OVER)
    }

    /// A worker gave a result, after so long; whether it is the first of that task.
    pub fn done(&mut self, task: Task, took: Duration) -> bool {
        self.under_way.remove(&task);
        let Some(batch) = self.batches.get_mut(&task.batch) else { return false };
        let Some(done) = batch.done.get_mut(task.index) else { return false };
        if std::mem::replace(done, true) {
            return false;
        }
        batch.left -= 1;
        batch.longest = batch.longest.max(took);
        true
    }

    /// Whether a batch has begun and all its tasks are done.
    pub fn is_done(&self, batch: usize) -> bool {
        self.batches.get(&batch).is_some_and(|batch| batch.left == 0)
    }

    /// A worker is no more: what it had goes to the others.
    pub fn lost(&mut self, worker: usize, others: &[(usize, f64)]) {
        let mut orphans: Vec<Task> = Vec::new();
        self.under_way.retain(|task, under_way| {
            under_way.workers.retain(|other| *other != worker);
            if under_way.workers.is_empty() {
                orphans.push(*task);
            }
            !under_way.workers.is_empty()
        });
        orphans.extend(self.dealt.remove(&worker).unwrap_or_default());
        match self.policy {
            // Orphans have waited longest.
            Policy::Mixed => orphans.into_iter().rev().for_each(|task| self.open.push_front(task)),
            Policy::Static => self.deal(&orphans, others),
        }
    }
}

/// Whose turn it is, for ever: each in proportion to its factor, the turns of each spread evenly.
fn round_robin(factors: &[f64]) -> impl Iterator<Item = usize> {
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

    fn indexes(given: impl IntoIterator<Item = Option<Given>>) -> Vec<usize> {
        given.into_iter().map(|given| given.unwrap().task.index).collect()
    }

    #[test]
    fn tasks_are_dealt_in_proportion_and_spread() {
        assert_eq!(round_robin(&[1.0, 0.5]).take(6).collect::<Vec<_>>(), [0, 0, 1, 0, 0, 1]);
        assert_eq!(round_robin(&[1.0, 1.0, 1.0]).take(4).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert_eq!(round_robin(&[]).next(), None);
    }

    #[test]
    fn half_is_dealt_and_the_rest_goes_to_whoever_asks() {
        let now = Instant::now();
        let mut allocation = Allocation::new(Policy::Mixed);
        allocation.begin(0, 8, &ALIKE);
        // 0 and 2 were dealt to the first, 1 and 3 to the second, 4 to 7 to nobody.
        assert_eq!(indexes((0..5).map(|_| allocation.next(0, now))), [0, 2, 4, 5, 6]);
        assert_eq!(indexes((0..3).map(|_| allocation.next(1, now))), [1, 3, 7]);
    }

    #[test]
    fn what_another_has_not_begun_is_taken_before_anything_is_done_twice() {
        let now = Instant::now();
        let mut allocation = Allocation::new(Policy::Mixed);
        allocation.begin(0, 4, &ALIKE);
        let given: Vec<Given> = (0..5).map_while(|_| allocation.next(0, now)).collect();
        assert_eq!(given.iter().map(|given| given.task.index).collect::<Vec<_>>(), [0, 2, 3, 1], "1 was dealt to the other");
        assert!(given.iter().all(|given| !given.replica));
        let replica = allocation.next(1, now).unwrap();
        assert_eq!((replica.task.index, replica.replica), (0, true));
    }

    #[test]
    fn the_first_result_counts_and_the_batch_ends_with_the_last_task() {
        let now = Instant::now();
        let mut allocation = Allocation::new(Policy::Mixed);
        allocation.begin(3, 1, &ALIKE);
        let [own, replica] = [0, 1].map(|worker| allocation.next(worker, now).unwrap());
        assert_eq!((own.task, own.replica, replica.replica), (replica.task, false, true));
        assert!(!allocation.is_done(3));
        assert!(allocation.done(own.task, Duration::ZERO));
        assert!(!allocation.done(own.task, Duration::ZERO));
        assert!(allocation.is_done(3));
        assert_eq!(allocation.next(0, now), None);
    }

    #[test]
    fn what_a_lost_worker_had_goes_to_the_others() {
        let now = Instant::now();
        for policy in [Policy::Mixed, Policy::Static] {
            let mut allocation = Allocation::new(policy);
            allocation.begin(0, 6, &ALIKE);
            assert!(allocation.next(0, now).is_some());
            allocation.lost(0, &ALIKE[1..]);
            let mut left: Vec<usize> = std::iter::from_fn(|| allocation.next(1, now)).map(|given| given.task.index).collect();
            left.sort_unstable();
            assert_eq!(left, [0, 1, 2, 3, 4, 5], "{policy:?}");
        }
    }

    #[test]
    fn dealt_beforehand_a_task_is_done_twice_only_when_it_takes_far_too_long() {
        let now = Instant::now();
        let mut allocation = Allocation::new(Policy::Static);
        allocation.begin(0, 4, &ALIKE);
        let slow = allocation.next(0, now).unwrap().task;
        for _ in 0..2 {
            let task = allocation.next(1, now).unwrap().task;
            assert!(allocation.done(task, Duration::from_millis(500)));
        }
        assert_eq!(allocation.next(1, now + Duration::from_millis(1900)), None);
        assert_eq!(allocation.next(1, now + Duration::from_millis(2100)), Some(Given { task: slow, replica: true }));
    }

    /// When the last task is done, if a worker takes so many seconds for a task.
    fn end(policy: Policy, tasks: usize, workers: usize, seconds: impl Fn(usize, usize) -> f64) -> f64 {
        let began = Instant::now();
        let mut allocation = Allocation::new(policy);
        allocation.begin(0, tasks, &(0..workers).map(|worker| (worker, 1.0 / seconds(worker, 0))).collect::<Vec<_>>());
        // When each is free, and what it has done then.
        let mut team: Vec<(Duration, usize, Option<Task>)> = (0..workers).map(|worker| (Duration::ZERO, worker, None)).collect();
        loop {
            team.sort_unstable();
            let (now, worker, done) = team[0];
            done.map(|task| allocation.done(task, Duration::ZERO));
            if allocation.is_done(0) {
                return now.as_secs_f64();
            }
            match allocation.next(worker, began + now) {
                Some(given) => team[0] = (now + Duration::from_secs_f64(seconds(worker, given.task.index)), worker, Some(given.task)),
                None => drop(team.remove(0)),
            }
        }
    }

    #[test]
    fn mixed_ends_within_two_tasks_of_an_even_share() {
        // The longest come last, which is worst; of four workers the last may be five times as slow as the others.
        let task = |index: usize| 0.024 + 0.004 * index as f64;
        let total: f64 = (0..40).map(task).sum();
        for (workers, slower) in [(1, 1.0), (2, 1.0), (4, 1.0), (4, 5.0), (8, 1.0)] {
            let times = |worker: usize| if worker + 1 == workers { slower } else { 1.0 };
            let even = total / (0..workers).map(|worker| 1.0 / times(worker)).sum::<f64>();
            let [mixed, fixed] =
                [Policy::Mixed, Policy::Static].map(|policy| end(policy, 40, workers, |worker, index| times(worker) * task(index)));
            println!("{workers} workers, the last {slower} times slower: even {even:.3}, mixed {mixed:.3}, static {fixed:.3}");
            assert!(even * 0.999_999 <= mixed.min(fixed), "{even} {mixed} {fixed}");
            // Whatever the slowest has begun last, somebody faster does it again, and began no later than one task after the even share.
            assert!(mixed <= even + 2.0 * task(39), "{workers} {slower}: {mixed} {even}");
        }
    }

    #[test]
    fn without_workers_tasks_wait_for_one() {
        let mut allocation = Allocation::new(Policy::Static);
        allocation.begin(0, 1, &[]);
        assert!(allocation.next(5, Instant::now()).is_some());
    }
}
