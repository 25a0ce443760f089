//! Tasks dealt to workers.
//!
//! Each worker gets tasks in proportion to how fast it is, in whole tasks by largest remainders, and spread over all of them as cards are dealt.
//! Workers of a crew that get equally many are one group, so the effort does not grow with the workers or the tasks. Tasks that take
//! longer and longer are not looked at one by one either: it is known how far from an even share a worker can come.

use sintonia_formula::{Formula, Interval};

use super::case::{Case, LEVELS};
use super::plan::{Shape, Tasks};
use super::team::Crew;
use super::{Allocation, EstimateError, Seconds, number};
use crate::expression::{Dealt, Range};

/// Workers that are alike and have equally many tasks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hand {
    pub(super) crew: usize,
    pub(super) workers: f64,
    /// The tasks of each.
    pub(super) tasks: f64,
}

/// Deals so many tasks to crews of so many workers, each with its speed.
pub(super) fn hands(tasks: f64, crews: &[(f64, f64)]) -> Vec<Hand> {
    let speed: f64 = crews.iter().map(|(workers, speed)| workers * speed).sum();
    let quota = |crew: usize| tasks * crews[crew].1 / speed;
    // Rounding must not take a whole task away.
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
        hands.push(Hand { crew, workers: with_more, tasks: tasks + 1.0 });
        hands.push(Hand { crew, workers: workers - with_more, tasks });
    }
    hands.retain(|hand| hand.workers > 0.0 && hand.tasks > 0.0);
    hands
}

/// What tasks take on the workers of one crew.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnCrew {
    total: Seconds,
    least: Seconds,
    greatest: Seconds,
    /// What each differs from the one before it, all added up.
    varied: Seconds,
    /// What the first and the last differ by.
    drift: Seconds,
    /// Whether these figures are those of some tasks, from which the others may differ.
    is_sampled: bool,
}

/// Tasks and what they run on: where their plan lies, the kind of node, and how many workers share a core.
pub(super) type TasksOn = (usize, usize, u64);

/// So many tasks are looked at one by one; of more, these and some between.
const LOOKED_AT: f64 = 24.0;

impl Case<'_> {
    pub(super) fn tasks(&self, tasks: &Tasks) -> Result<Seconds, EstimateError> {
        let number = self.number(&tasks.number, || "the number of tasks".to_owned())?.map(|number| number.max(0.0).round());
        if number[2] == 0.0 {
            return Ok([0.0; 3]);
        }
        let crews = self.on_crews(tasks, number)?;
        if tasks.dealt == Dealt::Even {
            return Ok(self.even(&crews));
        }
        if tasks.dealt == Dealt::Longest && self.allocation == Allocation::Mixed {
            return Ok(self.mixed(&crews));
        }
        let mut all = LEVELS.map(|level| self.dealt(tasks, number[level], &crews)[level]);
        // With fewer tasks the rounding may be less lucky.
        all[0] = all[0].min(all[1]);
        all[2] = all[2].max(all[1]);
        Ok(all)
    }

    /// What the tasks take on each crew.
    fn on_crews(&self, tasks: &Tasks, number: Seconds) -> Result<Vec<OnCrew>, EstimateError> {
        (0..self.team.0.len()).map(|crew| self.on(&tasks.computer, crew).on_crew(tasks, number, &self.team.0[crew])).collect()
    }

    /// What tasks on a crew are known by, if they are the same in a whole sweep.
    pub(super) fn known_as(&self, tasks: &Tasks, crew: &Crew) -> Option<TasksOn> {
        let lasts = tasks.are_apart && self.indexes.is_empty();
        lasts.then(|| (std::ptr::from_ref(tasks) as usize, crew.node, crew.sharing().to_bits()))
    }

    fn on_crew(&self, tasks: &Tasks, number: Seconds, crew: &Crew) -> Result<OnCrew, EstimateError> {
        let key = self.known_as(tasks, crew);
        let known = key.and_then(|key| self.memory.borrow().tasks.get(&key).copied());
        let found = known.map_or_else(|| self.found(tasks, number), Ok)?;
        let mut memory = self.memory.borrow_mut();
        memory.is_sampled |= found.is_sampled;
        key.map(|key| memory.tasks.insert(key, found));
        Ok(found)
    }

    fn found(&self, tasks: &Tasks, number: Seconds) -> Result<OnCrew, EstimateError> {
        match &tasks.shape {
            Shape::Alike => {
                let one = self.value(&tasks.body)?;
                let total = LEVELS.map(|level| one[level] * number[level]);
                Ok(OnCrew { total, least: one, greatest: one, varied: [0.0; 3], drift: [0.0; 3], is_sampled: false })
            }
            Shape::Ordered { total, least, greatest } => {
                let (total, least, greatest) = (self.value(total)?, self.value(least)?, self.value(greatest)?);
                let drift = LEVELS.map(|level| (greatest[level] - least[level]).max(0.0));
                Ok(OnCrew { total, least, greatest, varied: drift, drift, is_sampled: false })
            }
            Shape::Any => self.looked_at(tasks, number),
        }
    }

    /// Looks at all of few tasks; of many at the first ones, the last one and some between. What the others are at least and at most is
    /// found too, if that can be told; otherwise twice what half of those seen would have told differently is how unsure the sum is.
    fn looked_at(&self, tasks: &Tasks, number: Seconds) -> Result<OnCrew, EstimateError> {
        let most = number[2].max(1.0);
        let [earliest, first, latest] = self.number(&tasks.range.from, || "the first task".to_owned())?;
        let at = |place: f64| Ok((place, self.at(&tasks.range.index, first + place).value(&tasks.body)?));
        let seen: Vec<(f64, Seconds)> = places(most).into_iter().map(at).collect::<Result<_, EstimateError>>()?;
        let sure = self.stretches(tasks, first, &seen);
        let is_sampled = sure.is_none() || number[0] != number[2] || earliest != latest;
        let crew = sure.map_or_else(|| sampled(&seen), |stretches| enclosed(&stretches, &seen));
        let total = LEVELS.map(|level| crew.total[level] * number[level] / most);
        Ok(OnCrew { total, is_sampled, ..crew })
    }

    /// What tasks take at least and at most from each of those seen to the one before the next; nothing if that cannot be told.
    fn stretches(&self, tasks: &Tasks, first: f64, seen: &[(f64, Seconds)]) -> Option<Vec<Stretch>> {
        let between = |pair: &[(f64, Seconds)]| {
            let ([(from, one), (to, _)], index) = ([pair[0], pair[1]], &tasks.range.index);
            let values = if to - from > 1.0 {
                let inside = Interval::new(first + from, first + to - 1.0)?;
                self.within(index, inside).value(&tasks.body).ok()?
            } else {
                one
            };
            Some(Stretch { tasks: to - from, values })
        };
        let last = seen.last().map(|(_, values)| Stretch { tasks: 1.0, values: *values });
        let is_known = tasks.body.is_closed() || seen.windows(2).all(|pair| pair[1].0 - pair[0].0 == 1.0);
        is_known.then(|| seen.windows(2).map(between).chain(last.map(Some)).collect()).flatten()
    }

    /// The crew whose workers need longest.
    pub(super) fn longest(&self, tasks: &Tasks) -> Result<usize, EstimateError> {
        let number = self.number(&tasks.number, || "the number of tasks".to_owned())?.map(|number| number.max(0.0).round());
        let crews = self.on_crews(tasks, number)?;
        let seconds = |hand: &Hand| hand.tasks * crews[hand.crew].total[1];
        let hands = self.hands_of(number[1], &crews);
        Ok(hands.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b))).map_or(0, |hand| hand.crew))
    }

    /// What each worker needs if all end at the same time.
    fn even(&self, crews: &[OnCrew]) -> Seconds {
        let workers = self.team.0.iter().map(|crew| crew.workers as f64);
        let together = |level: usize| workers.clone().zip(crews).map(|(workers, crew)| workers / crew.total[level]).sum::<f64>();
        LEVELS.map(|level| if crews.iter().any(|crew| crew.total[level] == 0.0) { 0.0 } else { 1.0 / together(level) })
    }

    /// Half of the tasks in proportion, the others to whoever is free: nobody is idle while tasks are left, so all end within one task.
    fn mixed(&self, crews: &[OnCrew]) -> Seconds {
        let even = self.even(crews);
        let slowest = |level: usize| crews.iter().map(|crew| crew.greatest[level]).fold(0.0, f64::max);
        let fastest = crews.iter().map(|crew| crew.least[0]).fold(f64::INFINITY, f64::min);
        // One worker alone has no one to wait for.
        if self.team.workers() == 1 {
            return crews[0].total;
        }
        [even[0].max(fastest), even[1] + slowest(1) / 2.0, even[2] + slowest(2)]
    }

    /// The tasks dealt by how fast each crew is with them.
    fn hands_of(&self, number: f64, crews: &[OnCrew]) -> Vec<Hand> {
        let fastest = crews.iter().map(|crew| crew.total[1]).fold(f64::INFINITY, f64::min);
        let speed = |crew: &OnCrew| if crew.total[1] > 0.0 { fastest / crew.total[1] } else { 1.0 };
        let workers = self.team.0.iter().map(|crew| crew.workers as f64);
        hands(number, &workers.zip(crews).map(|(workers, crew)| (workers, speed(crew))).collect::<Vec<_>>())
    }

    fn dealt(&self, tasks: &Tasks, number: f64, crews: &[OnCrew]) -> Seconds {
        let workers = self.team.workers() as f64;
        let hands = self.hands_of(number, crews);
        let of = |hand: &Hand| of_hand(hand, number, workers, &crews[hand.crew]);
        if tasks.dealt == Dealt::All {
            let sum = hands.iter().map(|hand| of(hand).map(|seconds| seconds * hand.workers)).fold([0.0; 3], added);
            // Whoever has which, all are done once.
            let least = |level: usize| crews.iter().map(|crew| crew.total[level]).fold(f64::INFINITY, f64::min);
            let most = |level: usize| crews.iter().map(|crew| crew.total[level]).fold(0.0, f64::max);
            return LEVELS.map(|level| sum[level].clamp(least(level), most(level)));
        }
        let longest = hands.iter().map(of).fold([0.0; 3], |a, b| LEVELS.map(|level| f64::max(a[level], b[level])));
        if crews.len() > 1 {
            return longest;
        }
        // Nobody is faster than all at once.
        LEVELS.map(|level| longest[level].max(crews[0].total[level] / workers))
    }

    /// Tasks inside of something whose index they depend on: between an even share and one task more.
    pub(super) fn tasks_formula(&self, tasks: &Tasks, level: usize) -> Result<Formula, EstimateError> {
        let Range { index, from, to } = &tasks.range;
        let bodies = (0..self.team.0.len()).map(|crew| self.on(&tasks.computer, crew).formula(&tasks.body, level));
        let bodies: Vec<Formula> = bodies.collect::<Result<_, EstimateError>>()?;
        if tasks.dealt == Dealt::All {
            return Ok(Formula::sum(index, from, to, &bodies[0]));
        }
        let workers = self.team.0.iter().map(|crew| number(crew.workers as f64));
        let together: Formula = workers.zip(&bodies).map(|(workers, body)| workers / Formula::sum(index, from, to, body)).sum();
        let even = Formula::one() / together;
        if tasks.dealt == Dealt::Even || self.team.workers() == 1 {
            return Ok(even);
        }
        let greatest = Formula::max_of(bodies.iter().map(|body| Formula::max_over(index, from, to, body)));
        Ok(even + greatest * Formula::ratio(level as i64, 2))
    }
}

fn added(a: Seconds, b: Seconds) -> Seconds {
    LEVELS.map(|level| a[level] + b[level])
}

/// Tasks that follow each other, and what each of them takes at least and at most.
struct Stretch {
    tasks: f64,
    values: Seconds,
}

/// What is known of tasks in stretches. Nobody's tasks take more than if each took what is most in its stretch, and the variation of that is
/// what it changes by from stretch to stretch.
fn enclosed(stretches: &[Stretch], seen: &[(f64, Seconds)]) -> OnCrew {
    let all = |level: usize| stretches.iter().map(move |stretch| stretch.values[level]);
    let ends = |level: usize| stretches.iter().map(|stretch| stretch.tasks * stretch.values[level]).sum::<f64>();
    let varied = |level: usize| stretches.windows(2).map(|pair| (pair[1].values[level] - pair[0].values[level]).abs()).sum();
    OnCrew {
        total: [ends(0), sum(seen, 1).max(ends(0)).min(ends(2)), ends(2)],
        least: LEVELS.map(|level| all(level).fold(f64::INFINITY, f64::min)),
        greatest: LEVELS.map(|level| all(level).fold(0.0, f64::max)),
        varied: LEVELS.map(varied),
        drift: drift(seen),
        is_sampled: false,
    }
}

/// What tasks take if those between two that were seen lie on a line.
fn sampled(seen: &[(f64, Seconds)]) -> OnCrew {
    let fewer: Vec<(f64, Seconds)> =
        seen.iter().enumerate().filter(|(place, _)| place % 2 == 0 || place + 1 == seen.len()).map(|(_, one)| *one).collect();
    let all = |level: usize| seen.iter().map(move |(_, one)| one[level]);
    let total = |level: usize| {
        let (all, half) = (sum(seen, level), sum(&fewer, level));
        let unsure = 2.0 * (all - half).abs();
        [all - unsure, all, all + unsure][level]
    };
    let varied = |level: usize| seen.windows(2).map(|pair| (pair[1].1[level] - pair[0].1[level]).abs()).sum();
    OnCrew {
        total: LEVELS.map(total),
        least: LEVELS.map(|level| all(level).fold(f64::INFINITY, f64::min)),
        greatest: LEVELS.map(|level| all(level).fold(0.0, f64::max)),
        varied: LEVELS.map(varied),
        drift: drift(seen),
        is_sampled: true,
    }
}

/// What the first task and the last differ by.
fn drift(seen: &[(f64, Seconds)]) -> Seconds {
    let ends = seen.first().zip(seen.last());
    LEVELS.map(|level| ends.map_or(0.0, |((_, first), (_, last))| (last[level] - first[level]).abs()))
}

/// The places of the tasks that are looked at, from 0.
fn places(number: f64) -> Vec<f64> {
    if number <= LOOKED_AT {
        return (0..number as u64).map(|place| place as f64).collect();
    }
    // The first ones differ most where tasks go from small to large numbers.
    let doubling = std::iter::successors(Some(1.0), |place| Some(place * 2.0)).take_while(|place| *place < number - 1.0);
    let between = (0..8).map(|part| ((number - 1.0) * f64::from(part) / 8.0).round());
    let mut places: Vec<f64> = doubling.chain(between).chain([number - 1.0]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// The sum of all tasks, if those between two that were seen lie on a line.
fn sum(seen: &[(f64, Seconds)], level: usize) -> f64 {
    let between = seen.windows(2).map(|pair| {
        let ((from, first), (to, last)) = (pair[0], pair[1]);
        // All of them but the last: as many as there are steps, in the mean half a step below the middle.
        let steps = to - from;
        steps * first[level] + (last[level] - first[level]) * (steps - 1.0) / 2.0
    });
    between.sum::<f64>() + seen.last().map_or(0.0, |(_, last)| last[level])
}

/// What a worker needs for its tasks. Dealt as cards are, its k-th task lies in the k-th of as many equal stretches, or not far from it; so its
/// sum is that of an even share, up to what the tasks of a few stretches differ by.
fn of_hand(hand: &Hand, number: f64, workers: f64, crew: &OnCrew) -> Seconds {
    let share = crew.total.map(|total| total * hand.tasks / number);
    if hand.tasks == number {
        return share;
    }
    let (few, many) = (crew.least[0] * hand.tasks, crew.greatest.map(|greatest| greatest * hand.tasks));
    let beyond = (workers * hand.tasks / (2.0 * number) - 0.5).ceil().max(0.0);
    let apart = crew.varied.map(|varied| (2.0 * beyond + 1.0) * varied);
    // Among those with equally many, the last has the last task of each round.
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
        // Two fast workers and one of half their speed: 5 tasks are 2, 2 and 1.
        let dealt = hands(5.0, &[(2.0, 1.0), (1.0, 0.5)]);
        assert_eq!(dealt, [Hand { crew: 0, workers: 2.0, tasks: 2.0 }, Hand { crew: 1, workers: 1.0, tasks: 1.0 }]);
    }

    #[test]
    fn what_is_left_over_goes_where_most_is_missing() {
        let dealt = hands(7.0, &[(2.0, 1.0), (1.0, 0.5)]);
        let all: f64 = dealt.iter().map(|hand| hand.workers * hand.tasks).sum();
        assert_eq!(all, 7.0);
        assert!(dealt.contains(&Hand { crew: 0, workers: 2.0, tasks: 3.0 }), "{dealt:?}");
    }

    #[test]
    fn tasks_on_a_line_are_added_up_exactly_from_a_few() {
        let seen: Vec<(f64, Seconds)> = places(1000.0).into_iter().map(|place| (place, [place; 3])).collect();
        assert!(seen.len() < 24, "{}", seen.len());
        assert_eq!(sum(&seen, 1), 999.0 * 500.0);
    }

    #[test]
    fn many_tasks_and_workers_are_dealt_without_counting_them() {
        let dealt = hands(1e12, &[(3e6, 1.0), (7e6, 0.3)]);
        let all: f64 = dealt.iter().map(|hand| hand.workers * hand.tasks).sum();
        assert!((all - 1e12).abs() < 1.0, "{all}");
        assert!(dealt.len() <= 4);
    }
}
