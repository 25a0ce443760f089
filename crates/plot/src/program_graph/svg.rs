//! Renders the program graph as SVG.
//!
//! The symbols are those of the DP*Graph: a rectangle is computation, a triangle up a send, a triangle down a receive. The colours are
//! distinguishable with colour vision deficiency, and nothing depends on colour alone.

use std::collections::HashMap;
use std::io::{self, Write};

use super::layout::{COMPUTATION_BOX, GraphLayout, HALF_ROW, LaneLayout, PathLayout, SYMBOL, TEXT_ROOM};
use super::{GraphDrawing, LaneMessage, LaneNode, LanePath, LaneScope, NodeStage, NodeSymbol, OperationNode, PathComputation, RoleLane};
use crate::svg::{AltText, Point, SvgCanvas, TitleBlock, text_width, truncate_end};

/// A remark that is cut to fewer letters tells nothing.
const MIN_REMARK_CHARS: usize = 6;
/// Limit of messages; the lightest are left out.
const MAX_MESSAGES: usize = 80;
const TEXT: f64 = 11.0;
/// Width of bold text.
const BOLD_TEXT: f64 = 1.16 * TEXT;
const SMALL: f64 = 9.5;
/// Wider than the 10 px of the style, because it is bold.
const SCOPE_TEXT: f64 = 11.4;
const LEGEND_HEIGHT: f64 = 96.0;

const STYLE: &str = "\
.lane { font-size: 13px; font-weight: bold; }
.name { font-weight: bold; }
.name, .place, .loop-note, .scope-name, .message-note, .work-note, .halo { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }
.place, .each { font-size: 9.5px; fill: #555555; }
.loop-note, .scope-name { font-size: 10px; font-weight: bold; fill: #444444; }
.scope { fill: #000000; fill-opacity: 0.015; stroke: #c4c4c4; }
.folded { fill: #f1f4f8; stroke: #8796a5; }
.fold-mark { fill: #ffffff; stroke: #44546a; }
.fold-sign { fill: none; stroke: #44546a; }
.message-note { font-size: 9.5px; fill: #7b3a60; }
.lane-ground { fill: #fafafa; stroke: #e4e4e4; }
.loop { fill: #000000; fill-opacity: 0.03; stroke: #888888; stroke-dasharray: 5 3; }
.jump { fill: none; stroke: #888888; }
.jump-head { fill: #888888; }
.message { fill: none; stroke: #aa4c84; stroke-dasharray: 6 3; }
.message-head { fill: #aa4c84; }
.work { stroke: #5b6b7a; }
.send { fill: #0072b2; stroke: #0072b2; stroke-width: 1.6px; }
.receive { fill: #d55e00; stroke: #d55e00; stroke-width: 1.6px; }
.group { fill: #009e73; stroke: #009e73; stroke-width: 1.6px; }
.other { fill: #777777; stroke: #777777; stroke-width: 1.6px; }
.begin { fill: #ffffff; }
.ring { fill: #ffffff; stroke: #555555; stroke-width: 1.2px; }
.across { stroke: #009e73; stroke-dasharray: 2 3; fill: none; }
";

/// Writes the SVG file.
pub fn write(drawing: &GraphDrawing, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let (drawing, left_out) = heaviest_messages(drawing);
    let mut notes = drawing.notes.clone();
    if left_out > 0 {
        notes.push(format!("the {left_out} lightest of the arrows between operations are left out"));
    }
    let heading = TitleBlock { title: &drawing.title, notes: &notes };
    let (wide, top) = heading.size();
    let layout = GraphLayout::new(&drawing, top + 62.0);
    let size = (layout.size.0.max(640.0).max(wide), layout.size.1 + LEGEND_HEIGHT);
    let mut canvas = SvgCanvas::default();
    heading.draw(&mut canvas, size.0);
    let picture = GraphPainter { drawing: &drawing, layout: &layout };
    picture.draw_lanes(&mut canvas, top + 8.0);
    picture.draw_scopes(&mut canvas);
    picture.draw_paths(&mut canvas);
    picture.draw_collectives(&mut canvas);
    picture.draw_messages(&mut canvas);
    picture.draw_nodes(&mut canvas);
    draw_legend(&mut canvas, layout.size.1 + 18.0, drawing.min_box_share);
    out.write_all(canvas.finish(size, STYLE, AltText { title: &drawing.title, description: &notes.join(". ") }).as_bytes())
}

/// The drawing without the lightest messages beyond the limit, and their number.
fn heaviest_messages(drawing: &GraphDrawing) -> (GraphDrawing, usize) {
    let mut few = drawing.clone();
    let left_out = few.messages.len().saturating_sub(MAX_MESSAGES);
    if left_out > 0 {
        few.messages.sort_by(|a, b| b.share.total_cmp(&a.share));
        few.messages.truncate(MAX_MESSAGES);
    }
    (few, left_out)
}

/// Places the notes of messages without overlap.
#[derive(Default)]
struct NotePlacer(Vec<(Point, f64)>);

impl NotePlacer {
    /// The free position closest to the desired one.
    fn place(&mut self, (x, y): Point, note: &str) -> Point {
        let wide = text_width(note, SMALL);
        let is_free =
            |y: f64| self.0.iter().all(|((left, other), width)| (y - other).abs() >= SMALL + 1.0 || x + wide < *left || left + width < x);
        // Alternate up and down with growing distance; beyond all notes there is always room.
        let steps =
            (0..=2 * self.0.len() + 1).map(|step| (step.div_ceil(2) as f64) * (SMALL + 2.0) * if step % 2 == 0 { 1.0 } else { -1.0 });
        let free = steps.map(|step| y + step).find(|y| is_free(*y)).unwrap_or(y);
        self.0.push(((x, free), wide));
        (x, free)
    }
}

struct GraphPainter<'a> {
    drawing: &'a GraphDrawing,
    layout: &'a GraphLayout,
}

impl<'a> GraphPainter<'a> {
    fn each_lane(&self) -> impl Iterator<Item = (&'a RoleLane, &'a LaneLayout)> {
        self.drawing.lanes.iter().zip(&self.layout.lanes)
    }

    fn draw_lanes(&self, canvas: &mut SvgCanvas, top: f64) {
        for (lane, laid) in self.each_lane() {
            let (left, right) = laid.edges;
            canvas.rectangle("lane-ground", (left, top), (right - left, self.layout.size.1 - top));
            canvas.text("lane", (left + 10.0, top + 20.0), &truncate_end(&lane.name, 13.0, right - left - 20.0));
            canvas.text("note", (left + 10.0, top + 35.0), &truncate_end(&lane.note, 10.0, right - left - 20.0));
        }
    }

    fn draw_scopes(&self, canvas: &mut SvgCanvas) {
        for (lane, laid) in self.each_lane() {
            for (scope, (corner, size)) in lane.scopes.iter().zip(&laid.scopes) {
                canvas.in_scope("fold", scope.scope, |canvas| draw_scope(canvas, scope, *corner, *size));
            }
        }
    }

    fn draw_paths(&self, canvas: &mut SvgCanvas) {
        for (lane, laid) in self.each_lane() {
            for (path, layout) in lane.paths.iter().zip(&laid.paths) {
                canvas.with_tooltip(&path.details, |canvas| self.draw_path(canvas, laid.axis, path, layout));
            }
            for (path, layout) in lane.paths.iter().zip(&laid.paths) {
                if let (Some(work), Some(corner)) = (&path.computation, layout.computation) {
                    canvas.with_tooltip(&path.details, |canvas| {
                        draw_computation(canvas, corner, work, &self.destination_label(path, layout))
                    });
                }
            }
        }
    }

    /// Where a path leads, unless to the next node below.
    fn destination_label(&self, path: &LanePath, layout: &PathLayout) -> String {
        let direction = if self.layout.y[path.to] > self.layout.y[path.from] { "on to" } else { "back to" };
        layout.track.map_or(String::new(), |_| format!("{direction} {}", self.drawing.nodes[path.to].short))
    }

    fn draw_path(&self, canvas: &mut SvgCanvas, axis: f64, path: &LanePath, layout: &PathLayout) {
        let [from, to] = [path.from, path.to].map(|node| self.layout.y[node]);
        let Some(track) = layout.track else {
            return canvas.arrow("way", 1.4, &[(axis, from + SYMBOL - 2.0), (axis, to - SYMBOL)]);
        };
        let arrive = (axis - SYMBOL, to - 7.0);
        let mut points = match layout.computation {
            None => vec![(axis - SYMBOL, from + 8.0), (track, from + 8.0)],
            Some((x, y)) => {
                canvas.line("jump", 1.2, &[(axis, from + SYMBOL - 2.0), (axis, y + 8.0), (x.max(axis), y + 8.0)]);
                vec![(x, y + COMPUTATION_BOX.1 - 8.0), (track, y + COMPUTATION_BOX.1 - 8.0)]
            }
        };
        points.extend([(track, arrive.1), arrive]);
        canvas.arrow("jump", 1.2, &points);
    }

    /// Collectives extend across the participating lanes.
    fn draw_collectives(&self, canvas: &mut SvgCanvas) {
        let mut at_height: HashMap<(i64, usize), Vec<usize>> = HashMap::new();
        for (number, lane) in self.drawing.lanes.iter().enumerate() {
            for node in lane.steps.iter().map(|step| step.node).filter(|node| self.drawing.nodes[*node].symbol == NodeSymbol::Collective) {
                let operation = self.drawing.collectives.iter().find(|set| set.contains(&node)).map_or(node, |set| set[0]);
                at_height.entry((self.layout.y[node] as i64, operation)).or_default().push(number);
            }
        }
        let mut bars: Vec<_> = at_height.into_iter().collect();
        bars.sort_unstable();
        for ((y, _), lanes) in bars {
            for two in lanes.windows(2) {
                let [from, to] = [self.layout.lanes[two[0]].edges.1, self.layout.lanes[two[1]].edges.0];
                canvas.line("across", 3.0, &[(from, y as f64), (to, y as f64)]);
            }
        }
    }

    fn draw_messages(&self, canvas: &mut SvgCanvas) {
        let mut ports: HashMap<(usize, usize, bool), usize> = HashMap::new();
        let mut port = |lane: usize, node: usize, right: bool| {
            let used = ports.entry((lane, node, right)).or_default();
            *used += 1;
            // 0, 3, -3, 6, -6 ... around the centre, so that lines at one symbol do not overlap.
            let step = (*used / 2) as f64 * 3.0;
            let y = self.layout.y[node] + if (*used).is_multiple_of(2) { step } else { -step };
            let side = if right { SYMBOL - 2.0 } else { 2.0 - SYMBOL };
            (self.layout.lanes[lane].axis + side, y)
        };
        let mut notes = NotePlacer::default();
        for (message, layout) in self.drawing.messages.iter().zip(&self.layout.messages) {
            let (from, to) = (message.from, message.to);
            let begin = port(from.0, from.1, to.0 >= from.0);
            let end = port(to.0, to.1, to.0 <= from.0);
            self.draw_message(canvas, message, *layout, [begin, end], &mut notes);
        }
    }

    fn draw_message(
        &self,
        canvas: &mut SvgCanvas,
        message: &LaneMessage,
        (track, note): Point,
        [begin, end]: [Point; 2],
        notes: &mut NotePlacer,
    ) {
        let thickness = 1.0 + 2.0 * message.share.clamp(0.0, 1.0).sqrt();
        let level = (begin.1 - end.1).abs() < 1.0;
        let points = if level { vec![begin, end] } else { vec![begin, (track, begin.1), (track, end.1), end] };
        // Notes are to the left of the tracks, at the height of the left lane's end.
        let at = notes.place((note, if message.to.0 < message.from.0 { end.1 } else { begin.1 } - 4.0), &message.note);
        let [from, to] = [message.from, message.to].map(|(lane, node)| (&self.drawing.lanes[lane].name, &self.drawing.nodes[node].source));
        let details = format!("{}\nfrom {} at {}\nto {} at {}", message.note, from.0, from.1, to.0, to.1);
        canvas.with_tooltip(&details, |canvas| {
            canvas.arrow("message", thickness, &points);
            canvas.text("message-note", at, &message.note);
        });
    }

    fn draw_nodes(&self, canvas: &mut SvgCanvas) {
        for (lane, laid) in self.each_lane() {
            for step in &lane.steps {
                let node = &self.drawing.nodes[step.node];
                canvas.in_scope("unfold", node.scope, |canvas| {
                    canvas.with_tooltip(&format!("{} at {}\n{}", node.name, node.source, step.details), |canvas| {
                        self.draw_node(canvas, laid, node, step);
                    });
                });
            }
        }
    }

    fn draw_node(&self, canvas: &mut SvgCanvas, laid: &LaneLayout, node: &OperationNode, step: &LaneNode) {
        let (x, y) = (laid.axis, self.layout.y[step.node]);
        if node.symbol == NodeSymbol::Folded {
            canvas.rectangle("folded", (x - SYMBOL - 4.0, y - HALF_ROW + 1.0), (TEXT_ROOM + SYMBOL - 4.0, 2.0 * HALF_ROW - 2.0));
        }
        draw_symbol(canvas, (x, y), node.symbol, node.stage, TEXT_ROOM - 8.0);
        let room = TEXT_ROOM - SYMBOL - 12.0;
        let beside = x + SYMBOL + 6.0;
        // The figures are short and always shown; a long name is cut.
        let name = truncate_end(&node.name, BOLD_TEXT, room - text_width(&step.note, TEXT) - 16.0);
        let used = text_width(&name, BOLD_TEXT) + 9.0;
        canvas.text_pair(("name", "halo"), (beside, y - 7.0), &name, &truncate_end(&step.note, TEXT, room - used));
        let below = [&step.more, &node.source].into_iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(" · ");
        canvas.text("place", (beside, y + 15.0), &truncate_end(&below, SMALL, room));
    }
}

/// The box of a scope: its name on the left, the iterations of a loop on the right.
fn draw_scope(canvas: &mut SvgCanvas, scope: &LaneScope, corner: Point, size: Point) {
    canvas.rectangle(if scope.iterations.is_empty() { "scope" } else { "loop" }, corner, size);
    let iterations = truncate_end(&scope.iterations, SCOPE_TEXT, size.0 - 16.0);
    let room = size.0 - 24.0 - text_width(&iterations, SCOPE_TEXT);
    if !scope.name.is_empty() {
        canvas.text("scope-name", (corner.0 + 8.0, corner.1 + 12.0), &truncate_end(&scope.name, SCOPE_TEXT, room));
    }
    if !iterations.is_empty() {
        canvas.right_aligned_text("loop-note", (corner.0 + size.0 - 8.0, corner.1 + 12.0), &iterations);
    }
}

/// A computation box, darker for a larger share of the time.
fn draw_computation(canvas: &mut SvgCanvas, corner: Point, work: &PathComputation, goes_to: &str) {
    canvas.filled_rectangle("work", &shade(work.share), corner, COMPUTATION_BOX);
    let (left, room) = (corner.0 + 8.0, COMPUTATION_BOX.0 - 16.0);
    let note = computation_note(work, room);
    let goes_to = truncate_end(goes_to, SMALL, (room - text_width(&note, TEXT) - 9.0).max(0.0));
    let goes_to = if goes_to.chars().count() < MIN_REMARK_CHARS { "" } else { &goes_to };
    canvas.text_pair(("", "each"), (left, corner.1 + 14.0), &note, goes_to);
    canvas.text("each", (left, corner.1 + 27.0), &truncate_end(&work.per_iteration, SMALL, COMPUTATION_BOX.0 - 12.0));
}

/// The function and its figures: the figures are short and always shown, a long name is cut.
fn computation_note(work: &PathComputation, room: f64) -> String {
    let figures = text_width(&work.function_and_note(" "), TEXT);
    work.function_and_note(&truncate_end(&work.function, TEXT, room - figures))
}

/// From almost white to blue; the square root separates small shares.
fn shade(share: f64) -> String {
    let dark = share.clamp(0.0, 1.0).sqrt();
    let mix = |light: f64, full: f64| (light + (full - light) * dark).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(246.0, 120.0), mix(249.0, 178.0), mix(252.0, 228.0))
}

fn draw_symbol(canvas: &mut SvgCanvas, (x, y): Point, symbol: NodeSymbol, stage: NodeStage, bar: f64) {
    let half = if stage == NodeStage::End { 6.0 } else { 9.0 };
    let begin = if stage == NodeStage::Begin { " begin" } else { "" };
    if stage == NodeStage::End {
        canvas.circle("ring", (x, y), SYMBOL - 1.0);
    }
    let triangle = |x: f64, half: f64, up: f64| [(x, y - half * up), (x + half, y + half * up * 0.8), (x - half, y + half * up * 0.8)];
    match symbol {
        NodeSymbol::Send => canvas.polygon(&format!("send{begin}"), &triangle(x, half, 1.0)),
        NodeSymbol::Receive => canvas.polygon(&format!("receive{begin}"), &triangle(x, half, -1.0)),
        NodeSymbol::Exchange => {
            canvas.polygon(&format!("send{begin}"), &triangle(x - half * 0.6, half * 0.7, 1.0));
            canvas.polygon(&format!("receive{begin}"), &triangle(x + half * 0.6, half * 0.7, -1.0));
        }
        NodeSymbol::Collective if stage == NodeStage::End => canvas.rectangle("group", (x - 7.0, y - 2.5), (14.0, 5.0)),
        NodeSymbol::Collective => canvas.rectangle(&format!("group{begin}"), (x - SYMBOL, y - 2.5), (bar + SYMBOL, 5.0)),
        NodeSymbol::Other => canvas.circle(&format!("other{begin}"), (x, y), half * 0.6),
        NodeSymbol::Folded => {
            canvas.rectangle("fold-mark", (x - 7.0, y - 7.0), (14.0, 14.0));
            canvas.line("fold-sign", 1.6, &[(x - 4.0, y), (x + 4.0, y)]);
            canvas.line("fold-sign", 1.6, &[(x, y - 4.0), (x, y + 4.0)]);
        }
    }
}

fn draw_legend(canvas: &mut SvgCanvas, top: f64, worth_a_box: f64) {
    let line = |row: f64| top + 12.0 + row * 24.0;
    let symbols = [
        (NodeSymbol::Send, NodeStage::Whole, "sends"),
        (NodeSymbol::Receive, NodeStage::Whole, "receives"),
        (NodeSymbol::Exchange, NodeStage::Whole, "sends and receives"),
        (NodeSymbol::Collective, NodeStage::Whole, "collective"),
        (NodeSymbol::Other, NodeStage::Whole, "other call"),
        (NodeSymbol::Folded, NodeStage::Whole, "folded"),
    ];
    let mut x = 40.0;
    for (what, stage, text) in symbols {
        draw_symbol(canvas, (x, line(0.0)), what, stage, 16.0);
        canvas.text("note", (x + 22.0, line(0.0) + 4.0), text);
        x += 42.0 + text_width(text, 10.5);
    }
    let mut x = 40.0;
    for (what, stage, text) in [
        (NodeSymbol::Send, NodeStage::Begin, "hollow: starts only"),
        (NodeSymbol::Receive, NodeStage::End, "in a ring: completes what started earlier"),
    ] {
        draw_symbol(canvas, (x, line(1.0)), what, stage, 16.0);
        canvas.text("note", (x + 22.0, line(1.0) + 4.0), text);
        x += 42.0 + text_width(text, 10.5);
    }
    canvas.arrow("message", 1.4, &[(x - 8.0, line(1.0)), (x + 24.0, line(1.0))]);
    canvas.text("note", (x + 32.0, line(1.0) + 4.0), "messages");
    canvas.filled_rectangle("work", &shade(0.2), (30.0, line(2.0) - 8.0), (24.0, 16.0));
    let computation = "computation between two calls, with its share of the role's time";
    let text = format!("{computation}; below {} % only the arrow is drawn", 100.0 * worth_a_box);
    canvas.text("note", (62.0, line(2.0) + 4.0), &text);
}

#[cfg(test)]
mod tests {
    use super::super::sample::master_and_workers;
    use super::*;

    fn svg(drawing: &GraphDrawing) -> String {
        let mut out = Vec::new();
        write(drawing, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_operation_loop_and_message_is_there_once_per_lane() {
        let svg = svg(&master_and_workers());
        let count = |what: &str| svg.matches(what).count();
        // Two of each triangle are in the legend: one alone, one with others.
        assert_eq!((count(r#"<polygon class="send""#), count(r#"<polygon class="receive""#)), (2 + 2, 2 + 3));
        assert_eq!(count(">MPI_Finalize</tspan>"), 2);
        assert_eq!((count(r#"<rect class="loop""#), count(r#"<polyline class="message""#)), (1, 2 + 1));
        assert_eq!((count(r#"<rect class="work""#), count("50 %")), (1 + 1, 1));
    }

    #[test]
    fn the_legend_says_what_has_no_box() {
        let drawing = GraphDrawing { min_box_share: 0.02, ..master_and_workers() };
        assert!(svg(&drawing).contains("below 2 % only the arrow is drawn"));
    }

    #[test]
    fn figures_are_whole_beside_a_long_name() {
        let work = |function: &str| PathComputation {
            share: 0.1,
            function: function.into(),
            note: "10 % · 52.6 ms".into(),
            per_iteration: String::new(),
        };
        let note = computation_note(&work("ComputeRankOfMatrixRow_of_everything"), COMPUTATION_BOX.0 - 16.0);
        assert!(note.starts_with("ComputeRank") && note.ends_with("… · 10 % · 52.6 ms"), "{note}");
        assert!(text_width(&note, TEXT) <= COMPUTATION_BOX.0, "{note}");
        assert_eq!(computation_note(&work(""), 200.0), "10 % · 52.6 ms");
    }

    #[test]
    fn texts_are_escaped() {
        let svg = svg(&master_and_workers());
        assert!(svg.contains("x 3 &lt;&amp;&gt; so") && !svg.contains("<&>"));
    }

    #[test]
    fn too_many_messages_are_left_out_and_the_picture_says_so() {
        let mut drawing = master_and_workers();
        drawing.messages = (0..100).map(|n| LaneMessage { share: f64::from(n), ..drawing.messages[0].clone() }).collect();
        assert!(svg(&drawing).contains("the 20 lightest"));
    }

    #[test]
    fn nothing_at_all_can_be_drawn() {
        assert!(svg(&GraphDrawing::default()).ends_with("</svg>\n"));
    }
}
