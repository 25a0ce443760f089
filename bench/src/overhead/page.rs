//! The figures for people.

use super::figures::{AddedCost, CASES, LibraryFigures, OverheadFigures, ToolFigures};
use crate::quartiles::Quartiles;
use crate::table;

/// All of it, in Markdown.
pub(super) fn text(figures: &OverheadFigures) -> String {
    let mut text = format!("{} rounds; {}.\n", figures.rounds, figures.machine.line());
    text.extend(figures.sides.iter().map(side));
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
    ) + &absent(side)
}

fn absent(side: &LibraryFigures) -> String {
    let absent: Vec<String> = side.absent.iter().map(|absent| format!("{}: {}", absent.name, absent.why)).collect();
    if absent.is_empty() { String::new() } else { format!("\nNot measured: {}.\n", absent.join("; ")) }
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
