//! The program graph for people and scripts: what the page shows, and `sintonia graph` writes.

mod drawing;
mod json;
mod overview;
mod scope_labels;

use std::io::{self, Write};
use std::path::Path;

use sintonia_plot::program_graph;
use sintonia_program::graph::{FoldedGraph, ProgramGraph};
use sintonia_recording::Recording;
use sintonia_text::shell::shell_command;

pub use drawing::{build_drawing, depth_note, folded_note, graph_notes, node_location, precise_percent, role_ranks, segment_functions};
pub use json::{folded_json, graph_json};
pub use overview::{PhaseGroup, phase_groups};
pub use scope_labels::{loop_note, per_rank, scope_iterations, scope_label};

/// Items of a picture that fit on a screen.
const SCREENFUL: usize = 40;

/// Draws the program graph, folded or not.
pub fn write_drawing(folded: &FoldedGraph, recording: &Recording, title: String, out: &mut dyn Write) -> io::Result<()> {
    program_graph::svg::write(&build_drawing(folded, recording, title), out)
}

/// Draws the overview of the phases.
pub fn write_overview(graph: &ProgramGraph, title: String, out: &mut dyn Write) -> io::Result<()> {
    program_graph::overview::write(&overview::build_overview(graph, title), out)
}

/// The depth to which the graph is shown by default: the greatest that fits on a screen.
pub fn default_depth(graph: &ProgramGraph) -> usize {
    graph.scopes.fitting_depth(SCREENFUL)
}

/// The title of a graph: name of the recording, and recorded command.
pub fn title(name: &Path, recording: &Recording) -> String {
    format!("{}: {}", name.display(), shell_command(&recording.header.command))
}
