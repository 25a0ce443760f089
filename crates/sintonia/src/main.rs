//! The command `sintonia`: one module per verb, each of which reads its arguments, asks the crates below, and shows the answer.

mod bench;
mod calls;
mod collect;
mod company;
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
mod progress;
mod record;
mod replay;
mod report;
mod run_tasks;
mod text;
mod tune;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use error::Error;

/// Records any MPI program unchanged, and shows where its time goes.
#[derive(Parser)]
#[command(version, after_help = help::example!("sintonia report hello.sin"))]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run an MPI program and record what it does
    Record(record::Arguments),
    /// Show where the time of a recorded run went, why, and what to do about it
    Report(report::Arguments),
    /// Show a recording in a browser
    View(view::Arguments),
    /// Draw the program, or write which ranks communicate, as a graph
    Graph(graph::Arguments),
    /// Write the recording in a format of other tools
    Export(export::Arguments),
    /// Make a recording from a trace of another tool
    Import(import::Arguments),
    /// List every recorded MPI call
    Calls(calls::Arguments),
    /// Measure what computing and communicating cost here, for a machine file
    Bench(bench::Arguments),
    /// Find formulas: how the time of a program depends on its parameters
    Fit(fit::Arguments),
    /// Make a model of a program from its source, or check one
    Compile(compile::Arguments),
    /// Predict the time of a program at any size and number of processes
    Predict(predict::Arguments),
    /// Replay a recorded run on another machine, or with something changed
    Replay(replay::Arguments),
    /// Find out which rank should go to which core of which host
    Place(place::Arguments),
    /// Run an application of batches of tasks on workers
    RunTasks(run_tasks::Arguments),
    /// Run an MPI program and adapt it while it runs
    Tune(tune::Arguments),
    /// Watch the processes of a program on one of its hosts; started by them
    #[command(hide = true)]
    Collect(collect::Arguments),
    /// Show which MPI libraries, launchers and clocks are here
    Doctor(doctor::Arguments),
}

impl Verb {
    fn run(self) -> Result<ExitCode, Error> {
        match self {
            Verb::Record(arguments) => record::run(arguments),
            Verb::Report(arguments) => report::run(arguments),
            Verb::View(arguments) => view::run(arguments),
            Verb::Graph(arguments) => graph::run(arguments),
            Verb::Export(arguments) => export::run(arguments),
            Verb::Import(arguments) => import::run(arguments),
            Verb::Calls(arguments) => calls::run(arguments),
            Verb::Bench(arguments) => bench::run(arguments),
            Verb::Fit(arguments) => fit::run(arguments),
            Verb::Compile(arguments) => compile::run(arguments),
            Verb::Predict(arguments) => predict::run(arguments),
            Verb::Replay(arguments) => replay::run(arguments),
            Verb::Place(arguments) => place::run(arguments),
            Verb::RunTasks(arguments) => run_tasks::run(arguments),
            Verb::Tune(arguments) => tune::run(arguments),
            Verb::Collect(arguments) => collect::run(arguments),
            Verb::Doctor(arguments) => doctor::run(arguments),
        }
    }
}

fn command_line() -> clap::Command {
    Command::command().mut_subcommand("tune", tune::adapt)
}

fn main() -> ExitCode {
    let given = command_line().get_matches();
    let command = Command::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
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
        command_line().debug_assert();
    }

    #[test]
    fn every_verb_shows_an_example() {
        for verb in command_line().get_subcommands_mut() {
            let help = verb.render_long_help().to_string();
            assert!(help.contains("Example"), "{}: {help}", verb.get_name());
        }
    }
}
