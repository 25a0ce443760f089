//! Prints a placement as text.

use sintonia_placement::proposal::EvaluatedPlacement;
use sintonia_placement::report::PlacementReport;

use super::apply;
use crate::text::{format_bytes, format_count, format_plural, format_seconds, truncate_start};
use crate::text_layout::{TextColumn, hanging_indent, join_sections, remarks, render_table};

/// The maximum number of hosts whose ranks are listed.
const MAX_HOSTS: usize = 32;
const WIDTH: usize = 100;

/// All results.
pub(super) fn render(shown: &PlacementReport, force: bool) -> String {
    join_sections([
        title_section(shown),
        cost_table(shown),
        verdict_section(shown),
        ranks_by_host(shown, force),
        measured_section(shown),
        shown.written.lines.clone(),
        remarks(&shown.proposal.notes),
    ])
}

fn title_section(shown: &PlacementReport) -> Vec<String> {
    let used: Vec<&sintonia_placement::Host> = shown.hosts.cluster.hosts.iter().filter(|host| host.slots > 0).collect();
    let slots = format_plural(shown.hosts.cluster.slot_count().into(), "slot");
    vec![format!(
        "{}: {} on {} with {slots}",
        truncate_start(&shown.input.name, 40),
        format_plural(shown.input.rank_count().into(), "rank"),
        format_plural(used.len() as u64, "host")
    )]
}

fn cost_table(shown: &PlacementReport) -> Vec<String> {
    let found = shown.proposal;
    let all: Vec<&EvaluatedPlacement> = [&found.current].into_iter().chain(&found.alternatives).chain([&found.proposed]).collect();
    let column = |of: &dyn Fn(&EvaluatedPlacement) -> String| all.iter().map(|known| of(known)).collect::<Vec<String>>();
    let name =
        |known: &EvaluatedPlacement| if std::ptr::eq(known, &found.proposed) { "placed".into() } else { known.origin.name().to_owned() };
    let columns = [
        TextColumn::left("", column(&name)),
        TextColumn::right("busiest link", column(&|known| busiest_link(shown, known))),
        TextColumn::right("between hosts", column(&|known| format_bytes(known.cost.inter_host_bytes))),
        TextColumn::right(
            "bytes x distance",
            column(&|known| percent_of_current(known.cost.byte_distance, found.current.cost.byte_distance)),
        ),
        TextColumn::right("imbalance", column(&|known| format!("{:.0} %", 100.0 * known.cost.imbalance))),
    ];
    let replayed = found.proposed.seconds.is_some().then(|| TextColumn::right("replayed", column(&|known| time_text(known.seconds))));
    render_table(columns.into_iter().chain(replayed))
}

/// The load of the busiest link; in seconds if links differ.
fn busiest_link(shown: &PlacementReport, known: &EvaluatedPlacement) -> String {
    let busy = known.cost.busiest_link_s;
    match &shown.hosts.cluster.topology {
        None => format_bytes((busy * shown.hosts.cluster.bytes_per_s).round() as u64),
        Some(_) => format_seconds(busy),
    }
}

fn percent_of_current(value: f64, now: f64) -> String {
    if now > 0.0 { format!("{:.1} %", 100.0 * value / now) } else { format_count(value as u64) }
}

fn time_text(time: Option<[f64; 3]>) -> String {
    match time {
        Some([low, middle, high]) if low < high => {
            format!("{} [{}, {}]", format_seconds(middle), format_seconds(low), format_seconds(high))
        }
        Some([_, middle, _]) => format_seconds(middle),
        None => String::new(),
    }
}

fn verdict_section(shown: &PlacementReport) -> Vec<String> {
    hanging_indent(&shown.verdict(), 0)
}

fn measured_section(shown: &PlacementReport) -> Vec<String> {
    shown.measured.as_ref().map_or_else(Vec::new, apply::measurement_lines)
}

/// The ranks of each host, in the order of its slots.
fn ranks_by_host(shown: &PlacementReport, force: bool) -> Vec<String> {
    if shown.proposal.no_gain_reason.is_some() && !force {
        return Vec::new();
    }
    let cluster = &shown.hosts.cluster;
    let mut ranks: Vec<Vec<(u32, u32)>> = vec![Vec::new(); cluster.hosts.len()];
    for (rank, slot) in (0..).zip(shown.proposal.proposed.placement.host_slots(cluster)) {
        ranks[slot.host as usize].push((slot.slot, rank));
    }
    let used: Vec<(usize, &mut Vec<(u32, u32)>)> = ranks.iter_mut().enumerate().filter(|(_, ranks)| !ranks.is_empty()).collect();
    let more = used.len().saturating_sub(MAX_HOSTS);
    let mut lines = vec!["Ranks by host, in the order of its slots".to_owned()];
    let width = used.iter().take(MAX_HOSTS).map(|(host, _)| cluster.hosts[*host].name.chars().count()).max().unwrap_or(0);
    for (host, ranks) in used.into_iter().take(MAX_HOSTS) {
        ranks.sort_unstable();
        let list = ranks.iter().map(|(_, rank)| rank.to_string()).collect::<Vec<_>>().join(" ");
        lines.push(crate::text::truncate_end(&format!("  {:width$}  {list}", cluster.hosts[host].name), WIDTH));
    }
    if more > 0 {
        lines.push(format!("  … and {more} more; use --json or -o for all"));
    }
    lines
}
