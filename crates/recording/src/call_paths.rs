//! Call paths of call sites: which callers tell the sites of one source line apart.

use std::collections::HashMap;

use crate::header::CallSiteDefinition;

/// A line of source code, with the lines at which it was inlined; without debug information, an address.
type SourceLine<'a> = (&'a str, Vec<(Option<&'a str>, Option<&'a str>, Option<u32>)>, u64);

/// The call paths of all call sites of a recording.
#[derive(Debug, Default)]
pub struct CallPaths {
    /// For each call site, the first one of the same line with the same path.
    canonical: Vec<u32>,
    /// For each call site, the callers that tell it from others of the same line, nearest first.
    distinguishing: Vec<Vec<u32>>,
}

impl CallPaths {
    /// Finds the paths of call sites.
    pub fn new(sites: &[CallSiteDefinition]) -> CallPaths {
        let mut lines: HashMap<SourceLine, u32> = HashMap::new();
        let mut paths: HashMap<(u32, Option<u32>), u32> = HashMap::new();
        let mut canonical: Vec<u32> = Vec::with_capacity(sites.len());
        let mut line_of = Vec::with_capacity(sites.len());
        for (site, number) in sites.iter().zip(0..) {
            let line = *lines.entry(source_line(site)).or_insert(number);
            let caller = site.caller.filter(|caller| *caller < number).map(|caller| canonical[caller as usize]);
            canonical.push(*paths.entry((line, caller)).or_insert(number));
            line_of.push(line);
        }
        let mut distinguishing = vec![Vec::new(); sites.len()];
        let mut groups: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, line) in (0..).zip(&line_of).filter(|(number, _)| canonical[*number as usize] == *number) {
            groups.entry(*line).or_default().push(number);
        }
        let callers = |site: u32| std::iter::successors(caller_of(sites, site), |caller| caller_of(sites, *caller));
        for group in groups.values().filter(|group| group.len() > 1) {
            let path = |site: &u32| (callers(*site).map(|caller| line_of[caller as usize]).collect::<Vec<u32>>(), *site);
            let mut group: Vec<(Vec<u32>, u32)> = group.iter().map(path).collect();
            group.sort();
            for ((_, site), depth) in group.iter().zip(distinguishing_depths(&group)) {
                distinguishing[*site as usize] = callers(*site).take(depth.end).skip(depth.start).collect();
            }
        }
        for number in 0..sites.len() {
            distinguishing[number] = distinguishing[canonical[number] as usize].clone();
        }
        CallPaths { canonical, distinguishing }
    }

    /// The first call site of the same source line with the same path. (A compiler that unrolls a loop creates several.)
    pub fn canonical(&self, site: u32) -> u32 {
        self.canonical.get(site as usize).copied().unwrap_or(site)
    }

    /// The callers that tell a call site from others of the same line, nearest first; none if there are no others.
    pub fn distinguishing_callers(&self, site: u32) -> &[u32] {
        self.distinguishing.get(site as usize).map_or(&[], Vec::as_slice)
    }
}

fn caller_of(sites: &[CallSiteDefinition], site: u32) -> Option<u32> {
    sites.get(site as usize)?.caller.filter(|caller| *caller < site)
}

/// Of sorted paths: from where on they differ from some other, to where each differs from all others.
fn distinguishing_depths(sorted: &[(Vec<u32>, u32)]) -> Vec<std::ops::Range<usize>> {
    let common = |one: &[u32], other: &[u32]| one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let neighbours: Vec<usize> = sorted.windows(2).map(|pair| common(&pair[0].0, &pair[1].0)).collect();
    let all = neighbours.iter().copied().min().unwrap_or(0);
    let before = std::iter::once(0).chain(neighbours.iter().copied());
    let after = neighbours.iter().copied().chain([0]);
    sorted.iter().zip(before.zip(after)).map(|((path, _), (before, after))| all..(before.max(after) + 1).min(path.len()).max(all)).collect()
}

fn source_line(site: &CallSiteDefinition) -> SourceLine<'_> {
    let has_line = site.frames.first().is_some_and(|frame| frame.line.is_some());
    let frames = site.frames.iter().map(|frame| (frame.function.as_deref(), frame.file.as_deref(), frame.line)).collect();
    (&site.module, frames, if has_line { 0 } else { site.offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::SourceFrame;

    fn site(line: u32, offset: u64, caller: Option<u32>) -> CallSiteDefinition {
        let frame = SourceFrame { function: Some(format!("f{line}")), file: Some("a.c".into()), line: Some(line) };
        CallSiteDefinition { module: "a.out".into(), offset, caller, frames: vec![frame] }
    }

    #[test]
    fn sites_of_one_line_are_told_apart_by_their_callers() {
        // Line 9 is reached by 1 < 5, 2 < 5 and 3; line 8 only once.
        let sites = [
            site(5, 50, None),
            site(1, 10, Some(0)),
            site(9, 90, Some(1)),
            site(2, 20, Some(0)),
            site(9, 90, Some(3)),
            site(3, 30, None),
            site(9, 90, Some(5)),
            site(8, 80, Some(5)),
        ];
        let paths = CallPaths::new(&sites);
        assert_eq!([2, 4, 6, 7].map(|site| paths.distinguishing_callers(site).to_vec()), [vec![1], vec![3], vec![5], vec![]]);
        assert_eq!((0..8).map(|site| paths.canonical(site)).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn common_callers_are_left_out_and_the_rest_goes_up_to_the_difference() {
        // 9 < 7 < 6 < 1, 9 < 7 < 6 < 2 and 9 < 7 < 3.
        let sites = [
            site(1, 10, None),
            site(6, 60, Some(0)),
            site(7, 70, Some(1)),
            site(9, 90, Some(2)),
            site(2, 20, None),
            site(6, 60, Some(4)),
            site(7, 70, Some(5)),
            site(9, 90, Some(6)),
            site(3, 30, None),
            site(7, 70, Some(8)),
            site(9, 90, Some(9)),
        ];
        let paths = CallPaths::new(&sites);
        assert_eq!(paths.distinguishing_callers(3), [1, 0]);
        assert_eq!(paths.distinguishing_callers(7), [5, 4]);
        assert_eq!(paths.distinguishing_callers(10), [8]);
    }

    #[test]
    fn addresses_of_one_line_under_the_same_callers_are_one_site() {
        let sites = [site(1, 10, None), site(1, 11, None), site(9, 90, Some(0)), site(9, 91, Some(1)), site(9, 92, Some(0))];
        let paths = CallPaths::new(&sites);
        assert_eq!([2, 3, 4].map(|site| paths.canonical(site)), [2, 2, 2]);
        assert!([2, 3, 4].iter().all(|site| paths.distinguishing_callers(*site).is_empty()));
    }

    #[test]
    fn a_path_that_ends_earlier_has_what_there_is() {
        let sites = [site(1, 10, None), site(9, 90, Some(0)), site(9, 90, None)];
        let paths = CallPaths::new(&sites);
        assert_eq!((paths.distinguishing_callers(1), paths.distinguishing_callers(2)), (&[0][..], &[][..]));
    }

    #[test]
    fn damaged_callers_are_ignored() {
        let sites = [site(1, 10, Some(0)), site(9, 90, Some(7)), site(9, 91, Some(1))];
        assert_eq!(CallPaths::new(&sites).canonical(1), 1);
    }
}
