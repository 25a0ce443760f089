//! In which row of the drawing each node stands.
//!
//! In every lane nodes stand below those that come before them. Nodes of different lanes that belong together, because they are one
//! operation or the two ends of messages, stand side by side wherever that leaves no lane out of order.

use super::Drawing;

/// More pairs than this are not tried: nobody would see the difference.
const MOST_PAIRS: usize = 400;

/// The row of each node.
pub fn rows(drawing: &Drawing) -> Vec<usize> {
    let mut sides = Sides { first: (0..drawing.nodes.len()).collect(), order: order(drawing) };
    let mut rows = sides.rows().unwrap_or_else(|| (0..drawing.nodes.len()).collect());
    for (one, other) in pairs(drawing).into_iter().take(MOST_PAIRS) {
        let before = sides.first.clone();
        sides.join(one, other);
        match sides.rows() {
            Some(joined) => rows = joined,
            None => sides.first = before,
        }
    }
    rows
}

/// Which node comes directly before which, in some lane.
fn order(drawing: &Drawing) -> Vec<(usize, usize)> {
    let lanes = drawing.lanes.iter().flat_map(|lane| lane.steps.windows(2).map(|two| (two[0].node, two[1].node)));
    let mut order: Vec<(usize, usize)> = lanes.collect();
    order.sort_unstable();
    order.dedup();
    order
}

/// The nodes that would stand side by side, the most important first.
fn pairs(drawing: &Drawing) -> Vec<(usize, usize)> {
    let mut messages: Vec<_> = drawing.messages.iter().filter(|message| message.from.0 != message.to.0).collect();
    messages.sort_by(|a, b| b.share.total_cmp(&a.share));
    let together = drawing.together.iter().flat_map(|set| set.windows(2).map(|two| (two[0], two[1])));
    together.chain(messages.into_iter().map(|message| (message.from.1, message.to.1))).collect()
}

struct Sides {
    /// For each node the first of those that stand side by side with it.
    first: Vec<usize>,
    order: Vec<(usize, usize)>,
}

impl Sides {
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first[one], self.first[other]);
        self.first.iter_mut().filter(|first| **first == other).for_each(|first| *first = one);
    }

    /// The row of each node: as high as it can stand. `None` if some lane would be out of order.
    fn rows(&self) -> Option<Vec<usize>> {
        let size = self.first.len();
        let mut followers = vec![Vec::new(); size];
        let mut waiting_for = vec![0; size];
        for (before, after) in self.order.iter().map(|(before, after)| (self.first[*before], self.first[*after])) {
            followers[before].push(after);
            waiting_for[after] += 1;
        }
        let mut row = vec![0; size];
        let mut ready: Vec<usize> = (0..size).filter(|node| self.first[*node] == *node && waiting_for[*node] == 0).collect();
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
        let all = (0..size).filter(|node| self.first[*node] == *node).count();
        (placed == all).then(|| self.first.iter().map(|first| row[*first]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{lane, master_and_workers, node};
    use super::super::{Drawing, Message, Symbol};
    use super::*;

    #[test]
    fn the_two_ends_of_a_message_stand_side_by_side() {
        assert_eq!(rows(&master_and_workers()), [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn what_belongs_together_moves_down_together() {
        let nodes = (0..5).map(|_| node(Symbol::Group, "MPI_Bcast")).collect();
        let drawing =
            Drawing { nodes, lanes: vec![lane(&[0, 1, 2], &[]), lane(&[3, 4], &[])], together: vec![vec![2, 3]], ..Drawing::default() };
        assert_eq!(rows(&drawing), [0, 1, 2, 2, 3]);
    }

    #[test]
    fn no_lane_gets_out_of_order_for_a_message() {
        let nodes = (0..4).map(|_| node(Symbol::Send, "MPI_Send")).collect();
        let message = |from, to, share| Message { from: (0, from), to: (1, to), note: String::new(), share };
        let messages = vec![message(0, 3, 0.4), message(1, 2, 0.6)];
        let drawing = Drawing { nodes, lanes: vec![lane(&[0, 1], &[]), lane(&[2, 3], &[])], messages, ..Drawing::default() };
        assert_eq!(rows(&drawing), [0, 1, 1, 2]);
    }
}
