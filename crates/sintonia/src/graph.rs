//! `sintonia graph`: the program as it ran, and who communicates with whom, for people and for other programs.

mod communication;
mod drawing;
pub mod json;
mod overview;
mod screen;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_formats::{dot, metis, program_graph};
use sintonia_program::CommunicationGraph;
use sintonia_program::graph::ProgramGraph;
use sintonia_recording::Recording;

use crate::error::wrong_usage;
use crate::progress::Progress;
use crate::{Error, help, output, text};

/// What `sintonia graph` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia graph hello.sin --program -o hello.svg"))]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// The communication graph: ranks, and what passes between them (the default)
    #[arg(long, conflicts_with_all = ["program", "overview"])]
    communication: bool,
    /// The program graph: operations and the computation between them, loops, roles and messages
    #[arg(long)]
    program: bool,
    /// The overview of the program graph: its phases
    #[arg(long)]
    overview: bool,
    /// The file to write: .graph (METIS), .dot (GraphViz), .json or, for the program, .svg; else standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the edges of the communication graph weigh
    #[arg(long, value_enum, default_value_t = Weight::Bytes, conflicts_with_all = ["program", "overview"])]
    weight: Weight,
    /// Leave collective operations out of the communication graph
    #[arg(long, conflicts_with_all = ["program", "overview"])]
    point_to_point: bool,
    /// The format, whatever the file is called
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// What an edge weighs.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Weight {
    Bytes,
    Messages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For partitioners (communication graph)
    Metis,
    /// For GraphViz
    Dot,
    /// For programs
    Json,
    /// A picture (program graph)
    Svg,
    /// For the screen (program graph)
    Text,
}

/// Writes the graph.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let format = arguments.format();
    let recording = Recording::open(&arguments.recording)?;
    if arguments.is_about_program() {
        write_program(&arguments, format, &recording)?;
    } else {
        write_communication(&arguments, format, &recording)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the communication graph with collectives into a file for METIS, its edges weighed by bytes; `name` is the recording's.
pub fn write_metis(name: &Path, recording: &Recording, file: &Path) -> Result<(), Error> {
    let graph = communication_graph(recording, true)?;
    let weighted = communication::weighted(&graph, &title(name, recording), Weight::Bytes);
    output::to_file(file, |out| metis::write(&weighted, out))
}

fn write_communication(arguments: &Arguments, format: Format, recording: &Recording) -> Result<(), Error> {
    let graph = communication_graph(recording, !arguments.point_to_point)?;
    let weighted = || communication::weighted(&graph, &title(&arguments.recording, recording), arguments.weight);
    arguments.write(|out| match format {
        Format::Json => communication::write_json(&graph, out),
        Format::Dot => dot::write(&weighted(), out),
        _ => metis::write(&weighted(), out),
    })
}

fn communication_graph(recording: &Recording, collectives: bool) -> Result<CommunicationGraph, Error> {
    let progress = Progress::new("reading ranks", recording.header.ranks.len());
    Ok(CommunicationGraph::of(recording, collectives, || progress.step())?)
}

fn write_program(arguments: &Arguments, format: Format, recording: &Recording) -> Result<(), Error> {
    if recording.header.profile {
        let name = arguments.recording.display();
        return Err(Error::Other(format!(
            "{name} holds only sums (record --profile): the order of calls is not known, so there is no program graph"
        )));
    }
    let progress = Progress::new("reading ranks", ProgramGraph::READINGS * recording.header.ranks.len());
    let graph = ProgramGraph::of(recording, || progress.step())?;
    drop(progress);
    let title = title(&arguments.recording, recording);
    arguments.write(|out| match format {
        Format::Json => output::json_line(out, &json::value(&graph, recording)),
        Format::Svg => draw(&graph, recording, title, arguments.overview, out),
        Format::Dot => program_graph::dot::write(&drawing::of(&graph, recording, title), out),
        _ => screen::write(&graph, recording, &title, arguments.overview, out),
    })
}

/// Draws the program graph, or the overview of its phases.
pub fn draw(graph: &ProgramGraph, recording: &Recording, title: String, overview: bool, out: &mut dyn Write) -> io::Result<()> {
    match overview {
        true => program_graph::overview::write(&overview::of(graph, title), out),
        false => program_graph::svg::write(&drawing::of(graph, recording, title), out),
    }
}

impl Arguments {
    fn is_about_program(&self) -> bool {
        self.program || self.overview
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        match &self.output {
            Some(path) => match output::to_file(path, write) {
                Err(error) if error.is_end_of_reading() => Ok(()),
                written => written,
            },
            None => output::to_stdout(write),
        }
    }

    /// The format that was asked for, by name or by the ending of the file.
    fn format(&self) -> Format {
        let asked = if self.json { Some(Format::Json) } else { self.format };
        let format = asked.unwrap_or(match self.ending() {
            Some("dot" | "gv") => Format::Dot,
            Some("json") => Format::Json,
            Some("svg") => Format::Svg,
            _ if self.is_about_program() => Format::Text,
            _ => Format::Metis,
        });
        match format {
            Format::Metis if self.is_about_program() => wrong_usage("the program graph cannot be written for METIS"),
            Format::Svg | Format::Text if !self.is_about_program() => {
                wrong_usage("only the program graph (--program) can be drawn or shown")
            }
            Format::Dot if self.overview => wrong_usage("the overview is drawn as .svg; GraphViz gets the program graph (--program)"),
            format => format,
        }
    }

    fn ending(&self) -> Option<&str> {
        self.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str())
    }
}

/// What a graph is of: the name of the recording, and what was recorded.
pub fn title(name: &Path, recording: &Recording) -> String {
    format!("{}: {}", name.display(), text::command(&recording.header.command))
}
