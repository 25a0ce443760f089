//! `sintonia tune --list`: what can be tuned in a program, of a file or observed while it runs.

use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_link::probe_protocol::{ControlInfo, ControlSettable};
use sintonia_link::session::SharedSecret;
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::program_list::{FunctionLine, ProgramList, ProgramSurvey, VariableLine};

use super::{io_failed, socket_folder};
use crate::text_layout::{TextColumn, render_table};
use crate::{Error, output, record, text};

/// Lines of each part that are shown as text; JSON has all.
const MOST_LINES: usize = 40;
/// Longest name that is shown in full.
const LONGEST_NAME: usize = 60;

/// Lists what can be tuned in a program file, on standard output.
pub(super) fn list_file(program: &Path, json: bool) -> Result<ExitCode, Error> {
    let list = ProgramList::from_file(program).map_err(|problem| Error::Other(problem.to_string()))?;
    output::write_stdout(|out| -> Result<(), Error> {
        if json {
            return Ok(output::write_json_line(out, &list)?);
        }
        for line in list_lines(&list) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a program and lists what can be tuned in it, on standard error after its end.
pub(super) fn list_run(args: record::RecordArgs) -> Result<ExitCode, Error> {
    let json = args.json;
    let secret = SharedSecret::new().map_err(io_failed("create a secret"))?;
    let folder = socket_folder();
    let collector = ProcessCollector::open(&folder, &secret).map_err(io_failed("listen for the program's processes"))?;
    let more = [("SINTONIA_TUNE", folder.into_os_string()), ("SINTONIA_SECRET", secret.to_hex().into())];
    let over = Arc::new(AtomicBool::new(false));
    let is_over = over.clone();
    let survey = std::thread::spawn(move || ProgramSurvey::new(collector).run(|| is_over.load(Ordering::Acquire)));
    let status = record::run_without_recording(args, &more);
    over.store(true, Ordering::Release);
    let list = survey.join().map_err(|_| Error::Other("the list could not be made; the program is not affected".into()))?;
    report(list, status?, json)
}

fn report(list: Option<ProgramList>, status: ExitStatus, json: bool) -> Result<ExitCode, Error> {
    let Some(list) = list else {
        eprintln!("sintonia: no process of an MPI program was seen on this host: nothing to list");
        return Ok(ExitCode::from(record::exit_code(status).max(1) as u8));
    };
    if json {
        eprintln!("{}", serde_json::to_string(&list).map_err(|error| Error::Other(error.to_string()))?);
    } else {
        list_lines(&list).iter().for_each(|line| eprintln!("{line}"));
    }
    Ok(ExitCode::from(record::exit_code(status) as u8))
}

fn list_lines(list: &ProgramList) -> Vec<String> {
    let run = list.run.map_or_else(String::new, |run| {
        let processes = if run.processes == 1 { "1 process".into() } else { format!("{} processes", run.processes) };
        format!(", observed in {processes} for {}", text::format_seconds(run.seconds))
    });
    let mut lines = vec![format!("What can be tuned in {}{run}", list.program.display())];
    lines.extend(list.problems.iter().map(|problem| format!("Note: {problem}")));
    lines.extend(function_lines(&list.functions));
    lines.extend(variable_lines(&list.variables, list.run.is_some()));
    lines.extend(control_lines(list));
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A heading, the first rows of a table, and how many there are more.
fn part(title: &str, rows: usize, table: Vec<String>) -> Vec<String> {
    let mut lines = vec![String::new(), title.to_owned()];
    lines.extend(table);
    if rows > MOST_LINES {
        lines.push(format!("  and {} more; --json lists all", rows - MOST_LINES));
    }
    lines
}

fn function_lines(functions: &[FunctionLine]) -> Vec<String> {
    let (can, cannot): (Vec<&FunctionLine>, Vec<&FunctionLine>) = functions.iter().partition(|line| line.can_be_hooked);
    let shown = &can[..can.len().min(MOST_LINES)];
    let column = |cell: &dyn Fn(&FunctionLine) -> String| shown.iter().map(|line| cell(line)).collect::<Vec<String>>();
    let figures = |cell: &dyn Fn(sintonia_tune::program_list::CallFigures) -> String| {
        column(&|line| line.calls.map_or_else(|| "?".into(), |calls| if calls.calls == 0 { String::new() } else { cell(calls) }))
    };
    let is_run = functions.iter().any(|line| line.calls.is_some());
    let rates = if is_run {
        let often = |calls: sintonia_tune::program_list::CallFigures| if calls.is_too_often { ">" } else { "" };
        let rate = figures(&|calls| format!("{}{}", often(calls), rounded(calls.calls_per_second)));
        let mean = figures(&|calls| text::format_seconds(calls.seconds_per_call));
        let share = figures(&|calls| text::format_percent(calls.share_of_time.min(1.0)));
        vec![TextColumn::right("calls/s", rate), TextColumn::right("each", mean), TextColumn::right("of time", share)]
    } else {
        Vec::new()
    };
    let mut columns = vec![TextColumn::left("function", column(&|line| short(&line.name)))];
    columns.extend(rates);
    columns.push(TextColumn::left("source", column(&|line| line.declared_at.clone().unwrap_or_default())));
    columns.push(TextColumn::left("", column(&function_note)));
    let mut lines = part(&format!("Functions that can be hooked ({})", can.len()), can.len(), render_table(columns));
    if !cannot.is_empty() {
        let shown = &cannot[..cannot.len().min(MOST_LINES)];
        let cells = |cell: &dyn Fn(&FunctionLine) -> String| shown.iter().map(|line| cell(line)).collect::<Vec<String>>();
        let table = render_table([
            TextColumn::left("function", cells(&|line| short(&line.name))),
            TextColumn::left("source", cells(&|line| line.declared_at.clone().unwrap_or_default())),
            TextColumn::left("because", cells(&|line| refusal(line))),
        ]);
        lines.extend(part(&format!("Functions that cannot be hooked ({})", cannot.len()), cannot.len(), table));
    }
    lines
}

/// What must be known about the calls of a function.
fn function_note(line: &FunctionLine) -> String {
    let often = line.calls.is_some_and(|calls| calls.is_too_often).then(|| "called too often to be measured".to_owned());
    let inlined = (!line.inlined_at.is_empty()).then(|| format!("also inlined at {}", first_of(&line.inlined_at)));
    let merged = (!line.merged_with.is_empty()).then(|| format!("same code as {}", first_of(&line.merged_with)));
    often.into_iter().chain(inlined).chain(merged).collect::<Vec<_>>().join("; ")
}

fn refusal(line: &FunctionLine) -> String {
    let why = line.why_not.clone().unwrap_or_default();
    if line.inlined_at.is_empty() { why } else { format!("{why}: {}", first_of(&line.inlined_at)) }
}

fn variable_lines(variables: &[VariableLine], is_run: bool) -> Vec<String> {
    let (can, cannot): (Vec<&VariableLine>, Vec<&VariableLine>) = variables.iter().partition(|line| line.can_be_set);
    let shown = &can[..can.len().min(MOST_LINES)];
    let column = |cell: &dyn Fn(&VariableLine) -> String| shown.iter().map(|line| cell(line)).collect::<Vec<String>>();
    let value = |line: &VariableLine| {
        let differs = if line.differs { ", others differ" } else { "" };
        line.value.map_or_else(|| if is_run { "none now".into() } else { String::new() }, |value| format!("{value}{differs}"))
    };
    let table = render_table([
        TextColumn::left("variable", column(&|line| short(&line.name))),
        TextColumn::left("type", column(&|line| short(&line.type_name))),
        TextColumn::right("value", column(&value)),
        TextColumn::left("source", column(&|line| line.declared_at.clone().unwrap_or_default())),
    ]);
    let mut lines = part(&format!("Variables that can be set ({})", can.len()), can.len(), table);
    if !cannot.is_empty() {
        let shown = &cannot[..cannot.len().min(MOST_LINES)];
        let cells = |cell: &dyn Fn(&VariableLine) -> String| shown.iter().map(|line| cell(line)).collect::<Vec<String>>();
        let table = render_table([
            TextColumn::left("variable", cells(&|line| short(&line.name))),
            TextColumn::left("type", cells(&|line| short(&line.type_name))),
            TextColumn::left("because", cells(&|line| line.why_not.clone().unwrap_or_default())),
        ]);
        lines.extend(part(&format!("Variables that cannot be set as a whole ({})", cannot.len()), cannot.len(), table));
    }
    lines
}

fn control_lines(list: &ProgramList) -> Vec<String> {
    if list.run.is_none() {
        return vec![String::new(), "Control variables of the MPI library are listed if the program is run: --list -- mpirun …".into()];
    }
    let can: Vec<&ControlInfo> = list.controls.iter().filter(|control| control.settable != ControlSettable::Never).collect();
    let shown = &can[..can.len().min(MOST_LINES)];
    let column = |cell: &dyn Fn(&ControlInfo) -> String| shown.iter().map(|control| cell(control)).collect::<Vec<String>>();
    let table = render_table([
        TextColumn::left("control variable", column(&|control| control.name.clone())),
        TextColumn::left("type", column(&|control| control.kind.clone())),
        TextColumn::right("value", column(&|control| control.value.clone().unwrap_or_default())),
        TextColumn::left("set", column(&|control| settable(control.settable).into())),
    ]);
    let title = format!("Control variables of the MPI library that can be set ({} of {})", can.len(), list.controls.len());
    part(&title, can.len(), table)
}

fn settable(settable: ControlSettable) -> &'static str {
    match settable {
        ControlSettable::AnyTime => "at any time",
        ControlSettable::BeforeInit => "before MPI_Init",
        ControlSettable::Never => "never",
    }
}

fn short(name: &str) -> String {
    text::truncate_end(name, LONGEST_NAME)
}

/// The first of several, and how many there are more.
fn first_of(all: &[String]) -> String {
    let more = if all.len() > 1 { format!(" and {} more", all.len() - 1) } else { String::new() };
    all.first().map_or_else(String::new, |first| format!("{first}{more}"))
}

/// A rate with about three digits.
fn rounded(rate: f64) -> String {
    match rate {
        rate if rate >= 100.0 => format!("{rate:.0}"),
        rate if rate >= 1.0 => format!("{rate:.1}"),
        rate => format!("{rate:.2}"),
    }
}
