//! Executes commands of the collector.

use sintonia_hook::{PatchError, ScheduledActions};
use sintonia_link::probe_protocol::{ActionRepeat, CommandOutcome, HookKind, HookSide, ProbeCommand};

use super::{agreement, watch};

/// Actions scheduled by a command.
struct ScheduledAction {
    /// The number of the command.
    number: u64,
    hook: u32,
    side: HookSide,
    when: ActionRepeat,
    pending: &'static ScheduledActions,
    /// Whether their first run has been reported.
    is_reported: bool,
}

/// Executes commands, and keeps scheduled actions that may still run or have to be reported.
#[derive(Default)]
pub(super) struct CommandExecutor {
    scheduled: Vec<ScheduledAction>,
}

impl CommandExecutor {
    /// Whether there may be results to report.
    pub(super) fn has_unreported(&self) -> bool {
        self.scheduled.iter().any(|arrangement| !arrangement.is_reported) || agreement::has_unreported()
    }

    /// Results since the last call, by command number.
    pub(super) fn take_performed(&mut self) -> Vec<(u64, Vec<Result<u64, String>>)> {
        let mut performed = Vec::new();
        for arrangement in self.scheduled.iter_mut().filter(|arrangement| !arrangement.is_reported) {
            if let Some(results) = arrangement.pending.results() {
                arrangement.is_reported = true;
                performed.push((arrangement.number, results.to_vec()));
            }
        }
        self.scheduled.retain(|arrangement| !arrangement.is_reported || arrangement.when == ActionRepeat::Always);
        performed.extend(agreement::take_performed().into_iter().map(|(number, results)| (number, vec![results])));
        performed
    }

    /// Executes a command and returns its result.
    pub(super) fn execute(&mut self, number: u64, order: ProbeCommand) -> CommandOutcome {
        match order {
            ProbeCommand::Hook { function, shape, at_entry, at_exit, may_throttle } => {
                match sintonia_hook::hook(function, shape, &at_entry, &at_exit) {
                    Ok(hook) => {
                        if !matches!(shape, HookKind::Replace(_)) {
                            sintonia_hook::set_throttling(hook, may_throttle);
                        }
                        CommandOutcome::Hooked(hook)
                    }
                    Err(problem) => CommandOutcome::Refused(problem.to_string()),
                }
            }
            ProbeCommand::Unhook(hook) => done(sintonia_hook::unhook(hook)),
            ProbeCommand::Restore(hook) => done(sintonia_hook::restore(hook)),
            ProbeCommand::Watch(operation) => watched(operation, true),
            ProbeCommand::Unwatch(operation) => watched(operation, false),
            // SAFETY: the holder of the run's secret took the address and type from the files of this process.
            ProbeCommand::Do(act) => unsafe { sintonia_hook::execute(&act) }.map_or_else(CommandOutcome::Refused, CommandOutcome::Done),
            ProbeCommand::Arrange { hook, side, acts, when } => {
                if !sintonia_hook::observes(hook, side) {
                    return CommandOutcome::Refused(format!("hook {hook} does not observe that side of the function"));
                }
                // SAFETY: as above.
                let pending = unsafe { sintonia_hook::schedule(hook, side, acts, when) };
                self.scheduled.push(ScheduledAction { number, hook, side, when, pending, is_reported: false });
                CommandOutcome::Arranged
            }
            ProbeCommand::Agree(every) => {
                agreement::enable(every);
                CommandOutcome::Done(0)
            }
            ProbeCommand::Together { change, act } => {
                agreement::propose(number, change, act).map_or_else(CommandOutcome::Refused, |()| CommandOutcome::Arranged)
            }
            ProbeCommand::Cancel(number) => self.cancel(number),
            ProbeCommand::Begin | ProbeCommand::GoOn | ProbeCommand::Clock => CommandOutcome::Done(0),
        }
    }

    fn cancel(&mut self, number: u64) -> CommandOutcome {
        let Some(index) = self.scheduled.iter().position(|arrangement| arrangement.number == number) else {
            return CommandOutcome::Refused("it was already done, or never scheduled".into());
        };
        let ScheduledAction { hook, side, pending, .. } = self.scheduled[index];
        if !sintonia_hook::cancel(hook, side, pending) {
            return CommandOutcome::Refused("it is in progress".into());
        }
        self.scheduled.swap_remove(index);
        CommandOutcome::Done(0)
    }
}

/// Scheduled actions end with the session.
impl Drop for CommandExecutor {
    fn drop(&mut self) {
        for ScheduledAction { hook, side, pending, .. } in &self.scheduled {
            sintonia_hook::cancel(*hook, *side, pending);
        }
    }
}

fn done(result: Result<(), PatchError>) -> CommandOutcome {
    result.map_or_else(|problem| CommandOutcome::Refused(problem.to_string()), |()| CommandOutcome::Done(0))
}

fn watched(operation: u16, watched: bool) -> CommandOutcome {
    watch::set_watched(operation, watched).map_or_else(CommandOutcome::Refused, |()| CommandOutcome::Done(0))
}
