//! Functions by name.

use sintonia_text::near::nearest;

use crate::arguments::{self, Parameter, Place};
use crate::debug::{Debug, Reference};
use crate::module::{Module, Program, Symbol};
use crate::names;
use crate::problem::Problem;
use crate::types::{self, Type};

/// A function with code of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// As the linker knows it.
    pub symbol: String,
    /// Where it begins in the process.
    pub address: u64,
    /// Its bytes.
    pub size: u64,
    /// The bytes behind it that belong to no other.
    pub padding: u64,
    /// What was put behind its name if the compiler cloned it; its parameters may not be those of the source.
    pub clone: Option<String>,
    /// What it is passed; `None` without debug information.
    pub parameters: Option<Vec<Parameter>>,
    /// What it returns, if anything and if known.
    pub result: Option<Type>,
    /// Whether arguments may be on the stack.
    pub stack: bool,
}

impl Program {
    /// Every function that a name means: the one with that symbol, those with that name in C++ or Fortran, or all clones of it.
    pub fn functions(&self, name: &str) -> Result<Vec<Function>, Problem> {
        if names::depends_on_caller(name) {
            return Err(Problem::DependsOnCaller(name.to_owned()));
        }
        let mut only_part = None;
        for module in &self.modules {
            let found = matching(module, name);
            let (parts, whole): (Vec<&Symbol>, Vec<&Symbol>) =
                found.into_iter().partition(|symbol| names::is_part(names::without_clone(&symbol.name).1));
            if !whole.is_empty() {
                return Ok(whole.into_iter().map(|symbol| module.function(symbol)).collect());
            }
            only_part = only_part.or(parts.first().map(|part| part.name.clone()));
        }
        Err(self.why_not(name, only_part))
    }

    fn why_not(&self, name: &str, only_part: Option<String>) -> Problem {
        let inlined = self.modules.iter().filter_map(Module::debug).map(|debug| inlined(debug, name)).find(|places| *places > 0);
        if let Some(places) = inlined {
            return Problem::Inlined { name: name.to_owned(), places };
        }
        if let Some(part) = only_part {
            return Problem::OnlyPart { name: name.to_owned(), part };
        }
        let own = self.modules.first();
        let names = own.iter().flat_map(|module| module.symbols().functions()).map(|symbol| names::without_clone(&symbol.name).0);
        Problem::Unknown { what: "function", name: name.to_owned(), near: nearest(name, names).map(str::to_owned) }
    }
}

/// The symbols that a name may mean, of the first kind that there is any of.
fn matching<'module>(module: &'module Module, name: &str) -> Vec<&'module Symbol> {
    let symbols = module.symbols();
    let exact = symbols.named(name).filter(|symbol| symbol.is_function);
    if let Some(exact) = exact {
        return vec![exact];
    }
    let clones: Vec<&Symbol> = symbols.functions().filter(|symbol| names::without_clone(&symbol.name).0 == name).collect();
    if !clones.is_empty() {
        return clones;
    }
    let written =
        |symbol: &&Symbol| names::demangled(names::without_clone(&symbol.name).0).is_some_and(|full| names::is_written(&full, name));
    let in_cpp: Vec<&Symbol> = symbols.functions().filter(written).collect();
    if !in_cpp.is_empty() {
        return in_cpp;
    }
    let fortran = names::fortran(name);
    symbols.functions().filter(|symbol| fortran.iter().any(|fortran| names::without_clone(&symbol.name).0 == fortran)).collect()
}

/// How often a function was copied into its callers.
fn inlined(debug: &Debug, name: &str) -> usize {
    let index = debug.index();
    let plain = name.rsplit("::").next().unwrap_or(name);
    let all = index.sources.get(name).or_else(|| index.sources.get(plain)).into_iter().flatten();
    all.map(|function| index.inlined.get(function).copied().unwrap_or(0)).sum()
}

impl Module {
    fn function(&self, symbol: &Symbol) -> Function {
        let end = symbol.address + symbol.size;
        let (_, suffix) = names::without_clone(&symbol.name);
        let debug = self.debug().and_then(|debug| Some((debug, *debug.index().functions.get(&symbol.address)?)));
        let parameters = debug.map(|(debug, function)| arguments::parameters(debug, function, symbol.address, !suffix.is_empty()));
        let on_stack = |parameter: &Parameter| !matches!(parameter.place, Place::Word(_) | Place::Float(_));
        Function {
            symbol: symbol.name.clone(),
            address: symbol.address + self.bias,
            size: symbol.size,
            padding: self.symbols().next_behind(symbol.address).map_or(0, |next| next.saturating_sub(end)).min(16),
            clone: (!suffix.is_empty()).then(|| suffix.to_owned()),
            stack: parameters.as_ref().is_none_or(|parameters| parameters.iter().any(on_stack))
                || debug.is_some_and(|(debug, function)| takes_any(debug, function)),
            parameters,
            result: debug.and_then(|(debug, function)| types::of_entry(debug, function).map(|kind| types::describe(debug, kind))),
        }
    }
}

/// Whether a function can be passed any number of arguments.
fn takes_any(debug: &Debug, function: Reference) -> bool {
    debug
        .children(function)
        .into_iter()
        .filter_map(|child| debug.entry(child))
        .any(|entry| entry.tag() == gimli::DW_TAG_unspecified_parameters)
}
