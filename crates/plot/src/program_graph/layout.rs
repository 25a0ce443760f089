//! Positions of all parts of the drawing: rows from top to bottom, lanes from left to right, and between lanes a gutter for messages.
//!
//! The nodes of a lane are on its axis, with their texts to the right. Paths that do not lead to the next node run on tracks to the left of
//! the axis, those of inner scopes closer to it, so that every loop or function has a box around all of it.

use std::collections::HashMap;

use super::row_assignment::assign_rows;
use super::tracks::assign_tracks;
use super::{GraphDrawing, LaneMessage, RoleLane};
use crate::svg::Point;

/// Half the height of a node with its two lines of text.
pub(super) const HALF_ROW: f64 = 21.0;
/// Size of a computation box.
pub(super) const COMPUTATION_BOX: Point = (236.0, 34.0);
const COMPUTATION_HEIGHT: f64 = COMPUTATION_BOX.1 + 10.0;
/// Space above the nodes of a scope, for its name, and below.
const SCOPE_TOP: f64 = 24.0;
const SCOPE_BOTTOM: f64 = 10.0;
const BETWEEN_ROWS: f64 = 10.0;
/// Space to the right of an axis, for texts.
pub(super) const TEXT_ROOM: f64 = 300.0;
/// Half the width of a symbol.
pub(super) const SYMBOL: f64 = 14.0;
const TRACK: f64 = 11.0;
const BOX_GAP: f64 = 9.0;
const MARGIN: f64 = 24.0;
const GUTTER: f64 = 26.0;
/// Space for the note of a message.
const MESSAGE_NOTE: f64 = 82.0;

/// Positions of all parts.
pub(super) struct GraphLayout {
    /// Vertical centre of each node's row.
    pub y: Vec<f64>,
    pub lanes: Vec<LaneLayout>,
    /// The track of each message, and where its note begins.
    pub messages: Vec<(f64, f64)>,
    /// Right and bottom edge of the drawing.
    pub size: Point,
}

/// Positions in a lane.
pub(super) struct LaneLayout {
    /// Its left and right edge.
    pub edges: (f64, f64),
    /// Horizontal position of its nodes.
    pub axis: f64,
    /// Upper left corner and size of each scope's box.
    pub scopes: Vec<(Point, Point)>,
    pub paths: Vec<PathLayout>,
}

/// Positions of a path.
#[derive(Clone, Copy, Default)]
pub(super) struct PathLayout {
    /// Its track, unless it leads straight to the next node.
    pub track: Option<f64>,
    /// Upper left corner of its computation box.
    pub computation: Option<Point>,
}

/// The space a lane needs in its rows.
struct LaneMetrics<'a> {
    lane: &'a RoleLane,
    /// The row of each node.
    row_of: &'a [usize],
    paths: Vec<PathRoute>,
    scopes: Vec<ScopeRows>,
}

/// How a path runs through its lane.
#[derive(Clone, Copy)]
struct PathRoute {
    /// Whether it leads to the next node.
    straight: bool,
    /// Whether it leaves a scope.
    leaves_scope: bool,
    /// The innermost scope around both its ends.
    innermost_scope: Option<usize>,
}

/// The rows of a scope.
#[derive(Clone, Copy)]
struct ScopeRows {
    first: usize,
    last: usize,
    /// The scope around it.
    parent: Option<usize>,
}

/// How far the scopes and paths of a lane extend to the left of the axis.
struct LeftExtent {
    scopes: Vec<f64>,
    paths: Vec<f64>,
}

impl GraphLayout {
    /// Lays out a drawing below this height.
    pub(super) fn new(drawing: &GraphDrawing, top: f64) -> GraphLayout {
        let row = assign_rows(drawing);
        let metrics: Vec<LaneMetrics> = drawing.lanes.iter().map(|lane| LaneMetrics::new(lane, &row)).collect();
        let heights = RowHeights::new(&metrics, &row);
        let (middles, bottom) = heights.row_middles(top);
        let gutters = MessageGutters::new(drawing, &row);
        let mut left = MARGIN;
        let mut lanes = Vec::new();
        for (number, metrics) in metrics.iter().enumerate() {
            let laid = metrics.lay_out(&middles, &heights, left);
            left = laid.edges.1 + gutters.width(number);
            lanes.push(laid);
        }
        let position = |message: usize| {
            let edge = lanes[gutters.gutter_of[message]].edges.1;
            (edge + MESSAGE_NOTE + TRACK * gutters.track[message] as f64, edge + 5.0)
        };
        let messages = (0..drawing.messages.len()).map(position).collect();
        GraphLayout { y: row.iter().map(|row| middles[*row]).collect(), lanes, messages, size: (left + MARGIN, bottom) }
    }
}

impl<'a> LaneMetrics<'a> {
    fn new(lane: &'a RoleLane, row_of: &'a [usize]) -> LaneMetrics<'a> {
        let position: HashMap<usize, usize> = lane.steps.iter().enumerate().map(|(position, step)| (step.node, position)).collect();
        let is_in = |number: usize, node: usize| lane.scopes[number].nodes.contains(&node);
        let route = |from: usize, to: usize| PathRoute {
            straight: position.get(&from).map(|position| position + 1) == position.get(&to).copied(),
            leaves_scope: (0..lane.scopes.len()).any(|number| is_in(number, from) && !is_in(number, to)),
            innermost_scope: (0..lane.scopes.len()).rev().find(|number| is_in(*number, from) && is_in(*number, to)),
        };
        let rows = |number: usize| {
            let nodes = &lane.scopes[number].nodes;
            let rows = || nodes.iter().map(|node| row_of[*node]);
            let parent = nodes.first().and_then(|node| (0..number).rev().find(|other| is_in(*other, *node)));
            ScopeRows { first: rows().min().unwrap_or(0), last: rows().max().unwrap_or(0), parent }
        };
        let paths = lane.paths.iter().map(|path| route(path.from, path.to)).collect();
        LaneMetrics { lane, row_of, paths, scopes: (0..lane.scopes.len()).map(rows).collect() }
    }

    fn lay_out(&self, middles: &[f64], heights: &RowHeights, left: f64) -> LaneLayout {
        let reach = self.left_extent();
        let outermost = reach.paths.iter().fold(self.inner_edge(None, &reach.scopes), |most, path| most.max(*path)) + BOX_GAP;
        let axis = left + outermost;
        let deepest = (0..self.scopes.len()).map(|number| self.depth(number)).max().unwrap_or(0);
        let right = axis + TEXT_ROOM + BOX_GAP * deepest as f64;
        let boxed = |number: usize| {
            let (x, end) = (axis - reach.scopes[number], right - BOX_GAP * self.depth(number) as f64);
            let (top, bottom) = self.scope_edges(number, middles, heights);
            ((x, top), (end - x, bottom - top))
        };
        let scopes = (0..self.scopes.len()).map(boxed).collect();
        LaneLayout { edges: (left, right), axis, scopes, paths: self.lay_out_paths(axis, &reach, middles, heights) }
    }

    fn lay_out_paths(&self, axis: f64, reach: &LeftExtent, middles: &[f64], heights: &RowHeights) -> Vec<PathLayout> {
        let mut paths = vec![PathLayout::default(); self.paths.len()];
        let mut stacked: HashMap<usize, f64> = HashMap::new();
        // Other paths first, so that the straight path continues from the last box.
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        order.sort_by_key(|number| self.paths[*number].straight);
        for number in order {
            let (route, path) = (self.paths[number], &self.lane.paths[number]);
            paths[number].track = (!route.straight).then(|| axis - reach.paths[number]);
            if path.computation.is_none() {
                continue;
            }
            let x = if route.straight || !self.has_straight_path(path.from) { axis - 28.0 } else { axis + SYMBOL + 12.0 };
            let row = self.row_of[path.from];
            let below = if route.straight && route.leaves_scope {
                heights.inside_scope[row] + SCOPE_BOTTOM * heights.scope_bottoms[row] as f64
            } else {
                let used = stacked.entry(path.from).or_default();
                *used += COMPUTATION_HEIGHT;
                *used - COMPUTATION_HEIGHT
            };
            paths[number].computation = Some((x, middles[row] + HALF_ROW + below));
        }
        paths
    }

    /// The space this lane needs in each row.
    fn heights(&self, rows: usize) -> RowHeights {
        let mut heights = RowHeights::zero(rows);
        for one in &self.scopes {
            heights.scope_tops[one.first] += 1;
            heights.scope_bottoms[one.last] += 1;
        }
        for (path, route) in self.lane.paths.iter().zip(&self.paths).filter(|(path, _)| path.computation.is_some()) {
            let position = if route.straight && route.leaves_scope { &mut heights.outside_scope } else { &mut heights.inside_scope };
            position[self.row_of[path.from]] += COMPUTATION_HEIGHT;
        }
        heights
    }

    /// Whether a path leads from a node to the next one.
    fn has_straight_path(&self, node: usize) -> bool {
        self.paths.iter().zip(&self.lane.paths).any(|(route, path)| route.straight && path.from == node)
    }

    fn left_extent(&self) -> LeftExtent {
        let mut reach = LeftExtent { scopes: vec![0.0; self.scopes.len()], paths: vec![0.0; self.paths.len()] };
        for level in (0..self.scopes.len()).rev().map(Some).chain([None]) {
            let inner = self.inner_edge(level, &reach.scopes);
            let is_own = |path: &usize| !self.paths[*path].straight && self.paths[*path].innermost_scope == level;
            let own: Vec<usize> = (0..self.paths.len()).filter(is_own).collect();
            let rows = |path: &usize| (self.row_of[self.lane.paths[*path].from], self.row_of[self.lane.paths[*path].to]);
            let taken = assign_tracks(&own.iter().map(rows).collect::<Vec<_>>());
            own.iter().zip(&taken).for_each(|(path, track)| reach.paths[*path] = inner + TRACK * (*track as f64 + 0.6));
            if let Some(number) = level {
                reach.scopes[number] = inner + TRACK * taken.iter().max().map_or(0.0, |most| *most as f64 + 1.0) + BOX_GAP;
            }
        }
        reach
    }

    /// Left edge of the scopes directly inside a level, or of the nodes themselves.
    fn inner_edge(&self, level: Option<usize>, reach: &[f64]) -> f64 {
        let inside = self.scopes.iter().zip(reach).filter(|(one, _)| one.parent == level);
        inside.map(|(_, reach)| *reach).fold(SYMBOL + 16.0, f64::max)
    }

    /// Upper and lower edge of a scope's box.
    fn scope_edges(&self, number: usize, middles: &[f64], heights: &RowHeights) -> (f64, f64) {
        let ScopeRows { first, last, .. } = self.scopes[number];
        let inside =
            || (0..self.scopes.len()).filter(|other| *other != number && self.is_inside(*other, number)).map(|other| self.scopes[other]);
        let above = 1.0 + inside().filter(|other| other.first == first).count() as f64;
        let below = 0.5 + inside().filter(|other| other.last == last).count() as f64;
        (middles[first] - HALF_ROW - SCOPE_TOP * above + 6.0, middles[last] + HALF_ROW + heights.inside_scope[last] + SCOPE_BOTTOM * below)
    }

    /// A scope and those around it.
    fn enclosing_scopes(&self, number: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(number), |number| self.scopes[*number].parent)
    }

    fn depth(&self, number: usize) -> usize {
        self.enclosing_scopes(number).count()
    }

    fn is_inside(&self, inner: usize, outer: usize) -> bool {
        self.enclosing_scopes(inner).any(|number| number == outer)
    }
}

/// The space that rows need above, below and between their nodes, as the maximum over lanes.
struct RowHeights {
    scope_tops: Vec<usize>,
    inside_scope: Vec<f64>,
    scope_bottoms: Vec<usize>,
    outside_scope: Vec<f64>,
}

impl RowHeights {
    fn new(metrics: &[LaneMetrics], row: &[usize]) -> RowHeights {
        let rows = row.iter().max().map_or(0, |last| last + 1);
        let mut most = RowHeights::zero(rows);
        for lane in metrics.iter().map(|metrics| metrics.heights(rows)) {
            for row in 0..rows {
                most.scope_tops[row] = most.scope_tops[row].max(lane.scope_tops[row]);
                most.scope_bottoms[row] = most.scope_bottoms[row].max(lane.scope_bottoms[row]);
                most.inside_scope[row] = most.inside_scope[row].max(lane.inside_scope[row]);
                most.outside_scope[row] = most.outside_scope[row].max(lane.outside_scope[row]);
            }
        }
        most
    }

    fn zero(rows: usize) -> RowHeights {
        RowHeights {
            scope_tops: vec![0; rows],
            inside_scope: vec![0.0; rows],
            scope_bottoms: vec![0; rows],
            outside_scope: vec![0.0; rows],
        }
    }

    /// The centre of each row, and the end of the last one.
    fn row_middles(&self, top: f64) -> (Vec<f64>, f64) {
        let mut y = top;
        let middle = |row: usize| {
            let middle = y + SCOPE_TOP * self.scope_tops[row] as f64 + HALF_ROW;
            y = middle
                + HALF_ROW
                + self.inside_scope[row]
                + SCOPE_BOTTOM * self.scope_bottoms[row] as f64
                + self.outside_scope[row]
                + BETWEEN_ROWS;
            middle
        };
        let middles = (0..self.scope_tops.len()).map(middle).collect();
        (middles, y)
    }
}

/// The gutters to the right of each lane, and the messages in them.
struct MessageGutters {
    gutter_of: Vec<usize>,
    track: Vec<usize>,
    tracks: Vec<usize>,
}

impl MessageGutters {
    fn new(drawing: &GraphDrawing, row: &[usize]) -> MessageGutters {
        let gutter_of: Vec<usize> = drawing.messages.iter().map(gutter_index).collect();
        let (mut track, mut most) = (vec![0; gutter_of.len()], vec![0; drawing.lanes.len()]);
        for (lane, most) in most.iter_mut().enumerate() {
            let own: Vec<usize> = (0..gutter_of.len()).filter(|message| gutter_of[*message] == lane).collect();
            let lines = own.iter().map(|message| (row[drawing.messages[*message].from.1], row[drawing.messages[*message].to.1]));
            let taken = assign_tracks(&lines.collect::<Vec<_>>());
            *most = taken.iter().max().map_or(0, |most| most + 1);
            own.iter().zip(&taken).for_each(|(message, taken)| track[*message] = *taken);
        }
        MessageGutters { gutter_of, track, tracks: most }
    }

    fn width(&self, lane: usize) -> f64 {
        match self.tracks[lane] {
            0 => GUTTER,
            tracks => GUTTER + TRACK * tracks as f64 + MESSAGE_NOTE,
        }
    }
}

/// The gutter in which a message changes rows: the one beside its destination lane, on the side it comes from.
fn gutter_index(message: &LaneMessage) -> usize {
    let (from, to) = (message.from.0, message.to.0);
    if to > from { to - 1 } else { to }
}

#[cfg(test)]
mod tests {
    use super::super::sample::master_and_workers;
    use super::*;

    #[test]
    fn a_loop_s_box_holds_its_nodes_its_computation_and_its_way_back() {
        let drawing = master_and_workers();
        let layout = GraphLayout::new(&drawing, 100.0);
        let master = &layout.lanes[0];
        let ((x, y), (width, height)) = master.scopes[0];
        let holds = |point: Point| (x..x + width).contains(&point.0) && (y..y + height).contains(&point.1);
        let (track, work) = (master.paths[3].track.unwrap(), master.paths[3].computation.unwrap());
        assert!(holds((master.axis, layout.y[1])) && holds((master.axis, layout.y[4])));
        assert!(holds((track, layout.y[1])) && holds(work) && holds((work.0 + COMPUTATION_BOX.0, work.1 + COMPUTATION_BOX.1)));
        assert!(!holds((master.axis, layout.y[0])) && !holds((master.axis, layout.y[5])));
    }

    #[test]
    fn lanes_and_their_messages_lie_side_by_side() {
        let drawing = master_and_workers();
        let layout = GraphLayout::new(&drawing, 100.0);
        let [master, workers] = &layout.lanes[..] else { panic!("two lanes") };
        for (track, note) in &layout.messages {
            assert!(master.edges.1 < *note && note < track && *track < workers.edges.0);
        }
        assert!(layout.y[0] > 100.0 && workers.edges.1 < layout.size.0 && layout.y[5] < layout.size.1);
    }
}
