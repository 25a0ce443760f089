//! Allocation of tasks to workers.
//!
//! Each worker gets a number of tasks in proportion to its speed, rounded by largest remainders and distributed cyclically. Workers of a
//! group with equal numbers of tasks are handled together, so the effort does not depend on the number of workers or tasks. Tasks of
//! changing length are not evaluated one by one either: the deviation from an equal share is bounded.

use sintonia_formula::{Formula, Interval};

use super::context::{EstimateContext, GroupTaskTimes, LEVELS, TaskTimesKey};
use super::plan::{TaskSetPlan, TaskVariation};
use super::workers::WorkerGroup;
use super::{AllocationPolicy, EstimateError, Seconds, to_formula};
use crate::expression::{AllocationMetric, LoopRange};

/// Identical workers with equally many tasks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskShare {
    pub(super) group: usize,
    pub(super) workers: f64,
    /// The tasks of each worker.
    pub(super) tasks: f64,
}

/// Allocates tasks to worker groups, each given by its number of workers and its speed.
pub(super) fn allocate(tasks: f64, crews: &[(f64, f64)]) -> Vec<TaskShare> {
    let speed: f64 = crews.iter().map(|(workers, speed)| workers * speed).sum();
    let quota = |crew: usize| tasks * crews[crew].1 / speed;
    // Rounding must not lose a whole task.
    let whole = |crew: usize| (quota(crew) * (1.0 + 1e-12)).floor();
    let given: f64 = crews.iter().enumerate().map(|(crew, (workers, _))| workers * whole(crew)).sum();
    let mut left = (tasks - given).max(0.0);
    let mut by_remainder: Vec<usize> = (0..crews.len()).collect();
    by_remainder.sort_by(|a, b| (quota(*b) - whole(*b)).total_cmp(&(quota(*a) - whole(*a))));
    let mut hands = Vec::new();
    for crew in by_remainder {
        let (workers, tasks) = (crews[crew].0, whole(crew));
        let with_more = left.min(workers);
        left -= with_more;
        hands.push(TaskShare { group: crew, workers: with_more, tasks: tasks + 1.0 });
        hands.push(TaskShare { group: crew, workers: workers - with_more, tasks });
    }
    hands.retain(|hand| hand.workers > 0.0 && hand.tasks > 0.0);
    hands
}

/// Up to this many tasks are all evaluated; of more, some are sampled.
const MAX_EXAMINED_TASKS: f64 = 24.0;

impl EstimateContext<'_> {
    pub(super) fn task_time(&self, tasks: &TaskSetPlan) -> Result<Seconds, EstimateError> {
        let number = self.number(&tasks.count, || "the number of tasks".to_owned())?.map(|number| number.max(0.0).round());
        if number[2] == 0.0 {
            return Ok([0.0; 3]);
        }
        let crews = self.times_per_group(tasks, number)?;
        if tasks.metric == AllocationMetric::Balanced {
            return Ok(self.balanced_time(&crews));
        }
        if tasks.metric == AllocationMetric::Makespan && self.allocation == AllocationPolicy::Mixed {
            return Ok(self.mixed_allocation_time(&crews));
        }
        let mut all = LEVELS.map(|level| self.allocated_time(tasks, number[level], &crews)[level]);
        // With fewer tasks the rounding may be less favourable.
        all[0] = all[0].min(all[1]);
        all[2] = all[2].max(all[1]);
        Ok(all)
    }

    fn times_per_group(&self, tasks: &TaskSetPlan, number: Seconds) -> Result<Vec<GroupTaskTimes>, EstimateError> {
        (0..self.workers.0.len())
            .map(|crew| self.on_group(&tasks.computer, crew).group_task_times(tasks, number, &self.workers.0[crew]))
            .collect()
    }

    /// The key for the cache, if the times stay the same in a sweep.
    pub(super) fn cache_key(&self, tasks: &TaskSetPlan, crew: &WorkerGroup) -> Option<TaskTimesKey> {
        let lasts = tasks.is_worker_independent && self.indexes.is_empty();
        lasts.then(|| (std::ptr::from_ref(tasks) as usize, crew.node, crew.core_sharing().to_bits()))
    }

    fn group_task_times(&self, tasks: &TaskSetPlan, number: Seconds, crew: &WorkerGroup) -> Result<GroupTaskTimes, EstimateError> {
        let key = self.cache_key(tasks, crew);
        let known = key.and_then(|key| self.cache.borrow().task_times.get(&key).copied());
        let found = known.map_or_else(|| self.compute_task_times(tasks, number), Ok)?;
        let mut memory = self.cache.borrow_mut();
        memory.is_sampled |= found.is_sampled;
        key.map(|key| memory.task_times.insert(key, found));
        Ok(found)
    }

    fn compute_task_times(&self, tasks: &TaskSetPlan, number: Seconds) -> Result<GroupTaskTimes, EstimateError> {
        match &tasks.variation {
            TaskVariation::Uniform => {
                let one = self.value(&tasks.body)?;
                let total = LEVELS.map(|level| one[level] * number[level]);
                Ok(GroupTaskTimes { total, least: one, greatest: one, total_variation: [0.0; 3], drift: [0.0; 3], is_sampled: false })
            }
            TaskVariation::Monotonic { total, least, greatest } => {
                let (total, least, greatest) = (self.value(total)?, self.value(least)?, self.value(greatest)?);
                let drift = LEVELS.map(|level| (greatest[level] - least[level]).max(0.0));
                Ok(GroupTaskTimes { total, least, greatest, total_variation: drift, drift, is_sampled: false })
            }
            TaskVariation::Arbitrary => self.examine_tasks(tasks, number),
        }
    }

    /// Evaluates all of few tasks; of many the first ones, the last one and some between. If possible, bounds of the others are computed,
    /// too; otherwise the uncertainty of the sum is twice its difference to the sum from half of the samples.
    fn examine_tasks(&self, tasks: &TaskSetPlan, number: Seconds) -> Result<GroupTaskTimes, EstimateError> {
        let most = number[2].max(1.0);
        let [earliest, first, latest] = self.number(&tasks.range.from, || "the first task".to_owned())?;
        let at = |place: f64| Ok((place, self.with_index(&tasks.range.index, first + place).value(&tasks.body)?));
        let seen: Vec<(f64, Seconds)> = sample_indices(most).into_iter().map(at).collect::<Result<_, EstimateError>>()?;
        let sure = self.run_bounds(tasks, first, &seen);
        let is_sampled = sure.is_none() || number[0] != number[2] || earliest != latest;
        let crew = sure.map_or_else(|| sampled_times(&seen), |stretches| bounded_times(&stretches, &seen));
        let total = LEVELS.map(|level| crew.total[level] * number[level] / most);
        Ok(GroupTaskTimes { total, is_sampled, ..crew })
    }

    /// The bounds of the tasks from each sample to the one before the next; `None` if they are not known.
    fn run_bounds(&self, tasks: &TaskSetPlan, first: f64, seen: &[(f64, Seconds)]) -> Option<Vec<TaskRun>> {
        let between = |pair: &[(f64, Seconds)]| {
            let ([(from, one), (to, _)], index) = ([pair[0], pair[1]], &tasks.range.index);
            let values = if to - from > 1.0 {
                let inside = Interval::new(first + from, first + to - 1.0)?;
                self.with_index_range(index, inside).value(&tasks.body).ok()?
            } else {
                one
            };
            Some(TaskRun { count: to - from, values })
        };
        let last = seen.last().map(|(_, values)| TaskRun { count: 1.0, values: *values });
        let is_known = tasks.body.is_closed() || seen.windows(2).all(|pair| pair[1].0 - pair[0].0 == 1.0);
        is_known.then(|| seen.windows(2).map(between).chain(last.map(Some)).collect()).flatten()
    }

    /// The group whose workers take longest.
    pub(super) fn slowest_group(&self, tasks: &TaskSetPlan) -> Result<usize, EstimateError> {
        let number = self.number(&tasks.count, || "the number of tasks".to_owned())?.map(|number| number.max(0.0).round());
        let crews = self.times_per_group(tasks, number)?;
        let seconds = |hand: &TaskShare| hand.tasks * crews[hand.group].total[1];
        let hands = self.shares_for(number[1], &crews);
        Ok(hands.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b))).map_or(0, |hand| hand.group))
    }

    /// The time if all workers end at the same time.
    fn balanced_time(&self, crews: &[GroupTaskTimes]) -> Seconds {
        let workers = self.workers.0.iter().map(|crew| crew.workers as f64);
        let together = |level: usize| workers.clone().zip(crews).map(|(workers, crew)| workers / crew.total[level]).sum::<f64>();
        LEVELS.map(|level| if crews.iter().any(|crew| crew.total[level] == 0.0) { 0.0 } else { 1.0 / together(level) })
    }

    /// Half of the tasks statically, the others on demand: no worker idles while tasks remain, so all end within one task.
    fn mixed_allocation_time(&self, crews: &[GroupTaskTimes]) -> Seconds {
        let even = self.balanced_time(crews);
        let slowest = |level: usize| crews.iter().map(|crew| crew.greatest[level]).fold(0.0, f64::max);
        let fastest = crews.iter().map(|crew| crew.least[0]).fold(f64::INFINITY, f64::min);
        // A single worker waits for none.
        if self.workers.workers() == 1 {
            return crews[0].total;
        }
        [even[0].max(fastest), even[1] + slowest(1) / 2.0, even[2] + slowest(2)]
    }

    fn shares_for(&self, number: f64, crews: &[GroupTaskTimes]) -> Vec<TaskShare> {
        let fastest = crews.iter().map(|crew| crew.total[1]).fold(f64::INFINITY, f64::min);
        let speed = |crew: &GroupTaskTimes| if crew.total[1] > 0.0 { fastest / crew.total[1] } else { 1.0 };
        let workers = self.workers.0.iter().map(|crew| crew.workers as f64);
        allocate(number, &workers.zip(crews).map(|(workers, crew)| (workers, speed(crew))).collect::<Vec<_>>())
    }

    fn allocated_time(&self, tasks: &TaskSetPlan, number: f64, crews: &[GroupTaskTimes]) -> Seconds {
        let workers = self.workers.workers() as f64;
        let hands = self.shares_for(number, crews);
        let of = |hand: &TaskShare| share_time(hand, number, workers, &crews[hand.group]);
        if tasks.metric == AllocationMetric::TotalWork {
            let sum = hands.iter().map(|hand| of(hand).map(|seconds| seconds * hand.workers)).fold([0.0; 3], add_seconds);
            // However they are allocated, all tasks are executed once.
            let least = |level: usize| crews.iter().map(|crew| crew.total[level]).fold(f64::INFINITY, f64::min);
            let most = |level: usize| crews.iter().map(|crew| crew.total[level]).fold(0.0, f64::max);
            return LEVELS.map(|level| sum[level].clamp(least(level), most(level)));
        }
        let longest = hands.iter().map(of).fold([0.0; 3], |a, b| LEVELS.map(|level| f64::max(a[level], b[level])));
        if crews.len() > 1 {
            return longest;
        }
        // The makespan is at least the balanced time.
        LEVELS.map(|level| longest[level].max(crews[0].total[level] / workers))
    }

    /// Tasks that depend on the index of an enclosing loop: between the balanced time and one task more.
    pub(super) fn tasks_formula(&self, tasks: &TaskSetPlan, level: usize) -> Result<Formula, EstimateError> {
        let LoopRange { index, from, to } = &tasks.range;
        let bodies = (0..self.workers.0.len()).map(|crew| self.on_group(&tasks.computer, crew).formula(&tasks.body, level));
        let bodies: Vec<Formula> = bodies.collect::<Result<_, EstimateError>>()?;
        if tasks.metric == AllocationMetric::TotalWork {
            return Ok(Formula::sum(index, from, to, &bodies[0]));
        }
        let workers = self.workers.0.iter().map(|crew| to_formula(crew.workers as f64));
        let together: Formula = workers.zip(&bodies).map(|(workers, body)| workers / Formula::sum(index, from, to, body)).sum();
        let even = Formula::one() / together;
        if tasks.metric == AllocationMetric::Balanced || self.workers.workers() == 1 {
            return Ok(even);
        }
        let greatest = Formula::max_of(bodies.iter().map(|body| Formula::max_over(index, from, to, body)));
        Ok(even + greatest * Formula::ratio(level as i64, 2))
    }
}

fn add_seconds(a: Seconds, b: Seconds) -> Seconds {
    LEVELS.map(|level| a[level] + b[level])
}

/// Consecutive tasks with bounds for each of them.
struct TaskRun {
    count: f64,
    values: Seconds,
}

/// The times of tasks with bounds per run. No worker takes more than if each task took the maximum of its run, and the variation of that is
/// the sum of the differences between runs.
fn bounded_times(stretches: &[TaskRun], seen: &[(f64, Seconds)]) -> GroupTaskTimes {
    let all = |level: usize| stretches.iter().map(move |stretch| stretch.values[level]);
    let ends = |level: usize| stretches.iter().map(|stretch| stretch.count * stretch.values[level]).sum::<f64>();
    let varied = |level: usize| stretches.windows(2).map(|pair| (pair[1].values[level] - pair[0].values[level]).abs()).sum();
    GroupTaskTimes {
        total: [ends(0), interpolated_sum(seen, 1).max(ends(0)).min(ends(2)), ends(2)],
        least: LEVELS.map(|level| all(level).fold(f64::INFINITY, f64::min)),
        greatest: LEVELS.map(|level| all(level).fold(0.0, f64::max)),
        total_variation: LEVELS.map(varied),
        drift: drift(seen),
        is_sampled: false,
    }
}

/// The times of tasks with linear interpolation between samples.
fn sampled_times(seen: &[(f64, Seconds)]) -> GroupTaskTimes {
    let fewer: Vec<(f64, Seconds)> =
        seen.iter().enumerate().filter(|(place, _)| place % 2 == 0 || place + 1 == seen.len()).map(|(_, one)| *one).collect();
    let all = |level: usize| seen.iter().map(move |(_, one)| one[level]);
    let total = |level: usize| {
        let (all, half) = (interpolated_sum(seen, level), interpolated_sum(&fewer, level));
        let unsure = 2.0 * (all - half).abs();
        [all - unsure, all, all + unsure][level]
    };
    let varied = |level: usize| seen.windows(2).map(|pair| (pair[1].1[level] - pair[0].1[level]).abs()).sum();
    GroupTaskTimes {
        total: LEVELS.map(total),
        least: LEVELS.map(|level| all(level).fold(f64::INFINITY, f64::min)),
        greatest: LEVELS.map(|level| all(level).fold(0.0, f64::max)),
        total_variation: LEVELS.map(varied),
        drift: drift(seen),
        is_sampled: true,
    }
}

fn drift(seen: &[(f64, Seconds)]) -> Seconds {
    let ends = seen.first().zip(seen.last());
    LEVELS.map(|level| ends.map_or(0.0, |((_, first), (_, last))| (last[level] - first[level]).abs()))
}

/// The indices of the sampled tasks.
fn sample_indices(number: f64) -> Vec<f64> {
    if number <= MAX_EXAMINED_TASKS {
        return (0..number as u64).map(|place| place as f64).collect();
    }
    // The first ones differ most if tasks grow from small to large.
    let doubling = std::iter::successors(Some(1.0), |place| Some(place * 2.0)).take_while(|place| *place < number - 1.0);
    let between = (0..8).map(|part| ((number - 1.0) * f64::from(part) / 8.0).round());
    let mut places: Vec<f64> = doubling.chain(between).chain([number - 1.0]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// The sum of all tasks, with linear interpolation between samples.
fn interpolated_sum(seen: &[(f64, Seconds)], level: usize) -> f64 {
    let between = seen.windows(2).map(|pair| {
        let ((from, first), (to, last)) = (pair[0], pair[1]);
        // All but the last: as many as there are steps, on average half a step below the middle.
        let steps = to - from;
        steps * first[level] + (last[level] - first[level]) * (steps - 1.0) / 2.0
    });
    between.sum::<f64>() + seen.last().map_or(0.0, |(_, last)| last[level])
}

/// The time of a worker for its tasks. With cyclic distribution its k-th task is in or near the k-th of as many equal runs; so its sum is
/// an equal share, up to the differences within a few runs.
fn share_time(hand: &TaskShare, number: f64, workers: f64, crew: &GroupTaskTimes) -> Seconds {
    let share = crew.total.map(|total| total * hand.tasks / number);
    if hand.tasks == number {
        return share;
    }
    let (few, many) = (crew.least[0] * hand.tasks, crew.greatest.map(|greatest| greatest * hand.tasks));
    let beyond = (workers * hand.tasks / (2.0 * number) - 0.5).ceil().max(0.0);
    let apart = crew.total_variation.map(|varied| (2.0 * beyond + 1.0) * varied);
    // Of workers with equally many tasks, the last one has the last task of each cycle.
    let behind = crew.drift[1] / 2.0 * (hand.workers - 1.0) / workers;
    let middle = (share[1] + behind).min(many[1]).max(share[1]);
    let low = (share[0] - apart[0]).max(few);
    let high = (share[2] + apart[2]).min(many[2]).min(crew.total[2]);
    [low.min(middle), middle, high.max(middle)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_dealt_in_proportion_and_in_whole() {
        // Two fast workers and one of half their speed: 5 tasks are split 2, 2 and 1.
        let dealt = allocate(5.0, &[(2.0, 1.0), (1.0, 0.5)]);
        assert_eq!(dealt, [TaskShare { group: 0, workers: 2.0, tasks: 2.0 }, TaskShare { group: 1, workers: 1.0, tasks: 1.0 }]);
    }

    #[test]
    fn what_is_left_over_goes_where_most_is_missing() {
        let dealt = allocate(7.0, &[(2.0, 1.0), (1.0, 0.5)]);
        let all: f64 = dealt.iter().map(|hand| hand.workers * hand.tasks).sum();
        assert_eq!(all, 7.0);
        assert!(dealt.contains(&TaskShare { group: 0, workers: 2.0, tasks: 3.0 }), "{dealt:?}");
    }

    #[test]
    fn tasks_on_a_line_are_added_up_exactly_from_a_few() {
        let seen: Vec<(f64, Seconds)> = sample_indices(1000.0).into_iter().map(|place| (place, [place; 3])).collect();
        assert!(seen.len() < 24, "{}", seen.len());
        assert_eq!(interpolated_sum(&seen, 1), 999.0 * 500.0);
    }

    #[test]
    fn many_tasks_and_workers_are_dealt_without_counting_them() {
        let dealt = allocate(1e12, &[(3e6, 1.0), (7e6, 0.3)]);
        let all: f64 = dealt.iter().map(|hand| hand.workers * hand.tasks).sum();
        assert!((all - 1e12).abs() < 1.0, "{all}");
        assert!(dealt.len() <= 4);
    }
}
