//! `sintonia graph`: who communicates with whom, for programs that place processes or draw.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::{Edge, Graph, dot, metis};
use sintonia_program::CommunicationGraph;
use sintonia_recording::Recording;

use crate::progress::Progress;
use crate::{Error, help, output, text};

/// What `sintonia graph` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia graph hello.sin --communication -o hello.graph"))]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// Write the communication graph: ranks, and what passes between them (the default)
    #[arg(long)]
    communication: bool,
    /// The file to write: .graph (METIS), .dot (GraphViz) or .json; else standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the edges weigh
    #[arg(long, value_enum, default_value_t = Weight::Bytes)]
    weight: Weight,
    /// Leave collective operations out
    #[arg(long)]
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
    Metis,
    Dot,
    Json,
}

/// Writes the graph.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let recording = Recording::open(&arguments.recording)?;
    let progress = Progress::new("reading ranks", recording.header.ranks.len());
    let graph = CommunicationGraph::of(&recording, !arguments.point_to_point, || progress.step())?;
    drop(progress);
    let title = format!("{}: {}", arguments.recording.display(), text::command(&recording.header.command));
    let write = |out: &mut dyn Write| write(out, arguments.format(), &graph, &title, arguments.weight);
    match &arguments.output {
        Some(path) => output::to_file(path, write)?,
        None => output::to_stdout(write)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn format(&self) -> Format {
        let asked = if self.json { Some(Format::Json) } else { self.format };
        let ending = self.output.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
        asked.unwrap_or(match ending {
            Some("dot" | "gv") => Format::Dot,
            Some("json") => Format::Json,
            _ => Format::Metis,
        })
    }
}

fn write(out: &mut dyn Write, format: Format, graph: &CommunicationGraph, title: &str, weight: Weight) -> io::Result<()> {
    match format {
        Format::Metis => metis::write(&weighted(graph, title, weight), out),
        Format::Dot => dot::write(&weighted(graph, title, weight), out),
        Format::Json => write_json(graph, out),
    }
}

/// The graph with one weight per edge, and comments that say what it is.
fn weighted(graph: &CommunicationGraph, title: &str, weight: Weight) -> Graph {
    let what = match weight {
        Weight::Bytes => "bytes",
        Weight::Messages => "messages",
    };
    let counted = match graph.collectives {
        Some(_) => "messages: point to point, one-sided, and those that usual algorithms send for collectives:",
        None => "messages: point to point and one-sided; collectives are left out",
    };
    let mut comments = vec![
        format!("communication graph of {title}"),
        "vertex: a rank (the first one is rank 0); its weight: microseconds outside MPI, at least 1".into(),
        format!("edge: two ranks that communicate; its weight: {what} in both directions, at least 1"),
        counted.into(),
    ];
    comments.extend(graph.collectives.into_iter().flatten().map(|algorithms| format!("  {algorithms}")));
    comments.extend(graph.left_out.sentences().map(String::from));
    if graph.edges.is_empty() {
        comments.push("no two ranks communicate, so there is nothing to partition: METIS refuses a graph without edges".into());
    }
    let edge = |edge: &sintonia_program::Edge| {
        let weight = if weight == Weight::Bytes { edge.bytes } else { edge.messages };
        Edge { ends: edge.ranks, weight: weight.max(1) }
    };
    Graph { comments, vertices: graph.compute_us.clone(), edges: graph.edges.iter().map(edge).collect() }
}

fn write_json(graph: &CommunicationGraph, out: &mut dyn Write) -> io::Result<()> {
    let vertices = graph.compute_us.iter().enumerate().map(|(rank, compute_us)| json!({"rank": rank, "compute_us": compute_us}));
    let edges = graph.edges.iter().map(|e| json!({"ranks": e.ranks, "bytes": e.bytes, "messages": e.messages}));
    let object = json!({
        "ranks": graph.compute_us.len(),
        "vertices": vertices.collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "collectives": graph.collectives,
        "left_out": graph.left_out.sentences().collect::<Vec<_>>(),
    });
    output::json_line(out, &object)
}
