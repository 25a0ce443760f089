//! The functions that took the computation, in the report as text.

use sintonia_insight::function_report::{FunctionReport, FunctionRow, SegmentFunctions};
use sintonia_text::function_name::short_function_name;
use sintonia_text::path::short_file_name;

use crate::report::SCREEN_COLUMNS;
use crate::text::{format_percent, format_seconds, truncate_end, truncate_start, wrap};

/// Functions with a smaller share are shown only with everything else.
const MIN_SHARE: f64 = 0.01;
/// Modules with a smaller share are not listed.
const MIN_MODULE_SHARE: f64 = 0.01;
/// A rank is named if it spends this much more in a function than the mean of the ranks, and this share of the mean computation of a rank.
const UNEVEN: f64 = 1.2;
const MIN_UNEVEN_SHARE: f64 = 0.03;
/// A difference between ranks must be this many times what it is by chance: n samples vary by the root of n.
const MIN_DEVIATIONS: f64 = 3.0;
/// Widths of the columns for names and places.
const NAME_WIDTH: usize = 28;
const PLACE_WIDTH: usize = 31;
/// Most functions of a segment that are named with everything.
const FUNCTIONS_OF_SEGMENT: usize = 3;

/// Computation by function: up to a maximum number of functions, or all of them.
pub(super) fn section(report: Option<&FunctionReport>, rows: Option<usize>) -> Vec<String> {
    let Some(report) = report.filter(|report| report.computation_s > 0.0) else { return Vec::new() };
    let worth = report.functions.iter().filter(|row| rows.is_none() || row.share >= MIN_SHARE).count();
    let shown = rows.unwrap_or(worth).min(worth);
    let of = if shown < report.functions.len() {
        format!(" ({shown} of {}; --all shows the rest)", report.functions.len())
    } else {
        String::new()
    };
    let title = format!("Computation by function{of}");
    let heading = format!("{title:<63}{:>9}{:>8}{:>10}{:>10}", "self", "share", "total", "rank max");
    let functions = report.functions[..shown].iter().map(|row| function_line(row, rows.is_none()));
    let segments = report.segments.iter().take(if rows.is_some() { 1 } else { usize::MAX });
    let segments = segments.flat_map(|segment| segment_lines(segment, if rows.is_some() { 1 } else { FUNCTIONS_OF_SEGMENT }));
    let uneven = uneven_line(report);
    std::iter::once(heading)
        .chain(functions)
        .chain(segments)
        .chain(modules_line(report, rows.is_none()))
        .chain(openmp_line(report))
        .chain(uneven)
        .collect()
}

fn function_line(row: &FunctionRow, is_whole: bool) -> String {
    let (name, place) = (short_function_name(&row.function), place(row));
    let [own, total, longest] = [row.self_s, row.total_s, row.longest_s].map(format_seconds);
    let columns = format!("{own:>9}{:>8}{total:>10}{longest:>10}", format_percent(row.share));
    let (name, place) = if is_whole { (name, place) } else { (truncate_end(&name, NAME_WIDTH), truncate_start(&place, PLACE_WIDTH)) };
    format!("  {name:<NAME_WIDTH$} {place:<PLACE_WIDTH$} {columns}")
}

/// Source file and line, or the library.
fn place(row: &FunctionRow) -> String {
    match (&row.file, row.line) {
        (Some(file), Some(line)) => format!("{}:{line}", short_file_name(file)),
        (Some(file), None) => short_file_name(file).to_owned(),
        _ => short_file_name(&row.module).to_owned(),
    }
}

/// What a segment consists of, in words.
fn segment_lines(segment: &SegmentFunctions, functions: usize) -> Vec<String> {
    let sentence = |row: &FunctionRow| {
        let caller = row.caller.as_ref().map(|caller| format!(", called by {}", short_function_name(caller))).unwrap_or_default();
        let (share, place, function) = (format_percent(row.share), place(row), short_function_name(&row.function));
        format!("{share} of the computation {} is in {function} ({place}){caller}", ends_of(segment))
    };
    let rows = segment.functions.iter().take(functions).filter(|row| row.share >= MIN_SHARE);
    let lines = rows.flat_map(|row| wrap(&sentence(row), SCREEN_COLUMNS - 4).into_iter().enumerate());
    lines.map(|(index, line)| if index == 0 { format!("  {line}") } else { format!("    {line}") }).collect()
}

/// The calls around a segment: of the second one only its line if the file is that of the first.
fn ends_of(segment: &SegmentFunctions) -> String {
    // Callers would make a long sentence longer than its content; `--all` has them with the calls.
    let (from, to) = (&segment.from.line_only(), &segment.to.line_only());
    match to.line {
        _ if from == to => format!("between one call at {to} and the next"),
        Some(line) if to.file == from.file => format!("between {from} and :{line}"),
        _ => format!("between {from} and {to}"),
    }
}

/// The executables and libraries, as many as fit on a line.
fn modules_line(report: &FunctionReport, is_whole: bool) -> Option<String> {
    let name = |path| match short_file_name(path) {
        "" => "generated code",
        name => name,
    };
    let modules = report.modules.iter().filter(|module| module.share >= MIN_MODULE_SHARE);
    let modules: Vec<String> = modules.map(|module| format!("{} {}", name(&module.module), format_percent(module.share))).collect();
    let line = |count: usize| format!("  by module: {}{}", modules[..count].join(", "), if count < modules.len() { ", …" } else { "" });
    let fits = |count: &usize| is_whole || line(*count).chars().count() <= SCREEN_COLUMNS;
    (modules.len() > 1).then(|| (1..=modules.len()).rev().find(fits).map(line)).flatten()
}

/// Time of threads on processors that is in none of the functions.
fn openmp_line(report: &FunctionReport) -> Option<String> {
    let counts = report.openmp_s >= MIN_SHARE * report.computation_s;
    counts.then(|| {
        format!("  besides: {} in the runtime of OpenMP, which starts threads and waits for them", format_seconds(report.openmp_s))
    })
}

/// The function that makes a rank compute longer than the others.
fn uneven_line(report: &FunctionReport) -> Option<String> {
    let mean_s: f64 = report.functions.iter().map(|row| row.rank_mean_s).sum();
    let excess = |row: &FunctionRow| row.longest_s - row.rank_mean_s;
    let deviation = |row: &FunctionRow| (row.longest_s * report.sample_s).sqrt();
    let is_uneven = |row: &&FunctionRow| {
        row.longest_s >= UNEVEN * row.rank_mean_s
            && excess(row) >= MIN_UNEVEN_SHARE * mean_s
            && excess(row) >= MIN_DEVIATIONS * deviation(row)
    };
    let row = report.functions.iter().filter(is_uneven).max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
    let [longest, mean] = [row.longest_s, row.rank_mean_s].map(format_seconds);
    let (rank, name) = (format!("rank {}", row.longest_rank), short_function_name(&row.function));
    Some(format!("  longest on {rank}: {longest} in {name} ({}), against {mean} of a rank on average", place(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_insight::SourceLocation;
    use sintonia_insight::function_report::ModuleRow;

    fn row(function: &str, self_s: f64, share: f64) -> FunctionRow {
        FunctionRow {
            function: function.into(),
            file: Some("/home/me/step.c".into()),
            line: Some(12),
            module: "/home/me/app".into(),
            self_s,
            share,
            total_s: self_s,
            caller: Some("smooth(double*, int)".into()),
            rank_mean_s: self_s / 2.0,
            longest_rank: 1,
            longest_s: self_s * 0.75,
        }
    }

    fn report() -> FunctionReport {
        let line = |line| SourceLocation { file: Some("step.c".into()), line: Some(line), ..SourceLocation::default() };
        let module = |module: &str, share| ModuleRow { module: module.into(), seconds: share, share };
        FunctionReport {
            computation_s: 4.0,
            mpi_s: 1.0,
            openmp_s: 0.5,
            sample_s: 0.01,
            functions: vec![row("stencil(double*)", 3.0, 0.75), row("rest", 1.0, 0.25)],
            modules: vec![module("/home/me/app", 0.9), module("kernel", 0.1)],
            segments: vec![SegmentFunctions { from: line(40), to: line(58), seconds: 4.0, functions: vec![row("stencil", 3.0, 0.75)] }],
        }
    }

    #[test]
    fn functions_segments_modules_and_the_uneven_function_are_named() {
        let lines = section(Some(&report()), Some(1));
        assert!(lines[0].starts_with("Computation by function (1 of 2; --all shows the rest)"), "{lines:#?}");
        assert!(lines[1].starts_with("  stencil                      step.c:12") && lines[1].contains("75 %"), "{lines:#?}");
        assert_eq!(lines[2], "  75 % of the computation between step.c:40 and :58 is in stencil (step.c:12), called by smooth");
        assert_eq!(lines[3], "  by module: app 90 %, kernel 10 %");
        assert_eq!(lines[4], "  besides: 500 ms in the runtime of OpenMP, which starts threads and waits for them");
        assert_eq!(lines[5], "  longest on rank 1: 2.25 s in stencil (step.c:12), against 1.50 s of a rank on average");
        assert!(section(None, None).is_empty());
    }
    #[test]
    fn a_few_samples_more_on_a_rank_are_chance() {
        let uneven = |sample_s| uneven_line(&FunctionReport { sample_s, ..report() }).is_some();
        assert_eq!((uneven(0.01), uneven(0.1)), (true, false));
    }

    #[test]
    fn long_names_leave_a_gap_and_modules_end_with_the_line() {
        let long = FunctionRow {
            function: "x".repeat(NAME_WIDTH + 5),
            file: None,
            module: "/lib/y.cpython-311-x86_64.so".into(),
            ..row("", 1.0, 1.0)
        };
        assert!(function_line(&long, true).starts_with(&format!("  {} y ", long.function)));
        let modules = (0..20).map(|number| ModuleRow { module: format!("/lib/library{number}.so"), seconds: 1.0, share: 0.05 });
        let many = FunctionReport { modules: modules.collect(), ..report() };
        let line = modules_line(&many, false).expect("several modules");
        assert!(line.ends_with(", …") && line.chars().count() <= SCREEN_COLUMNS, "{line}");
    }
}
