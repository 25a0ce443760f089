//! Call paths of a trace as a tree, for call sites and for sampled stacks.
//!
//! Ranks are read at the same time, each with its own numbers, which become common ones in the order of ranks.

use std::collections::HashMap;

use sintonia_otf2::buffer::UNDEFINED_UINT32;
use sintonia_recording::header::{CallSiteDefinition, SourceFrame};
use sintonia_recording::samples::StackFrame;

use crate::otf2::read::definitions::{ArchiveDefinitions, CallingContext};
use crate::otf2::read::text_budget::TextBudget;

/// Limit of regions in a path.
pub(super) const MAX_DEPTH: usize = 256;
/// Limit of nodes. A trace with more different paths is not useful to look at, and its header would not fit into memory.
const MAX_NODES: usize = 1 << 20;

/// A region that is open, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenRegion {
    pub region: u32,
    /// The source code location; undefined if it is not known.
    pub source_code_location: u32,
}

impl OpenRegion {
    /// Somewhere in a region.
    pub(super) fn in_region(region: u32) -> OpenRegion {
        OpenRegion { region, source_code_location: UNDEFINED_UINT32 }
    }
}

/// Call paths as a tree. A node is numbered after its caller.
#[derive(Default)]
pub(super) struct CallPathTree {
    nodes: Vec<(Option<u32>, OpenRegion)>,
    ids: HashMap<(Option<u32>, OpenRegion), u32>,
}

impl CallPathTree {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node of a step under a caller, which is added if it is new; none if the tree is full.
    pub(super) fn intern(&mut self, caller: Option<u32>, step: OpenRegion) -> Option<u32> {
        let known = self.find(caller, step);
        if known.is_some() || self.nodes.len() >= MAX_NODES {
            return known;
        }
        let id = self.nodes.len() as u32;
        self.nodes.push((caller, step));
        self.ids.insert((caller, step), id);
        Some(id)
    }

    pub(super) fn find(&self, caller: Option<u32>, step: OpenRegion) -> Option<u32> {
        self.ids.get(&(caller, step)).copied()
    }

    /// Adds the nodes of another tree; returns the number of each here. A node for which there is no room has that of its caller.
    pub(super) fn merge(&mut self, other: &CallPathTree) -> Vec<u32> {
        let mut ids: Vec<u32> = Vec::with_capacity(other.nodes.len());
        for (caller, step) in &other.nodes {
            let caller = caller.map(|caller| ids[caller as usize]);
            ids.push(self.intern(caller, *step).or(caller).unwrap_or(0));
        }
        ids
    }

    /// The frames of a recording.
    pub(super) fn to_stack_frames(&self, definitions: &ArchiveDefinitions) -> Vec<StackFrame> {
        let mut budget = TextBudget::new();
        let mut frame = |(caller, step): &(Option<u32>, OpenRegion)| {
            let SourceFrame { function, file, line } = source_frame(definitions, *step, &mut budget);
            StackFrame { caller: *caller, function, file, line, module: String::new() }
        };
        self.nodes.iter().map(&mut frame).collect()
    }

    /// The call sites of a recording, if the first of these has this number.
    pub(super) fn to_call_sites(&self, definitions: &ArchiveDefinitions, first: u32, budget: &mut TextBudget) -> Vec<CallSiteDefinition> {
        let mut site = |(caller, step): &(Option<u32>, OpenRegion)| {
            let frame = source_frame(definitions, *step, budget);
            let file = definitions.regions.get(step.region).and_then(|region| region.file.as_deref());
            let module = file.and_then(|file| budget.copy_text(file)).unwrap_or_default();
            let frames = if frame == SourceFrame::default() { Vec::new() } else { vec![frame] };
            CallSiteDefinition { module, offset: 0, caller: caller.map(|caller| first + caller), frames }
        };
        self.nodes.iter().map(&mut site).collect()
    }
}

/// The frame of a step: at its line, else at the first line of its region.
fn source_frame(definitions: &ArchiveDefinitions, step: OpenRegion, budget: &mut TextBudget) -> SourceFrame {
    let region = definitions.regions.get(step.region);
    let function = region.and_then(|region| budget.copy_text(&region.name));
    let (file, line) = match definitions.source_code_locations.get(step.source_code_location) {
        Some(location) => (location.file.as_deref(), location.line),
        None => region.map_or((None, None), |region| (region.file.as_deref(), region.begin_line)),
    };
    SourceFrame { function, file: file.and_then(|file| budget.copy_text(file)), line }
}

impl CallingContext {
    pub(super) fn step(&self) -> OpenRegion {
        OpenRegion { region: self.region, source_code_location: self.source_code_location }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_two_ranks_become_one() {
        let step = OpenRegion::in_region;
        let (mut all, mut rank) = (CallPathTree::default(), CallPathTree::default());
        let main = all.intern(None, step(7));
        all.intern(main, step(8));
        let other = rank.intern(None, step(9));
        let main = rank.intern(None, step(7));
        rank.intern(main, step(8));
        rank.intern(other, step(8));
        assert_eq!(all.merge(&rank), [2, 0, 1, 3]);
    }

    #[test]
    fn a_tree_that_is_full_has_what_it_has() {
        let mut tree = CallPathTree::default();
        (0..MAX_NODES as u32).for_each(|region| assert_eq!(tree.intern(None, OpenRegion::in_region(region)), Some(region)));
        assert_eq!(tree.intern(Some(0), OpenRegion::in_region(0)), None);
        assert_eq!(tree.intern(None, OpenRegion::in_region(5)), Some(5));
        let mut other = CallPathTree::default();
        other.intern(Some(7), OpenRegion::in_region(1 << 30));
        other.nodes[0].0 = None;
        assert_eq!(tree.merge(&other), [0]);
    }
}
