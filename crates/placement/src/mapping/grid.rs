//! Programs that number a grid: found by whom ranks exchange with, and given to the machine block by block.
//!
//! Most programs number the points of a grid row by row. If ranks are points of a grid, most exchange is between points that are next to each
//! other, perhaps around the edge, or in one line. The domains of each level then become blocks of the grid, such that least is exchanged
//! between blocks.

use super::tree::Tree;
use crate::partition::net::Net;
use sintonia_fit::Random;
use std::collections::BTreeMap;

/// How many pairs of ranks are looked at to tell a grid.
const SAMPLES: usize = 6000;
/// Which share of the exchange must be between near points.
const SHARE: f64 = 0.8;
/// How many grids are tried.
const GRIDS: usize = 3;
/// The greatest number of dimensions.
const DIMENSIONS: usize = 4;

/// Lengths of a grid, or of a block of one, in each dimension.
type Lengths = Vec<u32>;
/// Two ranks and what they exchange.
type Pair = ([u32; 2], f64);

/// Placements by blocks, one for each grid that the ranks may be; only for machines whose domains are alike.
pub(crate) fn placements(net: &Net, tree: &Tree) -> Vec<Vec<u32>> {
    let Some(sizes) = domain_sizes(tree) else { return Vec::new() };
    let ranks = net.len() as u32;
    let samples = samples(net);
    let place = |grid: Lengths| {
        let blocks = Blocks { tree, sizes: &sizes, samples: &samples, grid: &grid };
        blocks.nested().map(|nested| blocks.slots(ranks, &nested))
    };
    grids(ranks, &samples).into_iter().filter_map(place).collect()
}

/// How many slots the domains of each level have; nothing if those of a level differ.
fn domain_sizes(tree: &Tree) -> Option<Vec<u32>> {
    let size = |starts: &[u32]| starts.windows(2).all(|pair| pair[1] - pair[0] == starts[1]).then_some(starts[1]);
    tree.levels().iter().map(|level| size(&level.starts)).collect()
}

fn samples(net: &Net) -> Vec<Pair> {
    let mut random = Random::new(0);
    let mut sample = || {
        let rank = random.below(net.len()) as u32;
        net.arc(rank, &mut random).map(|(to, weight)| ([rank, to], weight as f64))
    };
    if net.arcs_in_all() == 0 { Vec::new() } else { (0..SAMPLES).filter_map(|_| sample()).collect() }
}

/// The grids of so many points on which most exchange is between near ones, the likeliest first.
fn grids(ranks: u32, samples: &[Pair]) -> Vec<Lengths> {
    // Some numbers are a product in a hundred thousand ways; a few pairs are enough to rule out nearly all.
    let few = &samples[..samples.len().min(200)];
    let mut likely: Vec<(f64, Lengths)> = Vec::new();
    for dimensions in 2..=DIMENSIONS {
        let all = products(ranks, &vec![ranks; dimensions]).into_iter().filter(|grid| grid.iter().all(|length| *length > 1));
        let plausible = all.filter(|grid| near_share(few, grid) > SHARE - 0.1);
        likely.extend(plausible.map(|grid| (near_share(samples, &grid), grid)).filter(|(share, _)| *share > SHARE));
        if !likely.is_empty() {
            break;
        }
    }
    likely.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    likely.into_iter().take(GRIDS).map(|(_, grid)| grid).collect()
}

/// Which share of what is exchanged is between points that are near.
fn near_share(samples: &[Pair], grid: &[u32]) -> f64 {
    let total: f64 = samples.iter().map(|(_, weight)| weight).sum();
    let near: f64 = samples.iter().map(|(pair, weight)| weight * nearness(*pair, grid)).sum();
    if total > 0.0 { near / total } else { 0.0 }
}

/// How near two ranks are as points of a grid: next to each other, perhaps diagonally; around the edge; in one line; or not at all.
fn nearness([a, b]: [u32; 2], grid: &[u32]) -> f64 {
    let (mut differ, mut is_next, mut is_around) = (0, true, true);
    for (length, (a, b)) in grid.iter().zip(point(a, grid).zip(point(b, grid))) {
        let apart = a.abs_diff(b);
        differ += u32::from(apart != 0);
        is_next &= apart <= 1;
        is_around &= apart <= 1 || apart + 1 == *length;
    }
    match (is_next, is_around) {
        (true, _) => 1.0,
        (_, true) => 0.95,
        _ if differ == 1 => 0.9,
        _ => 0.0,
    }
}

/// The coordinates of a rank, the one that changes most often first.
fn point(rank: u32, grid: &[u32]) -> impl Iterator<Item = u32> + '_ {
    grid.iter().scan(rank, |rest, length| {
        let coordinate = *rest % length;
        *rest /= length;
        Some(coordinate)
    })
}

/// All ways to write a number as a product, each factor a divisor of its bound.
fn products(number: u32, bounds: &[u32]) -> Vec<Lengths> {
    let Some((bound, rest)) = bounds.split_first() else { return if number == 1 { vec![Vec::new()] } else { Vec::new() } };
    let fits = |factor: &u32| number.is_multiple_of(*factor) && bound.is_multiple_of(*factor);
    let with = |factor: u32| products(number / factor, rest).into_iter().map(move |others| [vec![factor], others].concat());
    if rest.is_empty() {
        return if fits(&number) { vec![vec![number]] } else { Vec::new() };
    }
    divisors(number).into_iter().filter(fits).flat_map(with).collect()
}

fn divisors(number: u32) -> Vec<u32> {
    let small: Vec<u32> = (1..).take_while(|factor| u64::from(*factor) * u64::from(*factor) <= u64::from(number)).collect();
    let small = small.into_iter().filter(|factor| number.is_multiple_of(*factor));
    let mut all: Vec<u32> = small.flat_map(|factor| [factor, number / factor]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Blocks inside of blocks, for each level of a machine.
struct Blocks<'a> {
    tree: &'a Tree,
    sizes: &'a [u32],
    samples: &'a [Pair],
    grid: &'a [u32],
}

/// What the levels below cost at least with a block, and the blocks inside.
type Best = Option<(f64, Vec<Lengths>)>;

impl Blocks<'_> {
    /// The blocks of all levels with which what is exchanged has least far to go; each divides the one before.
    fn nested(&self) -> Option<Vec<Lengths>> {
        self.inside(1, self.grid, &mut BTreeMap::new()).map(|(_, blocks)| blocks)
    }

    fn inside(&self, level: usize, around: &[u32], known: &mut BTreeMap<(usize, Lengths), Best>) -> Best {
        let Some(size) = self.sizes.get(level) else { return Some((0.0, Vec::new())) };
        let step = self.tree.levels()[level - 1].distance - self.tree.levels()[level].distance;
        let mut best: Best = None;
        for block in products(*size, around) {
            let key = (level, block);
            let below = match known.get(&key) {
                Some(below) => below.clone(),
                None => {
                    let below = self.inside(level + 1, &key.1, known).map(|(cost, blocks)| (cost + step * self.between(&key.1), blocks));
                    known.insert(key.clone(), below.clone());
                    below
                }
            };
            if let Some((cost, blocks)) = below
                && best.as_ref().is_none_or(|best| cost < best.0)
            {
                best = Some((cost, [vec![key.1], blocks].concat()));
            }
        }
        best
    }

    /// What is exchanged between blocks.
    fn between(&self, block: &[u32]) -> f64 {
        let is_between = |[a, b]: [u32; 2]| {
            let points = point(a, self.grid).zip(point(b, self.grid));
            block.iter().zip(points).any(|(length, (a, b))| a / length != b / length)
        };
        self.samples.iter().filter(|(pair, _)| is_between(*pair)).map(|(_, weight)| weight).sum()
    }

    /// A slot for each rank: the domain of each level says in which block.
    fn slots(&self, ranks: u32, nested: &[Lengths]) -> Vec<u32> {
        let single = vec![1; self.grid.len()];
        let around = std::iter::once(self.grid).chain(nested.iter().map(Vec::as_slice));
        let steps: Vec<(&[u32], &[u32])> = around.zip(nested.iter().map(Vec::as_slice).chain([single.as_slice()])).collect();
        let slot = |rank: u32| {
            steps.iter().fold(0, |slot, (around, block)| {
                let mut place = 0;
                for ((coordinate, around), block) in point(rank, self.grid).zip(*around).zip(*block) {
                    place = place * (around / block) + coordinate % around / block;
                }
                slot * (around.iter().product::<u32>() / block.iter().product::<u32>()) + place
            })
        };
        (0..ranks).map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Edge, Graph};
    use crate::hierarchy::Hierarchy;

    #[test]
    fn a_grid_numbered_row_by_row_becomes_blocks() {
        let next = |a: u32, b: u32| Edge { ranks: [a, b], there: 8, back: 8 };
        let rows = (0..64).filter(|rank| rank % 8 < 7).map(|rank| next(rank, rank + 1));
        let columns = (0..56).map(|rank| next(rank, rank + 8));
        let net = Net::of(&Graph::new(vec![1; 64], &rows.chain(columns).collect::<Vec<_>>()));
        let tree = Tree::new(&Hierarchy::uniform(&[(4, 10.0), (4, 4.0), (4, 1.0)]));
        let slots = placements(&net, &tree).swap_remove(0);
        let domain = |size: u32, x: u32, y: u32| slots[(8 * y + x) as usize] / size;
        assert!((0..64).all(|rank| domain(16, rank % 8, rank / 8) == domain(16, rank % 8 / 4 * 4, rank / 8 / 4 * 4)));
        assert!((0..64).all(|rank| domain(4, rank % 8, rank / 8) == domain(4, rank % 8 / 2 * 2, rank / 8 / 2 * 2)));
    }

    #[test]
    fn ranks_that_exchange_with_any_other_are_no_grid() {
        let mut random = Random::new(3);
        let edges: Vec<Edge> = (0..400).map(|_| Edge { ranks: [0; 2].map(|_| random.below(100) as u32), there: 1, back: 0 }).collect();
        let net = Net::of(&Graph::new(vec![1; 100], &edges));
        assert!(placements(&net, &Tree::new(&Hierarchy::uniform(&[(10, 10.0), (10, 1.0)]))).is_empty());
    }
}
