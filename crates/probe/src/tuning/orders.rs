//! Orders, done.

use sintonia_hook::{PatchError, Pending};
use sintonia_link::order::{Order, Outcome, Shape, Side, When};

use super::{together, watch};

/// Something that was arranged.
struct Arrangement {
    /// The number of its order.
    number: u64,
    hook: u32,
    side: Side,
    when: When,
    pending: &'static Pending,
    /// Whether it was told that it has been done.
    is_told: bool,
}

/// What was arranged and may still be done, or told.
#[derive(Default)]
pub struct Arranged {
    all: Vec<Arrangement>,
}

impl Arranged {
    /// Whether something may be done at any moment that has to be told.
    pub fn is_waiting(&self) -> bool {
        self.all.iter().any(|arrangement| !arrangement.is_told) || together::is_waiting()
    }

    /// What has been done since the last time, by the number of its order, and what it gave.
    pub fn performed(&mut self) -> Vec<(u64, Vec<Result<u64, String>>)> {
        let mut performed = Vec::new();
        for arrangement in self.all.iter_mut().filter(|arrangement| !arrangement.is_told) {
            if let Some(given) = arrangement.pending.given() {
                arrangement.is_told = true;
                performed.push((arrangement.number, given.to_vec()));
            }
        }
        self.all.retain(|arrangement| !arrangement.is_told || arrangement.when == When::Always);
        performed.extend(together::performed().into_iter().map(|(number, given)| (number, vec![given])));
        performed
    }

    /// Does an order; what came of it.
    pub fn obey(&mut self, number: u64, order: Order) -> Outcome {
        match order {
            Order::Hook { function, shape, at_entry, at_exit, may_throttle } => {
                match sintonia_hook::hook(function, shape, &at_entry, &at_exit) {
                    Ok(hook) => {
                        if !matches!(shape, Shape::Replace(_)) {
                            sintonia_hook::may_throttle(hook, may_throttle);
                        }
                        Outcome::Hooked(hook)
                    }
                    Err(problem) => Outcome::Refused(problem.to_string()),
                }
            }
            Order::Unhook(hook) => done(sintonia_hook::unhook(hook)),
            Order::Restore(hook) => done(sintonia_hook::restore(hook)),
            Order::Watch(operation) => watched(operation, true),
            Order::Unwatch(operation) => watched(operation, false),
            // SAFETY: who holds the run's secret found the address in the files of this process, with the type it has there.
            Order::Do(act) => unsafe { sintonia_hook::perform(&act) }.map_or_else(Outcome::Refused, Outcome::Done),
            Order::Arrange { hook, side, acts, when } => {
                if !sintonia_hook::sees(hook, side) {
                    return Outcome::Refused(format!("hook {hook} does not see that moment"));
                }
                // SAFETY: as above.
                let pending = unsafe { sintonia_hook::arrange(hook, side, acts, when) };
                self.all.push(Arrangement { number, hook, side, when, pending, is_told: false });
                Outcome::Arranged
            }
            Order::Agree(every) => {
                together::enable(every);
                Outcome::Done(0)
            }
            Order::Together { change, act } => together::want(number, change, act).map_or_else(Outcome::Refused, |()| Outcome::Arranged),
            Order::Cancel(number) => self.cancel(number),
            Order::Begin | Order::GoOn | Order::Clock => Outcome::Done(0),
        }
    }

    fn cancel(&mut self, number: u64) -> Outcome {
        let Some(place) = self.all.iter().position(|arrangement| arrangement.number == number) else {
            return Outcome::Refused("it was done already, or never arranged".into());
        };
        let Arrangement { hook, side, pending, .. } = self.all[place];
        if !sintonia_hook::cancel(hook, side, pending) {
            return Outcome::Refused("it is being done".into());
        }
        self.all.swap_remove(place);
        Outcome::Done(0)
    }
}

/// What was arranged ends with the conversation in which it was.
impl Drop for Arranged {
    fn drop(&mut self) {
        for Arrangement { hook, side, pending, .. } in &self.all {
            sintonia_hook::cancel(*hook, *side, pending);
        }
    }
}

fn done(result: Result<(), PatchError>) -> Outcome {
    result.map_or_else(|problem| Outcome::Refused(problem.to_string()), |()| Outcome::Done(0))
}

fn watched(operation: u16, watched: bool) -> Outcome {
    watch::set(operation, watched).map_or_else(Outcome::Refused, |()| Outcome::Done(0))
}
