//! A cut made better by moving vertices to the other side, the greatest gain first, worse moves too in the hope of better ones after them
//! (Fiduccia and Mattheyses, 1982); what did not help in the end is taken back.

use super::heap::Heap;
use super::net::Net;

/// What the two sides should have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// How many slots.
    pub slots: [u64; 2],
    /// How much compute at most.
    pub limit: [f64; 2],
}

/// How bad a cut is: first by slots too many, then by compute above the limits, then by what is exchanged across, then by how uneven it is.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Cost {
    excess: u64,
    overload: f64,
    /// What is exchanged between the sides.
    pub cut: i64,
    uneven: u64,
}

/// A cut and all that changes when a vertex moves.
pub(crate) struct TwoWay<'a> {
    net: &'a Net,
    sides: Sides,
    /// How far the number of slots may be off.
    tolerance: u64,
    side: &'a mut [bool],
    gains: Vec<i64>,
    /// How many slots the first side has too many.
    excess: i64,
    compute: [f64; 2],
    cut: i64,
    heaps: [Heap; 2],
    moved: Vec<bool>,
    largest: u64,
}

impl<'a> TwoWay<'a> {
    /// Takes a cut up as it is; `true` is the second side.
    pub fn new(net: &'a Net, sides: Sides, tolerance: u64, side: &'a mut [bool]) -> TwoWay<'a> {
        let vertices = net.len();
        let mut excess = -(sides.slots[0] as i64);
        let mut compute = [0.0; 2];
        let mut gains = vec![0; vertices];
        let mut twice_cut = 0;
        for vertex in 0..vertices {
            let own = side[vertex];
            compute[usize::from(own)] += net.compute[vertex];
            if !own {
                excess += i64::from(net.sizes[vertex]);
            }
            for (to, weight) in net.arcs(vertex as u32) {
                if side[to as usize] == own {
                    gains[vertex] -= weight;
                } else {
                    gains[vertex] += weight;
                    twice_cut += weight;
                }
            }
        }
        let largest = net.sizes.iter().copied().max().unwrap_or(1).into();
        let heaps = [Heap::new(vertices), Heap::new(vertices)];
        let moved = vec![false; vertices];
        TwoWay { net, sides, tolerance, side, gains, excess, compute, cut: twice_cut / 2, heaps, moved, largest }
    }

    /// Moves as long as it helps, at most so many rounds.
    pub fn refine(mut self, rounds: usize) -> Cost {
        self.relieve();
        let mut cost = self.cost();
        for _ in 0..rounds {
            let before = cost;
            cost = self.round();
            if cost >= before {
                break;
            }
        }
        if self.tolerance == 0 {
            self.make_exact();
        }
        self.cost()
    }

    pub fn cost(&self) -> Cost {
        let uneven = self.excess.unsigned_abs();
        Cost { excess: uneven.saturating_sub(self.tolerance), overload: self.overload(self.compute), cut: self.cut, uneven }
    }

    fn overload(&self, compute: [f64; 2]) -> f64 {
        (compute[0] - self.sides.limit[0]).max(0.0) + (compute[1] - self.sides.limit[1]).max(0.0)
    }

    /// Each vertex moves at most once; ends with the best that was seen.
    fn round(&mut self) -> Cost {
        self.moved.fill(false);
        for vertex in 0..self.net.len() as u32 {
            let is_at_border = self.net.arcs(vertex).any(|(to, _)| self.side[to as usize] != self.side[vertex as usize]);
            if is_at_border {
                self.heaps[usize::from(self.side[vertex as usize])].set(vertex, self.gains[vertex as usize]);
            }
        }
        let patience = 40 + self.net.len() / 20;
        let mut moves: Vec<u32> = Vec::new();
        let (mut best, mut best_moves) = (self.cost(), 0);
        while moves.len() < best_moves + patience {
            let Some(vertex) = self.next() else { break };
            self.shift(vertex);
            moves.push(vertex);
            let cost = self.cost();
            if cost < best {
                (best, best_moves) = (cost, moves.len());
            }
        }
        for vertex in moves.drain(best_moves..).rev() {
            self.shift(vertex);
        }
        self.heaps.iter_mut().for_each(Heap::clear);
        best
    }

    /// The vertex of the greatest gain that may move.
    fn next(&mut self) -> Option<u32> {
        loop {
            let from_first = self.allowed(0);
            let from_second = self.allowed(1);
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
                    if self.excess.unsigned_abs() <= self.slack() || !self.bring_more() {
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

    /// How uneven sides may become on the way.
    fn slack(&self) -> u64 {
        self.tolerance.max(self.largest)
    }

    /// The first of a side, unless moving it makes the sides too uneven.
    fn allowed(&self, side: usize) -> Option<(i64, u32)> {
        let first = self.heaps[side].first()?;
        let after = self.excess_after(first.1);
        (after <= self.slack() || after < self.excess.unsigned_abs()).then_some(first)
    }

    fn excess_after(&self, vertex: u32) -> u64 {
        let size = i64::from(self.net.sizes[vertex as usize]);
        let change = if self.side[vertex as usize] { size } else { -size };
        (self.excess + change).unsigned_abs()
    }

    fn compute_after(&self, vertex: u32) -> [f64; 2] {
        let from = usize::from(self.side[vertex as usize]);
        let mut compute = self.compute;
        compute[from] -= self.net.compute[vertex as usize];
        compute[1 - from] += self.net.compute[vertex as usize];
        compute
    }

    fn overloads(&self, vertex: u32) -> bool {
        let to = 1 - usize::from(self.side[vertex as usize]);
        let after = self.compute_after(vertex);
        after[to] > self.sides.limit[to] && self.overload(after) > self.overload(self.compute)
    }

    /// The inner vertices of the side that has too many, when its border is used up; says whether there are any.
    fn bring_more(&mut self) -> bool {
        let side = self.excess < 0;
        let mut any = false;
        for vertex in 0..self.net.len() {
            if self.side[vertex] == side && !self.moved[vertex] && !self.heaps[usize::from(side)].has(vertex as u32) {
                self.heaps[usize::from(side)].set(vertex as u32, self.gains[vertex]);
                any = true;
            }
        }
        any
    }

    /// Moves a vertex to the other side.
    fn shift(&mut self, vertex: u32) {
        let place = vertex as usize;
        let from = self.side[place];
        self.compute = self.compute_after(vertex);
        self.excess += if from { i64::from(self.net.sizes[place]) } else { -i64::from(self.net.sizes[place]) };
        self.cut -= self.gains[place];
        self.gains[place] = -self.gains[place];
        self.side[place] = !from;
        for (to, weight) in self.net.arcs(vertex) {
            let other = to as usize;
            self.gains[other] += if self.side[other] == from { 2 * weight } else { -2 * weight };
            if !self.moved[other] {
                self.heaps[usize::from(self.side[other])].set(to, self.gains[other]);
            }
        }
    }

    /// Exchanges heavy vertices of a side above its limit for light ones of the other, as long as that helps.
    fn relieve(&mut self) {
        self.moved.fill(true);
        let average = (self.compute[0] + self.compute[1]) / self.net.len().max(1) as f64;
        for _ in 0..self.net.len() {
            let before = self.overload(self.compute);
            if before <= 0.0 {
                break;
            }
            let full = self.compute[1] - self.sides.limit[1] > self.compute[0] - self.sides.limit[0];
            let of = |side: bool, heavy: bool| {
                let vertices = (0..self.net.len()).filter(|vertex| self.side[*vertex] == side);
                vertices.filter(|vertex| (self.net.compute[*vertex] > average) == heavy).max_by_key(|vertex| self.gains[*vertex])
            };
            let (Some(heavy), Some(light)) = (of(full, true), of(!full, false)) else { break };
            let change = self.net.compute[heavy] - self.net.compute[light];
            let mut after = self.compute;
            after[usize::from(full)] -= change;
            after[usize::from(!full)] += change;
            if self.overload(after) >= before {
                break;
            }
            self.shift(heavy as u32);
            self.shift(light as u32);
        }
    }

    /// Puts the number of slots right at any price, when all vertices are single ranks.
    fn make_exact(&mut self) {
        if self.excess == 0 {
            return;
        }
        self.moved.fill(false);
        self.bring_more();
        while self.excess != 0 {
            let side = usize::from(self.excess < 0);
            let Some((_, vertex)) = self.heaps[side].first() else { break };
            if self.excess_after(vertex) >= self.excess.unsigned_abs() {
                break;
            }
            self.heaps[side].remove(vertex);
            self.moved[vertex as usize] = true;
            self.shift(vertex);
        }
        self.heaps.iter_mut().for_each(Heap::clear);
    }
}
