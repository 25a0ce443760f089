//! Messages between two processes: thresholds first, then the time of a transfer, by which everything else is paced, then the rest.

use std::time::Instant;

use sintonia_fit::sample::median;

use super::lead::{FIRST, Leader, part};
use super::order::{Exchange, Task};
use super::sizes::{refined, sizes};
use super::threshold::{Thresholds, largest, two_of_three};
use super::{Failure, Line, Place, Quantity, Settings};
use crate::{Message, Named, PairClass};

/// What is asked for to get each figure; starting to send and waiting for it come together.
const ASKED: [Message; 6] =
    [Message::Send, Message::SynchronousSend, Message::BufferedSend, Message::ReadySend, Message::StartSend, Message::Receive];

/// One pair of processes for each class that there is: the first that is found.
pub fn pairs(places: &[Place]) -> Vec<(PairClass, [usize; 2])> {
    let all = || (0..places.len()).flat_map(|first| (first + 1..places.len()).map(move |second| [first, second]));
    let first = |class: &PairClass| all().find(|[a, b]| places[*a].class(&places[*b]) == *class).map(|pair| (*class, pair));
    PairClass::ALL.iter().filter_map(first).collect()
}

/// How many round trips of so many seconds one way it takes until reading the clock does not matter: what follows each other closely is
/// also what others time.
fn train(seconds: f64) -> usize {
    const LONG: f64 = 20e-6;
    const MOST: f64 = 32.0;
    (LONG / (2.0 * seconds)).clamp(1.0, MOST) as usize
}

fn overlap_sizes(settings: &Settings) -> Vec<u64> {
    (5..).map(|exponent| 4u64 << (2 * exponent)).take_while(|bytes| *bytes <= settings.max_bytes).step_by(2).collect()
}

/// Measures everything between the two processes of a pair.
pub fn measure(leader: &mut Leader, class: PairClass, pair: [usize; 2], until: Instant) -> Result<(), Failure> {
    let mut pair = Pair::meet(leader, class, pair)?;
    pair.find_thresholds()?;
    let settings = pair.leader.settings;
    let sizes = sizes(settings.max_bytes, settings.quick, &pair.thresholds.all());
    let of = |what: Message| sizes.iter().map(move |bytes| (Exchange::Time(what), *bytes));
    pair.all(of(Message::Transfer).collect(), part(until, ASKED.len() + 2))?;
    let overlap = overlap_sizes(&settings).into_iter().map(|bytes| (Exchange::Overlap, bytes));
    // A part of the time is left for sizes that turn out to be missing.
    let main = until.checked_sub(until.saturating_duration_since(Instant::now()) / 8).unwrap_or(until);
    pair.all(ASKED.iter().flat_map(|what| of(*what)).chain(overlap).collect(), main)?;
    pair.refine(until)
}

/// Two processes, and what is known of the messages between them.
struct Pair<'l, 't, 'o> {
    leader: &'l mut Leader<'t, 'o>,
    class: PairClass,
    ranks: [usize; 2],
    thresholds: Thresholds,
    /// The seconds that an empty message takes, about.
    empty: f64,
    /// The seconds that the largest message takes, about.
    largest: f64,
    known: Vec<(Message, u64, f64)>,
}

impl<'l, 't, 'o> Pair<'l, 't, 'o> {
    fn meet(leader: &'l mut Leader<'t, 'o>, class: PairClass, ranks: [usize; 2]) -> Result<Self, Failure> {
        let thresholds = Thresholds::default();
        let mut pair = Pair { leader, class, ranks, thresholds, empty: 0.0, largest: 0.0, known: Vec::new() };
        pair.empty = pair.glance(0, 20)?;
        pair.largest = pair.glance(pair.leader.settings.max_bytes, 3)?;
        Ok(pair)
    }

    /// The seconds of a transfer, after a few times only.
    fn glance(&mut self, bytes: u64, times: usize) -> Result<f64, Failure> {
        let task = self.task(Exchange::Time(Message::Transfer), bytes);
        let values = self.leader.exchange(self.ranks, Task { times, train: 1, ..task })?;
        Ok(values.first().and_then(|values| median(values).ok()).unwrap_or(0.0))
    }

    /// What a message does, 1 for yes, or how many seconds it takes.
    fn try_once(&mut self, exchange: Exchange, bytes: u64) -> Result<f64, Failure> {
        let task = self.task(exchange, bytes);
        let values = self.leader.exchange(self.ranks, task)?;
        Ok(values.first().and_then(|values| values.first().copied()).unwrap_or(f64::INFINITY))
    }

    fn task(&self, exchange: Exchange, bytes: u64) -> Task {
        // How long it takes until the other one has surely begun to wait.
        let settle = 2e-6 + 4.0 * self.empty;
        let settle = match exchange {
            // Only what is sent eagerly arrives by itself.
            Exchange::Time(Message::Receive) if self.thresholds.eager.is_none_or(|eager| bytes <= eager) => {
                settle + 2.0 * self.about(bytes)
            }
            _ => settle,
        };
        let train = if exchange == Exchange::Time(Message::Transfer) { train(self.about(bytes)) } else { 1 };
        let first = self.leader.first_times(bytes).div_ceil(train);
        Task { exchange, bytes: bytes as usize, first, times: 1, train, settle }
    }

    /// The seconds of a transfer, about: as it was measured, or by the share of the largest.
    fn about(&self, bytes: u64) -> f64 {
        let known = self.known.iter().find(|(what, size, _)| *what == Message::Transfer && *size == bytes);
        let share = bytes as f64 / self.leader.settings.max_bytes.max(1) as f64;
        known.map_or(self.empty + self.largest * share, |(_, _, seconds)| *seconds)
    }

    fn find_thresholds(&mut self) -> Result<(), Failure> {
        let most = self.leader.settings.max_bytes;
        let patience = if self.leader.oversubscribed { 0.05 } else { 0.02 };
        let wait = |pair: &Self, bytes: u64| patience + 2.0 * pair.about(bytes);
        // What is sent too late to be noticed was held up by something else; what is noticed is certain. So a no is worth patience.
        self.thresholds.eager = largest(most, |bytes| {
            for patience in [1.0, 2.0, 4.0] {
                if self.try_once(Exchange::Eager(patience * wait(self, bytes)), bytes)? == 1.0 {
                    return Ok(true);
                }
            }
            Ok::<_, Failure>(false)
        })?;
        // A message that was not sent before the other one called MPI again took as long as that.
        self.thresholds.unattended = largest(self.thresholds.eager.unwrap_or(most), |bytes| {
            let wait = wait(self, bytes);
            two_of_three(|| Ok::<_, Failure>(self.try_once(Exchange::Unattended(wait), bytes)? < wait / 2.0))
        })?
        .or(self.thresholds.eager);
        self.thresholds.detached = largest(most, |bytes| {
            let exchange = Exchange::Detached(wait(self, bytes));
            two_of_three(|| Ok::<_, Failure>(self.try_once(exchange, bytes)? == 1.0))
        })?;
        Ok(Line::Thresholds(self.class, self.thresholds).write(self.leader.out)?)
    }

    fn all(&mut self, todo: Vec<(Exchange, u64)>, until: Instant) -> Result<(), Failure> {
        // Of what is slow, a few measurements must do; they come first, lest there be no time left for them.
        let (slow, quick): (Vec<_>, Vec<_>) = todo.into_iter().partition(|(_, bytes)| self.about(*bytes) * FIRST as f64 > 0.1);
        let passes = [(slow, 2, part(until, 2)), (quick, FIRST, until)];
        for (todo, times, until) in passes.into_iter().filter(|(todo, _, _)| !todo.is_empty()) {
            let ranks = self.ranks;
            let tasks = todo.into_iter().map(|(exchange, bytes)| self.task(exchange, bytes)).collect();
            let measured = self.leader.passes(tasks, until, times, |leader, task: &Task, times| {
                let first = task.first.min(leader.first_times(task.bytes as u64));
                leader.exchange(ranks, Task { first, times, ..*task })
            })?;
            for (task, values) in measured {
                self.say(task.exchange, task.bytes as u64, &values)?;
            }
        }
        Ok(())
    }

    fn say(&mut self, exchange: Exchange, bytes: u64, values: &[Vec<f64>]) -> Result<(), Failure> {
        let class = self.class;
        let what: &[Message] = match exchange {
            Exchange::Time(Message::StartSend) => &[Message::StartSend, Message::WaitSend],
            Exchange::Time(ref what) => std::slice::from_ref(what),
            _ => return values.iter().try_for_each(|values| self.leader.say(Quantity::Overlap { class }, bytes, values)),
        };
        for (what, values) in what.iter().zip(values) {
            self.leader.say(Quantity::Message { class, what: *what }, bytes, values)?;
            self.known.extend(median(values).ok().map(|middle| (*what, bytes, middle)));
        }
        Ok(())
    }

    /// Measures more sizes where what was measured is far from straight.
    fn refine(&mut self, until: Instant) -> Result<(), Failure> {
        let most = if self.leader.settings.quick { 4 } else { 12 };
        let mut todo: Vec<(Exchange, u64)> = Vec::new();
        for what in ASKED.into_iter().chain([Message::Transfer]) {
            let mut points: Vec<(u64, f64)> =
                self.known.iter().filter(|known| known.0 == what).map(|(_, bytes, seconds)| (*bytes, *seconds)).collect();
            points.sort_unstable_by_key(|(bytes, _)| *bytes);
            todo.extend(refined(&points, most).into_iter().map(|bytes| (Exchange::Time(what), bytes)));
        }
        self.all(todo, until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str) -> Place {
        Place { host: host.into(), processor: "x".into(), cores: 1, allowed: vec![], caches: vec![] }
    }

    #[test]
    fn each_class_has_one_pair() {
        let places = ["a", "b", "b"].map(place);
        assert_eq!(pairs(&places), [(PairClass::SameNode, [1, 2]), (PairClass::OtherNode, [0, 1])]);
    }

    #[test]
    fn short_messages_are_timed_many_at_a_time() {
        assert_eq!([0.4e-6, 5e-6, 1e-3, 0.0].map(train), [25, 2, 1, 32]);
    }

    #[test]
    fn overlap_is_measured_at_a_few_sizes() {
        let settings = Settings { seed: 1, max_bytes: 4 << 20, budget: std::time::Duration::ZERO, quick: false };
        assert_eq!(overlap_sizes(&settings), [4 << 10, 64 << 10, 1 << 20]);
    }
}
