//! Writes a model so that it can be read from top to bottom.

use std::fmt::Write;

use serde::Serialize;

use super::FORMAT;
use crate::model::{Model, ModelPart, Uses};
use crate::part::Kind;
use crate::term::Term;

/// The text of a model.
pub fn text(model: &Model) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = write(model, &mut out);
    out
}

fn write(model: &Model, out: &mut String) -> std::fmt::Result {
    write_head(model, out)?;
    write_parameters(model, out)?;
    if let Some(whole) = &model.whole {
        writeln!(out, "\n# The formula of the whole, found without looking at its parts.\n[whole]")?;
        write_term(whole, out)?;
    }
    if let Some(validation) = &model.validation {
        writeln!(out, "\n# The mean error at the largest runs, when each was predicted from the others.\n[validation]")?;
        if let Some(error) = validation.parts_error_percent {
            writeln!(out, "parts_error_percent = {}", number(error))?;
        }
        writeln!(out, "whole_error_percent = {}\nruns = {}", number(validation.whole_error_percent), validation.runs)?;
    }
    model.parts.iter().try_for_each(|part| write_part(part, out))?;
    for limit in &model.limits {
        writeln!(out, "\n# The time is never less than a role is busy.\n[[limit]]\nrole = {}", quoted(&limit.role))?;
        write_term(&limit.term, out)?;
    }
    write_points(model, out)?;
    write_possible(model, out)
}

fn write_head(model: &Model, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "# How {} depends on {}. Formulas can be changed by hand: docs/fit.md.",
        subject(model),
        plain(&model.names().join(", "))
    )?;
    writeln!(out, "# What follows from the terms below: {} = {}", plain(&model.quantity.name), plain(&model.formula().to_string()))?;
    writeln!(out, "format = {FORMAT}\n\n[model]")?;
    writeln!(out, "name = {}", quoted(&model.name))?;
    writeln!(out, "quantity = {}", quoted(&model.quantity.name))?;
    writeln!(out, "unit = {}", quoted(&model.quantity.unit))?;
    let uses = if model.uses == Uses::Parts { "parts" } else { "whole" };
    writeln!(out, "uses = {uses:?}  # what predictions are made with: the sum of the parts, or the formula of the whole")?;
    writeln!(out, "noise_percent = {}  # how far repetitions of one run scatter", number(model.noise_percent))?;
    writeln!(out, "notes = [{}]", model.notes.iter().map(|note| quoted(note)).collect::<Vec<_>>().join(", "))?;
    if let Some(home) = &model.home {
        writeln!(out, "\n# The machine that the runs were made on, and the seconds that arithmetic and memory cost there.")?;
        writeln!(out, "[machine]\nname = {}", quoted(&home.name))?;
        let costs: Vec<String> = home.costs.iter().map(|(name, cost)| format!("{} = {}", quoted(name), number(*cost))).collect();
        writeln!(out, "costs = {{ {} }}", costs.join(", "))?;
    }
    Ok(())
}

fn write_parameters(model: &Model, out: &mut String) -> std::fmt::Result {
    for parameter in &model.parameters {
        writeln!(out, "\n[[parameter]]\nname = {}", quoted(&parameter.name))?;
        let (from, to) = (number(parameter.from), number(parameter.to));
        writeln!(out, "from = {from}  # the least value that was measured, and the largest\nto = {to}")?;
    }
    if !model.fixed.is_empty() {
        writeln!(out, "\n# Parameters that were the same in all runs.\n[fixed]")?;
        for (name, value) in &model.fixed {
            writeln!(out, "{} = {}", key(name), number(*value))?;
        }
    }
    Ok(())
}

fn write_points(model: &Model, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "\n# What was measured: {}, and the {}.\n[measured]\npoints = [",
        plain(&model.names().join(", ")),
        plain(&model.quantity.name)
    )?;
    for point in &model.points {
        let values: Vec<String> = point.at.iter().chain([&point.value]).map(|value| number(*value)).collect();
        writeln!(out, "  [{}],", values.join(", "))?;
    }
    writeln!(out, "]")
}

/// A text for a comment, which ends with its line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn subject(model: &Model) -> String {
    let of = if model.name == model.quantity.name { String::new() } else { format!(" of {}", model.name) };
    plain(&format!("the {}{of}", model.quantity.name))
}

fn write_part(part: &ModelPart, out: &mut String) -> std::fmt::Result {
    let kind = match part.kind {
        Kind::Computation => "computation",
        Kind::Communication => "communication",
        Kind::Other => "other",
    };
    writeln!(out, "\n[[part]]\nname = {}\nkind = {kind:?}\nshare = {}", quoted(&part.name), number(part.share))?;
    write_term(&part.term, out)?;
    if let Some(calls) = &part.calls {
        let [operation, count, bytes] =
            [calls.operation.clone(), calls.count.to_string(), calls.bytes.to_string()].map(|text| quoted(&text));
        writeln!(out, "calls = {{ operation = {operation}, count = {count}, bytes = {bytes} }}  # of all ranks together")?;
    }
    if let Some(cost) = &part.home_cost {
        writeln!(out, "machine_seconds = {}  # one call, by the machine file", quoted(&cost.to_string()))?;
    }
    Ok(())
}

fn write_term(term: &Term, out: &mut String) -> std::fmt::Result {
    writeln!(out, "formula = {}", quoted(&term.formula.to_string()))?;
    match term.error_percent {
        Some(error) => writeln!(out, "error_percent = {}", number(error)),
        None => Ok(()),
    }
}

/// The other formulas that explain the measurements; empty for terms that have none.
fn write_possible(model: &Model, out: &mut String) -> std::fmt::Result {
    let parts = || model.parts.iter().map(|part| &part.term);
    let limits = || model.limits.iter().map(|limit| &limit.term);
    if model.whole.iter().chain(parts()).chain(limits()).all(|term| term.curve.is_none()) {
        return Ok(());
    }
    writeln!(out, "\n# What the intervals come from: all formulas that explain the measurements, in the order of the terms above.")?;
    writeln!(out, "# They belong to the formulas as they were found, and are not meant to be changed.\n[possible]")?;
    if let Some(whole) = &model.whole {
        writeln!(out, "whole = {}", possible(whole))?;
    }
    let list = |terms: &mut dyn Iterator<Item = &Term>| terms.map(|term| format!("\n  {},", possible(term))).collect::<String>();
    writeln!(out, "parts = [{}\n]\nlimits = [{}\n]", list(&mut parts()), list(&mut limits()))
}

fn possible(term: &Term) -> String {
    let json = term.curve.as_ref().map(json).unwrap_or_default();
    if json.contains('\'') { quoted(&json) } else { format!("'{json}'") }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain numbers and text can always be written")
}

/// The name of a value: without quotes where it needs none.
fn key(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A number so that reading it gives the same; whole ones without a point, while they are short.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { format!("{value:?}") }
}

/// A text in quotes, as TOML wants it; JSON writes it the same way, except for one character.
fn quoted(text: &str) -> String {
    json(&text).replace('\u{7f}', "\\u007f")
}
