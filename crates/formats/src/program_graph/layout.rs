//! Where everything in the drawing lies: rows from top to bottom, lanes from left to right, and between lanes a gutter for messages.
//!
//! Within a lane nodes stand on its axis, with their texts to the right. Ways that lead somewhere else than to the next node run on tracks
//! to the left of the axis, those of inner loops closer to it, so that every loop can have a box around all of it.

use std::collections::HashMap;

use super::rows::rows;
use super::tracks::tracks;
use super::{Drawing, Lane, Message};
use crate::svg::Point;

/// Half the height of a node with its two lines of text.
pub const HALF_ROW: f64 = 21.0;
/// The size of the box of a piece of computation.
pub const WORK: Point = (196.0, 34.0);
const WORK_ROOM: f64 = WORK.1 + 10.0;
/// Room above the nodes of a loop, for what is written on its box, and below.
const LOOP_TOP: f64 = 24.0;
const LOOP_BOTTOM: f64 = 10.0;
const BETWEEN_ROWS: f64 = 10.0;
/// Room to the right of an axis, for texts.
pub const TEXT_ROOM: f64 = 264.0;
/// How far from its axis a symbol reaches.
pub const SYMBOL: f64 = 14.0;
const TRACK: f64 = 11.0;
const BOX_GAP: f64 = 9.0;
const MARGIN: f64 = 24.0;
const GUTTER: f64 = 26.0;
/// Room for what is written on a message.
const MESSAGE_NOTE: f64 = 82.0;

/// Where everything lies.
pub struct Layout {
    /// The middle of each node's row.
    pub y: Vec<f64>,
    /// Each lane.
    pub lanes: Vec<LaneLayout>,
    /// The track of each message, and where what is written on it begins.
    pub messages: Vec<(f64, f64)>,
    /// Where the drawing ends at the right and at the bottom.
    pub size: Point,
}

/// Where a lane lies.
pub struct LaneLayout {
    /// Its left and right edge.
    pub edges: (f64, f64),
    /// Where its nodes stand.
    pub axis: f64,
    /// The box of each loop: its upper left corner and its size.
    pub loops: Vec<(Point, Point)>,
    /// Each path.
    pub paths: Vec<PathLayout>,
}

/// Where a path lies.
#[derive(Clone, Copy, Default)]
pub struct PathLayout {
    /// The track it takes, unless it leads straight to the next node.
    pub track: Option<f64>,
    /// The upper left corner of its computation.
    pub work: Option<Point>,
}

/// What a lane needs of the rows it is in.
struct Needs<'a> {
    lane: &'a Lane,
    /// The row of each node.
    row: &'a [usize],
    paths: Vec<Way>,
    loops: Vec<LoopRows>,
}

/// How a path leads through its lane.
#[derive(Clone, Copy)]
struct Way {
    /// It leads to the next node.
    straight: bool,
    /// It leaves a loop.
    leaves: bool,
    /// The innermost loop around both its ends.
    within: Option<usize>,
}

/// The rows of a loop.
#[derive(Clone, Copy)]
struct LoopRows {
    first: usize,
    last: usize,
    /// The loop around it.
    around: Option<usize>,
}

/// How far left of the axis the loops and paths of a lane reach.
struct Reach {
    loops: Vec<f64>,
    paths: Vec<f64>,
}

impl Layout {
    /// Lays a drawing out, below this height.
    pub fn of(drawing: &Drawing, top: f64) -> Layout {
        let row = rows(drawing);
        let needs: Vec<Needs> = drawing.lanes.iter().map(|lane| Needs::of(lane, &row)).collect();
        let heights = Heights::of(&needs, &row);
        let (middles, bottom) = heights.middles(top);
        let gutters = Gutters::of(drawing, &row);
        let mut left = MARGIN;
        let mut lanes = Vec::new();
        for (number, needs) in needs.iter().enumerate() {
            let laid = needs.lay_out(&middles, &heights, left);
            left = laid.edges.1 + gutters.width(number);
            lanes.push(laid);
        }
        let place = |message: usize| {
            let edge = lanes[gutters.of[message]].edges.1;
            (edge + MESSAGE_NOTE + TRACK * gutters.track[message] as f64, edge + 5.0)
        };
        let messages = (0..drawing.messages.len()).map(place).collect();
        Layout { y: row.iter().map(|row| middles[*row]).collect(), lanes, messages, size: (left + MARGIN, bottom) }
    }
}

impl<'a> Needs<'a> {
    fn of(lane: &'a Lane, row: &'a [usize]) -> Needs<'a> {
        let place: HashMap<usize, usize> = lane.steps.iter().enumerate().map(|(place, step)| (step.node, place)).collect();
        let is_in = |number: usize, node: usize| lane.loops[number].nodes.contains(&node);
        let way = |from: usize, to: usize| Way {
            straight: place.get(&from).map(|place| place + 1) == place.get(&to).copied(),
            leaves: (0..lane.loops.len()).any(|number| is_in(number, from) && !is_in(number, to)),
            within: (0..lane.loops.len()).rev().find(|number| is_in(*number, from) && is_in(*number, to)),
        };
        let rows = |number: usize| {
            let nodes = &lane.loops[number].nodes;
            let rows = || nodes.iter().map(|node| row[*node]);
            let around = nodes.first().and_then(|node| (0..number).rev().find(|other| is_in(*other, *node)));
            LoopRows { first: rows().min().unwrap_or(0), last: rows().max().unwrap_or(0), around }
        };
        let paths = lane.paths.iter().map(|path| way(path.from, path.to)).collect();
        Needs { lane, row, paths, loops: (0..lane.loops.len()).map(rows).collect() }
    }

    fn lay_out(&self, middles: &[f64], heights: &Heights, left: f64) -> LaneLayout {
        let reach = self.reach();
        let outermost = reach.paths.iter().fold(self.inner(None, &reach.loops), |most, path| most.max(*path)) + BOX_GAP;
        let axis = left + outermost;
        let deepest = (0..self.loops.len()).map(|number| self.depth(number)).max().unwrap_or(0);
        let right = axis + TEXT_ROOM + BOX_GAP * deepest as f64;
        let boxed = |number: usize| {
            let (x, end) = (axis - reach.loops[number], right - BOX_GAP * self.depth(number) as f64);
            let (top, bottom) = self.loop_edges(number, middles, heights);
            ((x, top), (end - x, bottom - top))
        };
        let loops = (0..self.loops.len()).map(boxed).collect();
        LaneLayout { edges: (left, right), axis, loops, paths: self.lay_out_paths(axis, &reach, middles, heights) }
    }

    fn lay_out_paths(&self, axis: f64, reach: &Reach, middles: &[f64], heights: &Heights) -> Vec<PathLayout> {
        let mut paths = vec![PathLayout::default(); self.paths.len()];
        let mut stacked: HashMap<usize, f64> = HashMap::new();
        // Ways that lead elsewhere come first, so that the way straight on leads on from the last box.
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        order.sort_by_key(|number| self.paths[*number].straight);
        for number in order {
            let (way, path) = (self.paths[number], &self.lane.paths[number]);
            paths[number].track = (!way.straight).then(|| axis - reach.paths[number]);
            if path.work.is_none() {
                continue;
            }
            let x = if way.straight || !self.leads_on(path.from) { axis - 28.0 } else { axis + SYMBOL + 12.0 };
            let row = self.row[path.from];
            let below = if way.straight && way.leaves {
                heights.inside[row] + LOOP_BOTTOM * heights.bottoms[row] as f64
            } else {
                let used = stacked.entry(path.from).or_default();
                *used += WORK_ROOM;
                *used - WORK_ROOM
            };
            paths[number].work = Some((x, middles[row] + HALF_ROW + below));
        }
        paths
    }

    /// What this lane needs of each row.
    fn heights(&self, rows: usize) -> Heights {
        let mut heights = Heights::none(rows);
        for one in &self.loops {
            heights.tops[one.first] += 1;
            heights.bottoms[one.last] += 1;
        }
        for (path, way) in self.lane.paths.iter().zip(&self.paths).filter(|(path, _)| path.work.is_some()) {
            let place = if way.straight && way.leaves { &mut heights.outside } else { &mut heights.inside };
            place[self.row[path.from]] += WORK_ROOM;
        }
        heights
    }

    /// Whether a way leads from a node to the next.
    fn leads_on(&self, node: usize) -> bool {
        self.paths.iter().zip(&self.lane.paths).any(|(way, path)| way.straight && path.from == node)
    }

    fn reach(&self) -> Reach {
        let mut reach = Reach { loops: vec![0.0; self.loops.len()], paths: vec![0.0; self.paths.len()] };
        for level in (0..self.loops.len()).rev().map(Some).chain([None]) {
            let inner = self.inner(level, &reach.loops);
            let is_own = |path: &usize| !self.paths[*path].straight && self.paths[*path].within == level;
            let own: Vec<usize> = (0..self.paths.len()).filter(is_own).collect();
            let rows = |path: &usize| (self.row[self.lane.paths[*path].from], self.row[self.lane.paths[*path].to]);
            let taken = tracks(&own.iter().map(rows).collect::<Vec<_>>());
            own.iter().zip(&taken).for_each(|(path, track)| reach.paths[*path] = inner + TRACK * (*track as f64 + 0.6));
            if let Some(number) = level {
                reach.loops[number] = inner + TRACK * taken.iter().max().map_or(0.0, |most| *most as f64 + 1.0) + BOX_GAP;
            }
        }
        reach
    }

    /// Where the loops directly inside a level, or the nodes themselves, end on the left.
    fn inner(&self, level: Option<usize>, reach: &[f64]) -> f64 {
        let inside = self.loops.iter().zip(reach).filter(|(one, _)| one.around == level);
        inside.map(|(_, reach)| *reach).fold(SYMBOL + 16.0, f64::max)
    }

    /// The upper and lower edge of a loop's box.
    fn loop_edges(&self, number: usize, middles: &[f64], heights: &Heights) -> (f64, f64) {
        let LoopRows { first, last, .. } = self.loops[number];
        let inside =
            || (0..self.loops.len()).filter(|other| *other != number && self.is_inside(*other, number)).map(|other| self.loops[other]);
        let above = 1.0 + inside().filter(|other| other.first == first).count() as f64;
        let below = 0.5 + inside().filter(|other| other.last == last).count() as f64;
        (middles[first] - HALF_ROW - LOOP_TOP * above + 6.0, middles[last] + HALF_ROW + heights.inside[last] + LOOP_BOTTOM * below)
    }

    /// A loop and those around it.
    fn outwards(&self, number: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(number), |number| self.loops[*number].around)
    }

    fn depth(&self, number: usize) -> usize {
        self.outwards(number).count()
    }

    fn is_inside(&self, inner: usize, outer: usize) -> bool {
        self.outwards(inner).any(|number| number == outer)
    }
}

/// What the rows need above, below and between their nodes, for the lane that needs most.
struct Heights {
    tops: Vec<usize>,
    inside: Vec<f64>,
    bottoms: Vec<usize>,
    outside: Vec<f64>,
}

impl Heights {
    fn of(needs: &[Needs], row: &[usize]) -> Heights {
        let rows = row.iter().max().map_or(0, |last| last + 1);
        let mut most = Heights::none(rows);
        for lane in needs.iter().map(|needs| needs.heights(rows)) {
            for row in 0..rows {
                most.tops[row] = most.tops[row].max(lane.tops[row]);
                most.bottoms[row] = most.bottoms[row].max(lane.bottoms[row]);
                most.inside[row] = most.inside[row].max(lane.inside[row]);
                most.outside[row] = most.outside[row].max(lane.outside[row]);
            }
        }
        most
    }

    fn none(rows: usize) -> Heights {
        Heights { tops: vec![0; rows], inside: vec![0.0; rows], bottoms: vec![0; rows], outside: vec![0.0; rows] }
    }

    /// The middle of each row's nodes, and where the last row ends.
    fn middles(&self, top: f64) -> (Vec<f64>, f64) {
        let mut y = top;
        let middle = |row: usize| {
            let middle = y + LOOP_TOP * self.tops[row] as f64 + HALF_ROW;
            y = middle + HALF_ROW + self.inside[row] + LOOP_BOTTOM * self.bottoms[row] as f64 + self.outside[row] + BETWEEN_ROWS;
            middle
        };
        let middles = (0..self.tops.len()).map(middle).collect();
        (middles, y)
    }
}

/// The gutters to the right of each lane, and the messages in them.
struct Gutters {
    of: Vec<usize>,
    track: Vec<usize>,
    tracks: Vec<usize>,
}

impl Gutters {
    fn of(drawing: &Drawing, row: &[usize]) -> Gutters {
        let of: Vec<usize> = drawing.messages.iter().map(gutter).collect();
        let (mut track, mut most) = (vec![0; of.len()], vec![0; drawing.lanes.len()]);
        for (lane, most) in most.iter_mut().enumerate() {
            let own: Vec<usize> = (0..of.len()).filter(|message| of[*message] == lane).collect();
            let lines = own.iter().map(|message| (row[drawing.messages[*message].from.1], row[drawing.messages[*message].to.1]));
            let taken = tracks(&lines.collect::<Vec<_>>());
            *most = taken.iter().max().map_or(0, |most| most + 1);
            own.iter().zip(&taken).for_each(|(message, taken)| track[*message] = *taken);
        }
        Gutters { of, track, tracks: most }
    }

    fn width(&self, lane: usize) -> f64 {
        match self.tracks[lane] {
            0 => GUTTER,
            tracks => GUTTER + TRACK * tracks as f64 + MESSAGE_NOTE,
        }
    }
}

/// The gutter in which a message changes its row: the one beside the lane it comes to, on the side it comes from.
fn gutter(message: &Message) -> usize {
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
        let layout = Layout::of(&drawing, 100.0);
        let master = &layout.lanes[0];
        let ((x, y), (width, height)) = master.loops[0];
        let holds = |point: Point| (x..x + width).contains(&point.0) && (y..y + height).contains(&point.1);
        let (track, work) = (master.paths[3].track.unwrap(), master.paths[3].work.unwrap());
        assert!(holds((master.axis, layout.y[1])) && holds((master.axis, layout.y[4])));
        assert!(holds((track, layout.y[1])) && holds(work) && holds((work.0 + WORK.0, work.1 + WORK.1)));
        assert!(!holds((master.axis, layout.y[0])) && !holds((master.axis, layout.y[5])));
    }

    #[test]
    fn lanes_and_their_messages_lie_side_by_side() {
        let drawing = master_and_workers();
        let layout = Layout::of(&drawing, 100.0);
        let [master, workers] = &layout.lanes[..] else { panic!("two lanes") };
        for (track, note) in &layout.messages {
            assert!(master.edges.1 < *note && note < track && *track < workers.edges.0);
        }
        assert!(layout.y[0] > 100.0 && workers.edges.1 < layout.size.0 && layout.y[5] < layout.size.1);
    }
}
