//! Calls that the compiler has inlined: a hook does not see them, whether or not a copy of the function is left.

use crate::debug::{DebugInfo, DieRef, InlinedCall};
use crate::function_name::FunctionName;
use crate::inline_site::InlineSite;
use crate::module::LoadedModule;
use crate::symbol_names;

impl LoadedModule {
    /// Where calls of the functions with this name were inlined.
    pub(crate) fn inlined_calls(&self, wanted: &FunctionName) -> Vec<InlineSite> {
        let Some(debug) = self.debug() else { return Vec::new() };
        let is_meant = |function: &DieRef| {
            let in_file = wanted.file.as_ref().is_none_or(|file| debug.declared_at(*function).is_some_and(|(own, _)| own == *file));
            in_file && source_name(debug, *function).is_meant_by(wanted).is_some()
        };
        let inlined = debug.index().inlined.iter().filter(|(function, _)| is_meant(function));
        sites(debug, inlined.flat_map(|(_, calls)| calls))
    }
}

/// Where calls of a function were inlined.
pub(crate) fn sites_of(debug: &DebugInfo, function: DieRef) -> Vec<InlineSite> {
    sites(debug, debug.index().inlined.get(&debug.declaration(function)).into_iter().flatten())
}

fn sites<'call>(debug: &DebugInfo, calls: impl Iterator<Item = (&'call InlinedCall, &'call DieRef)>) -> Vec<InlineSite> {
    let mut sites: Vec<InlineSite> = calls
        .map(|(call, caller)| InlineSite {
            file: debug.numbered_file(call.unit, call.file).unwrap_or_else(|| debug.file(call.unit)),
            line: call.line,
            caller: source_name(debug, *caller).plain_path(),
        })
        .collect();
    sites.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    sites.dedup_by(|one, other| (&one.file, one.line) == (&other.file, other.line));
    sites
}

/// The name of a function in the source.
pub(crate) fn source_name(debug: &DebugInfo, function: DieRef) -> FunctionName {
    if let Some(path) = debug.fortran_path(function) {
        return FunctionName::from_path(path.iter().map(String::as_str), true);
    }
    let name = debug.linker_name(function).unwrap_or_default();
    FunctionName::parse(&symbol_names::demangle(&name).unwrap_or(name))
}

/// The name to show for a function without a symbol.
pub(crate) fn display_name(debug: &DebugInfo, function: DieRef) -> String {
    if let Some(path) = debug.fortran_path(function) {
        return path.join("::");
    }
    let name = debug.linker_name(function).unwrap_or_default();
    symbol_names::demangle(&name).unwrap_or(name)
}
