//! Call paths of call sites: which callers tell the sites of one source line apart.

use std::collections::HashMap;
use std::ops::Range;

use crate::header::{CallSiteDefinition, SourceFrame};

/// A line of source code; without debug information, an address.
type CodeLine<'a> = (&'a str, Option<&'a SourceFrame>, u64);

/// The call paths of all call sites of a recording.
#[derive(Debug, Default)]
pub struct CallPaths {
    /// For each call site, the first one of the same line with the same path.
    canonical: Vec<u32>,
    /// For each call site, the callers that tell it from others of the same line, nearest first.
    distinguishing: Vec<Vec<CallerFrame>>,
}

/// A function of a call path: a frame of a call site, of which there are several if functions were inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerFrame {
    /// The call site.
    pub site: u32,
    /// The frame, by index; 0 also for a site without frames.
    pub frame: usize,
}

impl CallPaths {
    /// Finds the paths of call sites.
    pub fn new(sites: &[CallSiteDefinition]) -> CallPaths {
        CallPaths::new_common(&[sites]).pop().unwrap_or_default()
    }

    /// Finds the paths of the call sites of several recordings. The callers that tell the paths of one line apart are those that tell apart
    /// the paths of all recordings, so that equal paths have the same ones everywhere.
    pub fn new_common(recordings: &[&[CallSiteDefinition]]) -> Vec<CallPaths> {
        let mut numbering = PathNumbering::default();
        let numbered: Vec<Vec<u32>> = recordings.iter().map(|sites| numbering.number(sites)).collect();
        let depths = numbering.distinguishing_depths();
        recordings.iter().zip(numbered).map(|(sites, paths)| CallPaths::from_numbered(sites, &paths, &depths)).collect()
    }

    /// The paths of a recording, given the number of the path of each site, and which callers tell each path from others.
    fn from_numbered(sites: &[CallSiteDefinition], paths: &[u32], depths: &[Range<usize>]) -> CallPaths {
        let mut first_sites: HashMap<u32, u32> = HashMap::new();
        let canonical: Vec<u32> = (0..).zip(paths).map(|(site, path)| *first_sites.entry(*path).or_insert(site)).collect();
        let frames = |site: u32| (0..frame_count(&sites[site as usize])).map(move |frame| CallerFrame { site, frame });
        let path = |site: u32| std::iter::successors(Some(site), |caller| caller_of(sites, *caller)).flat_map(frames);
        let distinguishing = |(site, number): (&u32, &u32)| {
            let depth = &depths[*number as usize];
            path(*site).skip(1).take(depth.end).skip(depth.start).collect()
        };
        CallPaths { distinguishing: canonical.iter().zip(paths).map(distinguishing).collect(), canonical }
    }

    /// The first call site of the same source line with the same path. (A compiler that unrolls a loop creates several.)
    pub fn canonical(&self, site: u32) -> u32 {
        self.canonical.get(site as usize).copied().unwrap_or(site)
    }

    /// The callers that tell a call site from others of the same line, nearest first; none if there are no others.
    pub fn distinguishing_callers(&self, site: u32) -> &[CallerFrame] {
        self.distinguishing.get(site as usize).map_or(&[], Vec::as_slice)
    }
}

/// Numbers for the source lines and call paths of one or several recordings.
#[derive(Default)]
struct PathNumbering<'a> {
    lines: HashMap<CodeLine<'a>, u32>,
    numbers: HashMap<CallPathStep, u32>,
    /// By number; a caller comes before what it calls.
    paths: Vec<CallPathStep>,
}

/// A call path: the lines of its innermost site, several if functions were inlined, and the path of the caller.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CallPathStep {
    lines: Vec<u32>,
    caller: Option<u32>,
}

impl<'a> PathNumbering<'a> {
    /// The number of the path of each call site of a recording.
    fn number(&mut self, sites: &'a [CallSiteDefinition]) -> Vec<u32> {
        let mut numbers: Vec<u32> = Vec::with_capacity(sites.len());
        for site in sites {
            let lines = (0..frame_count(site)).map(|frame| self.line_number(source_line(site, frame))).collect();
            let step = CallPathStep { lines, caller: site.caller.and_then(|caller| numbers.get(caller as usize).copied()) };
            let new_path = self.paths.len() as u32;
            let number = *self.numbers.entry(step.clone()).or_insert(new_path);
            if number == new_path {
                self.paths.push(step);
            }
            numbers.push(number);
        }
        numbers
    }

    fn line_number(&mut self, line: CodeLine<'a>) -> u32 {
        let new_line = self.lines.len() as u32;
        *self.lines.entry(line).or_insert(new_line)
    }

    /// For each path, the callers that tell it from the others of its innermost line.
    fn distinguishing_depths(&self) -> Vec<Range<usize>> {
        let mut groups: HashMap<u32, Vec<u32>> = HashMap::new();
        (0..).zip(&self.paths).for_each(|(number, path)| groups.entry(path.lines[0]).or_default().push(number));
        let mut depths = vec![0..0; self.paths.len()];
        for group in groups.values().filter(|group| group.len() > 1) {
            let mut group: Vec<(Vec<u32>, u32)> = group.iter().map(|path| (self.caller_lines(*path), *path)).collect();
            group.sort();
            for ((_, path), depth) in group.iter().zip(distinguishing_depths(&group)) {
                depths[*path as usize] = depth;
            }
        }
        depths
    }

    /// The lines of the callers of a path, nearest first.
    fn caller_lines(&self, path: u32) -> Vec<u32> {
        let path = std::iter::successors(Some(path), |path| self.paths[*path as usize].caller);
        path.flat_map(|path| self.paths[path as usize].lines.iter().copied()).skip(1).collect()
    }
}

fn frame_count(site: &CallSiteDefinition) -> usize {
    site.frames.len().max(1)
}

fn caller_of(sites: &[CallSiteDefinition], site: u32) -> Option<u32> {
    sites.get(site as usize)?.caller.filter(|caller| *caller < site)
}

/// Of sorted paths: from where on they differ from some other, to where each differs from all others.
fn distinguishing_depths(sorted: &[(Vec<u32>, u32)]) -> Vec<Range<usize>> {
    let common = |one: &[u32], other: &[u32]| one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let neighbours: Vec<usize> = sorted.windows(2).map(|pair| common(&pair[0].0, &pair[1].0)).collect();
    let all = neighbours.iter().copied().min().unwrap_or(0);
    let before = std::iter::once(0).chain(neighbours.iter().copied());
    let after = neighbours.iter().copied().chain([0]);
    sorted.iter().zip(before.zip(after)).map(|((path, _), (before, after))| all..(before.max(after) + 1).min(path.len()).max(all)).collect()
}

/// The line of a frame of a call site. A program may lie in another folder in another recording.
fn source_line(site: &CallSiteDefinition, frame: usize) -> CodeLine<'_> {
    let frame = site.frames.get(frame);
    let has_line = frame.is_some_and(|frame| frame.line.is_some());
    let module = site.module.rsplit('/').next().unwrap_or_default();
    (module, frame, if has_line { 0 } else { site.offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::SourceFrame;

    fn site(line: u32, offset: u64, caller: Option<u32>) -> CallSiteDefinition {
        let frame = SourceFrame { function: Some(format!("f{line}")), file: Some("a.c".into()), line: Some(line) };
        CallSiteDefinition { module: "a.out".into(), offset, caller, frames: vec![frame] }
    }

    /// The sites of the callers that tell a site from others of its line.
    fn callers(paths: &CallPaths, site: u32) -> Vec<u32> {
        paths.distinguishing_callers(site).iter().map(|caller| caller.site).collect()
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
        assert_eq!([2, 4, 6, 7].map(|site| callers(&paths, site)), [vec![1], vec![3], vec![5], vec![]]);
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
        assert_eq!(callers(&paths, 3), [1, 0]);
        assert_eq!(callers(&paths, 7), [5, 4]);
        assert_eq!(callers(&paths, 10), [8]);
    }

    #[test]
    fn inlined_functions_are_callers() {
        // The function of line 9 is inlined at lines 1 and 2, and called at line 3.
        let inlined = |line: u32| CallSiteDefinition {
            frames: [site(9, 0, None).frames, site(line, 0, None).frames].concat(),
            ..site(9, line.into(), None)
        };
        let sites = [inlined(1), inlined(2), site(3, 30, None), site(9, 90, Some(2))];
        let paths = CallPaths::new(&sites);
        let frames = [0, 1].map(|site| paths.distinguishing_callers(site).to_vec());
        assert_eq!(frames, [vec![CallerFrame { site: 0, frame: 1 }], vec![CallerFrame { site: 1, frame: 1 }]]);
        assert_eq!(callers(&paths, 3), [2]);
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
        assert_eq!((callers(&paths, 1), callers(&paths, 2)), (vec![0], vec![]));
    }

    #[test]
    fn equal_paths_of_several_recordings_have_the_same_callers() {
        // 9 < 1 < 5 in both; 9 < 1 < 6 only in the second one, where 9 < 1 is not enough.
        let first = [site(5, 50, None), site(1, 10, Some(0)), site(9, 90, Some(1))];
        let second =
            [site(6, 60, None), site(1, 10, Some(0)), site(9, 90, Some(1)), site(5, 50, None), site(1, 10, Some(3)), site(9, 90, Some(4))];
        let [own, other] = &CallPaths::new_common(&[&first, &second])[..] else { panic!("one for each recording") };
        assert_eq!(callers(own, 2), [0]);
        assert_eq!((callers(other, 2), callers(other, 5)), (vec![0], vec![3]));
        assert_eq!(callers(&CallPaths::new(&first), 2), [0; 0]);
    }

    #[test]
    fn damaged_callers_are_ignored() {
        let sites = [site(1, 10, Some(0)), site(9, 90, Some(7)), site(9, 91, Some(1))];
        assert_eq!(CallPaths::new(&sites).canonical(1), 1);
    }
}
