//! A replay, as text.

use sintonia_replay::engine::{RankTime, SiteTime};

use super::Shown;
use crate::fit::page::{Column, page, table};
use crate::text::{count, head, percent, plural, seconds, tail};

/// Call sites and ranks that are shown.
const MOST_SITES: usize = 10;
const MOST_RANKS: usize = 8;
const PLACE: usize = 36;

/// Everything that was found.
pub fn show(shown: &Shown) -> String {
    page([title(shown), times(shown), ranks(shown), sites(shown), sensitivity(shown), remarks(shown)])
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
    let recorded = shown.was_run.then_some(findings.outcome.recorded_s);
    let unchanged = findings.before.as_ref().map(|before| before.seconds);
    let against = |before: f64| format!("  {:+.1} %", 100.0 * (middle / before - 1.0));
    let change = unchanged.or(recorded).filter(|before| *before > 0.0).map_or_else(String::new, against);
    let before = [("recorded ", recorded), ("unchanged", unchanged)];
    let lines = before.into_iter().filter_map(|(name, time)| Some(format!("  {name}  {}", seconds(time?))));
    lines.chain([format!("  replayed   {}{interval}{change}", seconds(middle))]).collect()
}

/// The ranks, or of many the ones that end last and first.
fn ranks(shown: &Shown) -> Vec<String> {
    let outcome = &shown.findings.outcome;
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
    let recorded = shown.was_run.then(|| Column::numbers("recorded", column(|rank| seconds(rank.recorded_s))));
    let columns = [Column::numbers("rank", column(|rank| rank.rank.to_string()))].into_iter().chain(recorded);
    let columns = columns.chain([Column::numbers("replayed", column(|rank| seconds(rank.replayed_s)))]);
    [heading].into_iter().chain(table(columns)).collect()
}

fn sites(shown: &Shown) -> Vec<String> {
    let sites = shown.findings.outcome.sites.iter().take(MOST_SITES);
    let sites: Vec<&SiteTime> = sites.filter(|site| site.recorded_s + site.replayed_s > 0.0).collect();
    if sites.is_empty() {
        return Vec::new();
    }
    let column = |of: fn(&SiteTime) -> String| sites.iter().map(|site| of(site)).collect::<Vec<_>>();
    let recorded = || Column::numbers("recorded", column(|site| seconds(site.recorded_s)));
    let change = || Column::numbers("change", column(|site| signed(site.replayed_s - site.recorded_s)));
    let columns = [
        Column::texts("call site", column(|site| tail(&site.place, PLACE))),
        Column::texts("function", column(|site| head(site.function, 24))),
        Column::numbers("calls", column(|site| count(site.calls))),
    ];
    let replayed = Column::numbers("replayed", column(|site| seconds(site.replayed_s)));
    let columns = columns.into_iter().chain(shown.was_run.then(recorded)).chain([replayed]).chain(shown.was_run.then(change));
    let which = if shown.was_run { "those that change most" } else { "those that take longest" };
    [format!("Time in MPI over all ranks, by call site: {which}")].into_iter().chain(table(columns)).collect()
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
        lines.push(format!("{sends} sent but not received, {receives} without a message: {} lacks their other ends.", shown.name));
    }
    lines.extend(shown.notes.iter().cloned());
    lines.extend(shown.written.map(|path| format!("Written to {0}; see it with: sintonia report {0}", path.display())));
    lines
}
