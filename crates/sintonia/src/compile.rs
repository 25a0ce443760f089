//! `sintonia compile`: from the source of a program to a model of it, or from a model to the same one checked and laid out.

mod formulas;
mod input;
mod json;
mod mistake;
mod recorded;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_source::Options;
use sintonia_source::c::Definition;

use crate::error::wrong_usage;
use crate::fit::may_write;
use crate::{Error, output};
use formulas::Formula;
use input::Input;

/// What `sintonia compile` is told.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    echo 'parameter n = 1000; main { par(i=1,p) use(disk, seq(j=1,n) sum_double) } resource disk;' > sum.pam\n  \
    sintonia compile sum.pam --check\n  \
    sintonia compile sum.pam --formulas\n  \
    sintonia compile primes.pasl Primes.java -o primes.pam\n  \
    sintonia compile heat.c -D N=1000 -D USE_ISEND -o heat.pam")]
pub struct Arguments {
    /// A PAMELA model (.pam); or a program: PASL and Java (.pasl, .java), or C (.c)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The file to write the model to [default: it is shown]
    #[arg(short, long, value_name = "FILE.pam")]
    output: Option<PathBuf>,
    /// Only check, and tell each mistake on one line: FILE:LINE:COLUMN: error: …
    #[arg(long, conflicts_with_all = ["output", "formulas"])]
    check: bool,
    /// Show what the model costs as formulas: T0 without contention, one T for each resource, and T, the largest
    #[arg(long)]
    formulas: bool,
    /// The routine where the program begins, if there is no PASL file [default: main]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Define a macro of C, as for a compiler; 1 without a value
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    definitions: Vec<Definition>,
    /// Take from this recording of the C program how often conditions hold that decide about calls of MPI
    #[arg(long, value_name = "NAME.sin")]
    recording: Option<PathBuf>,
    /// Show what is in the model as one JSON object; with --check, each mistake as one
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let options = Options { entry: arguments.entry, definitions: arguments.definitions.clone() };
    let inputs = Input::of(&arguments.files, options)?;
    if arguments.check {
        return check(&inputs, arguments.json);
    }
    let [input] = inputs.as_slice() else {
        wrong_usage("models are compiled one at a time; --check takes several");
    };
    if let Some(path) = &arguments.output {
        may_write(path)?;
        refuse_input(path, &arguments.files)?;
    }
    let mut compiled = input.compile()?;
    if let Some(path) = &arguments.recording {
        recorded::give_shares(path, &arguments.files, &arguments.definitions, &mut compiled)?;
    }
    let formulas = if arguments.formulas { Some(formulas::of(&compiled.model)?) } else { None };
    let text = compiled.model.to_text();
    if let Some(path) = &arguments.output {
        output::to_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    if arguments.json {
        output::to_stdout(|out| output::json_line(out, &json::Shown::of(&compiled, formulas.as_deref())))?;
        return Ok(ExitCode::SUCCESS);
    }
    compiled.notes.iter().for_each(|note| eprintln!("sintonia: {note}"));
    output::to_stdout(|out| match &formulas {
        Some(formulas) => formulas.iter().try_for_each(|formula| writeln!(out, "{formula}")),
        None if arguments.output.is_some() => Ok(()),
        None => out.write_all(text.as_bytes()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Tells everything that is wrong, and what is worth knowing.
fn check(inputs: &[Input], as_json: bool) -> Result<ExitCode, Error> {
    let told = inputs.iter().map(mistake::of).collect::<Result<Vec<_>, Error>>()?.concat();
    output::to_stdout(|out| {
        told.iter().try_for_each(|mistake| if as_json { output::json_line(out, mistake) } else { writeln!(out, "{mistake}") })
    })?;
    let is_right = told.iter().all(|mistake| mistake.is_note());
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Refuses to write over what is read.
fn refuse_input(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    let Ok(real) = fs::canonicalize(path) else { return Ok(()) };
    match inputs.iter().find(|input| fs::canonicalize(input).is_ok_and(|input| input == real)) {
        Some(input) => Err(Error::Other(format!("{} is what is compiled; choose another name with -o", input.display()))),
        None => Ok(()),
    }
}
