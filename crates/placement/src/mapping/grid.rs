//! Detects ranks numbered as a grid and maps the grid blockwise.
//!
//! Most programs number a grid row by row. Then most traffic is between adjacent points (possibly periodic) or points of one line. The
//! domains of each level become blocks of the grid with minimal traffic between them.

use super::slot_codes::SlotCodes;
use crate::partition::partition_graph::PartitionGraph;
use sintonia_fit::SplitMix64;
use std::collections::BTreeMap;

/// Number of pairs sampled to detect a grid.
const MAX_SAMPLES: usize = 6000;
/// Minimum share of traffic between near points.
const MIN_NEAR_SHARE: f64 = 0.8;
/// Maximum number of grids tried.
const MAX_GRIDS: usize = 3;
/// Maximum number of dimensions.
const MAX_DIMENSIONS: usize = 4;

/// Lengths of a grid or a block in each dimension.
type GridLengths = Vec<u32>;
/// Two ranks and their traffic.
type SamplePair = ([u32; 2], f64);

/// Blockwise placements, one per plausible grid; only for machines with uniform domains.
pub(crate) fn grid_placements(graph: &PartitionGraph, tree: &SlotCodes) -> Vec<Vec<u32>> {
    let Some(sizes) = domain_sizes(tree) else { return Vec::new() };
    let ranks = graph.len() as u32;
    let samples = sample_pairs(graph);
    let index = |grid: GridLengths| {
        let blocks = GridBlocks { tree, sizes: &sizes, samples: &samples, grid: &grid };
        blocks.best_nesting().map(|nested| blocks.slots(ranks, &nested))
    };
    likely_grids(ranks, &samples).into_iter().filter_map(index).collect()
}

/// Slots per domain of each level; `None` if the domains of a level differ.
fn domain_sizes(tree: &SlotCodes) -> Option<Vec<u32>> {
    let size = |starts: &[u32]| starts.windows(2).all(|pair| pair[1] - pair[0] == starts[1]).then_some(starts[1]);
    tree.levels().iter().map(|level| size(&level.starts)).collect()
}

fn sample_pairs(graph: &PartitionGraph) -> Vec<SamplePair> {
    let mut random = SplitMix64::new(0);
    let mut sample = || {
        let rank = random.index_below(graph.len()) as u32;
        graph.random_arc(rank, &mut random).map(|(to, weight)| ([rank, to], weight as f64))
    };
    if graph.arc_count() == 0 { Vec::new() } else { (0..MAX_SAMPLES).filter_map(|_| sample()).collect() }
}

/// The grids of this many points with most traffic between near points, likeliest first.
fn likely_grids(ranks: u32, samples: &[SamplePair]) -> Vec<GridLengths> {
    // Some numbers have a hundred thousand factorizations; a few pairs rule out nearly all.
    let few = &samples[..samples.len().min(200)];
    let mut likely: Vec<(f64, GridLengths)> = Vec::new();
    for dimensions in 2..=MAX_DIMENSIONS {
        let all = factorizations(ranks, &vec![ranks; dimensions]).into_iter().filter(|grid| grid.iter().all(|length| *length > 1));
        let plausible = all.filter(|grid| near_share(few, grid) > MIN_NEAR_SHARE - 0.1);
        likely.extend(plausible.map(|grid| (near_share(samples, &grid), grid)).filter(|(share, _)| *share > MIN_NEAR_SHARE));
        if !likely.is_empty() {
            break;
        }
    }
    likely.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    likely.into_iter().take(MAX_GRIDS).map(|(_, grid)| grid).collect()
}

/// Share of the traffic between near points.
fn near_share(samples: &[SamplePair], grid: &[u32]) -> f64 {
    let total: f64 = samples.iter().map(|(_, weight)| weight).sum();
    let near: f64 = samples.iter().map(|(pair, weight)| weight * nearness(*pair, grid)).sum();
    if total > 0.0 { near / total } else { 0.0 }
}

/// Nearness of two ranks as grid points: adjacent (also diagonally), periodic neighbours, on one line, or not near.
fn nearness([a, b]: [u32; 2], grid: &[u32]) -> f64 {
    let (mut differ, mut is_next, mut is_around) = (0, true, true);
    for (length, (a, b)) in grid.iter().zip(coordinates(a, grid).zip(coordinates(b, grid))) {
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

/// The coordinates of a rank, fastest-varying first.
fn coordinates(rank: u32, grid: &[u32]) -> impl Iterator<Item = u32> + '_ {
    grid.iter().scan(rank, |rest, length| {
        let coordinate = *rest % length;
        *rest /= length;
        Some(coordinate)
    })
}

/// All factorizations of a number, each factor a divisor of its bound.
fn factorizations(number: u32, bounds: &[u32]) -> Vec<GridLengths> {
    let Some((bound, rest)) = bounds.split_first() else { return if number == 1 { vec![Vec::new()] } else { Vec::new() } };
    let fits = |factor: &u32| number.is_multiple_of(*factor) && bound.is_multiple_of(*factor);
    let with = |factor: u32| factorizations(number / factor, rest).into_iter().map(move |others| [vec![factor], others].concat());
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

/// Nested blocks for the levels of a machine.
struct GridBlocks<'a> {
    tree: &'a SlotCodes,
    sizes: &'a [u32],
    samples: &'a [SamplePair],
    grid: &'a [u32],
}

/// Minimum cost of the levels below a block, and the nested blocks.
type BestBlocks = Option<(f64, Vec<GridLengths>)>;

impl GridBlocks<'_> {
    /// The nesting of blocks with the least byte distance; each block divides the previous one.
    fn best_nesting(&self) -> Option<Vec<GridLengths>> {
        self.best_inside(1, self.grid, &mut BTreeMap::new()).map(|(_, blocks)| blocks)
    }

    fn best_inside(&self, level: usize, around: &[u32], known: &mut BTreeMap<(usize, GridLengths), BestBlocks>) -> BestBlocks {
        let Some(size) = self.sizes.get(level) else { return Some((0.0, Vec::new())) };
        let step = self.tree.levels()[level - 1].distance - self.tree.levels()[level].distance;
        let mut best: BestBlocks = None;
        for block in factorizations(*size, around) {
            let key = (level, block);
            let below = match known.get(&key) {
                Some(below) => below.clone(),
                None => {
                    let below = self
                        .best_inside(level + 1, &key.1, known)
                        .map(|(cost, blocks)| (cost + step * self.exchange_between(&key.1), blocks));
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

    /// Traffic between blocks.
    fn exchange_between(&self, block: &[u32]) -> f64 {
        let is_between = |[a, b]: [u32; 2]| {
            let points = coordinates(a, self.grid).zip(coordinates(b, self.grid));
            block.iter().zip(points).any(|(length, (a, b))| a / length != b / length)
        };
        self.samples.iter().filter(|(pair, _)| is_between(*pair)).map(|(_, weight)| weight).sum()
    }

    /// The slot of each rank: the domain of each level selects the block.
    fn slots(&self, ranks: u32, nested: &[GridLengths]) -> Vec<u32> {
        let single = vec![1; self.grid.len()];
        let around = std::iter::once(self.grid).chain(nested.iter().map(Vec::as_slice));
        let steps: Vec<(&[u32], &[u32])> = around.zip(nested.iter().map(Vec::as_slice).chain([single.as_slice()])).collect();
        let slot = |rank: u32| {
            steps.iter().fold(0, |slot, (around, block)| {
                let mut index = 0;
                for ((coordinate, around), block) in coordinates(rank, self.grid).zip(*around).zip(*block) {
                    index = index * (around / block) + coordinate % around / block;
                }
                slot * (around.iter().product::<u32>() / block.iter().product::<u32>()) + index
            })
        };
        (0..ranks).map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ExchangeEdge, RankGraph};
    use crate::hierarchy::SlotHierarchy;

    #[test]
    fn a_grid_numbered_row_by_row_becomes_blocks() {
        let next = |a: u32, b: u32| ExchangeEdge { ranks: [a, b], forward: 8, backward: 8 };
        let rows = (0..64).filter(|rank| rank % 8 < 7).map(|rank| next(rank, rank + 1));
        let columns = (0..56).map(|rank| next(rank, rank + 8));
        let graph = PartitionGraph::from_graph(&RankGraph::new(vec![1; 64], &rows.chain(columns).collect::<Vec<_>>()));
        let tree = SlotCodes::new(&SlotHierarchy::uniform(&[(4, 10.0), (4, 4.0), (4, 1.0)]));
        let slots = grid_placements(&graph, &tree).swap_remove(0);
        let domain = |size: u32, x: u32, y: u32| slots[(8 * y + x) as usize] / size;
        assert!((0..64).all(|rank| domain(16, rank % 8, rank / 8) == domain(16, rank % 8 / 4 * 4, rank / 8 / 4 * 4)));
        assert!((0..64).all(|rank| domain(4, rank % 8, rank / 8) == domain(4, rank % 8 / 2 * 2, rank / 8 / 2 * 2)));
    }

    #[test]
    fn ranks_that_exchange_with_any_other_are_no_grid() {
        let mut random = SplitMix64::new(3);
        let edges: Vec<ExchangeEdge> =
            (0..400).map(|_| ExchangeEdge { ranks: [0; 2].map(|_| random.index_below(100) as u32), forward: 1, backward: 0 }).collect();
        let graph = PartitionGraph::from_graph(&RankGraph::new(vec![1; 100], &edges));
        assert!(grid_placements(&graph, &SlotCodes::new(&SlotHierarchy::uniform(&[(10, 10.0), (10, 1.0)]))).is_empty());
    }
}
