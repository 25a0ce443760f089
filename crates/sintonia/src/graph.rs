//! `sintonia graph`: the program graph and the communication graph, for people and other tools.

mod communication;
mod display;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_formats::{dot, metis};
use sintonia_plot::program_graph::dot as program_dot;
use sintonia_program::CommunicationGraph;
use sintonia_program::graph::{FoldedGraph, ProgramGraph};
use sintonia_recording::Recording;
use sintonia_view::program_graph;

use crate::error::usage_error;
use crate::progress::ProgressBar;
use crate::{Error, help, output};

/// Arguments of `sintonia graph`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia graph hello.sin --program -o hello.svg"))]
pub(crate) struct GraphArgs {
    /// Recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// Communication graph: ranks, and the traffic between them (default)
    #[arg(long, conflicts_with_all = ["program", "overview"])]
    communication: bool,
    /// Program graph: operations and the computation between them, loops, roles and messages
    #[arg(long)]
    program: bool,
    /// Overview of the program graph: its phases
    #[arg(long)]
    overview: bool,
    /// Depth of the program graph: 1 shows its phases, 2 the functions and loops in them, and so on [default: the greatest with at most 40
    /// operations and folded functions]
    #[arg(long, value_name = "N", requires = "program", value_parser = clap::value_parser!(u16).range(1..))]
    depth: Option<u16>,
    /// Output file: .graph (METIS), .dot (GraphViz), .json or, for the program graph, .svg [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Edge weight of the communication graph
    #[arg(long, value_enum, default_value_t = EdgeWeight::Bytes, conflicts_with_all = ["program", "overview"])]
    weight: EdgeWeight,
    /// Leave collectives out of the communication graph
    #[arg(long, conflicts_with_all = ["program", "overview"])]
    point_to_point: bool,
    /// Output format [default: from the file extension]
    #[arg(long, value_enum)]
    format: Option<GraphFormat>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The weight of an edge.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EdgeWeight {
    Bytes,
    Messages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GraphFormat {
    /// For partitioners (communication graph)
    Metis,
    /// For GraphViz
    Dot,
    /// JSON
    Json,
    /// Drawing (program graph)
    Svg,
    /// Text (program graph)
    Text,
}

/// Runs `sintonia graph`.
pub(crate) fn run(args: GraphArgs) -> Result<ExitCode, Error> {
    let format = args.chosen_format();
    let recording = Recording::open(&args.recording)?;
    if args.shows_program() {
        write_program(&args, format, &recording)?;
    } else {
        write_communication(&args, format, &recording)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the communication graph with collectives for METIS, weighted by bytes; `name` is that of the recording.
pub(crate) fn write_metis(name: &Path, recording: &Recording, file: &Path) -> Result<(), Error> {
    let graph = communication_graph(recording, true)?;
    let weighted = communication::weighted_graph(&graph, &program_graph::title(name, recording), EdgeWeight::Bytes);
    output::write_file(file, |out| metis::write(&weighted, out))
}

fn write_communication(args: &GraphArgs, format: GraphFormat, recording: &Recording) -> Result<(), Error> {
    let graph = communication_graph(recording, !args.point_to_point)?;
    let weighted = || communication::weighted_graph(&graph, &program_graph::title(&args.recording, recording), args.weight);
    args.write(|out| match format {
        GraphFormat::Json => communication::write_json(&graph, out),
        GraphFormat::Dot => dot::write(&weighted(), out),
        _ => metis::write(&weighted(), out),
    })
}

fn communication_graph(recording: &Recording, collectives: bool) -> Result<CommunicationGraph, Error> {
    let progress = ProgressBar::new("reading ranks", recording.header.ranks.len());
    Ok(CommunicationGraph::from_recording(recording, collectives, || progress.step())?)
}

fn write_program(args: &GraphArgs, format: GraphFormat, recording: &Recording) -> Result<(), Error> {
    if recording.header.profile {
        let name = args.recording.display();
        return Err(Error::Other(format!("{name} is a profile (record --profile): without the order of calls there is no program graph")));
    }
    let progress = ProgressBar::new("reading ranks", ProgramGraph::PASSES_WITH_HISTORY * recording.header.ranks.len());
    let graph = ProgramGraph::from_recording(recording, || progress.step())?;
    drop(progress);
    let title = program_graph::title(&args.recording, recording);
    let depth = args.depth.map_or_else(|| program_graph::default_depth(&graph), usize::from);
    let folded = FoldedGraph::at_depth(&graph, depth);
    args.write(|out| match format {
        GraphFormat::Json if args.depth.is_some() => output::write_json_line(out, &program_graph::folded_json(&folded, recording)),
        GraphFormat::Json => output::write_json_line(out, &program_graph::graph_json(&graph, recording)),
        GraphFormat::Svg if args.overview => program_graph::write_overview(&graph, title, out),
        GraphFormat::Svg => program_graph::write_drawing(&folded, recording, title, out),
        GraphFormat::Dot => program_dot::write(&program_graph::build_drawing(&folded, recording, title), out),
        _ => display::render(&folded, recording, &title, args.overview, out),
    })
}

impl GraphArgs {
    fn shows_program(&self) -> bool {
        self.program || self.overview
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        match &self.output {
            Some(path) => match output::write_file(path, write) {
                Err(error) if error.is_broken_pipe() => Ok(()),
                written => written,
            },
            None => output::write_stdout(write),
        }
    }

    /// The requested format, by option or file extension.
    fn chosen_format(&self) -> GraphFormat {
        let requested = if self.json { Some(GraphFormat::Json) } else { self.format };
        let format = requested.unwrap_or(match self.extension() {
            Some("dot" | "gv") => GraphFormat::Dot,
            Some("json") => GraphFormat::Json,
            Some("svg") => GraphFormat::Svg,
            _ if self.shows_program() => GraphFormat::Text,
            _ => GraphFormat::Metis,
        });
        match format {
            GraphFormat::Metis if self.shows_program() => usage_error("the program graph cannot be written in METIS format"),
            GraphFormat::Svg | GraphFormat::Text if !self.shows_program() => {
                usage_error("only the program graph (--program) can be drawn or printed as text")
            }
            GraphFormat::Dot if self.overview => {
                usage_error("the overview is available as .svg; for GraphViz, use the program graph (--program)")
            }
            format => format,
        }
    }

    fn extension(&self) -> Option<&str> {
        self.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str())
    }
}
