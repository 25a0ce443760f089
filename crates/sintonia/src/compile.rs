//! `sintonia compile`: compiles program source to a PAMELA model, or checks and formats a model.

mod branch_shares;
mod diagnostic;
mod formulas;
mod input;
mod json;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_source::CompileOptions;
use sintonia_source::c::MacroDefinition;

use crate::error::usage_error;
use crate::{Error, output};
use formulas::CostFormula;
use input::CompileInput;

/// Arguments of `sintonia compile`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    echo 'parameter n = 1000; main { par(i=1,p) use(disk, seq(j=1,n) sum_double) } resource disk;' > sum.pam\n  \
    sintonia compile sum.pam --check\n  \
    sintonia compile sum.pam --formulas\n  \
    sintonia compile primes.pasl Primes.java -o primes.pam\n  \
    sintonia compile heat.c -D N=1000 -D USE_ISEND -o heat.pam")]
pub(crate) struct CompileArgs {
    /// PAMELA model (.pam), or a program: PASL and Java (.pasl, .java) or C (.c)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output file for the model [default: standard output]
    #[arg(short, long, value_name = "FILE.pam")]
    output: Option<PathBuf>,
    /// Only check, and print each diagnostic on one line: FILE:LINE:COLUMN: error: ...
    #[arg(long, conflicts_with_all = ["output", "formulas"])]
    check: bool,
    /// Print the cost of the model as formulas: T0 without contention, one T for each resource, and T, the maximum
    #[arg(long)]
    formulas: bool,
    /// Entry point of the program, without a PASL file [default: main]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Define a C macro, as for a compiler; 1 without a value
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    definitions: Vec<MacroDefinition>,
    /// Take branch probabilities of conditions around MPI calls from this recording of the C program
    #[arg(long, value_name = "NAME.sin")]
    recording: Option<PathBuf>,
    /// Print JSON: the contents of the model, or with --check each diagnostic
    #[arg(long)]
    json: bool,
}

/// Runs `sintonia compile`.
pub(crate) fn run(args: CompileArgs) -> Result<ExitCode, Error> {
    let options = CompileOptions { entry: args.entry, definitions: args.definitions.clone() };
    let inputs = CompileInput::from_files(&args.files, options)?;
    if args.check {
        return check(&inputs, args.json);
    }
    let [input] = inputs.as_slice() else {
        usage_error("only one model can be compiled at a time; --check accepts several");
    };
    if let Some(path) = &args.output {
        output::check_writable(path)?;
        check_not_input(path, &args.files)?;
    }
    let mut compiled = input.compile()?;
    if let Some(path) = &args.recording {
        branch_shares::apply_recorded_shares(path, &args.files, &args.definitions, &mut compiled)?;
    }
    let formulas = if args.formulas { Some(formulas::cost_formulas(&compiled.model)?) } else { None };
    let text = compiled.model.to_text();
    if let Some(path) = &args.output {
        output::write_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    if args.json {
        output::write_stdout(|out| output::write_json_line(out, &json::PamelaModelJson::new(&compiled, formulas.as_deref())))?;
        return Ok(ExitCode::SUCCESS);
    }
    compiled.notes.iter().for_each(|note| eprintln!("sintonia: {note}"));
    output::write_stdout(|out| match &formulas {
        Some(formulas) => formulas.iter().try_for_each(|formula| writeln!(out, "{formula}")),
        None if args.output.is_some() => Ok(()),
        None => out.write_all(text.as_bytes()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints all errors and notes.
fn check(inputs: &[CompileInput], as_json: bool) -> Result<ExitCode, Error> {
    let diagnostics = inputs.iter().map(diagnostic::check_input).collect::<Result<Vec<_>, Error>>()?.concat();
    output::write_stdout(|out| {
        diagnostics
            .iter()
            .try_for_each(|diagnostic| if as_json { output::write_json_line(out, diagnostic) } else { writeln!(out, "{diagnostic}") })
    })?;
    let is_valid = diagnostics.iter().all(|diagnostic| diagnostic.is_note());
    Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Refuses to overwrite an input file.
fn check_not_input(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    let Ok(real) = fs::canonicalize(path) else { return Ok(()) };
    match inputs.iter().find(|input| fs::canonicalize(input).is_ok_and(|input| input == real)) {
        Some(input) => Err(Error::Other(format!("{} is an input file; choose another name with -o", input.display()))),
        None => Ok(()),
    }
}
