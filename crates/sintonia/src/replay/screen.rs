//! A replay, as text.

use sintonia_replay::engine::{Outcome, RankTime};

use super::Shown;
use crate::fit::page::{Column, page, table};
use crate::text::{count, head, percent, plural, seconds, tail};

/// Call sites and ranks that are shown.
const MOST_SITES: usize = 10;
const MOST_RANKS: usize = 8;
const PLACE: usize = 36;

/// Everything that was found.
pub fn show(shown: &Shown) -> String {
    page([title(shown), times(shown), ranks(&shown.findings.outcome), sites(&shown.findings.outcome), sensitivity(shown), remarks(shown)])
}

fn title(shown: &Shown) -> Vec<String> {
    let outcome = &shown.findings.outcome;
    let on = shown.machine.map_or_else(|| "with the network as recorded".to_owned(), |machine| format!("on {}", machine.about.name));
    let mut lines =
        vec![format!("{} replayed {on}: {}, {}", tail(&shown.name, 40), plural(shown.ranks.into(), "rank"), plural(outcome.calls, "call"))];
    lines.extend(shown.changes.iter().map(|change| format!("  what if {change}")));
    lines
}

fn times(shown: &Shown) -> Vec<String> {
    let findings = &shown.findings;
    let [low, middle, high] = findings.seconds;
    let interval = if low == high { String::new() } else { format!("  [{}, {}]", seconds(low), seconds(high)) };
    let against = |before: f64| match before > 0.0 {
        true => format!("  {:+.1} %", 100.0 * (middle / before - 1.0)),
        false => String::new(),
    };
    let recorded = findings.outcome.recorded_s;
    let mut lines = vec![format!("  recorded   {}", seconds(recorded))];
    lines.extend(findings.before.as_ref().map(|before| format!("  unchanged  {}", seconds(before.seconds))));
    let before = findings.before.as_ref().map_or(recorded, |before| before.seconds);
    lines.push(format!("  replayed   {}{interval}{}", seconds(middle), against(before)));
    lines
}

/// The ranks, or of many the ones that end last and first.
fn ranks(outcome: &Outcome) -> Vec<String> {
    let mut all: Vec<RankTime> = outcome.ranks.clone();
    if all.len() < 2 {
        return Vec::new();
    }
    let many = all.len() > MOST_RANKS;
    if many {
        all.sort_by(|a, b| b.replayed_s.total_cmp(&a.replayed_s));
        let last = all.split_off(all.len() - MOST_RANKS / 2);
        all.truncate(MOST_RANKS / 2);
        all.extend(last);
    }
    let column = |of: fn(&RankTime) -> String| all.iter().map(of).collect::<Vec<_>>();
    let heading = if many { format!("Ranks that end last and first, of {}", outcome.ranks.len()) } else { "Ranks".to_owned() };
    let columns = [
        Column::numbers("rank", column(|rank| rank.rank.to_string())),
        Column::numbers("recorded", column(|rank| seconds(rank.recorded_s))),
        Column::numbers("replayed", column(|rank| seconds(rank.replayed_s))),
    ];
    [heading].into_iter().chain(table(columns)).collect()
}

fn sites(outcome: &Outcome) -> Vec<String> {
    let shown: Vec<_> = outcome.sites.iter().take(MOST_SITES).filter(|site| site.recorded_s + site.replayed_s > 0.0).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let columns = [
        Column::texts("call site", shown.iter().map(|site| tail(&site.place, PLACE)).collect()),
        Column::texts("function", shown.iter().map(|site| head(site.function, 24)).collect()),
        Column::numbers("calls", shown.iter().map(|site| count(site.calls)).collect()),
        Column::numbers("recorded", shown.iter().map(|site| seconds(site.recorded_s)).collect()),
        Column::numbers("replayed", shown.iter().map(|site| seconds(site.replayed_s)).collect()),
        Column::numbers("change", shown.iter().map(|site| signed(site.replayed_s - site.recorded_s)).collect()),
    ];
    ["Time in MPI over all ranks, by call site: those that change most".to_owned()].into_iter().chain(table(columns)).collect()
}

fn signed(difference: f64) -> String {
    format!("{}{}", if difference < 0.0 { "-" } else { "+" }, seconds(difference.abs()))
}

fn sensitivity(shown: &Shown) -> Vec<String> {
    let Some(found) = &shown.sensitivity else { return Vec::new() };
    vec![
        "Sensitivity".to_owned(),
        format!(
            "  each microsecond more latency costs {} ({} of the time is latency)",
            seconds(found.per_latency_second * 1e-6),
            percent(found.latency_share)
        ),
        format!(
            "  {} are in the way one after another ({} of the time is their transfer)",
            crate::text::bytes(found.per_second_per_byte.max(0.0) as u64),
            percent(found.bandwidth_share)
        ),
    ]
}

fn remarks(shown: &Shown) -> Vec<String> {
    let findings = &shown.findings;
    let mut lines = Vec::new();
    if let Some(network) = &findings.recorded
        && network.latency_s > 0.0
    {
        let rate = if network.s_per_byte > 0.0 {
            format!(" and {}/s", crate::text::bytes((1.0 / network.s_per_byte) as u64))
        } else {
            String::new()
        };
        lines.push(format!("The recorded network seems to have {} latency{rate}.", seconds(network.latency_s)));
    }
    let unmatched = &findings.outcome.unmatched;
    if unmatched.sends + unmatched.receives > 0 {
        let (sends, receives) = (plural(unmatched.sends, "message"), plural(unmatched.receives, "receive"));
        lines.push(format!("{sends} sent but not received, {receives} without a message: the recording lacks their other ends."));
    }
    lines.extend(shown.notes.iter().cloned());
    lines.extend(shown.written.map(|path| format!("Written to {0}; see it with: sintonia report {0}", path.display())));
    lines
}
