//! The phases of a program (T-Graph*) as SVG, from top to bottom, with the time of each role.

use std::io::{self, Write};

use crate::svg::{AltText, SvgCanvas, TitleBlock, truncate_end};

/// Phases to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseOverview {
    /// The title.
    pub title: String,
    /// Notes below the title, one line each.
    pub notes: Vec<String>,
    /// Name and ranks of each role.
    pub roles: Vec<(String, String)>,
    /// The phases, each before its parts.
    pub phases: Vec<OverviewPhase>,
}

/// A phase.
#[derive(Clone, Debug, PartialEq)]
pub struct OverviewPhase {
    /// Its position in the program.
    pub name: String,
    /// A note.
    pub note: String,
    /// Nesting depth.
    pub depth: usize,
    /// The time of each role in it, if any.
    pub cells: Vec<Option<RolePhaseTime>>,
}

/// The time of a role in a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct RolePhaseTime {
    /// Share of the role's time, from 0 to 1.
    pub share: f64,
    /// Share of computation in it, from 0 to 1.
    pub computation_share: f64,
    /// Whether it is a loop.
    pub repeats: bool,
    /// The time as text.
    pub note: String,
}

const NAMES: f64 = 300.0;
const COLUMN: f64 = 230.0;
const GAP: f64 = 34.0;
const ROW: f64 = 46.0;
const BETWEEN: f64 = 18.0;
const INDENT: f64 = 16.0;

const STYLE: &str = "\
.role { font-size: 13px; font-weight: bold; }
.phase { font-weight: bold; }
.cell { fill: #ffffff; stroke: #555555; }
.outside { fill: #78b2e4; }
.inside { fill: #e69f00; fill-opacity: 0.75; }
.round { fill: none; stroke: #555555; stroke-dasharray: 5 3; }
.round-head { fill: #555555; }
";

/// Writes the SVG file.
pub fn write(overview: &PhaseOverview, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let heading = TitleBlock { title: &overview.title, notes: &overview.notes };
    let (wide, below) = heading.size();
    let top = below + 56.0;
    let column = |role: usize| 24.0 + NAMES + GAP + role as f64 * (COLUMN + GAP);
    let y = |phase: usize| top + phase as f64 * (ROW + BETWEEN);
    let size = (column(overview.roles.len()).max(wide), y(overview.phases.len()) + 40.0);
    let mut canvas = SvgCanvas::default();
    heading.draw(&mut canvas, size.0);
    for (role, (name, note)) in overview.roles.iter().enumerate() {
        canvas.text("role", (column(role), top - 28.0), &truncate_end(name, 13.0, COLUMN));
        canvas.text("note", (column(role), top - 13.0), &truncate_end(note, 10.0, COLUMN));
    }
    for (row, phase) in overview.phases.iter().enumerate() {
        let indent = 24.0 + INDENT * phase.depth as f64;
        canvas.text("phase", (indent, y(row) + 18.0), &truncate_end(&phase.name, 12.5, NAMES - INDENT * phase.depth as f64));
        canvas.text("note", (indent, y(row) + 33.0), &truncate_end(&phase.note, 10.0, NAMES - INDENT * phase.depth as f64));
        for (role, cell) in phase.cells.iter().enumerate() {
            if let Some(cell) = cell {
                let x = column(role) + INDENT * phase.depth as f64;
                draw_cell(&mut canvas, (x, y(row)), COLUMN - INDENT * phase.depth as f64, cell);
                let next = overview.phases[row + 1..].iter().position(|below| below.cells.get(role).is_some_and(Option::is_some));
                if let Some(below) = next {
                    let axis = column(role) + COLUMN / 2.0;
                    canvas.arrow("way", 1.4, &[(axis, y(row) + ROW), (axis, y(row + 1 + below))]);
                }
            }
        }
    }
    draw_legend(&mut canvas, size.1 - 24.0);
    out.write_all(canvas.finish(size, STYLE, AltText { title: &overview.title, description: &overview.notes.join(". ") }).as_bytes())
}

/// The box of a phase, with a bar for its share of the time.
fn draw_cell(canvas: &mut SvgCanvas, (x, y): (f64, f64), room: f64, cell: &RolePhaseTime) {
    canvas.rectangle("cell", (x, y), (room, ROW));
    canvas.text("", (x + 8.0, y + 18.0), &truncate_end(&cell.note, 11.0, room - 16.0));
    let (bar, share, outside) = (room - 16.0, cell.share.clamp(0.0, 1.0), cell.computation_share.clamp(0.0, 1.0));
    canvas.rectangle("outside", (x + 8.0, y + 28.0), (bar * share * outside, 10.0));
    canvas.rectangle("inside", (x + 8.0 + bar * share * outside, y + 28.0), (bar * share * (1.0 - outside), 10.0));
    if cell.repeats {
        let right = x + room;
        canvas.arrow("round", 1.2, &[(right, y + ROW - 10.0), (right + 12.0, y + ROW - 10.0), (right + 12.0, y + 10.0), (right, y + 10.0)]);
    }
}

fn draw_legend(canvas: &mut SvgCanvas, y: f64) {
    canvas.rectangle("outside", (24.0, y - 8.0), (24.0, 10.0));
    canvas.text("note", (54.0, y), "computation");
    canvas.rectangle("inside", (140.0, y - 8.0), (24.0, 10.0));
    canvas.text("note", (170.0, y), "in MPI; both as shares of the role's time");
    canvas.arrow("round", 1.2, &[(420.0, y), (432.0, y), (432.0, y - 10.0), (420.0, y - 10.0)]);
    canvas.text("note", (442.0, y), "loop");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_a_box_in_every_phase_it_comes_by() {
        let cell = |share| Some(RolePhaseTime { share, computation_share: 0.5, repeats: share > 0.5, note: "1 s".into() });
        let phase = |cells| OverviewPhase { name: "main".into(), note: String::new(), depth: 0, cells };
        let roles = vec![("master".into(), "rank 0".into()), ("workers".into(), "ranks 1-3".into())];
        let phases = vec![phase(vec![cell(0.1), cell(0.2)]), phase(vec![None, cell(0.8)]), phase(vec![cell(0.9), None])];
        let mut out = Vec::new();
        write(&PhaseOverview { title: "a & b".into(), roles, phases, ..PhaseOverview::default() }, &mut out).unwrap();
        let svg = String::from_utf8(out).unwrap();
        assert_eq!(svg.matches(r#"<rect class="cell""#).count(), 4);
        assert_eq!(svg.matches(r#"<polyline class="way""#).count(), 2, "from each box to the next of its role");
        assert_eq!(svg.matches(r#"<polyline class="round""#).count(), 2 + 1, "two go round, and the legend");
        assert!(svg.contains("a &amp; b"));
    }
}
