//! The figures for people.

use super::AbsentTool;
use super::figures::{AddedCost, CASES, LibraryFigures, OverheadFigures, ToolFigures};
use super::study::{AddedUnit, StudyFigures, StudyTool};
use crate::quartiles::Quartiles;
use crate::table;

/// All of it, in Markdown.
pub(super) fn text(figures: &OverheadFigures) -> String {
    let mut text = format!("{} rounds; {}.\n", figures.rounds, figures.machine.line());
    text.extend(figures.sides.iter().map(side));
    text.extend(figures.studies.iter().map(study));
    text
}

fn side(side: &LibraryFigures) -> String {
    let heading: Vec<String> = ["tool (what it keeps)"]
        .into_iter()
        .chain(CASES.iter().map(|case| case.title))
        .chain(["bytes per call"])
        .map(String::from)
        .collect();
    let mut rows = vec![bare(side)];
    rows.extend(side.tools.iter().map(tool));
    let clocks: Vec<String> = side.clocks.iter().map(|(name, cost)| format!("{name} {} ns", ns(cost))).collect();
    format!(
        "\n## {}\n\nNanoseconds added per call: the median over the rounds, the middle half of them in brackets, and the ratio to twice the cost of\n\
         reading the clock twice, {:.0} ns here ({}). One way of the ping-pong is two calls.\n\n{}",
        side.library,
        side.allowance_ns.map_or(f64::NAN, |allowance| allowance.median),
        clocks.join(", "),
        table::markdown(&heading, &rows)
    ) + &absent(&side.absent)
}

fn absent(absent: &[AbsentTool]) -> String {
    let absent: Vec<String> = absent.iter().map(|absent| format!("{}: {}", absent.name, absent.why)).collect();
    if absent.is_empty() { String::new() } else { format!("\nNot measured: {}.\n", absent.join("; ")) }
}

fn study(study: &StudyFigures) -> String {
    let counts_samples = study.tools.iter().any(|tool| tool.bytes_per_sample.is_some());
    let sample_titles: &[&str] = if counts_samples { &["samples per second", "bytes per sample"] } else { &[] };
    let titles = study.cases.iter().map(|case| case.title).chain(sample_titles.iter().copied());
    let heading: Vec<String> = ["tool (what it keeps)"].into_iter().chain(titles).map(String::from).collect();
    let costs = study.cases.iter().map(|case| study.bare.get(case.name).map_or("".into(), |cost| format!("costs {} ns", ns(cost))));
    let mut rows: Vec<Vec<String>> = vec![["nothing".into()].into_iter().chain(costs).collect()];
    rows.extend(study.tools.iter().map(|tool| study_row(study, tool)));
    let (title, library, explanation) = (&study.title, &study.library, study.explanation);
    format!("\n## {title}, {library}\n\n{explanation}\n\n{}", table::markdown(&heading, &rows)) + &absent(&study.absent)
}

fn study_row(study: &StudyFigures, tool: &StudyTool) -> Vec<String> {
    let added = study.cases.iter().map(|case| {
        tool.added.get(case.name).map_or("".into(), |added| match study.unit {
            AddedUnit::Nanoseconds => ns(added),
            AddedUnit::Percent => percent(added),
        })
    });
    let whole = |value: Option<f64>| value.map_or("".into(), |value| format!("{value:.0}"));
    let tenths = |value: Option<f64>| value.map_or("".into(), |value| format!("{value:.1}"));
    let samples = [whole(tool.samples_per_second), tenths(tool.bytes_per_sample)];
    [format!("{} ({})", tool.name, tool.keeps)].into_iter().chain(added).chain(samples).collect()
}

/// The bare program: what its calls cost, not what is added.
fn bare(side: &LibraryFigures) -> Vec<String> {
    let costs = CASES.iter().map(|case| side.bare.get(case.name).map_or("".into(), |cost| format!("costs {}", ns(cost))));
    ["nothing".into()].into_iter().chain(costs).collect()
}

fn tool(tool: &ToolFigures) -> Vec<String> {
    let added = CASES.iter().map(|case| tool.added.get(case.name).map_or("".into(), cell));
    let bytes = tool.bytes_per_call.map_or("".into(), |bytes| format!("{bytes:.1}"));
    [format!("{} ({})", tool.name, tool.keeps)].into_iter().chain(added).chain([bytes]).collect()
}

fn cell(added: &AddedCost) -> String {
    format!("{} {:.1}×", ns(&added.ns), added.ratio.median)
}

fn ns(spread: &Quartiles) -> String {
    let Quartiles { low, median, high } = spread;
    format!("{median:.0} ({low:.0}–{high:.0})")
}

fn percent(spread: &Quartiles) -> String {
    let Quartiles { low, median, high } = spread;
    format!("{median:+.1} ({low:+.1} to {high:+.1})")
}
