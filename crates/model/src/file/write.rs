//! Writes model files that read well from top to bottom.

use std::fmt::Write;

use rayon::prelude::*;
use serde::Serialize;

use super::{BASES, FORMAT, PART_KINDS, word_for};
use crate::fitted_term::FittedTerm;
use crate::host_effects::{HostEffects, SchedulingTime};
use crate::model::{ModelPart, PerformanceModel};
use crate::working_set::{CacheLevel, WorkingSet};
use sintonia_fit::quantity_kind::QuantityKind;

/// The model as text.
pub(super) fn model_to_text(model: &PerformanceModel) -> String {
    let mut out = subject_comment(model);
    // Writing to a string cannot fail.
    let _ = write!(out, "format = {FORMAT}\n\n");
    let _ = write_model(model, "", &mut out);
    out
}

/// Several models as text, each a `[[series]]` with the tables of a file of its own.
pub(super) fn models_to_text(models: &[PerformanceModel]) -> String {
    let series = |model: &PerformanceModel| {
        let mut out = format!("\n{}[[series]]\n", subject_comment(model));
        let _ = write_model(model, "series.", &mut out);
        out
    };
    let all: Vec<String> = models.par_iter().map(series).collect();
    format!(
        "# {} models, one for each series. Formulas can be edited by hand: docs/fit.md.\nformat = {FORMAT}\n{}",
        models.len(),
        all.concat()
    )
}

/// Writes the tables of a model; `within` is the table that they are in, with a point behind it.
fn write_model(model: &PerformanceModel, within: &str, out: &mut String) -> std::fmt::Result {
    write_head(model, within, out)?;
    write_parameters(model, within, out)?;
    if let Some(whole) = &model.whole {
        writeln!(out, "\n# The formula of the total, fitted without its parts.\n[{within}whole]")?;
        write_term(whole, out)?;
    }
    if let Some(validation) = &model.validation {
        writeln!(
            out,
            "\n# The largest runs, each predicted from the others: mean errors, and by how much intervals are too narrow.\n[{within}validation]"
        )?;
        if let Some(error) = validation.parts_error_percent {
            writeln!(out, "parts_error_percent = {}", toml_number(error))?;
        }
        writeln!(out, "whole_error_percent = {}", toml_number(validation.whole_error_percent))?;
        for (name, widening) in [("parts", validation.parts_widening), ("whole", validation.whole_widening)] {
            if widening > 1.0 {
                writeln!(out, "{name}_widening = {}", toml_number(widening))?;
            }
        }
        writeln!(out, "runs = {}", validation.runs)?;
    }
    model.parts.iter().try_for_each(|part| write_part(part, within, out))?;
    for limit in &model.limits {
        let role = toml_string(&limit.role);
        writeln!(out, "\n# The time is never less than the busy time of a role.\n[[{within}limit]]\nrole = {role}")?;
        write_term(&limit.term, out)?;
    }
    write_host_effects(&model.host_effects, within, out)?;
    write_points(model, within, out)?;
    write_alternatives(model, within, out)
}

fn write_host_effects(effects: &HostEffects, within: &str, out: &mut String) -> std::fmt::Result {
    if let Some(SchedulingTime { mean_percent, spread_percent }) = effects.scheduling {
        writeln!(out, "\n# By how much waiting for cores lengthened the runs. The formulas do not contain it.\n[{within}scheduling]")?;
        writeln!(out, "mean_percent = {}\nspread_percent = {}", toml_number(mean_percent), toml_number(spread_percent))?;
    }
    let Some(WorkingSet { term, hosts, host, .. }) = &effects.working_set else { return Ok(()) };
    writeln!(
        out,
        "\n# The bytes that a rank uses after MPI_Init, and the caches of a host with the processors that share each.\n[{within}memory]"
    )?;
    write_term(term, out)?;
    writeln!(out, "hosts = {hosts}\nprocessors = {}\ncaches = [", host.processors)?;
    for CacheLevel { name, bytes, processors, slowdown } in &host.caches {
        let slowdown = slowdown.map_or(String::new(), |slowdown| format!(", slowdown = {}", toml_number(slowdown)));
        writeln!(out, "  {{ name = {}, bytes = {bytes}, processors = {processors}{slowdown} }},", toml_string(name))?;
    }
    writeln!(out, "]")
}

fn subject_comment(model: &PerformanceModel) -> String {
    format!(
        "# How {} depends on {}. Formulas can be edited by hand: docs/fit.md.\n# Result of the terms below: {} = {}\n",
        describe_subject(model),
        without_control_characters(&model.parameter_names().join(", ")),
        without_control_characters(&model.quantity.name),
        without_control_characters(&model.formula().to_string())
    )
}

fn write_head(model: &PerformanceModel, within: &str, out: &mut String) -> std::fmt::Result {
    writeln!(out, "[{within}model]\nname = {}", toml_string(&model.name))?;
    if let Some(region) = &model.region {
        writeln!(out, "region = {}", toml_string(region))?;
    }
    writeln!(out, "quantity = {}", toml_string(&model.quantity.name))?;
    writeln!(out, "unit = {}", toml_string(&model.quantity.unit))?;
    let uses = word_for(&BASES, &model.uses);
    writeln!(out, "uses = {uses:?}  # predictions use the sum of the parts, or the formula of the whole")?;
    writeln!(out, "noise_percent = {}  # the spread of repeated runs", toml_number(model.noise_percent))?;
    writeln!(out, "notes = [{}]", model.notes.iter().map(|note| toml_string(note)).collect::<Vec<_>>().join(", "))?;
    if let Some(home) = &model.reference_machine {
        writeln!(out, "\n# The machine of the runs, and the cost of its arithmetic and memory in seconds.")?;
        writeln!(out, "[{within}machine]\nname = {}", toml_string(&home.name))?;
        let costs: Vec<String> = home.costs.iter().map(|(name, cost)| format!("{} = {}", toml_string(name), toml_number(*cost))).collect();
        writeln!(out, "costs = {{ {} }}", costs.join(", "))?;
        if home.disturbance > 0.0 {
            writeln!(out, "disturbance = {}  # of their measurement", toml_number(home.disturbance))?;
        }
        if home.ranks_per_core != 1.0 {
            writeln!(out, "ranks_per_core = {}  # on a node, at most", toml_number(home.ranks_per_core))?;
        }
    }
    Ok(())
}

fn write_parameters(model: &PerformanceModel, within: &str, out: &mut String) -> std::fmt::Result {
    for parameter in &model.parameters {
        writeln!(out, "\n[[{within}parameter]]\nname = {}", toml_string(&parameter.name))?;
        if parameter.kind != QuantityKind::Unknown {
            writeln!(out, "kind = {:?}", parameter.kind.word())?;
        }
        let (from, to) = (toml_number(parameter.from), toml_number(parameter.to));
        writeln!(out, "from = {from}  # the measured range\nto = {to}")?;
    }
    if !model.fixed.is_empty() {
        writeln!(out, "\n# Parameters that were constant in all runs.\n[{within}fixed]")?;
        for (name, value) in &model.fixed {
            writeln!(out, "{} = {}", toml_key(name), toml_number(*value))?;
        }
    }
    Ok(())
}

fn write_points(model: &PerformanceModel, within: &str, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n# The measurements: {}, and the {}.\n[{within}measured]\npoints = [",
        without_control_characters(&model.parameter_names().join(", ")),
        without_control_characters(&model.quantity.name)
    )?;
    for point in &model.points {
        let values: Vec<String> = point.at.iter().chain([&point.value]).map(|value| toml_number(*value)).collect();
        writeln!(out, "  [{}],", values.join(", "))?;
    }
    writeln!(out, "]")
}

/// Text for a one-line comment.
fn without_control_characters(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn describe_subject(model: &PerformanceModel) -> String {
    let of = if model.name == model.quantity.name { String::new() } else { format!(" of {}", model.name) };
    without_control_characters(&format!("the {}{of}", model.quantity.name))
}

fn write_part(part: &ModelPart, within: &str, out: &mut String) -> std::fmt::Result {
    let kind = word_for(&PART_KINDS, &part.kind);
    writeln!(out, "\n[[{within}part]]\nname = {}\nkind = {kind:?}\nshare = {}", toml_string(&part.name), toml_number(part.share))?;
    write_term(&part.term, out)?;
    if let Some(calls) = &part.calls {
        let [operation, count, bytes] =
            [calls.operation.clone(), calls.count.to_string(), calls.bytes.to_string()].map(|text| toml_string(&text));
        let idle = if calls.idle_ranks > 0 { format!(", idle_ranks = {}", calls.idle_ranks) } else { String::new() };
        writeln!(out, "calls = {{ operation = {operation}, count = {count}, bytes = {bytes}{idle} }}  # total over all ranks")?;
    }
    if let Some(cost) = &part.reference_cost {
        writeln!(out, "machine_seconds = {}  # per call, according to the machine file", toml_string(&cost.to_string()))?;
    }
    Ok(())
}

fn write_term(term: &FittedTerm, out: &mut String) -> std::fmt::Result {
    writeln!(out, "formula = {}", toml_string(&term.formula.to_string()))?;
    match term.error_percent {
        Some(error) => writeln!(out, "error_percent = {}", toml_number(error)),
        None => Ok(()),
    }
}

/// The alternative formulas of each term; empty for terms that have none.
fn write_alternatives(model: &PerformanceModel, within: &str, out: &mut String) -> std::fmt::Result {
    let parts = || model.parts.iter().map(|part| &part.term);
    let limits = || model.limits.iter().map(|limit| &limit.term);
    let memory = model.host_effects.working_set.as_ref().map(|working_set| &working_set.term);
    if model.whole.iter().chain(parts()).chain(limits()).chain(memory).all(|term| term.curve.is_none()) {
        return Ok(());
    }
    writeln!(out, "\n# The source of the intervals: all formulas that explain the measurements, in the order of the terms above.")?;
    writeln!(out, "# They belong to the formulas as fitted; do not edit them.\n[{within}possible]")?;
    if let Some(whole) = &model.whole {
        writeln!(out, "whole = {}", alternatives_text(whole))?;
    }
    if let Some(memory) = memory {
        writeln!(out, "memory = {}", alternatives_text(memory))?;
    }
    let list =
        |terms: &mut dyn Iterator<Item = &FittedTerm>| terms.map(|term| format!("\n  {},", alternatives_text(term))).collect::<String>();
    writeln!(out, "parts = [{}\n]\nlimits = [{}\n]", list(&mut parts()), list(&mut limits()))
}

fn alternatives_text(term: &FittedTerm) -> String {
    let json = term.curve.as_ref().map(to_json).unwrap_or_default();
    if json.contains('\'') { toml_string(&json) } else { format!("'{json}'") }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and text always serialise")
}

/// A TOML key, quoted only if necessary.
fn toml_key(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { toml_string(name) }
}

/// A number that reads back unchanged; short integers without a decimal point.
fn toml_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { format!("{value:?}") }
}

/// A TOML string; JSON escapes the same way, except for one character.
fn toml_string(text: &str) -> String {
    to_json(&text).replace('\u{7f}', "\\u007f")
}
