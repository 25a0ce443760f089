//! Ranks placed by their messages, as a setting. Only for several hosts: without a machine file, the slots of a host are equal.

use std::path::{Path, PathBuf};

use sintonia_autotune::{Environment, RunFacts, TrialSettings, TuningCandidate};
use sintonia_placement::available_hosts::AvailableHosts;
use sintonia_placement::cluster::total_slots;
use sintonia_placement::launcher::{self, CoreBinding, MpiLauncher, PlacementFormat};
use sintonia_placement::launcher_file::launcher_output;
use sintonia_placement::partition::SearchEffort;
use sintonia_placement::proposal::{PlacementGoal, PlacementRequest};

use crate::place::{find_placement, read_ranks};
use crate::text::format_percent;
use crate::{Error, output};

/// A placement to try.
pub(super) struct PlacementTrial {
    pub(super) candidate: TuningCandidate,
    /// The launcher's file.
    file: PathBuf,
}

impl PlacementTrial {
    /// The placement that follows from the recorded messages; `None` if it does not help.
    pub(super) fn find(facts: &RunFacts, recording: &Path, command: &[String], folder: &Path) -> Result<Option<PlacementTrial>, Error> {
        let input = read_ranks(recording)?;
        let library = input.recording.as_ref().map_or("", |recording| &recording.header.mpi.library);
        let Some(launcher) = MpiLauncher::detect(command, library) else { return Ok(None) };
        let known = launcher::available_hosts(command, &|name| std::env::var(name).ok()).map_err(sintonia_placement::Error::from)?;
        let known = known.filter(|hosts| total_slots(hosts) >= input.rank_count());
        let hosts = AvailableHosts::find(None, known, &input)?;
        let request = PlacementRequest { goal: PlacementGoal::Congestion, effort: SearchEffort::Usual, compare: false, built_in: false };
        let proposal = find_placement(&request, &input, &hosts)?;
        if proposal.no_gain_reason.is_some() {
            return Ok(None);
        }
        let launch = launcher_output(PlacementFormat::Launcher(launcher), CoreBinding::Free, &hosts, &proposal)?;
        let text = launch.render().map_err(sintonia_placement::Error::from)?;
        let file = std::path::absolute(folder.join("placement"))?;
        output::write_file(&file, |out| out.write_all(text.as_bytes()))?;
        let placed = launch.command(command, &file).map_err(sintonia_placement::Error::from)?;
        let candidate = TuningCandidate {
            name: "ranks placed by their messages".into(),
            group: "mapping".into(),
            settings: TrialSettings {
                environment: Environment::new(placed.environment),
                placed_command: Some(placed.words),
                ..TrialSettings::default()
            },
            reason: format!("{} hosts, {} of the time in MPI", facts.hosts, format_percent(facts.mpi_share)),
            relevance: facts.mpi_share,
        };
        Ok(Some(PlacementTrial { candidate, file }))
    }

    /// Keeps the launcher's file at `kept`, and adapts settings that use it.
    pub(super) fn keep_file(&self, kept: &Path, settings: &mut TrialSettings) -> Result<(), Error> {
        let Some(words) = &mut settings.placed_command else { return Ok(()) };
        let text = std::fs::read(&self.file)?;
        output::write_file(kept, |out| out.write_all(&text))?;
        let [old, new] = [self.file.display().to_string(), std::path::absolute(kept)?.display().to_string()];
        words.iter_mut().for_each(|word| *word = word.replace(&old, &new));
        let moved = settings.environment.iter().map(|(name, value)| (name.to_owned(), value.replace(&old, &new))).collect::<Vec<_>>();
        settings.environment = Environment::new(moved);
        Ok(())
    }
}
