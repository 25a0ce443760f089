//! The program graph for people and scripts: what the page shows, and `sintonia graph` writes.

mod drawing;
mod json;
mod overview;

use std::io::{self, Write};
use std::path::Path;

use sintonia_plot::program_graph;
use sintonia_program::graph::ProgramGraph;
use sintonia_recording::Recording;
use sintonia_text::shell::shell_command;

pub use drawing::{build_drawing, graph_notes, iterations_note, node_location, per_rank, precise_percent, role_ranks};
pub use json::graph_json;
pub use overview::{PhaseGroup, phase_groups};

/// Draws the program graph, or the overview of its phases.
pub fn write_drawing(graph: &ProgramGraph, recording: &Recording, title: String, overview: bool, out: &mut dyn Write) -> io::Result<()> {
    match overview {
        true => program_graph::overview::write(&overview::build_overview(graph, title), out),
        false => program_graph::svg::write(&build_drawing(graph, recording, title), out),
    }
}

/// The title of a graph: name of the recording, and recorded command.
pub fn title(name: &Path, recording: &Recording) -> String {
    format!("{}: {}", name.display(), shell_command(&recording.header.command))
}
