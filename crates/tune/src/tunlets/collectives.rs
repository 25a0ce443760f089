//! The tunlet `collectives`: which algorithm the MPI library uses for a collective operation, chosen by trying, where the library allows it.
//!
//! The operation in which most time goes is looked at. Each algorithm that its control variable in MPI_T offers is used for a number of
//! calls, and the one with the least time per call stays. Ranks with different algorithms would wait for each other for ever, so a
//! change is made by all before the same call ([`Moment::Together`]).

use serde::Deserialize;
use sintonia_link::order::When;

use crate::point::{Actor, MeasurePoint, Moment, Needs, Target, TuningPoint};
use crate::tunlet::{Figure, Joined, Tunlet, Wish};

/// A control variable that says which algorithm an operation uses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The operation.
    pub operation: String,
    /// The control variable.
    pub control: String,
    /// The values to try besides the one it has.
    pub values: Vec<f64>,
}

/// What can be told to it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What there is to choose. Unless told, what MPICH and its relatives offer: values that every version has.
    pub choices: Vec<Choice>,
    /// Calls on each process that an algorithm is judged by.
    pub calls: u64,
    /// How much better another must be, as a share of the time.
    pub worth: f64,
    /// Seconds between two looks.
    pub period: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        let choice = |operation: &str, name: &str, most: u8| Choice {
            operation: operation.into(),
            control: format!("MPIR_CVAR_{name}_INTRA_ALGORITHM"),
            values: (1..=most).map(f64::from).collect(),
        };
        let choices = vec![
            choice("MPI_Bcast", "BCAST", 5),
            choice("MPI_Allreduce", "ALLREDUCE", 4),
            choice("MPI_Reduce", "REDUCE", 4),
            choice("MPI_Allgather", "ALLGATHER", 4),
        ];
        Settings { choices, calls: 200, worth: 0.05, period: 0.05 }
    }
}

/// Calls and their time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Tally {
    calls: u64,
    seconds: f64,
}

impl Tally {
    fn each(self) -> f64 {
        self.seconds / self.calls as f64
    }
}

/// How far the trying is.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// It is not known yet which operation takes most time.
    Looking,
    /// The values of a choice are tried in turn: the place of the one that is tried, and the time per call of those before. The first is
    /// the value that was there.
    Trying { choice: usize, times: Vec<f64> },
    /// A change was asked for, and not all have made it.
    Changing { choice: usize, times: Vec<f64>, answers: u32 },
    /// The best stays.
    Done,
}

/// The tunlet.
pub struct Collectives {
    settings: Settings,
    processes: u32,
    tallies: Vec<Tally>,
    stage: Stage,
    /// The value that was there before the first change.
    original: Option<f64>,
    /// Calls that were under way when the change was made do not count: whether the first while after it is still to come,
    skip: bool,
    /// and when the first begins that counts.
    counts_from: f64,
}

impl Collectives {
    /// With these settings.
    pub fn new(mut settings: Settings) -> Collectives {
        settings.calls = settings.calls.max(1);
        let tallies = vec![Tally::default(); settings.choices.len()];
        Collectives { settings, processes: 1, tallies, stage: Stage::Looking, original: None, skip: false, counts_from: 0.0 }
    }

    /// Whether an operation has been called often enough to be judged.
    fn is_known(&self, choice: usize) -> bool {
        self.tallies[choice].calls >= self.settings.calls * u64::from(self.processes)
    }

    /// The operation with most time, once it is known.
    fn worst(&self) -> Option<usize> {
        let worst = (0..self.tallies.len()).max_by(|one, other| self.tallies[*one].seconds.total_cmp(&self.tallies[*other].seconds))?;
        self.is_known(worst).then_some(worst)
    }

    /// The value that is tried after so many.
    fn value(&self, choice: usize, tried: usize) -> Option<f64> {
        tried.checked_sub(1).and_then(|place| self.settings.choices[choice].values.get(place).copied())
    }

    fn go_on(&mut self) -> Vec<Wish> {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Looking => match self.worst() {
                Some(choice) => self.judged(choice, Vec::new()),
                None => {
                    self.stage = Stage::Looking;
                    Vec::new()
                }
            },
            Stage::Trying { choice, times } if self.is_known(choice) => self.judged(choice, times),
            other => {
                self.stage = other;
                Vec::new()
            }
        }
    }

    /// A value has been tried long enough: on to the next, or back to the best.
    fn judged(&mut self, choice: usize, mut times: Vec<f64>) -> Vec<Wish> {
        times.push(self.tallies[choice].each());
        match self.value(choice, times.len()) {
            Some(next) => {
                let why = format!(
                    "{} takes {} with {}",
                    self.settings.choices[choice].operation,
                    micros(times[times.len() - 1]),
                    self.name(choice, times.len() - 1)
                );
                self.change(choice, times, next, why)
            }
            None => self.settle(choice, &times),
        }
    }

    /// Keeps the best of all that were tried.
    fn settle(&mut self, choice: usize, times: &[f64]) -> Vec<Wish> {
        let best = (0..times.len()).min_by(|one, other| times[*one].total_cmp(&times[*other])).unwrap_or(0);
        let best = if times[best] < (1.0 - self.settings.worth) * times[0] { best } else { 0 };
        let value = self.value(choice, best).or(self.original).unwrap_or(0.0);
        let operation = &self.settings.choices[choice].operation;
        let why = format!("{operation} takes {} with it, {} with the library's own choice", micros(times[best]), micros(times[0]));
        let told = format!("{operation}: of {} algorithms {} stays: {}", times.len(), self.name(choice, best), why);
        let mut wishes = vec![Wish::Tell(told)];
        if best + 1 != times.len() {
            wishes.push(Wish::change(choice, value, why));
        }
        self.stage = Stage::Done;
        wishes
    }

    fn name(&self, choice: usize, tried: usize) -> String {
        self.value(choice, tried).map_or("the library's own choice".into(), |value| format!("algorithm {value}"))
    }

    fn change(&mut self, choice: usize, times: Vec<f64>, value: f64, why: String) -> Vec<Wish> {
        self.stage = Stage::Changing { choice, times, answers: 0 };
        vec![Wish::change(choice, value, why)]
    }
}

fn micros(seconds: f64) -> String {
    format!("{:.1} us", 1e6 * seconds)
}

impl Tunlet for Collectives {
    fn name(&self) -> &str {
        "collectives"
    }

    fn needs(&mut self, _processes: u32) -> Needs {
        let measure = |choice: &Choice| MeasurePoint::of_mpi(Actor::All, &choice.operation, &["seconds"], self.settings.period);
        let tune = |choice: &Choice| TuningPoint {
            actor: Actor::All,
            target: Target::Control(choice.control.clone()),
            range: (f64::MIN, f64::MAX),
            moment: Moment::Together,
            when: When::Once,
        };
        Needs { measures: self.settings.choices.iter().map(measure).collect(), tunes: self.settings.choices.iter().map(tune).collect() }
    }

    fn begins(&mut self, processes: u32) -> Vec<Wish> {
        self.processes = processes.max(1);
        Vec::new()
    }

    fn joined(&mut self, joined: &Joined) -> Vec<Wish> {
        if std::mem::take(&mut self.skip) {
            self.counts_from = joined.from + self.settings.period / 2.0;
        }
        if joined.from < self.counts_from {
            return Vec::new();
        }
        let (Some(tally), Some(sums)) = (self.tallies.get_mut(joined.point), joined.values.first()) else { return Vec::new() };
        *tally = Tally { calls: tally.calls + sums.count(), seconds: tally.seconds + sums.sum() };
        self.go_on()
    }

    fn changed(&mut self, point: usize, _rank: u32, before: Option<f64>) {
        let processes = self.processes;
        if let Stage::Changing { choice, times, answers } = &mut self.stage
            && *choice == point
        {
            *answers += 1;
            self.original = self.original.or(before);
            if *answers == processes {
                self.stage = Stage::Trying { choice: point, times: std::mem::take(times) };
                self.tallies = vec![Tally::default(); self.tallies.len()];
                self.skip = true;
            }
        }
    }

    fn refused(&mut self, _point: usize, _rank: u32, why: &str) -> Vec<Wish> {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Done => return Vec::new(),
            // One that the library does not take: the best of those it took stays.
            Stage::Changing { choice, times, .. } if times.len() > 1 => return self.settle(choice, &times),
            Stage::Looking | Stage::Trying { .. } | Stage::Changing { .. } => {}
        }
        vec![Wish::Tell(format!("this MPI library does not let algorithms be chosen while the program runs: {why}"))]
    }

    fn figures(&self) -> Vec<Figure> {
        match &self.stage {
            Stage::Trying { choice, times } | Stage::Changing { choice, times, .. } => {
                let best = times.iter().copied().fold(f64::INFINITY, f64::min);
                vec![Figure::new(&self.settings.choices[*choice].operation, 1e6 * best, "us"), Figure::new("tried", times.len() as f64, "")]
            }
            Stage::Looking | Stage::Done => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Sums;

    /// Runs calls of an operation whose algorithms take these times; the first is the library's own choice.
    fn run(times: &[f64]) -> (f64, Vec<String>) {
        let mut tunlet = Collectives::new(Settings { calls: 10, ..Settings::default() });
        tunlet.begins(4);
        let (mut value, mut told) = (0.0, Vec::new());
        for round in 0..200 {
            let mut sums = Sums::default();
            (0..8).for_each(|_| sums.add(times[value as usize], 1));
            let wishes = tunlet.joined(&Joined { point: 1, from: 0.05 * f64::from(round), count: 8, values: vec![sums] });
            for wish in wishes {
                match wish {
                    Wish::Change { point, value: new, .. } => {
                        let before = std::mem::replace(&mut value, new);
                        (0..4).for_each(|rank| tunlet.changed(point, rank, Some(before)));
                    }
                    Wish::Tell(what) => told.push(what),
                    other => panic!("{other:?}"),
                }
            }
        }
        (value, told)
    }

    #[test]
    fn every_algorithm_is_tried_and_the_best_stays() {
        let (value, told) = run(&[10e-6, 12e-6, 5e-6, 20e-6, 11e-6]);
        assert_eq!(value, 2.0);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("MPI_Allreduce: of 5 algorithms algorithm 2 stays"), "{told:?}");
    }

    #[test]
    fn what_is_hardly_better_is_not_worth_it() {
        let (value, told) = run(&[10e-6, 12e-6, 9.8e-6, 20e-6, 11e-6]);
        assert_eq!(value, 0.0);
        assert!(told[0].contains("the library's own choice stays"), "{told:?}");
    }

    #[test]
    fn an_algorithm_that_the_library_does_not_take_leaves_the_best_of_the_others() {
        let mut tunlet = Collectives::new(Settings { calls: 1, ..Settings::default() });
        tunlet.stage = Stage::Changing { choice: 1, times: vec![10e-6, 5e-6, 12e-6], answers: 0 };
        let wishes = tunlet.refused(1, 0, "there is no such algorithm");
        assert!(matches!(&wishes[..], [Wish::Tell(_), Wish::Change { point: 1, value: 1.0, .. }]), "{wishes:?}");
    }

    #[test]
    fn where_the_library_does_not_allow_it_it_says_so_and_stops() {
        let mut tunlet = Collectives::new(Settings::default());
        let wishes = tunlet.refused(1, 0, "there is no such variable");
        assert!(matches!(&wishes[..], [Wish::Tell(what)] if what.contains("no such variable")));
        assert!(tunlet.refused(1, 1, "there is no such variable").is_empty());
    }
}
