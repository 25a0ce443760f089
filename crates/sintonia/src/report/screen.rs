//! The report as text: one screen of 40 lines and 100 columns, or everything.

use sintonia_insight::advice::Advice;
use sintonia_insight::phases::PhaseEfficiency;
use sintonia_insight::shown::{ClockRepair, CriticalPath, PathCall, PathSegment, RootCause, WaitState};
use sintonia_insight::{CallSite, Pair, RankTime, SizeClass, Spread, Summary, words};

use crate::text::{bar, binary_bytes, bytes, command, count, head, percent, plural, seconds, tail, wrapped};

/// Columns of a screen.
pub const COLUMNS: usize = 100;
const LINES: usize = 40;
const CALL_SITES: usize = 5;
const SIZES: usize = 5;
const PAIRS: usize = 3;
const REMARKS: usize = 3;
const ADVICE_LINES: usize = 9;
const WAITS: usize = 4;
const ON_PATH: usize = 2;
/// An efficiency from which on a run is usually called good.
const GOOD: f64 = 0.8;
/// The least share of the ranks' time that a wait must have to be shown on a screen.
const WORTH_SHOWING: f64 = 0.01;
const BAR: usize = 30;

/// The report of a recording, with what is told of its tuning; `all` shows every row.
pub fn show(name: &str, summary: &Summary, tuning: Vec<String>, all: bool) -> String {
    let screen = Screen { summary, tuning, all };
    let sections = if all { screen.everything(name) } else { screen.fitting(name) };
    let sections: Vec<String> = sections.into_iter().filter(|lines| !lines.is_empty()).map(|lines| screen.joined(lines)).collect();
    sections.join("\n")
}

struct Screen<'a> {
    summary: &'a Summary,
    tuning: Vec<String>,
    all: bool,
}

impl Screen<'_> {
    fn everything(&self, name: &str) -> Vec<Vec<String>> {
        if self.summary.calls == 0 {
            return self.no_calls(name);
        }
        let why =
            [self.title(name), self.efficiency(), self.phases(), self.advice(), self.waits(), self.root_causes(), self.critical_path()];
        let why = why.into_iter().chain([self.tuning.clone()]);
        let calls =
            [self.call_sites(CALL_SITES), self.operations(), self.time(), self.per_rank(), self.sizes(), self.pairs(), self.remarks()];
        why.chain(calls).collect()
    }

    /// What fits on a screen: first of all why, then where, and where there is room, what else is known.
    fn fitting(&self, name: &str) -> Vec<Vec<String>> {
        if self.summary.calls == 0 {
            return self.no_calls(name);
        }
        let mut sections =
            vec![self.title(name), self.tuning.clone(), self.efficiency(), self.advice(), self.waits(), self.critical_path()];
        let remarks = self.remarks();
        let lines = |section: &Vec<String>| if section.is_empty() { 0 } else { section.len() + 1 };
        let mut used = sections.iter().map(lines).sum::<usize>() + lines(&remarks);
        // Besides its rows a table has a title and an empty line before it.
        let calls = self.call_sites(CALL_SITES.min(LINES.saturating_sub(used + 2)).max(1));
        used += lines(&calls);
        sections.push(calls);
        for section in [self.sizes(), self.pairs(), self.time()] {
            if used + lines(&section) <= LINES {
                used += lines(&section);
                sections.push(section);
            }
        }
        sections.push(remarks);
        sections
    }

    fn no_calls(&self, name: &str) -> Vec<Vec<String>> {
        vec![self.title(name), vec!["No MPI call was seen.".into()], self.remarks()]
    }

    fn joined(&self, lines: Vec<String>) -> String {
        let width = if self.all { usize::MAX } else { COLUMNS };
        lines.iter().map(|line| head(line.trim_end(), width) + "\n").collect()
    }

    /// How many rows of a section are shown.
    fn rows(&self, most: usize, rows: usize) -> usize {
        if self.all { rows } else { rows.min(most) }
    }

    /// A section's title, and how much of it is shown.
    fn heading(&self, title: &str, shown: usize, rows: usize) -> String {
        if shown < rows { format!("{title} ({shown} of {}; --all shows the rest)", count(rows as u64)) } else { title.into() }
    }

    fn title(&self, name: &str) -> Vec<String> {
        let s = self.summary;
        let hosts = match &s.hosts[..] {
            [] => String::new(),
            [host] => format!(" on {host}"),
            hosts => format!(" on {} (clocks within {})", plural(hosts.len() as u64, "host"), seconds(s.clock_error_s)),
        };
        let library = if s.mpi.library.is_empty() { "unknown MPI".into() } else { s.mpi.library.clone() };
        let parameters: String = s.parameters.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
        let [ranks, calls] = [(s.ranks as u64, "rank"), (s.calls, "MPI call")].map(|(number, what)| plural(number, what));
        let status = s.exit_status.filter(|status| *status != 0).map(|status| format!(", exit status {status}")).unwrap_or_default();
        vec![
            format!("{name}: {}{parameters}", command(&s.command)),
            format!("{ranks}{hosts}, {library}: {}, {calls}{status}", seconds(s.elapsed_s)),
        ]
    }

    fn efficiency(&self) -> Vec<String> {
        let Some(e) = self.summary.efficiency else { return Vec::new() };
        let line = |name: &str, share: f64, meaning: &str| format!("  {name:<18}{:>5}   {meaning}", percent(share));
        let heading = format!("Efficiency, over the {} between MPI_Init and MPI_Finalize", seconds(self.summary.work_s));
        let parts = [
            Some(line("parallel", e.parallel, "of the ranks' time is computation; the product of the two below")),
            Some(line("  load balance", e.load_balance, "how evenly it is shared; less means some ranks have more to compute")),
            Some(line("  communication", e.communication, "what MPI leaves to the busiest rank; less means waiting or much data")),
            e.serialisation
                .map(|share| line("    serialisation", share, "of that, what waiting for each other leaves on an ideal network")),
            e.transfer.map(|share| line("    transfer", share, "and what moving the data leaves")),
        ];
        std::iter::once(heading).chain(parts.into_iter().flatten()).collect()
    }

    fn advice(&self) -> Vec<String> {
        let s = self.summary;
        if s.profile {
            return Vec::new();
        }
        if s.advice.is_empty() {
            return wrapped(&self.no_advice(), COLUMNS);
        }
        let items: Vec<Vec<String>> = s.advice.iter().enumerate().map(|(place, advice)| self.item(place + 1, advice)).collect();
        let room = if self.all { usize::MAX } else { ADVICE_LINES };
        let fits = |lines: &mut usize, item: &Vec<String>| {
            *lines += item.len();
            Some(*lines <= room)
        };
        let shown = items.iter().scan(0, fits).take_while(|fits| *fits).count().max(1);
        let heading = self.heading("What to do, most worthwhile first", shown, items.len());
        std::iter::once(heading).chain(items.into_iter().take(shown).flatten()).collect()
    }

    /// What is said where no rule has found anything: all is well, or what most is lost to.
    fn no_advice(&self) -> String {
        let efficiency = self.summary.efficiency.filter(|efficiency| efficiency.parallel < GOOD);
        let Some(e) = efficiency else { return "What to do: nothing was found that is worth changing.".into() };
        let parts = [
            (e.load_balance, "an uneven share of the computation"),
            (e.serialisation.unwrap_or(1.0), "waiting for each other"),
            (e.transfer.unwrap_or(1.0), "moving data, and MPI itself: try larger problems or fewer ranks"),
        ];
        let worst = parts.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or("", |(_, what)| what);
        format!("What to do: no single change stands out. Most is lost to {worst}.")
    }

    fn item(&self, number: usize, advice: &Advice) -> Vec<String> {
        let saves =
            format!("{} ({} of the run)", seconds(advice.saves_s), percent(advice.saves_s / self.summary.work_s.max(f64::MIN_POSITIVE)));
        let mut paragraphs = vec![format!("{} Saves up to {saves}.", advice.what)];
        if self.all {
            paragraphs.extend([advice.evidence.clone(), format!("Estimate: {}", advice.basis)]);
        }
        paragraphs.push(format!("Try: {}", advice.try_this));
        let lines = paragraphs.iter().flat_map(|paragraph| wrapped(paragraph, COLUMNS - 5));
        let lead = |place: usize| if place == 0 { format!("{number:>2}. ") } else { "    ".into() };
        lines.enumerate().map(|(place, line)| lead(place) + line.as_str()).collect()
    }

    fn waits(&self) -> Vec<String> {
        let states = &self.summary.wait_states;
        let worth = states.iter().filter(|state| self.all || state.seconds / self.rank_seconds() >= WORTH_SHOWING).count();
        if worth == 0 {
            return Vec::new();
        }
        let shown = self.rows(WAITS, worth);
        let heading = self.heading("Waiting for others", shown, states.len());
        let title = format!("{heading:<60}{:>12}{:>10}{:>8}{:>10}", "waits", "time", "of run", "longest");
        let row = |state: &WaitState| {
            let (name, place) = (head(state.name, 24), self.called(state.operation, &state.place.to_string()));
            let (times, time, longest) = (count(state.waits), seconds(state.seconds), seconds(state.longest_s));
            format!("  {name:<25}{place:<33}{times:>12}{time:>10}{:>8}{longest:>10}", percent(state.seconds / self.rank_seconds()))
        };
        std::iter::once(title).chain(states[..shown].iter().map(row)).collect()
    }

    /// The phases and their efficiencies; a program of one phase has those of the run.
    fn phases(&self) -> Vec<String> {
        let phases = &self.summary.phases;
        if phases.len() < 2 {
            return Vec::new();
        }
        let heads = ["time", "parallel", "balance", "serial.", "transfer"].map(|head| format!("{head:>10}")).concat();
        let title = format!("{:<50}{heads}", "Phases of the program");
        let row = |phase: &PhaseEfficiency| {
            let depth = std::iter::successors(phase.part_of, |whole| phases[*whole].part_of).count();
            let goes_round = if phase.repeats { " (loop)" } else { "" };
            let name = format!("{}{}{goes_round}", "  ".repeat(depth + 1), phase.name);
            let share = |value: Option<f64>| format!("{:>10}", value.map_or("-".into(), percent));
            let e = phase.efficiency;
            let shares = [e.map(|e| e.parallel), e.map(|e| e.load_balance), e.and_then(|e| e.serialisation), e.and_then(|e| e.transfer)];
            format!("{:<50}{:>10}{}", head(&name, 49), seconds(phase.seconds), shares.map(share).concat())
        };
        std::iter::once(title).chain(phases.iter().map(row)).collect()
    }

    fn root_causes(&self) -> Vec<String> {
        let causes = &self.summary.root_causes;
        if causes.is_empty() {
            return Vec::new();
        }
        let title = format!("{:<60}{:>12}{:>10}  late ranks", "Computation that made others wait", "waits", "passed on");
        let row = |cause: &RootCause| {
            let (from, to) = (&cause.from, &cause.to);
            let ranks = cause.ranks.iter().take(8).map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("  {:<58}{:>12}{:>10}  {ranks}", format!("{from} -> {to}"), seconds(cause.seconds), seconds(cause.passed_on_s))
        };
        std::iter::once(title).chain(causes.iter().map(row)).collect()
    }

    fn critical_path(&self) -> Vec<String> {
        let Some(path) = self.summary.critical_path.as_ref().filter(|path| path.seconds > 0.0) else { return Vec::new() };
        let share = |part: f64| percent(part / path.seconds);
        let computes: f64 = path.segments.iter().map(|segment| segment.seconds).sum();
        let title = format!("Critical path: {}, {} of it computation", seconds(path.seconds), share(computes));
        let segment = |s: &PathSegment| {
            let uneven = if s.imbalance_s > 0.01 * path.seconds {
                format!(", {} above the mean of a rank", seconds(s.imbalance_s))
            } else {
                String::new()
            };
            format!("  {:>5}  {} -> {}{uneven}", share(s.seconds), s.from, s.to)
        };
        let call = |c: &PathCall| format!("  {:>5}  in MPI, called at {}", share(c.seconds), c.place);
        let mut rows: Vec<(f64, String)> = path.segments.iter().map(|s| (s.seconds, segment(s))).collect();
        rows.extend(path.calls.iter().map(|c| (c.seconds, call(c))));
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let shown = self.rows(ON_PATH, rows.len());
        let ranks = self.all.then(|| path_ranks(path, share));
        std::iter::once(title).chain(rows.into_iter().take(shown).map(|(_, row)| row)).chain(ranks).collect()
    }

    fn time(&self) -> Vec<String> {
        let line = |name: &str, s: Spread| {
            let [min, mean, max] = [s.min, s.mean, s.max].map(seconds);
            format!("  {name:<16}{min:>10}{mean:>10}{max:>10}{:>11}", percent(s.imbalance))
        };
        vec![
            format!("{:<18}{:>10}{:>10}{:>10}{:>11}", "Time of a rank", "least", "mean", "most", "imbalance"),
            line("in MPI", self.summary.mpi_s),
            line("outside MPI", self.summary.outside_s),
        ]
    }

    /// The call sites with the most time, as many as there is room for.
    fn call_sites(&self, most: usize) -> Vec<String> {
        let sites = &self.summary.call_sites;
        let shown = self.rows(most, sites.len());
        let heading = self.heading("Calls by time", shown, sites.len());
        let title = format!("{heading:<60}{:>12}{:>10}{:>8}{:>10}", "calls", "time", "of run", "bytes");
        let row = |site: &CallSite| {
            let (operation, place) = (head(site.operation, 24), self.place(&site.place.to_string()));
            format!("  {operation:<25}{place:<33}{}", self.sums(site.calls, site.seconds, site.bytes))
        };
        std::iter::once(title).chain(sites[..shown].iter().map(row)).collect()
    }

    /// A function and where it was called.
    fn called(&self, operation: &str, place: &str) -> String {
        const WIDTH: usize = 32;
        let operation = operation.trim_start_matches("MPI_");
        let room = WIDTH.saturating_sub(operation.len() + 4);
        if self.all { format!("{operation} at {place}") } else { format!("{operation} at {}", tail(place, room)) }
    }

    fn place(&self, place: &str) -> String {
        const WIDTH: usize = 32;
        // Of a path the end says most, of a function in a file of code the beginning.
        if self.all {
            place.into()
        } else if place.contains(" in ") {
            head(place, WIDTH)
        } else {
            tail(place, WIDTH)
        }
    }

    fn operations(&self) -> Vec<String> {
        let title = format!("{:<60}{:>12}{:>10}{:>8}{:>10}", "MPI functions by time", "calls", "time", "of run", "bytes");
        let rows = self.summary.operations.iter().map(|o| format!("  {:<58}{}", o.operation, self.sums(o.calls, o.seconds, o.bytes)));
        std::iter::once(title).chain(rows).collect()
    }

    fn sums(&self, calls: u64, time: f64, moved: u64) -> String {
        let moved = if moved == 0 { "-".into() } else { bytes(moved) };
        format!("{:>12}{:>10}{:>8}{moved:>10}", count(calls), seconds(time), percent(time / self.rank_seconds()))
    }

    /// The time of all ranks together, in which MPI calls have their share.
    fn rank_seconds(&self) -> f64 {
        let all: f64 = self.summary.per_rank.iter().map(|r| r.mpi_s + r.outside_s).sum();
        all.max(f64::MIN_POSITIVE)
    }

    fn per_rank(&self) -> Vec<String> {
        let title = format!("{:<6}{:>14}{:>14}{:>14}   host", "Rank", "in MPI", "outside MPI", "calls");
        let row = |r: &RankTime| {
            let (inside, outside) = (seconds(r.mpi_s), seconds(r.outside_s));
            format!("{:>4}  {inside:>14}{outside:>14}{:>14}   {}", r.rank, count(r.calls), r.host)
        };
        std::iter::once(title).chain(self.summary.per_rank.iter().map(row)).collect()
    }

    fn sizes(&self) -> Vec<String> {
        let classes = if self.all { self.summary.sizes.clone() } else { coarser(&self.summary.sizes, SIZES) };
        let Some(most) = classes.iter().map(|c| c.messages).max() else { return Vec::new() };
        let title = format!("{:<46}{:>14}{:>12}", "Messages between ranks, by size", "messages", "bytes");
        let row = |c: &SizeClass| {
            let size = if c.up_to == 0 { "empty".into() } else { format!("to {}", binary_bytes(c.up_to)) };
            let bar = bar(c.messages as f64 / most as f64, BAR);
            format!("  {size:<13}{bar:<31}{:>14}{:>12}", count(c.messages), bytes(c.bytes))
        };
        std::iter::once(title).chain(classes.iter().map(row)).collect()
    }

    fn pairs(&self) -> Vec<String> {
        let pairs = &self.summary.pairs;
        if pairs.is_empty() {
            return Vec::new();
        }
        let shown = self.rows(PAIRS, pairs.len());
        let row = |p: &Pair| format!("  {:<44}{:>14}{:>12}", format!("{} -> {}", p.from, p.to), count(p.messages), bytes(p.bytes));
        std::iter::once(self.heading("Heaviest pairs", shown, pairs.len())).chain(pairs[..shown].iter().map(row)).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = remarks(self.summary);
        if remarks.is_empty() {
            return Vec::new();
        }
        let shown = self.rows(REMARKS, remarks.len());
        let heading = self.heading("Keep in mind", shown, remarks.len());
        remarks.truncate(shown);
        std::iter::once(heading).chain(remarks.into_iter().map(|remark| format!("  {remark}"))).collect()
    }
}

/// The ranks on which the critical path runs.
fn path_ranks(path: &CriticalPath, share: impl Fn(f64) -> String) -> String {
    let ranks: Vec<String> = path.ranks.iter().take(10).map(|(rank, seconds)| format!("rank {rank} {}", share(*seconds))).collect();
    format!("  on {}; {}", ranks.join(", "), plural(path.jumps, "change"))
}

/// What limits the meaning of the numbers, most important first.
fn remarks(s: &Summary) -> Vec<String> {
    let incomplete = grouped(s.incomplete.iter().map(|i| (i.why.clone(), i.rank)));
    let incomplete: Vec<String> = incomplete.iter().map(|(why, ranks)| format!("{} ({why})", words::ranks(ranks))).collect();
    let unfinished = grouped(s.unfinished.iter().map(|u| (format!("{} at {}", u.operation, u.place), u.rank)));
    let unfinished = unfinished.iter().map(|(call, ranks)| match ranks[..] {
        [rank] => format!("rank {rank} was in {call} when it ended"),
        _ => format!("{} were in {call} when they ended", words::ranks(ranks)),
    });
    let unmatched = match s.unmatched {
        0 => None,
        number => Some(format!("sent without being received, or received without being seen sent: {}", plural(number, "message"))),
    };
    let clocks = (s.clock_repair.violations > 0).then(|| contradictions(s.clock_repair));
    let not_recorded = s.not_recorded.iter().map(|note| format!("not recorded: {note}"));
    let profile =
        s.profile.then(|| "only sums were recorded (--profile): waits are not known, and sizes are averages of similar calls".to_owned());
    (!incomplete.is_empty())
        .then(|| format!("incomplete: {}", incomplete.join(", ")))
        .into_iter()
        .chain(unfinished)
        .chain(unmatched)
        .chain(clocks)
        .chain(not_recorded)
        .chain(profile)
        .collect()
}

/// That times of different ranks cannot all be right, be it those of messages, barriers or windows.
fn contradictions(repair: ClockRepair) -> String {
    let times = plural(repair.violations, "time");
    format!("clocks disagree: {times} a call ended before what it waits for, put right by up to {}", seconds(repair.largest_s))
}

/// The ranks of which the same is said, in the order in which it is first said.
fn grouped(said: impl Iterator<Item = (String, u32)>) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for (what, rank) in said {
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((what, vec![rank])),
        }
    }
    groups
}

/// Neighbouring classes put together until there are few enough.
fn coarser(sizes: &[SizeClass], most: usize) -> Vec<SizeClass> {
    let mut step = 1;
    loop {
        let mut merged: Vec<SizeClass> = Vec::new();
        // Empty messages are a class of their own.
        let group = |class: &SizeClass| class.up_to.checked_ilog2().map(|power| power / step);
        for class in sizes {
            match merged.last_mut().filter(|last| group(last) == group(class)) {
                Some(last) => {
                    *last = SizeClass { up_to: class.up_to, messages: last.messages + class.messages, bytes: last.bytes + class.bytes };
                }
                None => merged.push(class.clone()),
            }
        }
        if merged.len() <= most {
            return merged;
        }
        step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(up_to: u64) -> SizeClass {
        SizeClass { up_to, messages: 1, bytes: up_to }
    }

    #[test]
    fn sizes_are_put_together_until_they_fit() {
        let few = [class(0), class(8), class(64)];
        assert_eq!(coarser(&few, 5), few);
        let many: Vec<SizeClass> = std::iter::once(0).chain((0..40).map(|power| 1 << power)).map(class).collect();
        let merged = coarser(&many, 5);
        assert_eq!(
            merged.iter().map(|c| (c.up_to, c.messages)).collect::<Vec<_>>(),
            [(0, 1), (1 << 9, 10), (1 << 19, 10), (1 << 29, 10), (1 << 39, 10)]
        );
        assert_eq!(merged.iter().map(|c| c.bytes).sum::<u64>(), many.iter().map(|c| c.bytes).sum::<u64>());
    }

    #[test]
    fn clocks_that_disagree_need_not_be_of_hosts_nor_of_messages() {
        let said = contradictions(ClockRepair { violations: 2000, largest_s: 1.5e-6 });
        assert_eq!(said, "clocks disagree: 2,000 times a call ended before what it waits for, put right by up to 1.50 us");
        assert!(said.len() + 2 <= COLUMNS);
    }

    #[test]
    fn what_is_said_of_many_ranks_is_said_once() {
        let said = [("a", 0), ("b", 1), ("a", 2), ("a", 4)].map(|(what, rank)| (what.to_owned(), rank));
        let groups = grouped(said.into_iter());
        assert_eq!(
            groups.iter().map(|(what, ranks)| format!("{what}: {}", words::ranks(ranks))).collect::<Vec<_>>(),
            ["a: ranks 0-4:2", "b: rank 1"]
        );
    }
}
