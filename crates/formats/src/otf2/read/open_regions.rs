//! The open regions of a location, and the call path they form.
//!
//! Regions within an MPI call, such as those of its internals, are not part of a path.

use crate::otf2::read::call_path_tree::{MAX_DEPTH, OpenRegion};
use sintonia_otf2::buffer::UNDEFINED_UINT32;

/// Limit of nested regions.
const MAX_NESTED_REGIONS: usize = 1 << 16;

/// What was entered or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionTransition {
    /// A region of the program.
    Region,
    /// An MPI call.
    Call,
    /// A region inside an MPI call.
    InsideCall,
}

/// The open regions of a location.
#[derive(Default)]
pub(super) struct OpenRegions {
    /// Those of the program, outermost first.
    regions: Vec<u32>,
    /// In an MPI call: the number of open regions inside it.
    inside_call: Option<usize>,
    /// The nodes of the outermost regions, as far as they have been looked up.
    nodes: Vec<u32>,
}

impl OpenRegions {
    /// Enters a region; none if regions are nested too deeply.
    pub(super) fn enter(&mut self, region: u32, is_call: bool) -> Option<RegionTransition> {
        if let Some(inside) = &mut self.inside_call {
            *inside += 1;
            return Some(RegionTransition::InsideCall);
        }
        if is_call {
            self.inside_call = Some(0);
            return Some(RegionTransition::Call);
        }
        self.regions.push(region);
        (self.regions.len() <= MAX_NESTED_REGIONS).then_some(RegionTransition::Region)
    }

    pub(super) fn leave(&mut self) -> RegionTransition {
        match &mut self.inside_call {
            None => {
                self.regions.pop();
                self.nodes.truncate(self.regions.len());
                RegionTransition::Region
            }
            Some(0) => {
                self.inside_call = None;
                RegionTransition::Call
            }
            Some(inside) => {
                *inside -= 1;
                RegionTransition::InsideCall
            }
        }
    }

    /// The open regions of the program, outermost first.
    pub(super) fn regions(&self) -> &[u32] {
        &self.regions
    }

    pub(super) fn is_in_call(&self) -> bool {
        self.inside_call.is_some()
    }

    /// The path of a call at a source code location, if that is known, in the innermost region; `lookup` gives the node of a step. A path
    /// that is too long, or has no node, consists of its innermost region.
    pub(super) fn call_path(&mut self, line: Option<u32>, mut lookup: impl FnMut(Option<u32>, OpenRegion) -> Option<u32>) -> Option<u32> {
        let callers = match self.regions.split_last() {
            None => return line.and_then(|line| lookup(None, OpenRegion { region: UNDEFINED_UINT32, source_code_location: line })),
            Some((_, callers)) => callers,
        };
        let region = self.regions[callers.len()];
        let step = OpenRegion { region, source_code_location: line.unwrap_or(UNDEFINED_UINT32) };
        if callers.len() < MAX_DEPTH {
            for caller in &callers[self.nodes.len().min(callers.len())..] {
                let Some(node) = lookup(self.nodes.last().copied(), OpenRegion::in_region(*caller)) else { return lookup(None, step) };
                self.nodes.push(node);
            }
            let caller = callers.len().checked_sub(1).map(|index| self.nodes[index]);
            if let Some(node) = lookup(caller, step) {
                return Some(node);
            }
        }
        lookup(None, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::read::call_path_tree::CallPathTree;

    fn path(open: &mut OpenRegions, tree: &mut CallPathTree, line: Option<u32>) -> Option<u32> {
        open.call_path(line, |caller, step| tree.intern(caller, step))
    }

    #[test]
    fn a_path_has_the_regions_around_a_call() {
        let (mut open, mut tree) = (OpenRegions::default(), CallPathTree::default());
        assert_eq!((path(&mut open, &mut tree, None), tree.len()), (None, 0));
        for region in [10, 20, 30] {
            assert_eq!(open.enter(region, false), Some(RegionTransition::Region));
        }
        let innermost = path(&mut open, &mut tree, None);
        let [main, solve] = [None, Some(0)].map(|caller| tree.find(caller, OpenRegion::in_region(if caller.is_none() { 10 } else { 20 })));
        assert_eq!(innermost, tree.find(solve, OpenRegion::in_region(30)));
        let at_line = path(&mut open, &mut tree, Some(4));
        assert_eq!(at_line, tree.find(solve, OpenRegion { region: 30, source_code_location: 4 }));
        open.leave();
        assert_eq!(path(&mut open, &mut tree, None), solve);
        open.leave();
        open.enter(21, false);
        assert_eq!(path(&mut open, &mut tree, None), tree.find(main, OpenRegion::in_region(21)));
    }

    #[test]
    fn what_is_in_a_call_is_not_in_the_path() {
        let mut open = OpenRegions::default();
        let entered = [(1, false), (2, true), (3, false), (4, true)].map(|(region, is_call)| open.enter(region, is_call).unwrap());
        assert_eq!(entered, [RegionTransition::Region, RegionTransition::Call, RegionTransition::InsideCall, RegionTransition::InsideCall]);
        assert_eq!(open.regions(), [1]);
        let left = [(); 4].map(|()| open.leave());
        assert_eq!(left, [RegionTransition::InsideCall, RegionTransition::InsideCall, RegionTransition::Call, RegionTransition::Region]);
    }

    #[test]
    fn a_path_that_is_too_long_is_its_innermost_region() {
        let (mut open, mut tree) = (OpenRegions::default(), CallPathTree::default());
        (0..=MAX_DEPTH as u32).for_each(|region| _ = open.enter(region, false));
        let innermost = path(&mut open, &mut tree, None);
        assert_eq!(innermost, tree.find(None, OpenRegion::in_region(MAX_DEPTH as u32)));
        open.leave();
        assert_eq!(path(&mut open, &mut tree, None), Some(tree.len() as u32 - 1));
        assert_eq!(tree.len(), MAX_DEPTH + 1);
    }
}
