//! Measures what Sintonia costs, side by side with its peers: what it adds to an MPI call (`overhead`, the usual), how quickly a
//! recording is read (`read`), how long it takes to understand one (`understand`) and to look at it (`view`), and how well runs are predicted
//! that were not made yet (`predict`), or from their source alone (`source`). Figures go to standard output and, as JSON and Markdown, to `target/bench`.

mod error;
mod example;
mod machine;
mod mpi;
mod overhead;
mod paths;
mod predict;
mod prediction_row;
mod quartiles;
mod random;
mod read;
mod search;
mod sintonia_command;
mod source;
mod table;
mod understand;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Measures what Sintonia costs, side by side with its peers")]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// What is added to an MPI call, by Sintonia and by each peer that is found [the usual]
    Overhead(overhead::Options),
    /// How quickly a recording is read
    Read(read::Options),
    /// How long all analyses of a recording take, at several lengths
    Understand(understand::Options),
    /// How long the page waits for a picture of a long recording
    View(view::Options),
    /// How well real programs are predicted at sizes and numbers of processes beyond any that was fitted
    Predict(predict::Options),
    /// How well the paper's programs are predicted from their source alone, on this machine
    Source(source::Options),
}

fn main() -> ExitCode {
    let what = Arguments::parse().what.unwrap_or(What::Overhead(overhead::Options::default()));
    let done = match what {
        What::Overhead(options) => overhead::run(&options),
        What::Read(options) => read::run(&options),
        What::Understand(options) => understand::run(&options),
        What::View(options) => view::run(&options),
        What::Predict(options) => predict::run(&options),
        What::Source(options) => source::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sintonia-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
