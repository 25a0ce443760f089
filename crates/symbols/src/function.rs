//! Resolves functions by name.

use sintonia_text::suggestion::nearest_name;

use crate::arguments::{self, FunctionParameter};
use crate::debug::{DebugInfo, DieRef};
use crate::error::SymbolError;
use crate::module::{LinkerSymbol, LoadedModule, ProgramImage};
use crate::symbol_names;
use crate::types::{self, ValueType};

/// A function with code of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedFunction {
    /// Symbol name.
    pub symbol: String,
    /// Address in the process.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Padding bytes after it.
    pub padding: u64,
    /// Suffix of a compiler-generated clone; its parameters may differ from the source.
    pub clone: Option<String>,
    /// Parameters; `None` without debug information.
    pub parameters: Option<Vec<FunctionParameter>>,
    /// Result type, if any and if known.
    pub result: Option<ValueType>,
    /// Whether arguments may be on the stack: false only if it is known that none is.
    pub uses_stack: bool,
}

impl ProgramImage {
    /// All functions that a name denotes: an exact symbol, a C++ or Fortran name, or all clones.
    pub fn functions(&self, name: &str) -> Result<Vec<ResolvedFunction>, SymbolError> {
        if symbol_names::depends_on_caller(name) {
            return Err(SymbolError::DependsOnCaller(name.to_owned()));
        }
        let mut only_part = None;
        for module in &self.modules {
            let found = matching_symbols(module, name);
            let (parts, whole): (Vec<&LinkerSymbol>, Vec<&LinkerSymbol>) =
                found.into_iter().partition(|symbol| symbol_names::is_partial_clone(symbol_names::split_clone_suffix(&symbol.name).1));
            if !whole.is_empty() {
                return Ok(whole.into_iter().map(|symbol| module.function(symbol)).collect());
            }
            only_part = only_part.or(parts.first().map(|part| part.name.clone()));
        }
        Err(self.explain_missing(name, only_part))
    }

    fn explain_missing(&self, name: &str, only_part: Option<String>) -> SymbolError {
        let inlined =
            self.modules.iter().filter_map(LoadedModule::debug).map(|debug| inlined_count(debug, name)).find(|places| *places > 0);
        if let Some(places) = inlined {
            return SymbolError::Inlined { name: name.to_owned(), places };
        }
        if let Some(part) = only_part {
            return SymbolError::OnlyPartialClone { name: name.to_owned(), part };
        }
        let own = self.modules.first();
        let names =
            own.iter().flat_map(|module| module.symbols().functions()).map(|symbol| symbol_names::split_clone_suffix(&symbol.name).0);
        SymbolError::Unknown { what: "function", name: name.to_owned(), near: nearest_name(name, names).map(str::to_owned) }
    }
}

/// The symbols that a name may denote; the first kind of match wins.
fn matching_symbols<'module>(module: &'module LoadedModule, name: &str) -> Vec<&'module LinkerSymbol> {
    let symbols = module.symbols();
    let exact = symbols.by_name(name).filter(|symbol| symbol.is_function);
    if let Some(exact) = exact {
        return vec![exact];
    }
    let clones: Vec<&LinkerSymbol> =
        symbols.functions().filter(|symbol| symbol_names::split_clone_suffix(&symbol.name).0 == name).collect();
    if !clones.is_empty() {
        return clones;
    }
    let written = |symbol: &&LinkerSymbol| {
        symbol_names::demangle(symbol_names::split_clone_suffix(&symbol.name).0).is_some_and(|full| symbol_names::matches_name(&full, name))
    };
    let in_cpp: Vec<&LinkerSymbol> = symbols.functions().filter(written).collect();
    if !in_cpp.is_empty() {
        return in_cpp;
    }
    let fortran = symbol_names::fortran_symbols(name);
    symbols.functions().filter(|symbol| fortran.iter().any(|fortran| symbol_names::split_clone_suffix(&symbol.name).0 == fortran)).collect()
}

/// Number of call sites into which a function was inlined.
fn inlined_count(debug: &DebugInfo, name: &str) -> usize {
    let index = debug.index();
    let plain = name.rsplit("::").next().unwrap_or(name);
    let all = index.sources.get(name).or_else(|| index.sources.get(plain)).into_iter().flatten();
    all.map(|function| index.inlined.get(function).copied().unwrap_or(0)).sum()
}

impl LoadedModule {
    fn function(&self, symbol: &LinkerSymbol) -> ResolvedFunction {
        let end = symbol.address + symbol.size;
        let (_, suffix) = symbol_names::split_clone_suffix(&symbol.name);
        let debug = self.debug().and_then(|debug| Some((debug, *debug.index().functions.get(&symbol.address)?)));
        let parameters = debug.map(|(debug, function)| arguments::parameters(debug, function, symbol.address, !suffix.is_empty()));
        let result = debug.and_then(|(debug, function)| types::type_of(debug, function).map(|kind| types::describe(debug, kind)));
        // Of a function that other files cannot call, compilers may change the parameters.
        let is_as_written = suffix.is_empty() && !symbol.is_local && !debug.is_some_and(|(debug, function)| is_variadic(debug, function));
        let all_in_registers = |parameters: &Vec<FunctionParameter>| arguments::fit_registers(parameters, result.as_ref());
        ResolvedFunction {
            symbol: symbol.name.clone(),
            address: symbol.address + self.bias,
            size: symbol.size,
            padding: self.symbols().next_address_after(symbol.address).map_or(0, |next| next.saturating_sub(end)).min(16),
            clone: (!suffix.is_empty()).then(|| suffix.to_owned()),
            uses_stack: !is_as_written || !parameters.as_ref().is_some_and(all_in_registers),
            parameters,
            result,
        }
    }
}

/// Whether a function is variadic.
fn is_variadic(debug: &DebugInfo, function: DieRef) -> bool {
    debug
        .children(function)
        .into_iter()
        .filter_map(|child| debug.entry(child))
        .any(|entry| entry.tag() == gimli::DW_TAG_unspecified_parameters)
}
