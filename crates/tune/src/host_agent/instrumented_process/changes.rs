//! Changes in a process: the commands that make them, and what their answers mean.

use std::sync::Arc;

use sintonia_link::probe_protocol::{ActionRepeat, CommandOutcome, HookKind, ProbeCommand, Recorded};

use super::{InstrumentedProcess, PendingCommand, PointKey, is_before_mpi};
use crate::bind::ResolvedTarget;
use crate::host_clock::now_ns;
use crate::protocol::{AgentReport, ChangeEffect, ChangeRequest};
use crate::tuning_points::{ProcessIdentity, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};

/// Commands to cancel, by number; commands that make a change; and its target.
type ChangeCommands = (Vec<u64>, Vec<ProbeCommand>, Arc<ResolvedTarget>);

impl InstrumentedProcess {
    /// Makes a change if it applies to this process; before all hooks are installed it waits.
    pub(in crate::host_agent) fn change(
        &mut self,
        needs: &[TunletRequirements],
        change: &ChangeRequest,
        before: bool,
        reports: &mut Vec<AgentReport>,
    ) {
        if before || self.is_running {
            self.apply_change(needs, change, before, reports);
        } else if self.is_bound {
            self.waiting_changes.push(*change);
        }
    }

    /// Makes a change; `before` says that MPI has not started.
    pub(super) fn apply_change(
        &mut self,
        needs: &[TunletRequirements],
        change: &ChangeRequest,
        before: bool,
        reports: &mut Vec<AgentReport>,
    ) {
        let Some(point) = needs.get(change.tunlet).and_then(|needs| needs.tunes.get(change.point)) else { return };
        let Some(rank) = self.rank().filter(|rank| change.rank.is_none_or(|only| only == *rank)) else { return };
        let identity = self.identity.clone().unwrap_or(ProcessIdentity { rank, called: Vec::new() });
        if !self.is_connected || !point.actor.matches(&identity) {
            return;
        }
        let refused = |why: String| AgentReport::Changed { number: change.number, rank, outcome: Err(why) };
        if is_before_mpi(point) && !before {
            reports.push(refused("MPI has started there, and this must be done before".into()));
            return;
        }
        let key = (change.tunlet, change.point);
        if matches!(point.target, TuningTarget::Replace { .. }) && self.is_change_pending(key) {
            // Only the answer tells how to restore a function that is being replaced.
            return self.waiting_changes.push(*change);
        }
        if let TuningMoment::At(function, _) = &point.moment
            && self.awaits_sync_hook(function, change, reports)
        {
            return;
        }
        match self.change_commands(point, change, before) {
            Ok((cancelled, commands, target)) => {
                cancelled
                    .into_iter()
                    .for_each(|command| self.send(ProbeCommand::Cancel(command), PendingCommand::Cancel(command), reports));
                for command in commands {
                    if matches!(command, ProbeCommand::Schedule { .. } | ProbeCommand::ScheduleBetweenRounds(_)) {
                        self.scheduled.entry(key).or_default().push(self.last_command + 1);
                    }
                    self.send(command, PendingCommand::Change { change: *change, target: target.clone() }, reports);
                }
            }
            Err(why) => reports.push(refused(why)),
        }
    }

    /// Whether a command makes a change.
    pub(in crate::host_agent) fn is_change(&self, command: u64) -> bool {
        matches!(self.pending.get(&command), Some(PendingCommand::Change { .. }))
    }

    /// Whether a change of this point is not answered yet.
    fn is_change_pending(&self, key: PointKey) -> bool {
        self.pending.values().any(|sent| matches!(sent, PendingCommand::Change { change, .. } if (change.tunlet, change.point) == key))
    }

    /// The scheduled commands of an earlier change of the same point, and those that make this one.
    fn change_commands(&mut self, point: &TuningPoint, change: &ChangeRequest, before: bool) -> Result<ChangeCommands, String> {
        let key = (change.tunlet, change.point);
        let target = match self.targets.get(&key) {
            Some(target) => target.clone(),
            None if before => Arc::new(self.resolve_target(&point.target).map_err(|problem| problem.to_string())?),
            None => return Err(format!("{} was not found there", point.target)),
        };
        if let ResolvedTarget::Replace { function, by } = &*target {
            if point.moment != TuningMoment::AtOnce {
                return Err("a function can only be replaced at once".into());
            }
            let replace = |function| ProbeCommand::Hook {
                function,
                kind: HookKind::Replace(*by),
                at_entry: Vec::new(),
                at_exit: Vec::new(),
                may_throttle: false,
                recorded: Recorded::ALL,
            };
            let command = match change.value {
                0.0 => {
                    self.replaced.remove(&key).map(ProbeCommand::Restore).ok_or_else(|| format!("{} is not done there", point.target))?
                }
                _ => replace(*function),
            };
            return Ok((Vec::new(), vec![command], target));
        }
        let action = target.action(change.value).ok_or_else(|| format!("{} cannot be {}", point.target, change.value))?;
        let commands = match &point.moment {
            TuningMoment::AtOnce | TuningMoment::BeforeMpi => vec![ProbeCommand::Execute(action)],
            TuningMoment::Together => vec![ProbeCommand::Propose { change: change.number, action }],
            TuningMoment::BetweenRounds => vec![ProbeCommand::ScheduleBetweenRounds(action)],
            TuningMoment::At(function, side) => {
                let installed = self.hooks.iter().find(|installed| installed.hook.name == *function);
                let hooks = installed.map(|one| if one.hook_ids.is_empty() { &one.sync_ids[..] } else { &one.hook_ids[..] });
                let hooks = hooks.filter(|hooks| !hooks.is_empty()).ok_or_else(|| format!("`{function}` has no hook there"))?;
                let repeat = if change.once { ActionRepeat::Once } else { point.when };
                let schedule = |hook: &u32| ProbeCommand::Schedule { hook: *hook, side: *side, actions: vec![action.clone()], repeat };
                hooks.iter().map(schedule).collect()
            }
        };
        Ok((self.scheduled.remove(&key).unwrap_or_default(), commands, target))
    }

    /// What a process has answered to a change.
    pub(super) fn change_effect(
        &mut self,
        change: &ChangeRequest,
        target: &ResolvedTarget,
        outcome: CommandOutcome,
        begin: f64,
    ) -> Result<ChangeEffect, String> {
        let (before, time) = match outcome {
            CommandOutcome::Made { before, ticks } => (target.previous_value(before), self.process.nanoseconds_at(ticks)),
            CommandOutcome::Executed { results, ticks } => {
                let before = results.into_iter().next().transpose()?.unwrap_or(0);
                (target.previous_value(before), self.process.nanoseconds_at(ticks))
            }
            CommandOutcome::Refused(why) => return Err(why),
            CommandOutcome::Hooked(hook) => {
                self.replaced.insert((change.tunlet, change.point), hook);
                (None, now_ns())
            }
            CommandOutcome::Done(before) => (target.previous_value(before), now_ns()),
            // Not answers to a change that was made.
            CommandOutcome::Scheduled | CommandOutcome::Surveyed(_) | CommandOutcome::Controls(_) => (None, now_ns()),
        };
        self.made.add(time, change.number);
        Ok(ChangeEffect { before, after: target.stored_value(change.value), time: (time - begin) / 1e9 })
    }
}
