//! Prints a replay as text.

use sintonia_replay::engine::{RankReplayTime, RecordedNetwork, SiteReplayTime, TransferCounts};
use sintonia_replay::report::ReplayReport;

use crate::text::{format_count, format_percent, format_plural, format_seconds, truncate_end, truncate_start};
use crate::text_layout::{TextColumn, join_sections, render_table};

/// The maximum number of listed call sites and ranks.
const MAX_SITES: usize = 10;
const MAX_RANKS: usize = 8;
const SITE_WIDTH: usize = 36;

/// All findings.
pub(super) fn render(shown: &ReplayReport) -> String {
    join_sections([
        title_section(shown),
        time_section(shown),
        rank_section(shown),
        site_section(shown),
        sensitivity_section(shown),
        remark_section(shown),
    ])
}

fn title_section(shown: &ReplayReport) -> Vec<String> {
    let outcome = &shown.findings.outcome;
    let on = shown.machine.map_or_else(|| "with the network as recorded".to_owned(), |machine| format!("on {}", machine.metadata.name));
    let mut lines = vec![format!(
        "{} replayed {on}: {}, {}",
        truncate_start(&shown.name, 40),
        format_plural(shown.ranks.into(), "rank"),
        format_plural(outcome.calls, "call")
    )];
    lines.extend(shown.changes.iter().map(|change| format!("  what if {change}")));
    lines
}

fn time_section(shown: &ReplayReport) -> Vec<String> {
    let findings = &shown.findings;
    let [low, middle, high] = findings.seconds;
    let interval = if low == high { String::new() } else { format!("  [{}, {}]", format_seconds(low), format_seconds(high)) };
    let recorded = shown.was_executed.then_some(findings.outcome.recorded_s);
    let unchanged = findings.baseline.as_ref().map(|before| before.replayed_s);
    let against = |before: f64| format!("  {:+.1} %", 100.0 * (middle / before - 1.0));
    let undisturbed = findings.undisturbed_s;
    let change = unchanged.or(undisturbed).or(recorded).filter(|before| *before > 0.0).map_or_else(String::new, against);
    let before = [("recorded ", recorded, ""), ("recorded ", undisturbed, " without waiting for a core"), ("unchanged", unchanged, "")];
    let lines = before.into_iter().filter_map(|(name, time, how)| Some(format!("  {name}  {}{how}", format_seconds(time?))));
    lines.chain([format!("  replayed   {}{interval}{change}", format_seconds(middle))]).collect()
}

/// The ranks, or of many the last and first to end.
fn rank_section(shown: &ReplayReport) -> Vec<String> {
    let outcome = &shown.findings.outcome;
    let mut all: Vec<RankReplayTime> = outcome.ranks.clone();
    if all.len() < 2 {
        return Vec::new();
    }
    let many = all.len() > MAX_RANKS;
    if many {
        all.sort_by(|a, b| b.replayed_s.total_cmp(&a.replayed_s));
        let last = all.split_off(all.len() - MAX_RANKS / 2);
        all.truncate(MAX_RANKS / 2);
        all.extend(last);
    }
    let column = |of: fn(&RankReplayTime) -> String| all.iter().map(of).collect::<Vec<_>>();
    let heading = if many { format!("Last and first ranks to end, of {}", outcome.ranks.len()) } else { "Ranks".to_owned() };
    let recorded = shown.was_executed.then(|| TextColumn::right("recorded", column(|rank| format_seconds(rank.recorded_s))));
    let columns = [TextColumn::right("rank", column(|rank| rank.rank.to_string()))].into_iter().chain(recorded);
    let columns = columns.chain([TextColumn::right("replayed", column(|rank| format_seconds(rank.replayed_s)))]);
    [heading].into_iter().chain(render_table(columns)).collect()
}

fn site_section(shown: &ReplayReport) -> Vec<String> {
    let sites = shown.findings.outcome.sites.iter().take(MAX_SITES);
    let sites: Vec<&SiteReplayTime> = sites.filter(|site| site.recorded_s + site.replayed_s > 0.0).collect();
    if sites.is_empty() {
        return Vec::new();
    }
    let column = |of: fn(&SiteReplayTime) -> String| sites.iter().map(|site| of(site)).collect::<Vec<_>>();
    let recorded = || TextColumn::right("recorded", column(|site| format_seconds(site.recorded_s)));
    let change = || TextColumn::right("change", column(|site| signed_seconds(site.replayed_s - site.recorded_s)));
    let columns = [
        TextColumn::left("call site", column(|site| truncate_start(&site.site_name, SITE_WIDTH))),
        TextColumn::left("function", column(|site| truncate_end(site.function, 24))),
        TextColumn::right("calls", column(|site| format_count(site.calls))),
    ];
    let replayed = TextColumn::right("replayed", column(|site| format_seconds(site.replayed_s)));
    let columns = columns.into_iter().chain(shown.was_executed.then(recorded)).chain([replayed]).chain(shown.was_executed.then(change));
    let which = if shown.was_executed { "largest changes" } else { "longest" };
    [format!("Time in MPI over all ranks, by call site: {which}")].into_iter().chain(render_table(columns)).collect()
}

fn signed_seconds(difference: f64) -> String {
    format!("{}{}", if difference < 0.0 { "-" } else { "+" }, format_seconds(difference.abs()))
}

fn sensitivity_section(shown: &ReplayReport) -> Vec<String> {
    let Some(found) = &shown.sensitivity else { return Vec::new() };
    vec![
        "Sensitivity".to_owned(),
        format!(
            "  each additional microsecond of latency costs {} ({} of the time is latency)",
            format_seconds(found.per_latency_second * 1e-6),
            format_percent(found.latency_share)
        ),
        format!(
            "  {} are transferred on the critical path ({} of the time is transfer)",
            crate::text::format_bytes(found.per_second_per_byte.max(0.0) as u64),
            format_percent(found.bandwidth_share)
        ),
    ]
}

/// On how many messages an estimate of the network is based, where ranks waited for a core.
fn disturbed_network_remark(network: &RecordedNetwork) -> Option<String> {
    let TransferCounts { undisturbed, disturbed } = network.transfers;
    if disturbed == 0 {
        return None;
    }
    let messages = format!("in {} of {} messages that were waited for, a rank waited for a core", disturbed, disturbed + undisturbed);
    Some(match network.transfers.are_too_few() {
        true => format!(
            "The recorded network is unknown: {messages}. To change it, give a machine file with --machine, or record again with at most one \
             rank per core."
        ),
        false => format!("This is estimated from the others: {messages}."),
    })
}

fn remark_section(shown: &ReplayReport) -> Vec<String> {
    let findings = &shown.findings;
    let mut lines = Vec::new();
    if let Some(network) = &findings.recorded_network
        && network.latency_s > 0.0
    {
        let rate = if network.s_per_byte > 0.0 {
            format!(" and {}/s", crate::text::format_bytes((1.0 / network.s_per_byte) as u64))
        } else {
            String::new()
        };
        lines.push(format!("Estimated recorded network: {} latency{rate}.", format_seconds(network.latency_s)));
    }
    lines.extend(findings.recorded_network.as_ref().and_then(disturbed_network_remark));
    let unmatched = &findings.outcome.unmatched;
    if unmatched.sends + unmatched.receives > 0 {
        let (sends, receives) = (format_plural(unmatched.sends, "message"), format_plural(unmatched.receives, "receive"));
        lines.push(format!("{sends} sent but not received, {receives} without a message: {} is incomplete.", shown.name));
    }
    lines.extend(shown.notes.iter().cloned());
    lines.extend(shown.written.map(|path| format!("Written to {0}; next: sintonia report {0}", path.display())));
    lines
}
