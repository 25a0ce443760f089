//! Prints a placement as text.

use sintonia_placement::gain::PlacementGain;

use super::apply;
use super::search::{EvaluatedPlacement, GainBasis};
use super::{ObjectiveArg, PlaceOutput};
use crate::fit::text_layout::{TextColumn, hanging_indent, join_sections, remarks, render_table};
use crate::text::{format_bytes, format_count, format_plural, format_seconds, truncate_start};

/// The maximum number of hosts whose ranks are listed.
const MAX_HOSTS: usize = 32;
const WIDTH: usize = 100;

/// All results.
pub(super) fn render(shown: &PlaceOutput) -> String {
    join_sections([
        title_section(shown),
        cost_table(shown),
        verdict_section(shown),
        ranks_by_host(shown),
        measured_section(shown),
        shown.written.lines(),
        remarks(&shown.found.notes),
    ])
}

fn title_section(shown: &PlaceOutput) -> Vec<String> {
    let used: Vec<&sintonia_placement::Host> = shown.hosts.cluster.hosts.iter().filter(|host| host.slots > 0).collect();
    let slots = format_plural(shown.hosts.cluster.slot_count().into(), "slot");
    vec![format!(
        "{}: {} on {} with {slots}",
        truncate_start(&shown.subject.name, 40),
        format_plural(shown.subject.rank_count().into(), "rank"),
        format_plural(used.len() as u64, "host")
    )]
}

fn cost_table(shown: &PlaceOutput) -> Vec<String> {
    let found = shown.found;
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
fn busiest_link(shown: &PlaceOutput, known: &EvaluatedPlacement) -> String {
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

fn verdict_section(shown: &PlaceOutput) -> Vec<String> {
    hanging_indent(&verdict_sentence(shown), 0)
}

/// The result in one sentence.
pub(super) fn verdict_sentence(shown: &PlaceOutput) -> String {
    let found = shown.found;
    if let Some(why) = &found.no_gain_reason {
        return format!("Placement does not help here: {why}.");
    }
    let on = match (found.basis, &shown.hosts.machine) {
        (GainBasis::Replays, Some(machine)) => format!("replayed on {}", machine.metadata.name),
        (GainBasis::Distances, _) => "if MPI time shrinks with the distance of bytes; a replay does not model cores".into(),
        _ if shown.subject.recording.is_none() => "at most, if it only communicates; a graph has no times".into(),
        (_, Some(_)) => "if MPI time shrinks with it; a profile cannot be replayed".into(),
        _ => "if MPI time shrinks with it; the network is unknown (use --machine)".into(),
    };
    format!("{} {}: {on}.", objective_text(shown.args.objective), savings_text(found.gain))
}

fn objective_text(objective: ObjectiveArg) -> &'static str {
    match objective {
        ObjectiveArg::Congestion => "With less load on the busiest link, the run",
        ObjectiveArg::Bytes => "With shorter distances of bytes, the run",
        ObjectiveArg::Time => "Placed by replayed time, the run",
    }
}

/// The interval as text.
pub(super) fn savings_text(PlacementGain([low, middle, high]): PlacementGain) -> String {
    // Adding zero turns -0 into 0.
    let percent = |share: f64| format!("{:.1}", (1000.0 * share).round() / 10.0 + 0.0);
    match (percent(low), percent(high)) {
        (low, high) if low == high => format!("takes {low} % less time"),
        (low, high) => format!("takes {} % less time ({low} to {high} %)", percent(middle)),
    }
}

fn measured_section(shown: &PlaceOutput) -> Vec<String> {
    shown.measured.as_ref().map_or_else(Vec::new, apply::measurement_lines)
}

/// The ranks of each host, in the order of its slots.
fn ranks_by_host(shown: &PlaceOutput) -> Vec<String> {
    if shown.found.no_gain_reason.is_some() && !shown.args.force {
        return Vec::new();
    }
    let cluster = &shown.hosts.cluster;
    let mut ranks: Vec<Vec<(u32, u32)>> = vec![Vec::new(); cluster.hosts.len()];
    for (rank, slot) in (0..).zip(shown.found.proposed.placement.host_slots(cluster)) {
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
