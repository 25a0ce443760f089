//! The section of the report on counters.

use sintonia_insight::counter_report::{CounterHeading, CounterReport, CounterValues, FunctionCounterRow, SegmentCounterRow};
use sintonia_text::function_name::short_function_name;

use crate::report::SCREEN_COLUMNS;
use crate::text::{format_percent, format_quantity, format_seconds, truncate_end, truncate_start};

/// Most ranks, segments and functions in the table of everything.
const MAX_ROWS: usize = 16;
const NAME_WIDTH: usize = 38;
const COLUMN_WIDTH: usize = 13;

/// A line with what is worth knowing of any run; empty if instructions or cycles were not counted.
pub(super) fn line(report: Option<&CounterReport>) -> Vec<String> {
    let Some((report, ipc)) = report.and_then(|report| Some((report, report.total.ipc?))) else { return Vec::new() };
    let frequency = report.total.ghz.map(|ghz| format!(" at {ghz:.2} GHz")).unwrap_or_default();
    let text = format!("Instructions per cycle: {ipc:.2}{frequency}{}{}", slowest_rank(report, ipc), misses(report));
    vec![truncate_end(&text, SCREEN_COLUMNS)]
}

/// The rank with fewest instructions per cycle, if it differs.
fn slowest_rank(report: &CounterReport, mean: f64) -> String {
    const NOTABLE: f64 = 0.9;
    let ranks = report.ranks.iter().filter_map(|row| Some((row.rank, row.values.ipc?)));
    let lowest = ranks.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, ipc)| *ipc < NOTABLE * mean);
    lowest.map(|(rank, ipc)| format!("; {ipc:.2} on rank {rank}")).unwrap_or_default()
}

fn misses(report: &CounterReport) -> String {
    let value = |name: &str| {
        let index = report.counters.iter().position(|counter| counter.name == name)?;
        report.total.values.get(index).copied()
    };
    let per_thousand = value("cache-misses").zip(value("instructions")).map(|(misses, instructions)| 1000.0 * misses / instructions);
    per_thousand.filter(|misses| misses.is_finite()).map(|misses| format!("; {misses:.2} cache misses in 1000")).unwrap_or_default()
}

/// The counters of ranks, segments and functions.
pub(super) fn table(report: Option<&CounterReport>) -> Vec<String> {
    let Some(report) = report else { return Vec::new() };
    let (has_ipc, has_frequency) = (report.total.ipc.is_some(), report.total.ghz.is_some());
    let title = format!("Counters ({} of the computation)", format_percent(report.share));
    let rates =
        [(has_ipc, "IPC"), (has_frequency, "GHz")].map(|(is_known, name)| if is_known { format!("{name:>8}") } else { String::new() });
    let names: String = report.counters.iter().map(heading).collect();
    let heading = format!("{title:<NAME_WIDTH$}{:>10}{names}{}", "time", rates.concat());
    let row = |name: &str, seconds: f64, values: &CounterValues| {
        let counts: String = values.values.iter().map(|value| format!("{:>COLUMN_WIDTH$}", format_quantity(*value))).collect();
        let rate = |is_known: bool, value: Option<f64>| match value {
            _ if !is_known => String::new(),
            Some(value) => format!("{value:>8.2}"),
            None => format!("{:>8}", "-"),
        };
        let rates = rate(has_ipc, values.ipc) + &rate(has_frequency, values.ghz);
        format!("  {:<width$}{:>10}{counts}{rates}", truncate_start(name, NAME_WIDTH - 4), format_seconds(seconds), width = NAME_WIDTH - 2)
    };
    let ranks = report.ranks.iter().take(MAX_ROWS).map(|rank| row(&format!("rank {}", rank.rank), rank.counted_s, &rank.values));
    let segments = report.segments.iter().take(MAX_ROWS).map(|segment| row(&ends_of(segment), segment.counted_s, &segment.values));
    let functions = report.functions.iter().take(MAX_ROWS).map(|function| row(&name_of(function), function.counted_s, &function.values));
    let total = row("all ranks", report.counted_s, &report.total);
    [heading, total].into_iter().chain(ranks).chain(segments).chain(functions).collect()
}

fn heading(counter: &CounterHeading) -> String {
    let unit = if counter.unit.is_empty() { String::new() } else { format!(" {}", counter.unit) };
    format!("{:>COLUMN_WIDTH$}", truncate_end(&format!("{}{unit}", counter.name), COLUMN_WIDTH - 1))
}

fn ends_of(segment: &SegmentCounterRow) -> String {
    format!("{} to {}", segment.from.line_only(), segment.to.line_only())
}

fn name_of(row: &FunctionCounterRow) -> String {
    format!("in {}", short_function_name(&row.function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_insight::SourceLocation;
    use sintonia_insight::counter_report::RankCounterRow;

    fn values(values: &[f64], ipc: Option<f64>) -> CounterValues {
        CounterValues { values: values.to_vec(), ipc, ghz: ipc.map(|_| 2.7) }
    }

    fn report(names: &[&str], ipc: Option<f64>) -> CounterReport {
        let name = |name: &&str| CounterHeading { name: (*name).into(), unit: String::new(), is_sum: true };
        let counts: Vec<f64> = names.iter().zip([3e9, 2e9, 6e6]).map(|(_, count)| count).collect();
        let rank = |rank, ipc| RankCounterRow { rank, counted_s: 0.5, values: values(&counts, ipc) };
        let place = |line| SourceLocation { file: Some("step.c".into()), line: Some(line), ..SourceLocation::default() };
        CounterReport {
            counters: names.iter().map(name).collect(),
            counted_s: 1.0,
            share: 0.97,
            total: values(&counts, ipc),
            ranks: vec![rank(0, ipc), rank(1, ipc.map(|ipc| ipc / 2.0))],
            segments: vec![SegmentCounterRow { from: place(40), to: place(58), counted_s: 1.0, values: values(&counts, ipc) }],
            functions: Vec::new(),
        }
    }

    #[test]
    fn instructions_per_cycle_fit_on_a_line() {
        let report = report(&["instructions", "cycles", "cache-misses"], Some(1.5));
        assert_eq!(line(Some(&report)), ["Instructions per cycle: 1.50 at 2.70 GHz; 0.75 on rank 1; 2.00 cache misses in 1000"]);
        let table = table(Some(&report));
        assert!(table[0].starts_with("Counters (97 % of the computation)") && table[0].ends_with("IPC     GHz"), "{table:#?}");
        assert!(table[1].ends_with("1.50    2.70") && table[4].contains("step.c:40 to step.c:58"), "{table:#?}");
    }

    #[test]
    fn without_instructions_there_is_only_the_table() {
        let report = report(&["page-faults"], None);
        assert_eq!(line(Some(&report)), [""; 0]);
        assert_eq!(table(Some(&report))[0], format!("{:<38}{:>10}{:>13}", "Counters (97 % of the computation)", "time", "page-faults"));
        assert_eq!((line(None), table(None)), (vec![], vec![]));
    }
}
