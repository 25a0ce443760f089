//! Changes at entry or exit of a function that is not measured: its hook is installed for the change and removed after it.
//!
//! A hook that stays would slow a hot function down, and would be removed for being called too often before the change comes.

use sintonia_link::probe_protocol::{ActionRepeat, CommandOutcome, ProbeCommand};

use super::{InstrumentedProcess, PendingCommand};
use crate::protocol::{AgentReport, ChangeRequest};
use crate::tuning_points::{TuningMoment, TunletRequirements};

impl InstrumentedProcess {
    /// Installs and removes a hook once, so that a function that cannot be hooked is reported before the first change.
    pub(super) fn check_sync_point(&mut self, at: usize, reports: &mut Vec<AgentReport>) {
        if !self.hooks[at].is_measured() {
            self.request_sync_hook(at, reports);
        }
    }

    fn request_sync_hook(&mut self, at: usize, reports: &mut Vec<AgentReport>) {
        if self.hooks[at].pending_sync > 0 {
            return;
        }
        let commands = self.hooks[at].hook.sync_commands();
        self.hooks[at].pending_sync = commands.len();
        commands.into_iter().for_each(|command| self.send(command, PendingCommand::SyncHook(at), reports));
    }

    /// Whether a change has to wait until its function is hooked; then it is kept, instead of an earlier one of the same point.
    pub(super) fn awaits_sync_hook(&mut self, function: &str, change: &ChangeRequest, reports: &mut Vec<AgentReport>) -> bool {
        let Some(at) = self.hooks.iter().position(|installed| installed.hook.name == function) else { return false };
        let installed = &self.hooks[at];
        if !installed.hook_ids.is_empty() || (installed.pending_sync == 0 && !installed.sync_ids.is_empty()) {
            return false;
        }
        self.awaiting_sync.retain(|(_, waiting)| !waiting.is_same_point(change));
        self.awaiting_sync.push((at, *change));
        self.request_sync_hook(at, reports);
        true
    }

    /// A temporary hook is there, or cannot be.
    pub(super) fn handle_sync_hooked(
        &mut self,
        at: usize,
        outcome: CommandOutcome,
        needs: &[TunletRequirements],
        reports: &mut Vec<AgentReport>,
    ) {
        self.pending_hooks = self.pending_hooks.saturating_sub(1);
        let installed = &mut self.hooks[at];
        installed.pending_sync = installed.pending_sync.saturating_sub(1);
        match outcome {
            CommandOutcome::Hooked(id) if !installed.sync_ids.contains(&id) => installed.sync_ids.push(id),
            CommandOutcome::Refused(why) => {
                let what = format!("`{}` cannot be hooked: {why}", installed.hook.name);
                reports.push(self.problem(what));
            }
            _ => {}
        }
        if self.hooks[at].pending_sync > 0 {
            return;
        }
        let waiting: Vec<ChangeRequest> = self.awaiting_sync.extract_if(.., |(other, _)| *other == at).map(|(_, change)| change).collect();
        if self.hooks[at].sync_ids.is_empty() && self.hooks[at].hook_ids.is_empty() {
            let why = format!("`{}` has no hook there", self.hooks[at].hook.name);
            let rank = self.rank().unwrap_or(0);
            let refused = |change: ChangeRequest| AgentReport::Changed { number: change.number, rank, outcome: Err(why.clone()) };
            return reports.extend(waiting.into_iter().map(refused));
        }
        waiting.iter().for_each(|change| self.apply_change(needs, change, false, reports));
        self.remove_unused_sync_hook(at, needs, reports);
    }

    /// Whether a change was refused because its hook has just been removed for being called too often: it is tried with a temporary one.
    pub(super) fn retries_at_sync_point(
        &mut self,
        change: &ChangeRequest,
        outcome: &CommandOutcome,
        needs: &[TunletRequirements],
        reports: &mut Vec<AgentReport>,
    ) -> bool {
        let Some(at) = self.sync_point_of(change.tunlet, change.point, needs) else { return false };
        if !matches!(outcome, CommandOutcome::Refused(_)) || !self.hooks[at].hook_ids.is_empty() || !self.hooks[at].sync_ids.is_empty() {
            return false;
        }
        self.apply_change(needs, change, false, reports);
        true
    }

    /// A change was made or refused: the same change at other copies of the function is cancelled, and the hook removed.
    pub(super) fn change_answered(
        &mut self,
        command: u64,
        change: &ChangeRequest,
        needs: &[TunletRequirements],
        reports: &mut Vec<AgentReport>,
    ) {
        let (tunlet, point) = (change.tunlet, change.point);
        let Some(at) = self.sync_point_of(tunlet, point, needs) else { return };
        let repeats = !change.once && needs[tunlet].tunes[point].when == ActionRepeat::Always;
        if repeats || !self.scheduled.get(&(tunlet, point)).is_some_and(|commands| commands.contains(&command)) {
            return;
        }
        let others = self.scheduled.remove(&(tunlet, point)).unwrap_or_default().into_iter().filter(|other| *other != command);
        others.for_each(|other| self.send(ProbeCommand::Cancel(other), PendingCommand::Cancel(other), reports));
        self.remove_unused_sync_hook(at, needs, reports);
    }

    /// The index of the function at which a point is changed.
    fn sync_point_of(&self, tunlet: usize, point: usize, needs: &[TunletRequirements]) -> Option<usize> {
        let TuningMoment::At(function, _) = &needs.get(tunlet)?.tunes.get(point)?.moment else { return None };
        self.hooks.iter().position(|installed| installed.hook.name == *function)
    }

    fn remove_unused_sync_hook(&mut self, at: usize, needs: &[TunletRequirements], reports: &mut Vec<AgentReport>) {
        let is_used = self.scheduled.keys().any(|(tunlet, point)| self.sync_point_of(*tunlet, *point, needs) == Some(at));
        if is_used || self.hooks[at].pending_sync > 0 {
            return;
        }
        // A hook that also measures or replaces the function stays.
        let installed = &mut self.hooks[at];
        let is_free = |id: &u32| !installed.hook_ids.contains(id) && !self.replaced.values().any(|replaced| replaced == id);
        let unused: Vec<u32> = std::mem::take(&mut installed.sync_ids).into_iter().filter(is_free).collect();
        unused.into_iter().for_each(|id| self.send(ProbeCommand::Unhook(id), PendingCommand::Other, reports));
    }
}
