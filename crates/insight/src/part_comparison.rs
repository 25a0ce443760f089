//! Which parts of a program took longer, or shorter, than in the first of several runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::part_times::PartTimes;
use crate::program_part::{OperationSite, ProgramPart};
use crate::run_conditions::ScalingMode;

/// A change of less than this share of the first run is not reported.
const MIN_CHANGE_SHARE: f64 = 0.005;

/// In what the times of parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartTimeBase {
    /// The mean of all ranks.
    MeanOfRanks,
    /// The sum over all ranks: the same work takes equally long on any number of them.
    AllRanks,
}

/// The parts of a program in several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedParts {
    /// In what their times are.
    pub base: PartTimeBase,
    /// Those that changed, largest change first.
    pub changes: Vec<PartChange>,
}

/// A part that took longer or shorter than in the first run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartChange {
    /// The part.
    #[serde(flatten)]
    pub part: ProgramPart,
    /// Its name.
    pub name: String,
    /// Seconds in each run; `None` where it was not executed, and in runs that cannot be compared.
    pub seconds: Vec<Option<f64>>,
    /// By how many seconds it differs most from the first run; negative if it is shorter.
    pub change_s: f64,
}

/// The times of a run, as far as the comparison of parts needs them.
pub(crate) struct RunParts<'a> {
    pub times: &'a PartTimes,
    pub ranks: usize,
    pub work_s: f64,
    /// Whether it did the same work as the first run.
    pub is_comparable: bool,
}

impl ComparedParts {
    /// Compares runs with the first of them; `None` if none can be compared.
    pub(crate) fn new(runs: &[RunParts], growth: ScalingMode) -> Option<ComparedParts> {
        let (first, others) = runs.split_first()?;
        let has_same_size = others.iter().all(|run| run.ranks == first.ranks);
        let base = match growth {
            ScalingMode::Strong if !has_same_size => PartTimeBase::AllRanks,
            ScalingMode::Strong | ScalingMode::Weak => PartTimeBase::MeanOfRanks,
        };
        if !first.is_comparable || !others.iter().any(|run| run.is_comparable) {
            return None;
        }
        let times: Vec<Option<PartTimes>> =
            runs.iter().map(|run| run.is_comparable.then(|| with_lines_of(first.times, run.times))).collect();
        // Profiles have no computation.
        let has_computation = times.iter().flatten().all(|times| times.keys().any(is_computation));
        let parts: BTreeSet<&ProgramPart> = times.iter().flatten().flat_map(BTreeMap::keys).collect();
        let change = |part: &ProgramPart| {
            let seconds = times.iter().zip(runs).map(|(times, run)| Some(base.seconds(*times.as_ref()?.get(part)?, run.ranks)));
            let is_known: Vec<bool> = times.iter().map(Option::is_some).collect();
            PartChange::new(part, seconds.collect(), &is_known)
        };
        let mut changes: Vec<PartChange> = parts.into_iter().filter(|part| has_computation || !is_computation(part)).map(change).collect();
        let least_s = base.seconds(first.work_s * first.ranks as f64, first.ranks) * MIN_CHANGE_SHARE;
        changes.retain(|change| change.change_s.abs() >= least_s);
        changes.sort_by(|a, b| b.change_s.abs().total_cmp(&a.change_s.abs()).then_with(|| a.part.cmp(&b.part)));
        Some(ComparedParts { base, changes })
    }
}

impl PartTimeBase {
    fn seconds(self, all_ranks_s: f64, ranks: usize) -> f64 {
        match self {
            PartTimeBase::MeanOfRanks => all_ranks_s / ranks.max(1) as f64,
            PartTimeBase::AllRanks => all_ranks_s,
        }
    }
}

impl PartChange {
    fn new(part: &ProgramPart, seconds: Vec<Option<f64>>, is_known: &[bool]) -> PartChange {
        let first_s = seconds[0].unwrap_or(0.0);
        let known = seconds.iter().zip(is_known).filter(|(_, is_known)| **is_known);
        let changes = known.map(|(seconds, _)| seconds.unwrap_or(0.0) - first_s);
        let change_s = changes.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        PartChange { part: part.clone(), name: part.to_string(), seconds, change_s }
    }
}

fn is_computation(part: &ProgramPart) -> bool {
    matches!(part, ProgramPart::Computation { .. })
}

/// The times of a run, its parts with the lines of the first run: a change of the program moves lines.
fn with_lines_of(first: &PartTimes, times: &PartTimes) -> PartTimes {
    let moved = moved_sites(&sites(first), &sites(times));
    let site = |site: &OperationSite| moved.get(site).unwrap_or(site).clone();
    let mut renamed = PartTimes::new();
    for (part, seconds) in times {
        let part = match part {
            ProgramPart::Computation { from, to } => ProgramPart::Computation { from: site(from), to: site(to) },
            ProgramPart::Communication { at } => ProgramPart::Communication { at: site(at) },
            ProgramPart::Start | ProgramPart::Rest => part.clone(),
        };
        *renamed.entry(part).or_default() += seconds;
    }
    renamed
}

fn sites(times: &PartTimes) -> BTreeSet<OperationSite> {
    let of_part = |part: &ProgramPart| match part {
        ProgramPart::Computation { from, to } => vec![from.clone(), to.clone()],
        ProgramPart::Communication { at } => vec![at.clone()],
        ProgramPart::Start | ProgramPart::Rest => Vec::new(),
    };
    times.keys().flat_map(of_part).collect()
}

/// For sites that only the second run has, the site of the first run at another line: calls of the same function of MPI in the same file and
/// with the same callers, of which both have equally many, in the order of their lines.
fn moved_sites(first: &BTreeSet<OperationSite>, second: &BTreeSet<OperationSite>) -> BTreeMap<OperationSite, OperationSite> {
    let (mut before, after) = (sites_by_place(first.difference(second)), sites_by_place(second.difference(first)));
    let pairs = after.into_iter().filter_map(|(place, after)| Some((before.remove(&place).filter(|b| b.len() == after.len())?, after)));
    pairs.flat_map(|(before, after)| after.into_iter().zip(before)).map(|((_, now), (_, then))| (now, then)).collect()
}

/// A function of MPI, and a place without line numbers.
type OperationPlace = (String, String);

/// Sites by what remains the same if lines move; those of one place in the order of their lines.
fn sites_by_place<'a>(sites: impl Iterator<Item = &'a OperationSite>) -> BTreeMap<OperationPlace, Vec<(Vec<u32>, OperationSite)>> {
    let mut groups: BTreeMap<OperationPlace, Vec<(Vec<u32>, OperationSite)>> = BTreeMap::new();
    for site in sites {
        let (place, lines) = split_lines(&site.place);
        groups.entry((site.operation.clone(), place)).or_default().push((lines, site.clone()));
    }
    groups.values_mut().for_each(|sites| sites.sort());
    groups
}

/// A place without folders and line numbers, and these lines.
fn split_lines(place: &str) -> (String, Vec<u32>) {
    let mut lines = Vec::new();
    let words = place.split(' ').map(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        match name.rsplit_once(':').and_then(|(name, line)| Some((name, line.parse::<u32>().ok()?))) {
            Some((name, line)) => {
                lines.push(line);
                name
            }
            None => name,
        }
    });
    (words.collect::<Vec<_>>().join(" "), lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(operation: &str, place: &str) -> OperationSite {
        OperationSite { operation: operation.into(), place: place.into() }
    }

    fn times(lines: [u32; 2], compute_s: f64, wait_s: f64) -> PartTimes {
        let [from, to] = lines.map(|line| site("MPI_Barrier", &format!("app/step.c:{line}")));
        [(ProgramPart::Computation { from, to: to.clone() }, compute_s), (ProgramPart::Communication { at: to }, wait_s)].into()
    }

    fn compare<'a>(runs: &[(&'a PartTimes, usize, bool)], growth: ScalingMode) -> Option<ComparedParts> {
        let run = |(times, ranks, is_comparable): &(&'a PartTimes, usize, bool)| RunParts {
            times,
            ranks: *ranks,
            work_s: 1.0,
            is_comparable: *is_comparable,
        };
        ComparedParts::new(&runs.iter().map(run).collect::<Vec<RunParts>>(), growth)
    }

    #[test]
    fn the_largest_change_comes_first() {
        let (slow, quick) = (times([10, 20], 6.0, 2.0), times([10, 20], 3.0, 2.5));
        let compared = compare(&[(&slow, 2, true), (&quick, 2, true)], ScalingMode::Strong).unwrap();
        let rows: Vec<(&str, f64)> = compared.changes.iter().map(|change| (change.name.as_str(), change.change_s)).collect();
        assert_eq!(rows, [("computation app/step.c:10 to 20", -1.5), ("MPI_Barrier at app/step.c:20", 0.25)]);
        assert_eq!((compared.base, &compared.changes[0].seconds[..]), (PartTimeBase::MeanOfRanks, &[Some(3.0), Some(1.5)][..]));
    }

    #[test]
    fn the_same_work_on_more_ranks_is_compared_by_its_sum() {
        let (few, many) = (times([10, 20], 6.0, 2.0), times([10, 20], 6.0, 4.0));
        let compared = compare(&[(&few, 2, true), (&many, 4, true)], ScalingMode::Strong).unwrap();
        assert_eq!((compared.base, compared.changes.len(), compared.changes[0].change_s), (PartTimeBase::AllRanks, 1, 2.0));
        let weak = compare(&[(&few, 2, true), (&many, 4, true)], ScalingMode::Weak).unwrap();
        assert_eq!((weak.base, weak.changes[0].change_s), (PartTimeBase::MeanOfRanks, -1.5));
    }

    #[test]
    fn parts_are_found_again_at_other_lines() {
        let (before, after) = (times([10, 20], 6.0, 2.0), times([13, 23], 3.0, 2.0));
        let compared = compare(&[(&before, 2, true), (&after, 2, true)], ScalingMode::Strong).unwrap();
        assert_eq!(compared.changes.len(), 1);
        assert_eq!(compared.changes[0].name, "computation app/step.c:10 to 20");
        let more: BTreeSet<OperationSite> = [13, 23, 30].map(|line| site("MPI_Barrier", &format!("step.c:{line}"))).into();
        assert!(moved_sites(&sites(&before), &more).is_empty(), "three are not two");
        let [one, other] = ["a.c:7 from f:1 < g:2", "b/a.c:8 from f:3 < g:2"].map(|place| BTreeSet::from([site("MPI_Send", place)]));
        assert_eq!(moved_sites(&one, &other).len(), 1);
    }

    #[test]
    fn runs_with_other_work_are_left_out() {
        let (one, other) = (times([10, 20], 6.0, 2.0), times([10, 20], 9.0, 2.0));
        assert_eq!(compare(&[(&one, 2, true), (&other, 2, false)], ScalingMode::Strong), None);
        let compared = compare(&[(&one, 2, true), (&other, 2, false), (&other, 2, true)], ScalingMode::Strong).unwrap();
        assert_eq!(compared.changes[0].seconds, [Some(3.0), None, Some(4.5)]);
    }
}
