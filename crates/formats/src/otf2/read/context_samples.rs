//! Samples that a trace has, as events with a calling context.
//!
//! Tools count a sample in an MPI call to a function inside the MPI library; in a recording its innermost frame is the call site.

use std::collections::HashMap;

use sintonia_recording::samples::{Sample, StackFrame};

use crate::otf2::attributes::CallAttributeList;
use crate::otf2::read::call_path_tree::CallPathTree;
use crate::otf2::read::call_sites::CallSiteIndex;
use crate::otf2::read::definitions::ArchiveDefinitions;
use crate::otf2::read::text_budget::TextBudget;

/// Which samples of a trace are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleGenerator {
    /// The interrupt generator. Samples of others count something else, such as cache misses.
    pub generator: u32,
    /// Nanoseconds between two samples, if they are taken at regular times.
    pub period_ns: Option<u64>,
}

impl SampleGenerator {
    /// The source of samples: the first one that is regular in time, else the first one.
    pub(super) fn from_archive(definitions: &ArchiveDefinitions) -> Option<SampleGenerator> {
        let all = &definitions.interrupt_generators;
        let generator = all.iter().find(|generator| generator.period_ns.is_some()).or(all.first())?;
        Some(SampleGenerator { generator: generator.number, period_ns: generator.period_ns })
    }
}

/// Finds the frames of the samples of one rank.
#[derive(Default)]
pub(super) struct ContextFrames {
    /// The frame of each context, if it has one, and whether the context is in an MPI call.
    known: HashMap<u32, (Option<u32>, bool)>,
}

impl ContextFrames {
    /// The sample of an event; none if its context is not defined.
    pub(super) fn sample(
        &mut self,
        time: u64,
        context: u32,
        attributes: &CallAttributeList,
        definitions: &ArchiveDefinitions,
        sites: &CallSiteIndex,
        stacks: &mut CallPathTree,
    ) -> Option<Sample> {
        let is_own = !definitions.frames.is_empty();
        let find = || if is_own { own_frame(context, definitions, sites) } else { foreign_frame(context, sites, stacks) };
        let (frame, in_mpi) = *self.known.entry(context).or_insert_with(find);
        let sample = attributes.to_sample(time as i64, frame, in_mpi)?;
        // Only archives of Sintonia have frames by index.
        if is_own { Some(sample) } else { frame.map(|frame| Sample { frame, ..sample }) }
    }
}

fn foreign_frame(context: u32, sites: &CallSiteIndex, stacks: &mut CallPathTree) -> (Option<u32>, bool) {
    let (stack, in_mpi) = sites.stack_of_context(context);
    let frame = stack.iter().rev().fold(None, |caller, context| stacks.intern(caller, context.step()).or(caller));
    (frame, in_mpi)
}

/// The frame of a context of Sintonia: its own, or that of the call site if it is an MPI call.
fn own_frame(context: u32, definitions: &ArchiveDefinitions, sites: &CallSiteIndex) -> (Option<u32>, bool) {
    let frame = |context: u32| definitions.frames.get(&context).map(|(index, _)| *index);
    match frame(context) {
        Some(index) => (Some(index), false),
        None => (sites.region_of_context(context).1.and_then(frame), true),
    }
}

/// The frames of Sintonia's samples, in their order.
pub(super) fn own_frames(definitions: &ArchiveDefinitions) -> Vec<StackFrame> {
    let mut budget = TextBudget::new();
    let mut frames = vec![StackFrame::default(); definitions.frames.len()];
    let index_of = |context: u32| definitions.frames.get(&context).map(|(index, _)| *index);
    for context in &definitions.calling_contexts {
        let Some((index, module)) = definitions.frames.get(&context.number) else { continue };
        let Some(frame) = frames.get_mut(*index as usize) else { continue };
        let region = definitions.regions.get(context.region);
        let location = definitions.source_code_locations.get(context.source_code_location);
        *frame = StackFrame {
            caller: index_of(context.parent),
            function: region.and_then(|region| budget.copy_text(&region.name)),
            file: location.and_then(|location| budget.copy_text(location.file.as_deref()?)),
            line: location.and_then(|location| location.line),
            module: budget.copy_text(module).unwrap_or_default(),
        };
    }
    frames
}
