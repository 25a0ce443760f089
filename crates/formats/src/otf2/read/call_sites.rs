//! The call sites of an archive.
//!
//! Sintonia's archives define them exactly. Other tools have less: calling contexts, a source line as an attribute, or only the enclosing
//! regions. Each of these is a call path; sites are numbered before calls are read.

use std::collections::{HashMap, HashSet};

use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_otf2::buffer::UNDEFINED_UINT32;
use sintonia_recording::header::{CallSiteDefinition, SourceFrame};

use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::id_table::IdTable;
use crate::otf2::read::call_path_tree::{CallPathTree, MAX_DEPTH};
use crate::otf2::read::definitions::{ArchiveDefinitions, CallingContext};
use crate::otf2::read::open_regions::OpenRegions;
use crate::otf2::read::text_budget::TextBudget;

/// Limit of inlining depth.
const MAX_INLINE_DEPTH: usize = 64;

/// The call sites of an archive by their definitions.
#[derive(Default)]
pub(super) struct CallSiteIndex {
    pub sites: Vec<CallSiteDefinition>,
    /// Sites by calling context.
    contexts: IdTable<u32>,
    /// The paths of another tool's calls; the site of the first node follows the unknown site.
    paths: CallPathTree,
    /// The regions that are MPI functions.
    functions: IdTable<FunctionId>,
    calling_contexts: IdTable<CallingContext>,
    unknown_site: u32,
}

impl CallSiteIndex {
    /// The call sites that definitions give.
    pub(super) fn new(definitions: &ArchiveDefinitions) -> CallSiteIndex {
        let names = MpiFunctionNames::new();
        let mut sites = CallSiteIndex::default();
        for (number, region) in definitions.regions.iter() {
            if let Some(operation) = names.find(&region.canonical_name).or_else(|| names.find(&region.name)) {
                sites.functions.insert(number, operation);
            }
        }
        for context in &definitions.calling_contexts {
            sites.calling_contexts.insert(context.number, *context);
        }
        if definitions.call_sites.is_empty() {
            sites.add_foreign_contexts(definitions);
        } else {
            sites.add_own_sites(definitions, TextBudget::new());
        }
        sites
    }

    fn add_own_sites(&mut self, definitions: &ArchiveDefinitions, mut room: TextBudget) {
        for context in &definitions.calling_contexts {
            let Some((module, offset)) = definitions.call_sites.get(&context.number) else { continue };
            let is_site = |context: &&CallingContext| definitions.call_sites.contains_key(&context.number);
            // Contexts up to the next call site were inlined; that one is the caller.
            let inlined = self.callers(context).take_while(|context| !is_site(context));
            let own = std::iter::once(context).chain(inlined).take(MAX_INLINE_DEPTH);
            let mut frames: Vec<SourceFrame> = own.map(|context| room.frame(definitions, context)).collect();
            let caller = self.callers(context).take(MAX_INLINE_DEPTH).find(is_site);
            let caller = caller.and_then(|caller| self.contexts.get(caller.number).copied());
            if frames == [SourceFrame::default()] {
                frames.clear();
            }
            self.contexts.insert(context.number, self.sites.len() as u32);
            self.sites.push(CallSiteDefinition { module: room.copy_text(module).unwrap_or_default(), offset: *offset, caller, frames });
        }
        self.unknown_site = self.sites.len() as u32;
    }

    /// Adds the paths of the contexts that call MPI.
    fn add_foreign_contexts(&mut self, definitions: &ArchiveDefinitions) {
        self.sites.push(CallSiteDefinition::default());
        let mut calling = HashSet::new();
        for context in definitions.calling_contexts.iter().filter(|context| self.is_mpi(context)) {
            let callers = self.callers(context).take_while(|caller| !self.is_mpi(caller));
            for caller in callers {
                if !calling.insert(caller.number) {
                    break;
                }
            }
        }
        for context in definitions.calling_contexts.iter().filter(|context| calling.contains(&context.number)) {
            let caller = self.contexts.get(context.parent).map(|site| site - self.first_path_site());
            if let Some(node) = self.paths.intern(caller, context.step()) {
                self.contexts.insert(context.number, self.first_path_site() + node);
            }
        }
    }

    /// Adds the paths of the calls of all processes; the sites of another tool's trace are complete then.
    pub(super) fn add_paths(&mut self, definitions: &ArchiveDefinitions, processes: &[CallPathTree], mut room: TextBudget) {
        for paths in processes {
            self.paths.merge(paths);
        }
        self.sites.extend(self.paths.to_call_sites(definitions, self.first_path_site(), &mut room));
    }

    fn first_path_site(&self) -> u32 {
        self.unknown_site + 1
    }

    fn is_mpi(&self, context: &CallingContext) -> bool {
        self.functions.get(context.region).is_some()
    }

    /// The contexts around a context, innermost first.
    fn callers(&self, context: &CallingContext) -> impl Iterator<Item = &CallingContext> {
        std::iter::successors(self.calling_contexts.get(context.parent), |context| self.calling_contexts.get(context.parent))
    }

    pub(super) fn mpi_function(&self, region: u32) -> Option<FunctionId> {
        self.functions.get(region).copied()
    }

    /// The region of a calling context, and its parent.
    pub(super) fn region_of_context(&self, context: u32) -> (u32, Option<u32>) {
        self.calling_contexts.get(context).map_or((UNDEFINED_UINT32, None), |context| (context.region, Some(context.parent)))
    }

    pub(super) fn site_of_context(&self, context: u32) -> Option<u32> {
        self.contexts.get(context).copied()
    }

    /// The contexts of a stack, innermost first, without those of an MPI call; and whether there was one.
    pub(super) fn stack_of_context(&self, context: u32) -> (Vec<CallingContext>, bool) {
        let Some(innermost) = self.calling_contexts.get(context) else { return (Vec::new(), false) };
        let mut stack: Vec<CallingContext> = std::iter::once(innermost).chain(self.callers(innermost)).take(MAX_DEPTH).copied().collect();
        let call = stack.iter().rposition(|context| self.is_mpi(context));
        stack.drain(..call.map_or(0, |call| call + 1));
        (stack, call.is_some())
    }

    /// The site of a call: from its attributes, else its calling context, else the enclosing regions.
    pub(super) fn find(&self, attributes: &CallAttributeList, context: Option<u32>, open: &mut OpenRegions) -> u32 {
        let attribute = |field| attributes.get(field).map(|number| number as u32);
        let known = attribute(CallAttribute::CallSite).and_then(|context| self.site_of_context(context));
        if let Some(site) = known.or_else(|| self.site_of_context(context?)) {
            return site;
        }
        let path = open.call_path(attribute(CallAttribute::SourceLine), |caller, step| self.paths.find(caller, step));
        path.map_or(self.unknown_site, |node| self.first_path_site() + node)
    }
}

impl TextBudget {
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

    /// Contexts of a function with a long name, each in the one before.
    fn nested_contexts() -> ArchiveDefinitions {
        let mut definitions = ArchiveDefinitions::default();
        let region = |name: String| RegionDefinition { name, canonical_name: String::new(), file: None, begin_line: None };
        definitions.regions.insert(1, region("x".repeat(1000)));
        definitions.regions.insert(2, region("MPI_Barrier".into()));
        let context = |number: u32| CallingContext { number, region: 1, source_code_location: 0, parent: number.wrapping_sub(1) };
        definitions.calling_contexts = (0..500).map(context).collect();
        definitions.calling_contexts.push(CallingContext { region: 2, ..context(500) });
        definitions
    }

    #[test]
    fn one_long_name_cannot_fill_the_memory() {
        let text = |sites: &CallSiteIndex| {
            assert!(sites.sites.len() >= 500);
            sites.sites.iter().flat_map(|site| &site.frames).filter_map(|frame| frame.function.as_ref()).map(String::len).sum::<usize>()
        };
        let mut definitions = nested_contexts();
        let mut foreign = CallSiteIndex::new(&definitions);
        foreign.add_paths(&definitions, &[], TextBudget::with_bytes(100_000));
        assert_eq!(text(&foreign), 100_000, "of another tool");
        definitions.call_sites = (0..500).map(|number| (number, (String::new(), 0))).collect();
        let mut own = CallSiteIndex::default();
        own.add_own_sites(&definitions, TextBudget::with_bytes(100_000));
        assert_eq!(text(&own), 100_000, "of our own");
    }

    #[test]
    fn contexts_that_call_mpi_are_sites_and_those_in_it_are_not_in_a_stack() {
        let mut definitions = nested_contexts();
        let other = |number, region, parent| CallingContext { number, region, source_code_location: 0, parent };
        definitions.calling_contexts.extend([other(501, 1, 500), other(502, 1, 3)]);
        let mut sites = CallSiteIndex::new(&definitions);
        sites.add_paths(&definitions, &[], TextBudget::new());
        assert_eq!(sites.sites.len(), 1 + 500);
        assert_eq!((sites.site_of_context(499), sites.sites[500].caller), (Some(500), Some(499)));
        assert_eq!([500, 501, 502].map(|context| sites.site_of_context(context)), [None; 3], "no call of MPI");
        let (stack, in_mpi) = sites.stack_of_context(501);
        assert_eq!((stack[0].number, in_mpi), (499, true));
        let (stack, in_mpi) = sites.stack_of_context(502);
        assert_eq!((stack.iter().map(|context| context.number).collect::<Vec<_>>(), in_mpi), (vec![502, 3, 2, 1, 0], false));
        assert_eq!(sites.stack_of_context(777), (Vec::new(), false));
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
