//! Fiduccia-Mattheyses refinement (1982): moves vertices to the other side by largest gain, accepts temporary losses, and undoes moves
//! after the best state.

use super::heap::GainHeap;
use super::partition_graph::PartitionGraph;

/// Targets of the two sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideTargets {
    /// Number of slots.
    pub slots: [u64; 2],
    /// Maximum computation.
    pub limit: [f64; 2],
}

/// Cost of a cut, compared lexicographically: surplus slots, overload, traffic across, unevenness.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct CutCost {
    excess: u64,
    overload: f64,
    /// Traffic between the sides.
    pub cut: i64,
    uneven: u64,
}

/// A cut with its incremental state.
pub(crate) struct TwoWayCut<'a> {
    graph: &'a PartitionGraph,
    sides: SideTargets,
    /// Tolerated deviation of the number of slots.
    tolerance: u64,
    side: &'a mut [bool],
    gains: Vec<i64>,
    /// Surplus slots of the first side.
    excess: i64,
    compute: [f64; 2],
    cut: i64,
    heaps: [GainHeap; 2],
    moved: Vec<bool>,
    largest: u64,
}

impl<'a> TwoWayCut<'a> {
    /// Starts from a given cut; `true` is the second side.
    pub(super) fn new(graph: &'a PartitionGraph, sides: SideTargets, tolerance: u64, side: &'a mut [bool]) -> TwoWayCut<'a> {
        let vertices = graph.len();
        let mut excess = -(sides.slots[0] as i64);
        let mut compute = [0.0; 2];
        let mut gains = vec![0; vertices];
        let mut twice_cut = 0;
        for vertex in 0..vertices {
            let own = side[vertex];
            compute[usize::from(own)] += graph.compute[vertex];
            if !own {
                excess += i64::from(graph.sizes[vertex]);
            }
            for (to, weight) in graph.arcs(vertex as u32) {
                if side[to as usize] == own {
                    gains[vertex] -= weight;
                } else {
                    gains[vertex] += weight;
                    twice_cut += weight;
                }
            }
        }
        let largest = graph.sizes.iter().copied().max().unwrap_or(1).into();
        let heaps = [GainHeap::new(vertices), GainHeap::new(vertices)];
        let moved = vec![false; vertices];
        TwoWayCut { graph, sides, tolerance, side, gains, excess, compute, cut: twice_cut / 2, heaps, moved, largest }
    }

    /// Refines the cut, in at most `rounds` passes.
    pub(super) fn refine(mut self, rounds: usize) -> CutCost {
        self.reduce_overload();
        let mut cost = self.cost();
        for _ in 0..rounds {
            let before = cost;
            cost = self.run_pass();
            if cost >= before {
                break;
            }
        }
        if self.tolerance == 0 {
            self.fix_sizes();
        }
        self.cost()
    }

    pub(super) fn cost(&self) -> CutCost {
        let uneven = self.excess.unsigned_abs();
        CutCost { excess: uneven.saturating_sub(self.tolerance), overload: self.overload(self.compute), cut: self.cut, uneven }
    }

    fn overload(&self, compute: [f64; 2]) -> f64 {
        (compute[0] - self.sides.limit[0]).max(0.0) + (compute[1] - self.sides.limit[1]).max(0.0)
    }

    /// One pass: each vertex moves at most once; ends with the best state seen.
    fn run_pass(&mut self) -> CutCost {
        self.moved.fill(false);
        for vertex in 0..self.graph.len() as u32 {
            let is_at_border = self.graph.arcs(vertex).any(|(to, _)| self.side[to as usize] != self.side[vertex as usize]);
            if is_at_border {
                self.heaps[usize::from(self.side[vertex as usize])].set(vertex, self.gains[vertex as usize]);
            }
        }
        let patience = 40 + self.graph.len() / 20;
        let mut moves: Vec<u32> = Vec::new();
        let (mut best, mut best_moves) = (self.cost(), 0);
        while moves.len() < best_moves + patience {
            let Some(vertex) = self.next_move() else { break };
            self.move_vertex(vertex);
            moves.push(vertex);
            let cost = self.cost();
            if cost < best {
                (best, best_moves) = (cost, moves.len());
            }
        }
        for vertex in moves.drain(best_moves..).rev() {
            self.move_vertex(vertex);
        }
        self.heaps.iter_mut().for_each(GainHeap::clear);
        best
    }

    /// The vertex with the largest gain that may move.
    fn next_move(&mut self) -> Option<u32> {
        loop {
            let from_first = self.allowed_move(0);
            let from_second = self.allowed_move(1);
            let vertex = match (from_first, from_second) {
                (Some(first), Some(second)) if first.0 == second.0 => {
                    if self.excess > 0 {
                        first.1
                    } else {
                        second.1
                    }
                }
                (Some(first), Some(second)) => first.max(second).1,
                (Some((_, vertex)), None) | (None, Some((_, vertex))) => vertex,
                (None, None) => {
                    if self.excess.unsigned_abs() <= self.slack() || !self.add_inner_vertices() {
                        return None;
                    }
                    continue;
                }
            };
            self.heaps[usize::from(self.side[vertex as usize])].remove(vertex);
            self.moved[vertex as usize] = true;
            if !self.overloads(vertex) {
                return Some(vertex);
            }
        }
    }

    /// Tolerated unevenness during a pass.
    fn slack(&self) -> u64 {
        self.tolerance.max(self.largest)
    }

    /// The first vertex of a side, unless moving it would make the sides too uneven.
    fn allowed_move(&self, side: usize) -> Option<(i64, u32)> {
        let first = self.heaps[side].peek()?;
        let after = self.excess_after(first.1);
        (after <= self.slack() || after < self.excess.unsigned_abs()).then_some(first)
    }

    fn excess_after(&self, vertex: u32) -> u64 {
        let size = i64::from(self.graph.sizes[vertex as usize]);
        let change = if self.side[vertex as usize] { size } else { -size };
        (self.excess + change).unsigned_abs()
    }

    fn compute_after(&self, vertex: u32) -> [f64; 2] {
        let from = usize::from(self.side[vertex as usize]);
        let mut compute = self.compute;
        compute[from] -= self.graph.compute[vertex as usize];
        compute[1 - from] += self.graph.compute[vertex as usize];
        compute
    }

    fn overloads(&self, vertex: u32) -> bool {
        let to = 1 - usize::from(self.side[vertex as usize]);
        let after = self.compute_after(vertex);
        after[to] > self.sides.limit[to] && self.overload(after) > self.overload(self.compute)
    }

    /// Adds the inner vertices of the oversized side when its border is exhausted; returns whether there are any.
    fn add_inner_vertices(&mut self) -> bool {
        let side = self.excess < 0;
        let mut any = false;
        for vertex in 0..self.graph.len() {
            if self.side[vertex] == side && !self.moved[vertex] && !self.heaps[usize::from(side)].contains(vertex as u32) {
                self.heaps[usize::from(side)].set(vertex as u32, self.gains[vertex]);
                any = true;
            }
        }
        any
    }

    /// Moves a vertex to the other side.
    fn move_vertex(&mut self, vertex: u32) {
        let index = vertex as usize;
        let from = self.side[index];
        self.compute = self.compute_after(vertex);
        self.excess += if from { i64::from(self.graph.sizes[index]) } else { -i64::from(self.graph.sizes[index]) };
        self.cut -= self.gains[index];
        self.gains[index] = -self.gains[index];
        self.side[index] = !from;
        for (to, weight) in self.graph.arcs(vertex) {
            let other = to as usize;
            self.gains[other] += if self.side[other] == from { 2 * weight } else { -2 * weight };
            if !self.moved[other] {
                self.heaps[usize::from(self.side[other])].set(to, self.gains[other]);
            }
        }
    }

    /// Swaps heavy vertices of an overloaded side with light ones of the other, as long as that helps.
    fn reduce_overload(&mut self) {
        self.moved.fill(true);
        let average = (self.compute[0] + self.compute[1]) / self.graph.len().max(1) as f64;
        for _ in 0..self.graph.len() {
            let before = self.overload(self.compute);
            if before <= 0.0 {
                break;
            }
            let full = self.compute[1] - self.sides.limit[1] > self.compute[0] - self.sides.limit[0];
            let of = |side: bool, heavy: bool| {
                let vertices = (0..self.graph.len()).filter(|vertex| self.side[*vertex] == side);
                vertices.filter(|vertex| (self.graph.compute[*vertex] > average) == heavy).max_by_key(|vertex| self.gains[*vertex])
            };
            let (Some(heavy), Some(light)) = (of(full, true), of(!full, false)) else { break };
            let change = self.graph.compute[heavy] - self.graph.compute[light];
            let mut after = self.compute;
            after[usize::from(full)] -= change;
            after[usize::from(!full)] += change;
            if self.overload(after) >= before {
                break;
            }
            self.move_vertex(heavy as u32);
            self.move_vertex(light as u32);
        }
    }

    /// Enforces the exact number of slots at any cost, if all vertices are single ranks.
    fn fix_sizes(&mut self) {
        if self.excess == 0 {
            return;
        }
        self.moved.fill(false);
        self.add_inner_vertices();
        while self.excess != 0 {
            let side = usize::from(self.excess < 0);
            let Some((_, vertex)) = self.heaps[side].peek() else { break };
            if self.excess_after(vertex) >= self.excess.unsigned_abs() {
                break;
            }
            self.heaps[side].remove(vertex);
            self.moved[vertex as usize] = true;
            self.move_vertex(vertex);
        }
        self.heaps.iter_mut().for_each(GainHeap::clear);
    }
}
