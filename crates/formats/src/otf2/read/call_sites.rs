//! The call sites of an archive.
//!
//! Sintonia's archives define them exactly. Other tools have less: a source line as an attribute, a calling context, or only the enclosing
//! region. All of these are definitions, so sites are numbered before calls are read.

use std::collections::HashMap;

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_recording::header::{CallSiteDefinition, SourceFrame};

use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::id_table::IdTable;
use crate::otf2::read::definitions::{ArchiveDefinitions, CallingContext};

/// Limit of inlining depth.
const MAX_INLINE_DEPTH: usize = 64;
/// Limit of all names together. A few bytes can define a site with long names; more than this is corruption.
const MAX_TEXT_BYTES: usize = 1 << 28;

/// The call sites of an archive by their definitions.
#[derive(Default)]
pub(super) struct CallSiteIndex {
    pub sites: Vec<CallSiteDefinition>,
    contexts: IdTable<u32>,
    lines: IdTable<u32>,
    regions: IdTable<u32>,
    /// The regions that are MPI functions.
    functions: IdTable<FunctionId>,
    /// Region and parent of each calling context.
    parents: IdTable<(u32, u32)>,
    unknown_site: u32,
}

impl CallSiteIndex {
    pub(super) fn new(definitions: &ArchiveDefinitions) -> CallSiteIndex {
        CallSiteIndex::with_budget(definitions, MAX_TEXT_BYTES)
    }

    /// Like `new`; names beyond the budget are dropped.
    fn with_budget(definitions: &ArchiveDefinitions, room: usize) -> CallSiteIndex {
        let names = MpiFunctionNames::new();
        let mut sites = CallSiteIndex::default();
        for (number, region) in definitions.regions.iter() {
            if let Some(operation) = names.find(&region.canonical_name).or_else(|| names.find(&region.name)) {
                sites.functions.insert(number, operation);
            }
        }
        for context in &definitions.calling_contexts {
            sites.parents.insert(context.number, (context.region, context.parent));
        }
        if definitions.call_sites.is_empty() {
            sites.add_foreign_sites(definitions, TextBudget(room));
        } else {
            sites.add_own_sites(definitions, TextBudget(room));
        }
        sites
    }

    fn add_own_sites(&mut self, definitions: &ArchiveDefinitions, mut room: TextBudget) {
        let by_number: HashMap<u32, &CallingContext> =
            definitions.calling_contexts.iter().map(|context| (context.number, context)).collect();
        for context in &definitions.calling_contexts {
            let Some((module, offset)) = definitions.call_sites.get(&context.number) else { continue };
            let around =
                || std::iter::successors(by_number.get(&context.parent).copied(), |context| by_number.get(&context.parent).copied());
            let is_site = |context: &&CallingContext| definitions.call_sites.contains_key(&context.number);
            // Contexts up to the next call site were inlined; that one is the caller.
            let inlined = around().take_while(|context| !is_site(context));
            let own = std::iter::once(context).chain(inlined).take(MAX_INLINE_DEPTH);
            let mut frames: Vec<SourceFrame> = own.map(|context| room.frame(definitions, context)).collect();
            let caller = around().take(MAX_INLINE_DEPTH).find(is_site).and_then(|caller| self.contexts.get(caller.number).copied());
            if frames == [SourceFrame::default()] {
                frames.clear();
            }
            self.contexts.insert(context.number, self.sites.len() as u32);
            self.sites.push(CallSiteDefinition { module: room.copy_text(module).unwrap_or_default(), offset: *offset, caller, frames });
        }
        self.unknown_site = self.sites.len() as u32;
    }

    fn add_foreign_sites(&mut self, definitions: &ArchiveDefinitions, mut room: TextBudget) {
        self.unknown_site = self.add(SourceFrame::default());
        for context in &definitions.calling_contexts {
            let number = self.add(room.frame(definitions, context));
            self.sites[number as usize].caller = self.contexts.get(context.parent).copied();
            self.contexts.insert(context.number, number);
        }
        let mut lines: Vec<_> = definitions.source_code_locations.iter().collect();
        lines.sort_by_key(|(number, _)| *number);
        for (number, line) in lines {
            let site =
                self.add(SourceFrame { function: None, file: line.file.as_deref().and_then(|file| room.copy_text(file)), line: line.line });
            self.lines.insert(number, site);
        }
        let mut regions: Vec<_> = definitions.regions.iter().filter(|(number, _)| self.functions.get(*number).is_none()).collect();
        regions.sort_by_key(|(number, _)| *number);
        for (number, region) in regions {
            let file = region.file.as_deref().and_then(|file| room.copy_text(file));
            let module = file.as_deref().and_then(|file| room.copy_text(file)).unwrap_or_default();
            let site = self.add(SourceFrame { function: room.copy_text(&region.name), file, line: None });
            self.sites[site as usize].module = module;
            self.regions.insert(number, site);
        }
    }

    fn add(&mut self, frame: SourceFrame) -> u32 {
        let frames = if frame == SourceFrame::default() { Vec::new() } else { vec![frame] };
        self.sites.push(CallSiteDefinition { frames, ..CallSiteDefinition::default() });
        self.sites.len() as u32 - 1
    }

    pub(super) fn mpi_function(&self, region: u32) -> Option<FunctionId> {
        self.functions.get(region).copied()
    }

    /// The region of a calling context, and its parent.
    pub(super) fn context(&self, context: u32) -> Option<(u32, u32)> {
        self.parents.get(context).copied()
    }

    /// The site of a call: from its attributes, else its calling context, else the enclosing region.
    pub(super) fn find(&self, attributes: &CallAttributeList, context: Option<u32>, region: Option<u32>) -> u32 {
        let by = |sites: &IdTable<u32>, number: Option<u32>| number.and_then(|number| sites.get(number).copied());
        let attribute = |field| attributes.get(field).map(|number| number as u32);
        by(&self.contexts, attribute(CallAttribute::CallSite))
            .or_else(|| by(&self.lines, attribute(CallAttribute::SourceLine)))
            .or_else(|| by(&self.contexts, context))
            .or_else(|| by(&self.regions, region))
            .unwrap_or(self.unknown_site)
    }
}

/// Remaining bytes of names.
pub(super) struct TextBudget(usize);

impl TextBudget {
    /// The names of all call sites, or of all frames.
    pub(super) fn new() -> TextBudget {
        TextBudget(MAX_TEXT_BYTES)
    }

    /// Copies a name, unless it is empty or exceeds the budget.
    pub(super) fn copy_text(&mut self, name: &str) -> Option<String> {
        self.0 = self.0.checked_sub(name.len())?;
        Some(name.to_owned()).filter(|name| !name.is_empty())
    }

    fn frame(&mut self, definitions: &ArchiveDefinitions, context: &CallingContext) -> SourceFrame {
        let function = definitions.regions.get(context.region).and_then(|region| self.copy_text(&region.name));
        let line = definitions.source_code_locations.get(context.source_code_location);
        SourceFrame { function, file: line.and_then(|line| self.copy_text(line.file.as_deref()?)), line: line.and_then(|line| line.line) }
    }
}

/// MPI function names as tools write them: C, Fortran, with the profiling prefix, with parentheses.
struct MpiFunctionNames {
    by_name: HashMap<String, FunctionId>,
}

impl MpiFunctionNames {
    fn new() -> MpiFunctionNames {
        let known = FUNCTIONS.iter().zip(0..).map(|(function, number)| (function.name.to_ascii_lowercase(), FunctionId(number)));
        MpiFunctionNames { by_name: known.collect() }
    }

    fn find(&self, name: &str) -> Option<FunctionId> {
        let name = name.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
        let name = name.strip_prefix('p').filter(|name| name.starts_with("mpi_")).unwrap_or(&name);
        let name = name.trim_end_matches('_');
        let plain = name.strip_suffix("_c").or_else(|| name.strip_suffix("_f08")).unwrap_or(name);
        self.by_name.get(name).or_else(|| self.by_name.get(plain)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::read::definitions::RegionDefinition;

    #[test]
    fn one_long_name_cannot_fill_the_memory() {
        let mut definitions = ArchiveDefinitions::default();
        definitions.regions.insert(1, RegionDefinition { name: "x".repeat(1000), canonical_name: String::new(), file: None });
        let context = |number: u32| CallingContext { number, region: 1, source_code_location: 0, parent: number.wrapping_sub(1) };
        definitions.calling_contexts = (0..500).map(context).collect();
        let text = |definitions: &ArchiveDefinitions| {
            let sites = CallSiteIndex::with_budget(definitions, 100_000).sites;
            assert!(sites.len() >= 500);
            sites.iter().flat_map(|site| &site.frames).filter_map(|frame| frame.function.as_ref()).map(String::len).sum::<usize>()
        };
        assert_eq!(text(&definitions), 100_000, "of another tool");
        definitions.call_sites = (0..500).map(|number| (number, (String::new(), 0))).collect();
        assert_eq!(text(&definitions), 100_000, "of our own");
    }

    #[test]
    fn functions_are_known_by_all_their_names() {
        let names = MpiFunctionNames::new();
        for name in ["MPI_Send", "mpi_send_", "mpi_send__", "MPI_SEND", "PMPI_Send", "MPI_Send()", "MPI_Send_c", "mpi_send_f08_"] {
            assert_eq!(names.find(name).map(FunctionId::name), Some("MPI_Send"), "{name}");
        }
        for name in ["main", "", "MPI_", "send", "MPI_Sender"] {
            assert_eq!(names.find(name), None, "{name}");
        }
    }
}
