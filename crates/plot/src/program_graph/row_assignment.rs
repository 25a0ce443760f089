//! Assigns nodes to rows.
//!
//! In every lane nodes are below their predecessors. Matching nodes of different lanes (one collective, or the two ends of messages) are in
//! the same row where that keeps every lane in order.

use super::GraphDrawing;

/// Limit of pairs that are tried.
const MAX_PAIRS: usize = 400;

pub(super) fn assign_rows(drawing: &GraphDrawing) -> Vec<usize> {
    let mut sides = RowAlignment { representative: (0..drawing.nodes.len()).collect(), order: lane_order(drawing) };
    let mut rows = sides.compute_rows().unwrap_or_else(|| (0..drawing.nodes.len()).collect());
    for (one, other) in aligned_pairs(drawing).into_iter().take(MAX_PAIRS) {
        let before = sides.representative.clone();
        sides.join(one, other);
        match sides.compute_rows() {
            Some(joined) => rows = joined,
            None => sides.representative = before,
        }
    }
    rows
}

/// Pairs of consecutive nodes in some lane.
fn lane_order(drawing: &GraphDrawing) -> Vec<(usize, usize)> {
    let lanes = drawing.lanes.iter().flat_map(|lane| lane.steps.windows(2).map(|two| (two[0].node, two[1].node)));
    let mut order: Vec<(usize, usize)> = lanes.collect();
    order.sort_unstable();
    order.dedup();
    order
}

/// The nodes that should be in the same row, most important first.
fn aligned_pairs(drawing: &GraphDrawing) -> Vec<(usize, usize)> {
    let mut messages: Vec<_> = drawing.messages.iter().filter(|message| message.from.0 != message.to.0).collect();
    messages.sort_by(|a, b| b.share.total_cmp(&a.share));
    let together = drawing.collectives.iter().flat_map(|set| set.windows(2).map(|two| (two[0], two[1])));
    together.chain(messages.into_iter().map(|message| (message.from.1, message.to.1))).collect()
}

struct RowAlignment {
    /// For each node the representative of those in its row.
    representative: Vec<usize>,
    order: Vec<(usize, usize)>,
}

impl RowAlignment {
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.representative[one], self.representative[other]);
        self.representative.iter_mut().filter(|first| **first == other).for_each(|first| *first = one);
    }

    /// The row of each node, as high as possible. `None` if some lane would be out of order.
    fn compute_rows(&self) -> Option<Vec<usize>> {
        let size = self.representative.len();
        let mut followers = vec![Vec::new(); size];
        let mut waiting_for = vec![0; size];
        for (before, after) in self.order.iter().map(|(before, after)| (self.representative[*before], self.representative[*after])) {
            followers[before].push(after);
            waiting_for[after] += 1;
        }
        let mut row = vec![0; size];
        let mut ready: Vec<usize> = (0..size).filter(|node| self.representative[*node] == *node && waiting_for[*node] == 0).collect();
        let mut placed = 0;
        while let Some(node) = ready.pop() {
            placed += 1;
            for after in &followers[node] {
                row[*after] = row[*after].max(row[node] + 1);
                waiting_for[*after] -= 1;
                if waiting_for[*after] == 0 {
                    ready.push(*after);
                }
            }
        }
        let all = (0..size).filter(|node| self.representative[*node] == *node).count();
        (placed == all).then(|| self.representative.iter().map(|first| row[*first]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{lane, master_and_workers, node};
    use super::super::{GraphDrawing, LaneMessage, NodeSymbol};
    use super::*;

    #[test]
    fn the_two_ends_of_a_message_stand_side_by_side() {
        assert_eq!(assign_rows(&master_and_workers()), [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn what_belongs_together_moves_down_together() {
        let nodes = (0..5).map(|_| node(NodeSymbol::Collective, "MPI_Bcast")).collect();
        let drawing = GraphDrawing {
            nodes,
            lanes: vec![lane(&[0, 1, 2], &[]), lane(&[3, 4], &[])],
            collectives: vec![vec![2, 3]],
            ..GraphDrawing::default()
        };
        assert_eq!(assign_rows(&drawing), [0, 1, 2, 2, 3]);
    }

    #[test]
    fn no_lane_gets_out_of_order_for_a_message() {
        let nodes = (0..4).map(|_| node(NodeSymbol::Send, "MPI_Send")).collect();
        let message = |from, to, share| LaneMessage { from: (0, from), to: (1, to), note: String::new(), share };
        let messages = vec![message(0, 3, 0.4), message(1, 2, 0.6)];
        let drawing = GraphDrawing { nodes, lanes: vec![lane(&[0, 1], &[]), lane(&[2, 3], &[])], messages, ..GraphDrawing::default() };
        assert_eq!(assign_rows(&drawing), [0, 1, 1, 2]);
    }
}
