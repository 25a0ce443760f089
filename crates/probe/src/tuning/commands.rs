//! Executes commands of the collector.

use sintonia_hook::{PatchError, ScheduledActions};
use sintonia_link::pieces::{COMPUTATION, PIECE};
use sintonia_link::probe_protocol::{ActionRepeat, CommandOutcome, HookKind, HookSide, ProbeAction, ProbeCommand};
use sintonia_link::ring::MPI_FUNCTION;

use super::executed_action::ExecutedAction;
use super::{agreement, control, pieces, survey, watch};

/// Actions scheduled by a command.
struct ScheduledAction {
    /// The number of the command.
    number: u64,
    hook: u32,
    side: HookSide,
    repeat: ActionRepeat,
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
        self.scheduled.iter().any(|scheduled| !scheduled.is_reported) || agreement::has_unreported() || pieces::has_unreported()
    }

    /// Outcomes of actions that have run since the last call, by command number.
    pub(super) fn take_results(&mut self) -> Vec<(u64, CommandOutcome)> {
        let mut results = Vec::new();
        for scheduled in self.scheduled.iter_mut().filter(|scheduled| !scheduled.is_reported) {
            if let Some((done, ticks)) = scheduled.pending.results().zip(scheduled.pending.executed_at()) {
                scheduled.is_reported = true;
                results.push((scheduled.number, CommandOutcome::Executed { results: done.to_vec(), ticks }));
            }
        }
        self.scheduled.retain(|scheduled| !scheduled.is_reported || scheduled.repeat == ActionRepeat::Always);
        let executed = |ExecutedAction { number, result, ticks }| (number, CommandOutcome::Executed { results: vec![result], ticks });
        results.extend(agreement::take_results().into_iter().map(executed));
        results.extend(pieces::take_results().into_iter().map(executed));
        results
    }

    /// Executes a command and returns its result.
    pub(super) fn execute(&mut self, number: u64, command: ProbeCommand) -> CommandOutcome {
        match command {
            ProbeCommand::Hook { function, kind, at_entry, at_exit, may_throttle, recorded } => {
                match sintonia_hook::hook(function, kind, &at_entry, &at_exit) {
                    Ok(hook) => {
                        if !matches!(kind, HookKind::Replace(_)) {
                            sintonia_hook::set_records(hook, recorded);
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
            ProbeCommand::Record { hook, recorded } => {
                match hook & MPI_FUNCTION {
                    0 => sintonia_hook::set_records(hook, recorded),
                    _ => watch::set_records((hook & !MPI_FUNCTION) as u16, recorded),
                }
                CommandOutcome::Done(0)
            }
            ProbeCommand::FollowCalls(followed) => {
                watch::set_followed(followed);
                CommandOutcome::Done(0)
            }
            ProbeCommand::Execute(action) => {
                // SAFETY: the holder of the run's secret took the address and type from the files of this process.
                let result = unsafe { sintonia_hook::execute(&action) };
                result.map_or_else(CommandOutcome::Refused, |before| CommandOutcome::Made { before, ticks: sintonia_hook::ticks() })
            }
            ProbeCommand::Schedule { hook, side, actions, repeat } => {
                if !sintonia_hook::observes(hook, side) {
                    return CommandOutcome::Refused(format!("hook {hook} does not observe that side of the function"));
                }
                // SAFETY: as above.
                let pending = unsafe { sintonia_hook::schedule(hook, side, actions, repeat) };
                self.scheduled.push(ScheduledAction { number, hook, side, repeat, pending, is_reported: false });
                CommandOutcome::Scheduled
            }
            ProbeCommand::ScheduleBetweenRounds(action) => {
                // Anything else might call MPI, and wait for the end of this call.
                if !matches!(action, ProbeAction::Set { .. }) {
                    return CommandOutcome::Refused("only variables can be set between rounds".into());
                }
                pieces::schedule(number, action);
                CommandOutcome::Scheduled
            }
            ProbeCommand::EnableAgreement(every) => {
                agreement::enable(every);
                CommandOutcome::Done(0)
            }
            ProbeCommand::Propose { change, action } => {
                agreement::propose(number, change, action).map_or_else(CommandOutcome::Refused, |()| CommandOutcome::Scheduled)
            }
            ProbeCommand::Survey(locations) => CommandOutcome::Surveyed(survey::start(locations)),
            ProbeCommand::ListControls => control::list().map_or_else(CommandOutcome::Refused, CommandOutcome::Controls),
            ProbeCommand::Cancel(number) => self.cancel(number),
            ProbeCommand::Begin | ProbeCommand::Resume | ProbeCommand::Clock => CommandOutcome::Done(0),
        }
    }

    fn cancel(&mut self, number: u64) -> CommandOutcome {
        if pieces::cancel(number) {
            return CommandOutcome::Done(0);
        }
        let Some(index) = self.scheduled.iter().position(|scheduled| scheduled.number == number) else {
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
    if matches!(operation, PIECE | COMPUTATION) {
        return crate::attached::check_bound().map_or_else(CommandOutcome::Refused, |()| {
            pieces::set_watched(watched);
            CommandOutcome::Done(0)
        });
    }
    watch::set_watched(operation, watched).map_or_else(CommandOutcome::Refused, |()| CommandOutcome::Done(0))
}
