//! The command `sintonia`: one module per verb, which parses its arguments, calls the crates below, and prints the result.

#![forbid(unsafe_code)]

mod bench;
mod calls;
mod collect;
mod compile;
mod doctor;
mod error;
mod export;
mod fit;
mod graph;
mod help;
mod import;
mod output;
mod place;
mod predict;
mod process_group;
mod progress;
mod record;
mod replay;
mod report;
mod run_tasks;
mod separator_hint;
mod text;
mod text_layout;
mod tune;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use error::Error;

/// Record any MPI program unchanged, and find out where its time goes
#[derive(Parser)]
#[command(version, after_help = help::example!("sintonia report hello.sin"))]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run an MPI program and record its MPI calls
    Record(record::RecordArgs),
    /// Show where the time of a recorded run goes, why, and what to do about it
    Report(report::ReportArgs),
    /// Show a recording in a browser
    View(view::ViewArgs),
    /// Draw the program graph, or write the communication graph
    Graph(graph::GraphArgs),
    /// Convert a recording to the format of another tool
    Export(export::ExportArgs),
    /// Convert a trace of another tool to a recording
    Import(import::ImportArgs),
    /// List every recorded MPI call
    Calls(calls::CallsArgs),
    /// Measure the cost of computation and communication, and write a machine file
    Bench(bench::BenchArgs),
    /// Fit formulas: how the time of a program depends on its parameters
    Fit(fit::FitArgs),
    /// Compile program source to a performance model, or check a model
    Compile(compile::CompileArgs),
    /// Predict the time of a program for any problem size and number of processes
    Predict(predict::PredictArgs),
    /// Replay a recorded run on another machine, or with changes
    Replay(replay::ReplayArgs),
    /// Find the best placement of ranks on cores and hosts
    Place(place::PlaceArgs),
    /// Run an application of task batches on workers
    RunTasks(run_tasks::RunTasksArgs),
    /// Run an MPI program and tune it while it runs
    Tune(Box<tune::TuneArgs>),
    /// Collect events of a tuned program on one host; started by the program itself
    #[command(hide = true)]
    Collect(collect::CollectArgs),
    /// Show the MPI libraries, launchers and clock of this machine
    Doctor(doctor::DoctorArgs),
}

impl Verb {
    fn run(self) -> Result<ExitCode, Error> {
        match self {
            Verb::Record(args) => record::run(args),
            Verb::Report(args) => report::run(args),
            Verb::View(args) => view::run(args),
            Verb::Graph(args) => graph::run(args),
            Verb::Export(args) => export::run(args),
            Verb::Import(args) => import::run(args),
            Verb::Calls(args) => calls::run(args),
            Verb::Bench(args) => bench::run(args),
            Verb::Fit(args) => fit::run(args),
            Verb::Compile(args) => compile::run(args),
            Verb::Predict(args) => predict::run(args),
            Verb::Replay(args) => replay::run(args),
            Verb::Place(args) => place::run(args),
            Verb::RunTasks(args) => run_tasks::run(args),
            Verb::Tune(args) => tune::run(*args),
            Verb::Collect(args) => collect::run(args),
            Verb::Doctor(args) => doctor::run(args),
        }
    }
}

fn clap_command() -> clap::Command {
    CommandLine::command().mut_subcommand("tune", tune::relax_command)
}

/// The words of this command line.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn main() -> ExitCode {
    let given = clap_command().try_get_matches().unwrap_or_else(|error| separator_hint::with_hint(error, &words()).exit());
    let command = CommandLine::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    command.verb.run().unwrap_or_else(|error| {
        eprintln!("sintonia: {error}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        clap_command().debug_assert();
    }

    #[test]
    fn every_verb_shows_an_example() {
        for verb in clap_command().get_subcommands_mut() {
            let help = verb.render_long_help().to_string();
            assert!(help.contains("Example"), "{}: {help}", verb.get_name());
        }
    }
}
