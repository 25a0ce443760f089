//! Resolves global variables and their components by name.

use gimli::{AttributeValue, Operation};
use sintonia_text::suggestion::nearest_name;

use crate::debug::{DebugInfo, DieRef};
use crate::error::SymbolError;
use crate::module::{LoadedModule, ProgramImage};
use crate::types::{self, ValueType};
use crate::variable_path::{PathStep, VariablePath};

/// Address and type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedVariable {
    /// Address of the value, or of the first pointer on the path to it.
    pub address: u64,
    /// Offset added to each pointer on the path, in order.
    pub pointer_offsets: Vec<u64>,
    /// The type of the value.
    pub value_type: ValueType,
}

impl ProgramImage {
    /// Resolves a variable as written in the source: `grid.nx`, `work->chunk`, `file.c:table[3]`, `module::limit`.
    pub fn variable(&self, text: &str) -> Result<ResolvedVariable, SymbolError> {
        let path = VariablePath::parse(text)?;
        for module in &self.modules {
            if let Some(debug) = module.debug()
                && let Some(found) = find_in_debug_info(debug, &path)?
            {
                return resolve_path(module, debug, found, text, &path.steps);
            }
        }
        match self.modules.iter().find(|module| module.symbols().by_name(&path.name).is_some_and(|symbol| !symbol.is_function)) {
            Some(module) => Err(SymbolError::NoDebugInfo { path: module.path.clone(), name: path.name }),
            None => Err(self.unknown_variable(path.name)),
        }
    }

    /// Resolves a variable with a type declared by the user: only its address is needed.
    pub fn variable_of_type(&self, name: &str, kind: ValueType) -> Result<ResolvedVariable, SymbolError> {
        let found = self.modules.iter().find_map(|module| {
            let symbol = module.symbols().by_name(name).filter(|symbol| !symbol.is_function)?;
            Some(ResolvedVariable { address: symbol.address + module.bias, pointer_offsets: Vec::new(), value_type: kind.clone() })
        });
        found.ok_or_else(|| self.unknown_variable(name.to_owned()))
    }

    fn unknown_variable(&self, name: String) -> SymbolError {
        let own = self.modules.first();
        let debug: Vec<&str> =
            own.and_then(LoadedModule::debug).map(|debug| debug.index().variables.keys().map(String::as_str).collect()).unwrap_or_default();
        let symbols =
            own.iter().flat_map(|module| &module.symbols().list).filter(|symbol| !symbol.is_function).map(|symbol| symbol.name.as_str());
        let near = nearest_name(&name, debug.into_iter().chain(symbols)).map(str::to_owned);
        SymbolError::Unknown { what: "variable", name, near }
    }
}

/// The only variable with this name; `None` if there is none.
fn find_in_debug_info(debug: &DebugInfo, path: &VariablePath) -> Result<Option<DieRef>, SymbolError> {
    let small = path.name.to_lowercase();
    let index = &debug.index().variables;
    let Some(all) = index.get(&path.name).or_else(|| index.get(&small)) else { return Ok(None) };
    let in_file = |found: &&DieRef| path.file.as_ref().is_none_or(|file| debug.file(found.unit) == *file);
    let all: Vec<DieRef> = all.iter().filter(in_file).copied().collect();
    if all.is_empty() {
        return Ok(None);
    }
    let mut located: Vec<(DieRef, StorageLocation)> =
        all.iter().filter_map(|found| Some((*found, storage_location(debug, *found)?))).collect();
    // A Fortran common block is described in every procedure that uses it.
    located.dedup_by(|one, other| one.1 == other.1);
    match located[..] {
        [] => Err(SymbolError::OptimisedAway(path.name.clone())),
        [(found, _)] => Ok(Some(found)),
        _ => {
            let files = located.iter().map(|(found, _)| debug.file(found.unit)).collect();
            Err(SymbolError::Ambiguous { name: path.name.clone(), files })
        }
    }
}

/// Storage of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StorageLocation {
    Address(u64),
    PerThread,
}

fn storage_location(debug: &DebugInfo, reference: DieRef) -> Option<StorageLocation> {
    let entry = debug.entry(reference)?;
    let unit = &debug.units[reference.unit];
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location).ok()?? else { return None };
    let mut operations = expression.operations(unit.encoding());
    let mut address = None;
    while let Ok(Some(operation)) = operations.next() {
        match operation {
            Operation::Address { address: at } => address = Some(at),
            Operation::AddressIndex { index } => address = debug.dwarf.address(unit, index).ok(),
            Operation::PlusConstant { value } => address = address.map(|address| address.wrapping_add(value)),
            Operation::TLS => return Some(StorageLocation::PerThread),
            _ => {}
        }
    }
    address.map(StorageLocation::Address)
}

/// Applies the steps of a path to a variable.
fn resolve_path(
    module: &LoadedModule,
    debug: &DebugInfo,
    found: DieRef,
    text: &str,
    steps: &[PathStep],
) -> Result<ResolvedVariable, SymbolError> {
    let address = match storage_location(debug, found) {
        Some(StorageLocation::Address(address)) => address + module.bias,
        Some(StorageLocation::PerThread) => return Err(SymbolError::ThreadLocal(text.to_owned())),
        None => return Err(SymbolError::OptimisedAway(text.to_owned())),
    };
    let wrong = |part: String, what: String| SymbolError::InvalidPath { path: text.to_owned(), part, what };
    let Some(kind) = types::type_of(debug, found) else { return Err(wrong(text.to_owned(), "its type is unknown".into())) };
    let mut resolver = PathResolver { debug, address, pointer_offsets: Vec::new(), kind };
    for step in steps {
        resolver.apply_step(step).map_err(|what| wrong(step_text(step), what))?;
    }
    Ok(ResolvedVariable {
        address: resolver.address,
        pointer_offsets: resolver.pointer_offsets,
        value_type: types::describe(debug, resolver.kind),
    })
}

fn step_text(step: &PathStep) -> String {
    match step {
        PathStep::Field(name) => name.clone(),
        PathStep::Element(number) => format!("[{number}]"),
        PathStep::Dereference => "*".into(),
    }
}

struct PathResolver<'debug> {
    debug: &'debug DebugInfo,
    address: u64,
    pointer_offsets: Vec<u64>,
    kind: DieRef,
}

impl PathResolver<'_> {
    fn unqualified_type(&self) -> Result<DieRef, String> {
        types::strip_qualifiers(self.debug, self.kind).ok_or_else(|| "its type is unknown".to_owned())
    }

    fn add_offset(&mut self, distance: u64) {
        match self.pointer_offsets.last_mut() {
            Some(last) => *last = last.wrapping_add(distance),
            None => self.address = self.address.wrapping_add(distance),
        }
    }

    /// Follows a pointer.
    fn dereference(&mut self) -> Result<(), String> {
        let kind = self.unqualified_type()?;
        let entry = self.debug.entry(kind).ok_or("its type is unknown")?;
        self.kind = self.debug.referenced_die(kind.unit, &entry, gimli::DW_AT_type).ok_or("its target type is unknown")?;
        self.pointer_offsets.push(0);
        Ok(())
    }

    fn is_pointer(&self) -> bool {
        types::describe(self.debug, self.kind) == ValueType::Pointer
    }

    fn apply_step(&mut self, step: &PathStep) -> Result<(), String> {
        match step {
            PathStep::Dereference if self.is_pointer() => self.dereference(),
            PathStep::Dereference => Err(format!("this is {}, not a pointer", types::describe(self.debug, self.kind))),
            PathStep::Element(number) => self.element(*number),
            PathStep::Field(name) => self.field(name),
        }
    }

    fn field(&mut self, name: &str) -> Result<(), String> {
        if self.is_pointer() {
            self.dereference()?;
        }
        let kind = self.unqualified_type()?;
        match types::field(self.debug, kind, name) {
            Some((kind, distance)) => {
                self.kind = kind;
                self.add_offset(distance);
                Ok(())
            }
            None => Err(self.no_field(kind, name)),
        }
    }

    fn no_field(&self, kind: DieRef, name: &str) -> String {
        let ValueType::Struct { name: structure, .. } = types::describe(self.debug, kind) else {
            return format!("this is {}, which has no fields", types::describe(self.debug, kind));
        };
        let names = types::field_names(self.debug, kind);
        let near = nearest_name(name, names.iter().map(String::as_str)).map(|near| format!("; did you mean `{near}`?"));
        format!("the struct `{structure}` has no field `{name}`{}", near.unwrap_or_else(|| format!("; it has {}", names.join(", "))))
    }

    fn element(&mut self, number: u64) -> Result<(), String> {
        if self.is_pointer() {
            self.dereference()?;
            let bytes = types::describe(self.debug, self.kind).bytes();
            self.add_offset(number.wrapping_mul(bytes));
            return Ok(());
        }
        let kind = self.unqualified_type()?;
        let is_array = matches!(types::describe(self.debug, kind), ValueType::Array { .. });
        let Some((element, bytes, counts)) = types::array_element(self.debug, kind).filter(|_| is_array) else {
            return Err(format!("this is {}, which has no elements", types::describe(self.debug, kind)));
        };
        match counts[..] {
            [Some(count)] if number >= count => return Err(format!("the array has only {count} elements, counted from 0")),
            [_] => {}
            _ => return Err("only one-dimensional arrays can be indexed".into()),
        }
        self.kind = element;
        self.add_offset(number * bytes);
        Ok(())
    }
}
