//! The memory that a rank works on, and whether a prediction leaves the caches in which the runs were measured.
//!
//! A formula of time holds as long as the data stays in the level of the memory hierarchy in which it was measured. A recording has the
//! memory that each rank used after `MPI_Init`, so a formula of that is fitted like one of time. Its constant part (buffers, tables) is the
//! same in all runs: only what depends on the parameters is compared with the caches. If that left a cache in which all runs stayed, or fits
//! into one that all runs exceeded, the interval of the computation is widened on that side by what an access to the next level costs more.

use sintonia_machine::{Machine, MemoryAccess, MemoryLevel, NodeType};

use crate::fitted_term::{FittedTerm, symbol_values};
use crate::run::{MeasuredRun, RunMemory};

/// Less memory than this is not a working set, but the noise of what the libraries use.
const MIN_GROWTH_BYTES: f64 = 64.0 * 1024.0;
/// The first level is smaller than any working set.
const MIN_CACHE_LEVEL: u32 = 2;

/// How many times as long an access beyond a cache takes that is not the last, without a machine file. The median of six processors in the
/// measurements of Kerncraft (machine files for Intel Ivy Bridge to Cascade Lake and AMD Zen and Zen 2; copy, load, triad, update and daxpy
/// of likwid-bench, one core), which range from 1.3 to 3.1.
const INNER_CACHE_SLOWDOWN: f64 = 2.0;
/// The same beyond the last cache: the median of 1.7 to 2.9.
const LAST_CACHE_SLOWDOWN: f64 = 2.3;
/// Where several ranks share the last cache, they share the memory, too: the same measurements with all cores give 0.4 to 0.7 per core.
const LAST_CACHE_SLOWDOWN_PER_RANK: f64 = 0.6;

/// Steps of the search for a crossing.
const BISECTION_STEPS: usize = 40;

/// The memory of a rank as a formula, and the caches of the hosts of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkingSet {
    /// Bytes that the rank with most used after `MPI_Init`.
    pub term: FittedTerm,
    /// The number of hosts of the runs.
    pub hosts: usize,
    /// A host of the runs.
    pub host: CacheHierarchy,
    /// A host of the machine that is predicted, if it is another one.
    pub other_host: Option<CacheHierarchy>,
}

/// The caches of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheHierarchy {
    /// Its logical processors.
    pub processors: usize,
    /// Its caches, nearest first, without the first level.
    pub caches: Vec<CacheLevel>,
}

/// A cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheLevel {
    /// `L2`, `L3`.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The number of logical processors that share it.
    pub processors: usize,
    /// How many times as long an access beyond it takes, if a machine file tells.
    pub slowdown: Option<f64>,
}

/// A cache that a prediction leaves, or enters.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheCrossing {
    /// Its name.
    pub cache: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether all runs stayed in it and the prediction does not, or the other way round.
    pub is_left: bool,
    /// Where it is crossed on the way from the nearest run to the prediction.
    pub at: Vec<f64>,
    /// How many times as long an access beyond it takes.
    pub slowdown: f64,
}

impl WorkingSet {
    /// The working set of runs; `None` if it is not known of all of them, is next to nothing, or does not depend on the parameters.
    pub(crate) fn from_runs(parameters: &[String], settings: &[Vec<f64>], runs: &[MeasuredRun]) -> Option<WorkingSet> {
        let memory: Vec<&RunMemory> = runs.iter().map(|run| run.memory.as_ref()).collect::<Option<_>>()?;
        let bytes: Vec<f64> = memory.iter().map(|memory| memory.working_set_bytes as f64).collect();
        let (least, most) = (bytes.iter().copied().fold(f64::INFINITY, f64::min), bytes.iter().copied().fold(0.0, f64::max));
        if most - least < MIN_GROWTH_BYTES {
            return None;
        }
        // What is not there at all has no logarithm.
        let bytes: Vec<f64> = bytes.into_iter().map(|bytes| bytes.max(1.0)).collect();
        Some(WorkingSet {
            term: FittedTerm::fit(parameters, settings, &bytes, 0).ok()?,
            hosts: runs.iter().map(|run| run.hosts).max()?.max(1),
            host: CacheHierarchy::from_run(memory.first()?),
            other_host: None,
        })
    }

    /// Takes the costs of memory of the hosts of the runs from a machine file.
    pub(crate) fn set_machine(&mut self, machine: &Machine) {
        let Some(node) = machine.nodes.first() else { return };
        for cache in &mut self.host.caches {
            cache.slowdown = slowdown_beyond(node, &cache.name).or(cache.slowdown);
        }
    }

    /// Predicts for hosts of a machine file.
    pub(crate) fn set_other_machine(&mut self, machine: &Machine) {
        self.other_host = machine.nodes.first().map(CacheHierarchy::from_node).filter(|host| !host.caches.is_empty());
    }

    /// Bytes of a rank at a setting that depend on the parameters: the terms of the formula but for a constant, or all of a formula written by
    /// hand. The ensemble behind the formula is of no use here, because each of its members has another constant.
    pub(crate) fn bytes_at(&self, parameters: &[String], setting: &[f64]) -> Option<f64> {
        let at = symbol_values(parameters, setting);
        let Some(curve) = &self.term.curve else { return Some(self.term.formula.evaluate(&at).ok()?.max(0.0)) };
        let terms = curve.terms_at(setting);
        let growing = terms.iter().filter(|term| term.coefficient[1] < 0.0 || !term.term.symbols().is_empty());
        let bytes: Option<f64> = growing.map(|term| Some(term.coefficient[1] * term.term.evaluate(&at).ok()?)).sum();
        Some(bytes?.max(0.0))
    }
}

impl CacheHierarchy {
    fn from_run(memory: &RunMemory) -> CacheHierarchy {
        let larger = memory.caches.iter().filter(|(cache, _)| cache.level >= MIN_CACHE_LEVEL);
        let caches = larger.map(|(cache, processors)| CacheLevel {
            name: format!("L{}", cache.level),
            bytes: cache.bytes,
            processors: *processors,
            slowdown: None,
        });
        CacheHierarchy { processors: memory.processors, caches: caches.collect() }
    }

    /// The caches of a machine file. It does not tell which processors share a cache: the last one is taken for shared, the others for private.
    fn from_node(node: &NodeType) -> CacheHierarchy {
        let processors = node.cores.max(1) as usize;
        let complexes = node.layout.complexes.or(node.layout.sockets).unwrap_or(1).max(1) as usize;
        let mut caches: Vec<CacheLevel> = node
            .memory
            .iter()
            .skip(1)
            .filter_map(|level| {
                let slowdown = slowdown_beyond(node, &level.name);
                Some(CacheLevel { name: level.name.clone(), bytes: level.size_bytes?, processors: 1, slowdown })
            })
            .collect();
        if let Some(last) = caches.last_mut() {
            last.processors = processors.div_ceil(complexes);
        }
        CacheHierarchy { processors, caches }
    }

    /// Ranks that share a cache, if they fill at least this many hosts evenly.
    fn sharing_ranks(&self, cache: &CacheLevel, hosts: usize, ranks: f64) -> f64 {
        let processors = self.processors.max(1) as f64;
        let hosts = (hosts as f64).max((ranks / processors).ceil());
        let on_host = (ranks / hosts).ceil().min(processors);
        (on_host * cache.processors as f64 / processors).ceil().max(1.0)
    }

    fn slowdown(&self, cache: &CacheLevel, hosts: usize, ranks: f64) -> f64 {
        let is_last = self.caches.last().is_some_and(|last| last.name == cache.name);
        let published = if is_last {
            LAST_CACHE_SLOWDOWN.max(LAST_CACHE_SLOWDOWN_PER_RANK * self.sharing_ranks(cache, hosts, ranks))
        } else {
            INNER_CACHE_SLOWDOWN
        };
        cache.slowdown.unwrap_or(published).max(1.0)
    }
}

/// How many times as long an access beyond a level of memory takes.
fn slowdown_beyond(node: &NodeType, level: &str) -> Option<f64> {
    let index = node.memory.iter().position(|known| known.name == level)?;
    access_ratio(&node.memory[index], node.memory.get(index + 1)?)
}

/// How many times as long an access to a level takes as one to another: the largest ratio of their costs per byte.
fn access_ratio(inside: &MemoryLevel, beyond: &MemoryLevel) -> Option<f64> {
    let per_byte = inside.access.iter().filter(|(access, _)| **access != MemoryAccess::Latency);
    let ratios = per_byte.filter_map(|(access, cost)| Some(beyond.access.get(access)?.middle() / cost.middle()));
    ratios.filter(|ratio| ratio.is_finite() && *ratio >= 1.0).max_by(f64::total_cmp)
}

/// Where all runs were, relative to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeasuredSide {
    Inside,
    Beyond,
    Both,
}

/// A working set with what the runs say of each cache.
pub(crate) struct CacheBoundaries<'a> {
    working_set: &'a WorkingSet,
    parameters: &'a [String],
    /// Index of the number of ranks among the parameters, or its constant value.
    ranks: Result<usize, f64>,
    /// The settings of the runs.
    measured: Vec<&'a [f64]>,
    /// By cache of the hosts of the runs.
    sides: Vec<MeasuredSide>,
}

impl<'a> CacheBoundaries<'a> {
    pub(crate) fn new(
        working_set: &'a WorkingSet,
        parameters: &'a [String],
        ranks: Result<usize, f64>,
        measured: Vec<&'a [f64]>,
    ) -> CacheBoundaries<'a> {
        let mut boundaries = CacheBoundaries { working_set, parameters, ranks, measured, sides: Vec::new() };
        boundaries.sides = working_set.host.caches.iter().map(|cache| boundaries.measured_side(cache)).collect();
        boundaries
    }

    fn ranks_at(&self, setting: &[f64]) -> f64 {
        self.ranks.map_or_else(|constant| constant, |index| setting[index])
    }

    fn fits(&self, host: &CacheHierarchy, cache: &CacheLevel, setting: &[f64]) -> Option<bool> {
        let bytes = self.working_set.bytes_at(self.parameters, setting)?;
        Some(bytes * host.sharing_ranks(cache, self.working_set.hosts, self.ranks_at(setting)) <= cache.bytes as f64)
    }

    fn measured_side(&self, cache: &CacheLevel) -> MeasuredSide {
        let mut inside = self.measured.iter().map(|at| self.fits(&self.working_set.host, cache, at));
        match inside.next().flatten() {
            Some(true) if inside.all(|other| other == Some(true)) => MeasuredSide::Inside,
            Some(false) if inside.all(|other| other == Some(false)) => MeasuredSide::Beyond,
            _ => MeasuredSide::Both,
        }
    }

    /// The caches that are crossed between the runs and a setting.
    pub(crate) fn crossings(&self, setting: &[f64]) -> Vec<CacheCrossing> {
        let WorkingSet { hosts, host, other_host, .. } = self.working_set;
        let there = other_host.as_ref().unwrap_or(host);
        let crossing = |cache: &CacheLevel| {
            let side = host.caches.iter().zip(&self.sides).find(|(known, _)| known.name == cache.name).map(|(_, side)| *side)?;
            let is_left = match (side, self.fits(there, cache, setting)?) {
                (MeasuredSide::Inside, false) => true,
                (MeasuredSide::Beyond, true) => false,
                _ => return None,
            };
            Some(CacheCrossing {
                cache: cache.name.clone(),
                bytes: cache.bytes,
                is_left,
                at: self.crossing_point(there, cache, setting, is_left)?,
                slowdown: there.slowdown(cache, *hosts, self.ranks_at(setting)),
            })
        };
        there.caches.iter().filter_map(crossing).collect()
    }

    /// Where, on the way from the nearest run, the cache is crossed.
    fn crossing_point(&self, host: &CacheHierarchy, cache: &CacheLevel, setting: &[f64], is_left: bool) -> Option<Vec<f64>> {
        let distance = |at: &[f64]| at.iter().zip(setting).map(|(from, to)| (to / from).ln().abs()).sum::<f64>();
        let nearest = self.measured.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let between = |share: f64| -> Vec<f64> { nearest.iter().zip(setting).map(|(from, to)| from * (to / from).powf(share)).collect() };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTION_STEPS {
            let middle = f64::midpoint(low, high);
            let is_on_measured_side = self.fits(host, cache, &between(middle))? == is_left;
            if is_on_measured_side { low = middle } else { high = middle }
        }
        Some(between(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn cache(name: &str, mib: u64, processors: usize) -> CacheLevel {
        CacheLevel { name: name.into(), bytes: mib * MIB, processors, slowdown: None }
    }

    /// Ranks with a block of n times n / p numbers, on hosts of eight processors.
    fn blocks() -> WorkingSet {
        WorkingSet {
            term: FittedTerm::from_formula("8*n^2/p".parse().unwrap(), None),
            hosts: 1,
            host: CacheHierarchy { processors: 8, caches: vec![cache("L2", 2, 1), cache("L3", 32, 8)] },
            other_host: None,
        }
    }

    /// The crossings at a setting after runs at others: cache, whether it is left, n, slowdown.
    fn crossings(working_set: &WorkingSet, runs: &[[f64; 2]], setting: [f64; 2]) -> Vec<(String, bool, f64, f64)> {
        let parameters = ["n".to_owned(), "p".to_owned()];
        let measured = runs.iter().map(|at| &at[..]).collect();
        let found = CacheBoundaries::new(working_set, &parameters, Ok(1), measured).crossings(&setting);
        found.into_iter().map(|crossing| (crossing.cache, crossing.is_left, crossing.at[0].round(), crossing.slowdown)).collect()
    }

    #[test]
    fn what_depends_on_the_parameters_is_the_formula_without_its_constant() {
        // Five repetitions that scatter leave the constant open: members of the ensemble have others than the formula.
        let settings: Vec<Vec<f64>> = [100.0, 200.0, 300.0, 400.0].iter().flat_map(|n| vec![vec![*n]; 3]).collect();
        let noise = [1.0, 1.04, 0.95, 1.02, 0.97].into_iter().cycle();
        let values: Vec<f64> = settings.iter().zip(noise).map(|(x, noise)| (8.0 * x[0].powi(2) + 3e5) * noise).collect();
        let names = ["n".to_owned()];
        let term = FittedTerm::fit(&names, &settings, &values, 0).unwrap();
        let zero = term
            .curve
            .as_ref()
            .unwrap()
            .terms()
            .iter()
            .filter(|term| term.term.symbols().is_empty())
            .map(|term| term.coefficient[1])
            .sum::<f64>();
        let own = term.formula.evaluate(&symbol_values(&names, &[250.0])).unwrap() - zero;
        let bytes = WorkingSet { term, ..blocks() }.bytes_at(&names, &[250.0]).unwrap();
        assert!(zero > 0.0 && (bytes / own - 1.0).abs() < 1e-3, "{bytes} {own}");
    }

    #[test]
    fn a_prediction_leaves_the_caches_that_all_runs_stayed_in() {
        let after = |runs, setting| crossings(&blocks(), runs, setting);
        let runs = &[[200.0, 1.0], [500.0, 1.0]];
        assert_eq!(after(runs, [511.0, 1.0]), []);
        assert_eq!(after(runs, [513.0, 1.0]), [("L2".into(), true, 512.0, INNER_CACHE_SLOWDOWN)]);
        let both = [("L2".to_owned(), true, 512.0, INNER_CACHE_SLOWDOWN), ("L3".to_owned(), true, 2048.0, LAST_CACHE_SLOWDOWN)];
        assert_eq!(after(runs, [4000.0, 1.0]), both);
        assert_eq!(after(&[[200.0, 1.0], [600.0, 1.0]], [1000.0, 1.0]), [], "runs on both sides know");
    }

    #[test]
    fn a_prediction_enters_a_cache_that_all_runs_exceeded() {
        let after = |runs, setting| crossings(&blocks(), runs, setting);
        assert_eq!(after(&[[800.0, 1.0], [1600.0, 1.0]], [400.0, 1.0]), [("L2".into(), false, 512.0, INNER_CACHE_SLOWDOWN)]);
        let strong = after(&[[800.0, 1.0], [800.0, 2.0]], [800.0, 8.0]);
        assert_eq!(strong, [("L2".into(), false, 800.0, INNER_CACHE_SLOWDOWN)], "more ranks have less each");
    }

    #[test]
    fn ranks_on_a_host_share_its_last_cache() {
        let host = blocks().host;
        let share = |ranks| host.sharing_ranks(&host.caches[1], 1, ranks);
        assert_eq!([1.0, 3.0, 8.0, 64.0].map(share), [1.0, 3.0, 8.0, 8.0]);
        assert_eq!(host.sharing_ranks(&host.caches[1], 2, 4.0), 2.0);
        assert!((host.slowdown(&host.caches[1], 1, 8.0) - 4.8).abs() < 1e-12, "they share the memory, too");
    }

    #[test]
    fn a_machine_file_tells_the_caches_and_what_lies_beyond_them() {
        let level = |name: &str, size: &str, read: f64| format!("[[node.memory]]\nlevel = \"{name}\"\n{size}read_s_per_byte = {read}\n");
        let text = format!(
            "format = 1\n[machine]\nname = \"m\"\n[[node]]\nkind = \"a\"\ncount = 1\ncores = 4\n{}{}{}{}",
            level("L1", "size_bytes = 32768\n", 1e-11),
            level("L2", "size_bytes = 524288\n", 2e-11),
            level("L3", "size_bytes = 33554432\n", 6e-11),
            level("main", "", 4.8e-10)
        );
        let machine = Machine::parse(&text, std::path::Path::new("m")).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut here = blocks();
        here.set_machine(&machine);
        let slowdown: Vec<f64> = here.host.caches.iter().map(|cache| here.host.slowdown(cache, 1, 8.0)).collect();
        assert!((slowdown[0] - 3.0).abs() < 1e-9 && (slowdown[1] - 8.0).abs() < 1e-9, "{slowdown:?}");
        let mut there = blocks();
        there.set_other_machine(&machine);
        let found = crossings(&there, &[[200.0, 1.0], [500.0, 1.0]], [300.0, 1.0]);
        assert_eq!(
            found.iter().map(|(cache, is_left, ..)| (cache.as_str(), *is_left)).collect::<Vec<_>>(),
            [("L2", true)],
            "it is smaller there"
        );
    }
}
