//! Resolves functions by name.

use std::collections::{HashMap, HashSet};

use sintonia_text::suggestion::nearest_name;

use crate::arguments::{self, FunctionParameter};
use crate::debug::{DebugInfo, DieRef};
use crate::error::SymbolError;
use crate::function_name::{FunctionName, NameMatch};
use crate::inline_site::InlineSite;
use crate::inlining;
use crate::module::{LinkerSymbol, LoadedModule, ProgramImage};
use crate::named_function::{FunctionIdentity, NamedFunction};
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
    /// Inlined calls, which do not reach this code.
    pub inlined_at: Vec<InlineSite>,
    /// Other functions with the same code, merged by the compiler: their calls reach this code, too.
    pub merged_with: Vec<String>,
}

impl ProgramImage {
    /// All copies of the function that a name denotes: a symbol, or a name of the source, of which namespaces or module, template arguments
    /// and parameters may be left out as long as it is clear which function is meant; `file.c:name` for one of several static functions.
    pub fn functions(&self, name: &str) -> Result<Vec<ResolvedFunction>, SymbolError> {
        if symbol_names::depends_on_caller(name) {
            return Err(SymbolError::DependsOnCaller(name.to_owned()));
        }
        let wanted = FunctionName::parse(name);
        let mut only_part = None;
        for module in &self.modules {
            let found = module.functions_named(name, &wanted)?;
            let (parts, whole): (Vec<&LinkerSymbol>, Vec<&LinkerSymbol>) =
                found.into_iter().partition(|symbol| symbol_names::is_partial_clone(symbol_names::split_clone_suffix(&symbol.name).1));
            if !whole.is_empty() {
                return Ok(whole.into_iter().map(|symbol| module.function(symbol)).collect());
            }
            only_part = only_part.or(parts.first().map(|part| part.name.clone()));
        }
        Err(self.explain_missing(name, &wanted, only_part))
    }

    fn explain_missing(&self, name: &str, wanted: &FunctionName, only_part: Option<String>) -> SymbolError {
        let name = name.to_owned();
        let sites = self.modules.iter().map(|module| module.inlined_calls(wanted)).find(|sites| !sites.is_empty());
        if let Some(sites) = sites {
            return SymbolError::Inlined { name, sites };
        }
        if let Some(part) = only_part {
            return SymbolError::OnlyPartialClone { name, part };
        }
        let Some(own) = self.modules.first() else { return SymbolError::Unknown { what: "function", name, near: None } };
        if own.is_stripped() {
            return SymbolError::Stripped { what: "function", name, path: own.path.clone() };
        }
        if own.has_variable(&name) {
            return SymbolError::OtherKind { what: "function", name, kind: "variable" };
        }
        SymbolError::Unknown { what: "function", near: own.nearest_function(wanted), name }
    }
}

impl LoadedModule {
    /// The symbols of the one function that a name denotes; an error if there are several.
    fn functions_named(&self, text: &str, wanted: &FunctionName) -> Result<Vec<&LinkerSymbol>, SymbolError> {
        let symbols = self.symbols();
        let has_symbol = |symbol: &&LinkerSymbol| symbol.name == text || symbol_names::split_clone_suffix(&symbol.name).0 == text;
        let by_symbol: Vec<&LinkerSymbol> = symbols.functions().filter(has_symbol).collect();
        if let [only] = by_symbol[..] {
            return Ok(vec![only]);
        }
        if by_symbol.is_empty() && !symbols.may_have(wanted.last()) {
            return Ok(Vec::new());
        }
        let mut found: Vec<&NamedFunction> = if by_symbol.is_empty() {
            self.best_matches(wanted)
        } else {
            self.named_functions().iter().filter(|named| has_symbol(&&symbols.list[named.symbol])).collect()
        };
        // Of several names of the same code, the first stands for all.
        let mut addresses = HashSet::new();
        found.retain(|named| addresses.insert((symbols.list[named.symbol].address, named.identity.clone())));
        let mut candidates: Vec<String> = Vec::new();
        let mut identities = HashSet::new();
        for named in &found {
            if identities.insert(&named.identity) {
                candidates.push(named.display.clone());
            }
        }
        if candidates.len() > 1 {
            return Err(SymbolError::AmbiguousFunction { name: text.to_owned(), candidates });
        }
        Ok(found.into_iter().map(|named| &symbols.list[named.symbol]).collect())
    }

    /// The functions that a name fits best.
    fn best_matches(&self, wanted: &FunctionName) -> Vec<&NamedFunction> {
        let in_file = |named: &&NamedFunction| {
            let Some(file) = &wanted.file else { return true };
            self.declared_at(named).is_some_and(|(own, _)| own == *file)
        };
        let fits = |named: &'_ NamedFunction| named.name.is_meant_by(wanted);
        let all: Vec<(NameMatch, &NamedFunction)> =
            self.named_functions().iter().filter(in_file).filter_map(|named| Some((fits(named)?, named))).collect();
        let best = all.iter().map(|(quality, _)| *quality).max();
        all.into_iter().filter(|(quality, _)| Some(*quality) == best).map(|(_, named)| named).collect()
    }

    /// File and line of a function in the source.
    pub(crate) fn declared_at(&self, named: &NamedFunction) -> Option<(String, u64)> {
        let symbol = &self.symbols().list[named.symbol];
        let debug = self.debug()?;
        debug.declared_at(debug.function_at(symbol.address, symbol_names::split_clone_suffix(&symbol.name).0)?)
    }

    /// The functions with their names in the source.
    pub(crate) fn name_functions(&self) -> Vec<NamedFunction> {
        let symbols = self.symbols();
        let functions = symbols.list.iter().enumerate().filter(|(_, symbol)| symbol.is_function);
        let mut named: Vec<NamedFunction> = functions.map(|(index, symbol)| self.name_function(index, symbol)).collect();
        // Static functions of several files may have the same name.
        let mut known: HashMap<&str, &FunctionIdentity> = HashMap::new();
        let mut shared: HashSet<String> = HashSet::new();
        for named in &named {
            if *known.entry(&named.display).or_insert(&named.identity) != &named.identity {
                shared.insert(named.display.clone());
            }
        }
        for function in named.iter_mut().filter(|function| shared.contains(&function.display)) {
            if let Some((file, _)) = self.declared_at(function) {
                function.display = format!("{file}:{}", function.display);
            }
        }
        named
    }

    fn name_function(&self, index: usize, symbol: &LinkerSymbol) -> NamedFunction {
        let base = symbol_names::split_clone_suffix(&symbol.name).0;
        let demangled = symbol_names::demangle(base);
        let die = self.debug().and_then(|debug| Some((debug, debug.function_at(symbol.address, base)?)));
        // The compiler may have merged functions, and describes only one of them.
        let is_own = |(debug, die): &(&DebugInfo, DieRef)| {
            let name = debug.linker_name(*die).unwrap_or_default();
            demangled.is_none() || name == base || symbol_names::demangle(&name) == demangled
        };
        let die = die.filter(is_own);
        let fortran = match die {
            Some((debug, die)) => debug.fortran_path(die).map(|path| path.iter().map(String::as_str).collect()),
            None => symbol_names::fortran_path(base),
        };
        let (name, display) = match (&demangled, fortran) {
            (Some(full), _) => (FunctionName::parse(full), full.clone()),
            (None, Some(path)) => {
                let name = FunctionName::from_path(path, true);
                let display = name.plain_path();
                (name, display)
            }
            (None, None) => (FunctionName::from_path([base], false), base.to_owned()),
        };
        let by_name = || FunctionIdentity::Name(demangled.clone().unwrap_or_else(|| base.to_owned()));
        let identity = die.map_or_else(by_name, |(debug, die)| FunctionIdentity::Entry(debug.declaration(die)));
        NamedFunction { symbol: index, name, display, identity }
    }

    /// The name to show for a function.
    pub(crate) fn display_name(&self, symbol: &LinkerSymbol) -> String {
        let symbols = &self.symbols().list;
        let named = self.named_functions().iter().find(|named| symbols[named.symbol] == *symbol);
        named.map_or_else(|| symbol.name.clone(), |named| named.display.clone())
    }

    fn nearest_function(&self, wanted: &FunctionName) -> Option<String> {
        /// Names that differ more in length are not compared: a hint is not worth the time.
        const LONGEST_DIFFERENCE: usize = 3;
        let (last, path) = (wanted.last(), wanted.plain_path());
        let all = self.named_functions();
        let alike = |name: &str, wanted: &str| name.len().abs_diff(wanted.len()) <= LONGEST_DIFFERENCE;
        let lasts: HashMap<&str, &NamedFunction> =
            all.iter().filter(|named| alike(named.name.last(), last)).map(|named| (named.name.last(), named)).collect();
        if let Some(near) = nearest_name(last, lasts.keys().copied()) {
            return Some(lasts[near].name.plain_path());
        }
        let paths: Vec<String> = all.iter().map(|named| named.name.plain_path()).filter(|name| alike(name, &path)).collect();
        nearest_name(&path, paths.iter().map(String::as_str)).map(str::to_owned)
    }

    /// Other functions of the source with the code of this one.
    fn merged_with(&self, symbol: &LinkerSymbol) -> Vec<String> {
        let own = symbol_names::demangle(symbol_names::split_clone_suffix(&symbol.name).0);
        let others = self.symbols().functions_at(symbol.address).filter(|other| other.size > 0 && other.name != symbol.name);
        let names = others.filter_map(|other| symbol_names::demangle(symbol_names::split_clone_suffix(&other.name).0));
        let mut names: Vec<String> = names.filter(|name| own.as_ref() != Some(name)).collect();
        names.dedup();
        names
    }

    pub(crate) fn function(&self, symbol: &LinkerSymbol) -> ResolvedFunction {
        let end = symbol.address + symbol.size;
        let (base, suffix) = symbol_names::split_clone_suffix(&symbol.name);
        let debug = self.debug().and_then(|debug| Some((debug, debug.function_at(symbol.address, base)?)));
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
            inlined_at: debug.map(|(debug, function)| inlining::sites_of(debug, function)).unwrap_or_default(),
            merged_with: self.merged_with(symbol),
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
