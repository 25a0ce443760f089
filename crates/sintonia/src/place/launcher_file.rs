//! Writes the placement as a file for a launcher.

use std::path::PathBuf;

use sintonia_placement::available_hosts::AvailableHosts;
use sintonia_placement::input::PlacementInput;
use sintonia_placement::launcher::{MpiLauncher, PlacementFormat};
use sintonia_placement::launcher_file::{WrittenPlacement, default_form, describe_written, launcher_output};
use sintonia_placement::proposal::PlacementProposal;

use super::{BindArg, PlaceArgs};
use crate::{Error, output};

/// Nothing was written, because it would not help.
pub(super) fn not_written(args: &PlaceArgs) -> WrittenPlacement {
    let line = |path: &PathBuf| format!("{} is not written; use --force to write it anyway.", path.display());
    WrittenPlacement { lines: args.output.iter().map(line).collect(), ..WrittenPlacement::default() }
}

/// Parses a format name.
pub(super) fn parse_form(name: &str) -> Result<PlacementFormat, String> {
    let known = || MpiLauncher::ALL.map(MpiLauncher::name).into_iter().chain(["table", "json"]).collect::<Vec<_>>().join(", ");
    PlacementFormat::from_name(name).ok_or_else(|| format!("expected one of {}", known()))
}

/// Writes the placement if requested and useful.
pub(super) fn write_if_useful(
    args: &PlaceArgs,
    input: &PlacementInput,
    hosts: &AvailableHosts,
    proposal: &PlacementProposal,
) -> Result<WrittenPlacement, Error> {
    let form = args.launcher.unwrap_or_else(|| default_form(input));
    let is_wanted = proposal.no_gain_reason.is_none() || args.force;
    let Some(path) = &args.output else {
        let lines = if is_wanted { output_hint(form) } else { Vec::new() };
        return Ok(WrittenPlacement { lines, ..WrittenPlacement::default() });
    };
    if !is_wanted {
        return Ok(not_written(args));
    }
    let launch = launcher_output(form, args.bind.unwrap_or(BindArg::Cores).into(), hosts, proposal)?;
    let text = launch.render_as(form).map_err(sintonia_placement::Error::from)?;
    output::write_file(path, |out| out.write_all(text.as_bytes()))?;
    let mut written = describe_written(path, form, &launch, input);
    if launch.binds_cores() && hosts.machine.is_none() && matches!(form, PlacementFormat::Launcher(_)) {
        written.lines.push("Each slot is taken as a core; use --bind hosts if hosts have fewer cores than slots.".into());
    }
    Ok(written)
}

/// How to get a file.
fn output_hint(form: PlacementFormat) -> Vec<String> {
    let what = match form {
        PlacementFormat::Launcher(launcher) => format!("for {}", launcher.name()),
        PlacementFormat::Table => "as a table (or for a launcher: --launcher openmpi4, openmpi5, mpich, intel, slurm or cray)".into(),
        PlacementFormat::Json => "as JSON".into(),
    };
    vec![format!("-o FILE writes it {what}.")]
}
