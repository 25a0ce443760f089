//! The report as text: one screen of 40 lines and 100 columns, or everything.

use sintonia_insight::advice::{Advice, Saving};
use sintonia_insight::phase_efficiency::PhaseEfficiency;
use sintonia_insight::report_rows::{CoreDelay, CriticalPath, PathCall, PathSegment, RootCause, WaitState};
use sintonia_insight::{CallSiteTotals, Efficiency, RankPair, RankSpread, RankTimes, RunSummary};

use crate::report::call_display::{self, rank_seconds};
use crate::report::place_text::{PlaceColumn, fit_place};
use crate::report::{
    SCREEN_COLUMNS, counter_display, file_display, function_display, hosts, message_sizes, openmp_display, remarks, thread_display,
};
use crate::text::{
    format_bytes, format_count, format_percent, format_percent_range, format_plural, format_ranks, format_seconds, format_seconds_range,
    shell_command, truncate_end, wrap,
};

const SCREEN_LINES: usize = 40;
const MAX_CALL_SITES: usize = 5;
/// Lines kept for the call sites: title, two rows, and an empty line.
const MIN_CALL_SITE_LINES: usize = 4;
const MAX_FUNCTIONS: usize = 5;
const MAX_PAIRS: usize = 3;
const MAX_REMARKS: usize = 3;
const MAX_LATE_RANKS: usize = 8;
const MAX_ADVICE_LINES: usize = 9;
const MAX_WAITS: usize = 4;
/// Lines of rows, with callers below them.
const MAX_WAIT_LINES: usize = 6;
const MAX_PATH_ROWS: usize = 2;
/// Efficiencies from here on are usually considered good.
const GOOD_EFFICIENCY: f64 = 0.8;
/// The minimum share of the ranks' time for a wait to be shown on one screen.
const MIN_WAIT_SHARE: f64 = 0.01;
/// The minimum share of the critical path for time without a core to be shown.
const MIN_NO_CORE_SHARE: f64 = 0.01;

/// The report of a recording with its tuning log; `all` shows every row.
pub(super) fn render(name: &str, summary: &RunSummary, tuning: Vec<String>, all: bool) -> String {
    let screen = ReportText { summary, tuning, show_all: all };
    let sections = if all { screen.all_sections(name) } else { screen.fitting_sections(name) };
    let sections: Vec<String> = sections.into_iter().filter(|lines| !lines.is_empty()).map(|lines| screen.join_lines(lines)).collect();
    sections.join("\n")
}

struct ReportText<'a> {
    summary: &'a RunSummary,
    tuning: Vec<String>,
    show_all: bool,
}

impl ReportText<'_> {
    fn all_sections(&self, name: &str) -> Vec<Vec<String>> {
        if self.summary.calls == 0 {
            return self.no_calls_sections(name);
        }
        let why = [
            self.title(name),
            self.cores(),
            self.efficiency(),
            self.openmp(),
            self.phases(),
            self.advice(),
            self.waits(),
            self.root_causes(),
            self.core_delays(),
            self.critical_path(),
            function_display::section(self.summary.computation.as_ref(), None),
            counter_display::table(self.summary.counters.as_ref()),
        ];
        let why = why.into_iter().chain([self.tuning.clone()]);
        let files = file_display::rows(self.summary, rank_seconds(self.summary), true);
        let calls = [
            self.call_sites(MAX_CALL_SITES),
            call_display::call_sites_by_rank(self.summary),
            call_display::operations(self.summary),
            files,
        ];
        let ranks = [self.time(), self.per_rank(), message_sizes::sizes(self.summary, self.show_all), self.pairs()];
        why.chain(calls).chain(ranks).chain(hosts::sections(self.summary)).chain([self.remarks()]).collect()
    }

    /// What fits on a screen: causes first, then call sites, and other sections if there is space.
    fn fitting_sections(&self, name: &str) -> Vec<Vec<String>> {
        if self.summary.calls == 0 {
            return self.no_calls_sections(name);
        }
        // Ranks without a core lengthen whatever they do next: the path would show where that happened to be.
        let path = if self.summary.cores.statement.is_none() { self.critical_path() } else { Vec::new() };
        let mut sections = vec![self.title(name), self.tuning.clone(), self.cores(), self.efficiency(), self.openmp()];
        sections.extend([self.advice(), self.waits(), path]);
        let remarks = self.remarks();
        let lines = |section: &Vec<String>| if section.is_empty() { 0 } else { section.len() + 1 };
        let mut used = sections.iter().map(lines).sum::<usize>() + lines(&remarks);
        let functions = self.fitting_functions(SCREEN_LINES.saturating_sub(used + MIN_CALL_SITE_LINES));
        used += lines(&functions);
        sections.push(functions);
        // Besides its rows, a table has a title and an empty line before it.
        let calls = self.call_sites(MAX_CALL_SITES.min(SCREEN_LINES.saturating_sub(used + 2)).max(1));
        used += lines(&calls);
        sections.push(calls);
        let files = file_display::rows(self.summary, rank_seconds(self.summary), false);
        let counters = counter_display::line(self.summary.counters.as_ref());
        for section in [counters, files, message_sizes::sizes(self.summary, self.show_all), self.pairs(), self.time()] {
            if used + lines(&section) <= SCREEN_LINES {
                used += lines(&section);
                sections.push(section);
            }
        }
        sections.push(remarks);
        sections
    }

    /// Computation by function, in at most this many lines including an empty one.
    fn fitting_functions(&self, room: usize) -> Vec<String> {
        let sections = (1..=MAX_FUNCTIONS).rev().map(|rows| function_display::section(self.summary.computation.as_ref(), Some(rows)));
        sections.into_iter().find(|section| section.len() < room).unwrap_or_default()
    }

    /// The threads of OpenMP.
    fn openmp(&self) -> Vec<String> {
        let report = self.summary.openmp.as_ref();
        report.map(|report| openmp_display::section(report, self.summary.work_s, self.show_all)).unwrap_or_default()
    }

    fn no_calls_sections(&self, name: &str) -> Vec<Vec<String>> {
        vec![self.title(name), vec!["No MPI calls were recorded.".into()], self.remarks()]
    }

    fn join_lines(&self, lines: Vec<String>) -> String {
        let width = if self.show_all { usize::MAX } else { SCREEN_COLUMNS };
        lines.iter().map(|line| truncate_end(line.trim_end(), width) + "\n").collect()
    }

    /// The number of rows to show of a section.
    fn shown_rows(&self, most: usize, rows: usize) -> usize {
        if self.show_all { rows } else { rows.min(most) }
    }

    /// The first rows of a table, as many as have at most this many lines together, but at least one.
    fn fitting_rows(&self, mut rows: Vec<Vec<String>>, most: usize) -> Vec<Vec<String>> {
        let count = |lines: &mut usize, row: &Vec<String>| {
            *lines += row.len();
            Some(*lines)
        };
        let fitting = rows.iter().scan(0, count).take_while(|lines| self.show_all || *lines <= most).count();
        rows.truncate(fitting.max(1));
        rows
    }

    /// The heading of a section, with how much of it is shown.
    fn heading(&self, title: &str, shown: usize, rows: usize) -> String {
        if shown < rows { format!("{title} ({shown} of {}; --all shows the rest)", format_count(rows as u64)) } else { title.into() }
    }

    fn title(&self, name: &str) -> Vec<String> {
        let s = self.summary;
        let hosts = match &s.hosts[..] {
            [] => String::new(),
            [host] => format!(" on {host}"),
            hosts => format!(" on {} (clocks within {})", format_plural(hosts.len() as u64, "host"), format_seconds(s.clock_error_s)),
        };
        let library = if s.mpi.library.is_empty() { "unknown MPI".into() } else { s.mpi.library.clone() };
        let parameters: String = s.parameters.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
        let [ranks, calls] = [(s.ranks as u64, "rank"), (s.calls, "MPI call")].map(|(number, what)| format_plural(number, what));
        let status = s.exit_status.filter(|status| *status != 0).map(|status| format!(", exit status {status}")).unwrap_or_default();
        let shortage = s.cores.statement.iter().flat_map(|statement| wrap(statement, SCREEN_COLUMNS));
        let run = [
            format!("{name}: {}{parameters}", shell_command(&s.command)),
            format!("{ranks}{hosts}, {library}: {}, {calls}{status}", format_seconds(s.elapsed_s)),
        ];
        shortage.chain(run).chain(self.region()).collect()
    }

    /// Which part of the run the figures are about.
    fn region(&self) -> Vec<String> {
        let Some(region) = &self.summary.region else { return Vec::new() };
        let [seconds, run, begin, end] = [region.seconds, region.run_s, region.begin_s, region.end_s].map(format_seconds);
        let whole = format!("the run takes {run}, this part of it {seconds}");
        let ranks = if region.ranks.len() < self.summary.ranks { format!(", of {}", format_ranks(&region.ranks)) } else { String::new() };
        let text = format!("Only {}{ranks}: between {begin} and {end}; {whole}. All figures are about this part.", region.name);
        wrap(&text, SCREEN_COLUMNS)
    }

    fn efficiency(&self) -> Vec<String> {
        let s = self.summary;
        let Some(e) = s.efficiency else { return Vec::new() };
        let line = |name: &str, share: f64, meaning: &str| format!("  {name:<20}{:>5}   {meaning}", format_percent(share));
        let threads = s.threads.as_ref();
        let counted = threads.map(|threads| format!(", {}", thread_display::counted_threads(threads))).unwrap_or_default();
        let of = if s.region.is_some() { "in this part" } else { "from MPI_Init to MPI_Finalize" };
        let heading = format!("Efficiency, over the run of {} {of}{counted}", format_seconds(s.work_s));
        let notes = threads.map(thread_display::notes).unwrap_or_default();
        if s.cores.statement.is_some() {
            return std::iter::once(heading).chain(self.efficiency_without_cores(e)).chain(notes).collect();
        }
        let unit = if threads.is_some_and(|threads| !threads.main_only) { "thread" } else { "rank" };
        let some = if unit == "rank" { "some ranks" } else { "some" };
        let meanings = [
            format!("share of computation in the {unit}s' time; product of the two below"),
            format!("how evenly computation is distributed; low if {some} compute more"),
            format!("computation share of the busiest {unit}; low if waiting or much data"),
        ];
        let parts = [
            Some(line("parallel efficiency", e.parallel, &meanings[0])),
            Some(line("  load balance", e.load_balance, &meanings[1])),
            Some(line("  communication", e.communication, &meanings[2])),
            e.serialisation
                .map(|share| line("    serialisation", share, "of that, the loss to waiting for each other, on an ideal network")),
            e.transfer.map(|share| line("    transfer", share, "and the loss to data transfer")),
        ];
        std::iter::once(heading).chain(parts.into_iter().flatten()).chain(notes).collect()
    }

    /// What can be judged although ranks had no core for a part of their time: computation on cores, if it is known when they had one.
    fn efficiency_without_cores(&self, e: Efficiency) -> Vec<String> {
        let line = |name: &str, share: f64, meaning: &str| format!("  {name:<20}{:>5}   {meaning}", format_percent(share));
        if self.summary.cores.split.is_none() {
            return vec!["  not judged: where in the program ranks had no core is not known".into()];
        }
        vec![
            line("parallel efficiency", e.parallel, "share of computation on a core in the ranks' time"),
            line("  load balance", e.load_balance, "how evenly it is distributed"),
            "  communication is not judged: ranks without a core delay the others".into(),
        ]
    }

    /// How the time of the ranks splits if they had no core for a part of it.
    fn cores(&self) -> Vec<String> {
        let cores = &self.summary.cores;
        let shown = cores.statement.is_some() || (self.show_all && cores.basis != "unknown");
        let Some(share) = cores.share.filter(|_| shown) else { return Vec::new() };
        let title = "Time of the ranks, with and without a core".to_owned();
        let line = |name: &str, share: f64, meaning: &str| format!("  {name:<20}{:>5}   {meaning}", format_percent(share));
        let Some(split) = cores.split.filter(|split| split.total_s() > 0.0) else {
            return vec![title, line("without a core", share, "ready to run; where in the program is not known")];
        };
        let part = |seconds: f64| seconds / split.total_s();
        vec![
            title,
            line("computing", part(split.computing_s), "on a core"),
            line("preempted", part(split.preempted_s), "ready to compute, without a core"),
            line("in MPI", part(split.message_s), "waiting for a message, or transferring it"),
            line("in MPI, no core", part(split.mpi_no_core_s), "ready to go on, without a core"),
        ]
    }

    fn advice(&self) -> Vec<String> {
        let s = self.summary;
        if s.profile {
            return Vec::new();
        }
        if s.advice.is_empty() {
            return wrap(&self.no_advice(), SCREEN_COLUMNS);
        }
        let items: Vec<Vec<String>> = s.advice.iter().enumerate().map(|(index, advice)| self.advice_item(index + 1, advice)).collect();
        let items = self.fitting_rows(items, MAX_ADVICE_LINES);
        let heading = self.heading("What to do, most worthwhile first", items.len(), s.advice.len());
        std::iter::once(heading).chain(items.into_iter().flatten()).chain(self.together()).chain(self.held_back()).collect()
    }

    /// How much advice is held back because ranks had no core.
    fn held_back(&self) -> Option<String> {
        let number = self.summary.cores.held_back as u64;
        (number > 0).then(|| format!("    {} held back: the missing cores explain the saving.", format_plural(number, "other change")))
    }

    /// The text if no rule matched: all is well, or where most time is lost.
    fn no_advice(&self) -> String {
        // Helper threads that only communicate are no loss of the others.
        let without_helpers = self.summary.threads.as_ref().and_then(|threads| threads.efficiency_without);
        let efficiency = without_helpers.or(self.summary.efficiency).filter(|efficiency| efficiency.parallel < GOOD_EFFICIENCY);
        let Some(e) = efficiency else { return "What to do: nothing worth changing was found.".into() };
        let parts = [
            (e.load_balance, "uneven distribution of computation"),
            (e.serialisation.unwrap_or(1.0), "waiting for each other"),
            (e.transfer.unwrap_or(1.0), "data transfer and MPI overhead: try larger problems or fewer ranks"),
        ];
        let worst = parts.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, what)| what);
        format!("What to do: no single change stands out. Most is lost to {worst}.")
    }

    fn advice_item(&self, number: usize, advice: &Advice) -> Vec<String> {
        let saves = advice.saving.map(|saving| saving_text(&saving, self.summary.work_s)).unwrap_or_default();
        let mut paragraphs = vec![format!("{}{saves}", advice.what)];
        if self.show_all {
            paragraphs.extend([advice.evidence.clone(), format!("Estimate: {}", advice.basis)]);
        }
        paragraphs.push(format!("Try: {}", advice.try_this));
        let lines = paragraphs.iter().flat_map(|paragraph| wrap(paragraph, SCREEN_COLUMNS - 5));
        let lead = |index: usize| if index == 0 { format!("{number:>2}. ") } else { "    ".into() };
        lines.enumerate().map(|(index, line)| lead(index) + line.as_str()).collect()
    }

    /// What several changes save together.
    fn together(&self) -> Option<String> {
        let all: Vec<(usize, f64)> =
            (1..).zip(&self.summary.advice).filter_map(|(number, advice)| Some((number, advice.together_s?))).collect();
        let together_s = all.iter().map(|(_, together_s)| *together_s).reduce(f64::max).filter(|_| all.len() > 1)?;
        let numbers: Vec<String> = all.iter().map(|(number, _)| number.to_string()).collect();
        let share = format_percent(together_s / self.summary.work_s.max(f64::MIN_POSITIVE));
        Some(format!("    Changes {} together save {share} of the run ({}).", numbers.join(", "), format_seconds(together_s)))
    }

    fn waits(&self) -> Vec<String> {
        let states = &self.summary.wait_states;
        let worth = states.iter().filter(|state| self.show_all || state.seconds / rank_seconds(self.summary) >= MIN_WAIT_SHARE).count();
        if worth == 0 {
            return Vec::new();
        }
        let short_of_cores = self.short_of_cores();
        let last = if short_of_cores { "no core" } else { "longest" };
        let row = |state: &WaitState| {
            let (name, location) = (truncate_end(state.name, 24), self.call_and_site(state.operation, &state.source.to_string()));
            let (times, time) = (format_count(state.waits), format_seconds(state.seconds));
            let last = if short_of_cores { format_percent(state.no_core_s / state.seconds) } else { format_seconds(state.longest_s) };
            let share = format_percent(state.seconds / rank_seconds(self.summary));
            let row = format!("  {name:<25}{:<33}{times:>12}{time:>10}{share:>8}{last:>10}", location.text);
            std::iter::once(row).chain(location.callers).collect()
        };
        let rows: Vec<Vec<String>> = states[..self.shown_rows(MAX_WAITS, worth)].iter().map(row).collect();
        let rows = self.fitting_rows(rows, MAX_WAIT_LINES);
        let heading = self.heading("Waiting for others", rows.len(), states.len());
        let title = format!("{heading:<60}{:>12}{:>10}{:>8}{last:>10}", "waits", "time", "of run");
        std::iter::once(title).chain(rows.into_iter().flatten()).collect()
    }

    /// Whether ranks had no core for a part of their time, and it is known when.
    fn short_of_cores(&self) -> bool {
        self.summary.cores.statement.is_some() && self.summary.cores.split.is_some()
    }

    /// The phases with their efficiencies; a program with one phase has those of the run.
    fn phases(&self) -> Vec<String> {
        let phases = &self.summary.phases;
        // A part of the run touches some of them.
        let present = || phases.iter().enumerate().filter(|(_, phase)| phase.ranks > 0);
        if present().count() < 2 {
            return Vec::new();
        }
        let short_of_cores = self.short_of_cores();
        // Ranks without a core delay the others: then communication is not judged.
        let columns = if short_of_cores { ["no core", "parallel", "balance", ""] } else { ["parallel", "balance", "serial.", "transfer"] };
        let heads = columns.map(|head| format!("{head:>10}")).concat();
        let title = format!("{:<50}{:>10}{heads}", "Phases of the program, each over its own time", "time");
        let row = |(index, phase): (usize, &PhaseEfficiency)| {
            let depth = std::iter::successors(phase.part_of, |whole| phases[*whole].part_of).count();
            let goes_round = if phase.repeats { " (loop)" } else { "" };
            let name = format!("{:>3} {}{}{goes_round}", index + 1, "  ".repeat(depth), phase.name);
            let share = |value: Option<f64>| format!("{:>10}", value.map_or("-".into(), format_percent));
            let e = phase.efficiency;
            let shares = match (e.map(|e| e.parallel), e.map(|e| e.load_balance)) {
                (parallel, balance) if short_of_cores => vec![phase.no_core, parallel, balance],
                (parallel, balance) => vec![parallel, balance, e.and_then(|e| e.serialisation), e.and_then(|e| e.transfer)],
            };
            let shares: String = shares.into_iter().map(share).collect();
            format!("{:<50}{:>10}{shares}", truncate_end(&name, 49), format_seconds(phase.seconds))
        };
        std::iter::once(title).chain(present().map(row)).collect()
    }

    fn root_causes(&self) -> Vec<String> {
        let causes = &self.summary.root_causes;
        if causes.is_empty() {
            return Vec::new();
        }
        let cores = &self.summary.cores;
        let what = if cores.statement.is_some() && cores.split.is_none() { " (or lack of a core)" } else { "" };
        let title = format!("{:<60}{:>12}{:>10}  late ranks", format!("Computation{what} that made others wait"), "waits", "indirect");
        let row = |cause: &RootCause| {
            let (from, to) = (&cause.from, &cause.to);
            let more = if cause.ranks.len() > MAX_LATE_RANKS { ", …" } else { "" };
            let ranks = cause.ranks.iter().take(MAX_LATE_RANKS).map(u32::to_string).collect::<Vec<_>>().join(", ") + more;
            format!(
                "  {:<58}{:>12}{:>10}  {ranks}",
                format!("{from} -> {to}"),
                format_seconds(cause.seconds),
                format_seconds(cause.passed_on_s)
            )
        };
        std::iter::once(title).chain(causes.iter().map(row)).collect()
    }

    /// The ranks that made others wait because they waited for a core.
    fn core_delays(&self) -> Vec<String> {
        let delays = &self.summary.core_delays;
        if delays.is_empty() {
            return Vec::new();
        }
        let title = format!("{:<60}{:>12}{:>10}{:>10}", "Ranks that waited for a core and made others wait", "waits", "indirect", "in MPI");
        let row = |delay: &CoreDelay| {
            let [waits, indirect, in_mpi] = [delay.seconds, delay.passed_on_s, delay.in_mpi_s].map(format_seconds);
            format!("  {:<58}{waits:>12}{indirect:>10}{in_mpi:>10}", format!("rank {}", delay.rank))
        };
        std::iter::once(title).chain(delays.iter().map(row)).collect()
    }

    fn critical_path(&self) -> Vec<String> {
        let Some(path) = self.summary.critical_path.as_ref().filter(|path| path.seconds > 0.0) else { return Vec::new() };
        let share = |part: f64| format_percent(part / path.seconds);
        let computes: f64 = path.segments.iter().map(|segment| segment.seconds - segment.no_core_s.unwrap_or(0.0)).sum();
        let no_core = |seconds: Option<f64>| seconds.filter(|seconds| *seconds >= MIN_NO_CORE_SHARE * path.seconds);
        let waited = no_core(path.no_core_s).map(|seconds| format!(", {} without a core", share(seconds))).unwrap_or_default();
        let title = format!("Critical path: {}, {} of it computation{waited}", format_seconds(path.seconds), share(computes));
        let of_that = |without: Option<f64>, all: f64| {
            no_core(without).map(|seconds| format!(", {} of that without a core", format_percent(seconds / all))).unwrap_or_default()
        };
        let segment = |s: &PathSegment| {
            let uneven = if s.imbalance_s > 0.01 * path.seconds {
                format!(", critical-path imbalance {}", format_seconds(s.imbalance_s))
            } else {
                String::new()
            };
            self.path_segment_lines(&share(s.seconds), s, &format!("{}{uneven}", of_that(s.no_core_s, s.seconds)))
        };
        let call =
            |c: &PathCall| vec![format!("  {:>5}  in MPI, called at {}{}", share(c.seconds), c.source, of_that(c.no_core_s, c.seconds))];
        let mut rows: Vec<(f64, Vec<String>)> = path.segments.iter().map(|s| (s.seconds, segment(s))).collect();
        rows.extend(path.calls.iter().map(|c| (c.seconds, call(c))));
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shown = self.shown_rows(MAX_PATH_ROWS, rows.len());
        let ranks = self.show_all.then(|| path_ranks_line(path, share));
        std::iter::once(title).chain(rows.into_iter().take(shown).flat_map(|(_, row)| row)).chain(ranks).collect()
    }

    /// A segment of the critical path: on one line, or its ends and the remark below each other.
    fn path_segment_lines(&self, share: &str, segment: &PathSegment, remark: &str) -> Vec<String> {
        let (from, to) = (segment.from.to_string(), segment.to.to_string());
        let line = format!("  {share:>5}  {from} -> {to}{remark}");
        if self.show_all || line.chars().count() <= SCREEN_COLUMNS {
            return vec![line];
        }
        const INDENT: usize = 12;
        let room = SCREEN_COLUMNS - INDENT;
        let end = format!("{:>INDENT$}{}", "-> ", fit_place(&to, room));
        let begin = format!("  {share:>5}  {}", fit_place(&from, room));
        match end.chars().count() + remark.chars().count() <= SCREEN_COLUMNS {
            true => vec![begin, end + remark],
            false => vec![begin, end, format!("{:INDENT$}{}", "", remark.trim_start_matches(", "))],
        }
    }

    fn time(&self) -> Vec<String> {
        let line = |name: &str, s: RankSpread| {
            let [min, mean, max] = [s.min, s.mean, s.max].map(format_seconds);
            format!("  {name:<16}{min:>10}{mean:>10}{max:>10}{:>11}", format_percent(s.imbalance))
        };
        let title = if self.summary.threads.is_some() { "Rank, all threads" } else { "Time of a rank" };
        vec![
            format!("{:<18}{:>10}{:>10}{:>10}{:>11}", title, "least", "mean", "most", "imbalance"),
            line("in MPI", self.summary.mpi_s),
            line("computation", self.summary.outside_s),
        ]
    }

    /// The call sites with the most time, in at most this many lines below the title.
    fn call_sites(&self, most: usize) -> Vec<String> {
        let sites = &self.summary.call_sites;
        let row = |site: &CallSiteTotals| {
            let (operation, location) = (truncate_end(site.operation, 24), self.site_column(&site.source.to_string(), 32));
            let totals = call_display::totals_columns(self.summary, site.operation, (site.calls, site.seconds, site.bytes));
            let row = format!("  {operation:<25}{:<33}{totals}", location.text);
            std::iter::once(row).chain(location.callers).collect()
        };
        let rows: Vec<Vec<String>> = sites[..self.shown_rows(most, sites.len())].iter().map(row).collect();
        let rows = self.fitting_rows(rows, most);
        let heading = self.heading("Calls by time", rows.len(), sites.len());
        let title = format!("{heading:<60}{:>12}{:>10}{:>8}{:>10}", "calls", "time", "of run", "bytes");
        std::iter::once(title).chain(rows.into_iter().flatten()).collect()
    }

    /// A function and its call site.
    fn call_and_site(&self, operation: &str, location: &str) -> PlaceColumn {
        const WIDTH: usize = 32;
        let operation = operation.trim_start_matches("MPI_");
        let column = self.site_column(location, WIDTH.saturating_sub(operation.len() + 4));
        PlaceColumn { text: format!("{operation} at {}", column.text), ..column }
    }

    fn site_column(&self, location: &str, width: usize) -> PlaceColumn {
        PlaceColumn::fit(location, if self.show_all { usize::MAX } else { width })
    }

    fn per_rank(&self) -> Vec<String> {
        let title = format!("{:<6}{:>14}{:>14}{:>14}   host", "Rank", "in MPI", "computation", "calls");
        let row = |r: &RankTimes| {
            let (inside, outside) = (format_seconds(r.mpi_s), format_seconds(r.outside_s));
            format!("{:>4}  {inside:>14}{outside:>14}{:>14}   {}", r.rank, format_count(r.calls), r.host)
        };
        let threads = self.summary.threads.as_ref().map(thread_display::rows).unwrap_or_default();
        std::iter::once(title).chain(self.summary.per_rank.iter().map(row)).chain(threads).collect()
    }

    fn pairs(&self) -> Vec<String> {
        let pairs = &self.summary.pairs;
        if pairs.is_empty() {
            return Vec::new();
        }
        let shown = self.shown_rows(MAX_PAIRS, pairs.len());
        let row = |p: &RankPair| {
            format!("  {:<44}{:>14}{:>12}", format!("{} -> {}", p.from, p.to), format_count(p.messages), format_bytes(p.bytes))
        };
        std::iter::once(self.heading("Heaviest pairs", shown, pairs.len())).chain(pairs[..shown].iter().map(row)).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = remarks::remarks(self.summary);
        if remarks.is_empty() {
            return Vec::new();
        }
        let shown = self.shown_rows(MAX_REMARKS, remarks.len());
        let heading = self.heading("Keep in mind", shown, remarks.len());
        remarks.truncate(shown);
        std::iter::once(heading).chain(remarks.into_iter().map(|remark| format!("  {remark}"))).collect()
    }
}

/// The ranks on the critical path.
fn path_ranks_line(path: &CriticalPath, share: impl Fn(f64) -> String) -> String {
    let ranks: Vec<String> = path.ranks.iter().take(10).map(|(rank, seconds)| format!("rank {rank} {}", share(*seconds))).collect();
    format!("  on {}; {}", ranks.join(", "), format_plural(path.jumps, "change"))
}

/// What a change saves of a run, as a sentence after another one.
fn saving_text(saving: &Saving, work_s: f64) -> String {
    let share = |seconds: f64| seconds / work_s.max(f64::MIN_POSITIVE);
    let (low, high) = (saving.low_s().max(0.0), saving.high_s());
    format!(" Saves {} of the run ({}).", format_percent_range(share(low), share(high)), format_seconds_range(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_may_cost_time_saves_a_range_from_zero() {
        let saving = |low_ns| Saving { low_ns, likely_ns: 200_000_000, high_ns: 450_000_000 };
        assert_eq!(saving_text(&saving(-50_000_000), 1.0), " Saves 0 to 45 % of the run (0 s to 450 ms).");
        assert_eq!(saving_text(&saving(50_000_000), 1.0), " Saves 5 to 45 % of the run (50.0 to 450 ms).");
    }
}
