//! Resolves global variables and their components by name.

use gimli::AttributeValue;
use sintonia_link::value_location::{AddressStep, ValueLocation};
use sintonia_text::suggestion::nearest_name;

use crate::arrays::ArrayShape;
use crate::debug::{DebugInfo, DieRef};
use crate::error::SymbolError;
use crate::location::{self, ExpressionContext, LocationError};
use crate::module::{LoadedModule, ProgramImage};
use crate::types::{self, ValueType};
use crate::variable_path::{PathStep, VariablePath};

/// Location and type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedVariable {
    /// Its location.
    pub location: ValueLocation,
    /// The type of the value.
    pub value_type: ValueType,
}

impl ProgramImage {
    /// Resolves a variable as written in the source: `grid.nx`, `work->chunk`, `file.c:table[3]`, `module::limit`, `cfg%cells(2, 1)`.
    pub fn variable(&self, text: &str) -> Result<ResolvedVariable, SymbolError> {
        let path = VariablePath::parse(text)?;
        for (number, module) in self.modules.iter().enumerate() {
            let Some(debug) = module.debug() else { continue };
            let context = ExpressionContext::new(module, debug, number == 0);
            if let Some((found, steps)) = find_in_debug_info(&context, &path)? {
                let steps = self.preempting_copy(number, debug, found).unwrap_or(steps);
                return resolve_path(context, found, steps, text, &path.steps);
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
            let location = ValueLocation::at(symbol.address + module.bias, kind.bytes().min(8) as u8);
            Some(ResolvedVariable { location, value_type: kind.clone() })
        });
        found.ok_or_else(|| self.unknown_variable(name.to_owned()))
    }

    /// A variable of a library that the main program uses may have been copied there by the linker; then the library uses the copy, too.
    fn preempting_copy(&self, module: usize, debug: &DebugInfo, found: DieRef) -> Option<Vec<AddressStep>> {
        let main = self.modules.first().filter(|_| module > 0)?;
        let name = linker_name(debug, found)?;
        Some(vec![AddressStep::Constant(main.exported_variable(&name)? + main.bias)])
    }

    fn unknown_variable(&self, name: String) -> SymbolError {
        const WHAT: &str = "variable";
        let Some(own) = self.modules.first() else { return SymbolError::Unknown { what: WHAT, name, near: None } };
        if own.is_stripped() {
            return SymbolError::Stripped { what: WHAT, name, path: own.path.clone() };
        }
        if own.symbols().by_name(&name).is_some_and(|symbol| symbol.is_function) {
            return SymbolError::OtherKind { what: WHAT, name, kind: "function" };
        }
        let debug = own.debug().into_iter().flat_map(|debug| debug.index().variables.keys().map(String::as_str));
        let symbols = own.symbols().list.iter().filter(|symbol| !symbol.is_function).map(|symbol| symbol.name.as_str());
        // A hint is not worth comparing names of very different length.
        let alike = debug.chain(symbols).filter(|other| other.len().abs_diff(name.len()) <= 3);
        let near = nearest_name(&name, alike).map(str::to_owned);
        SymbolError::Unknown { what: WHAT, name, near }
    }
}

impl LoadedModule {
    /// Whether a variable has this name.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        let in_debug = self.debug().is_some_and(|debug| debug.index().variables.contains_key(name));
        in_debug || self.symbols().by_name(name).is_some_and(|symbol| !symbol.is_function)
    }
}

/// The linker's name of a variable that other modules can see.
fn linker_name(debug: &DebugInfo, found: DieRef) -> Option<String> {
    let entry = debug.entry(found)?;
    let is_external = matches!(entry.attr_value(gimli::DW_AT_external), Ok(Some(AttributeValue::Flag(true))));
    let origin = debug.origin(found.unit, &entry);
    if !is_external {
        return linker_name(debug, origin?);
    }
    debug.string_attribute(found.unit, &entry, gimli::DW_AT_linkage_name).or_else(|| debug.name(found.unit, &entry))
}

/// The only variable with this name and the steps to it; `None` if there is none.
fn find_in_debug_info(context: &ExpressionContext<'_>, path: &VariablePath) -> Result<Option<(DieRef, Vec<AddressStep>)>, SymbolError> {
    let debug = context.debug;
    let small = path.name.to_lowercase();
    let index = &debug.index().variables;
    let Some(all) = index.get(&path.name).or_else(|| index.get(&small)) else { return Ok(None) };
    let in_file = |found: &&DieRef| path.file.as_ref().is_none_or(|file| debug.file(found.unit) == *file);
    let all: Vec<DieRef> = all.iter().filter(in_file).copied().collect();
    if all.is_empty() {
        return Ok(None);
    }
    let (mut located, mut problems) = (Vec::<(DieRef, Vec<AddressStep>)>::new(), Vec::new());
    for found in all.iter().copied() {
        match context.variable(found) {
            // A Fortran common block is described in every procedure that uses it, a static member of a template in every file.
            Ok(steps) if located.iter().any(|(_, known)| *known == steps) => {}
            Ok(steps) => located.push((found, steps)),
            Err(problem) => problems.push(problem),
        }
    }
    if located.len() > 1 {
        let files = located.iter().map(|(found, _)| debug.file(found.unit)).collect();
        return Err(SymbolError::Ambiguous { name: path.name.clone(), files });
    }
    located.pop().map(Some).ok_or_else(|| unlocated(debug, &all, &problems, path.name.clone()))
}

/// Why none of several entries for a variable has a place in memory.
fn unlocated(debug: &DebugInfo, all: &[DieRef], problems: &[LocationError], name: String) -> SymbolError {
    let is_constant = |found: &DieRef| {
        let value = debug.entry(*found).and_then(|entry| entry.attr_value(gimli::DW_AT_const_value).ok().flatten());
        value.is_some()
    };
    if problems.contains(&LocationError::ThreadLocalOfLibrary) {
        SymbolError::ThreadLocal(name)
    } else if problems.contains(&LocationError::Unsupported) {
        SymbolError::UnsupportedLocation(name)
    } else if all.iter().any(is_constant) {
        SymbolError::Constant(name)
    } else {
        SymbolError::OptimisedAway(name)
    }
}

/// Applies the steps of a path to a variable.
fn resolve_path(
    context: ExpressionContext<'_>,
    found: DieRef,
    steps: Vec<AddressStep>,
    text: &str,
    path: &[PathStep],
) -> Result<ResolvedVariable, SymbolError> {
    let wrong = |part: String, what: String| SymbolError::InvalidPath { path: text.to_owned(), part, what };
    let whole = |what: String| wrong(text.to_owned(), what);
    let Some(kind) = types::type_of(context.debug, found) else { return Err(whole("its type is unknown".into())) };
    let mut resolver = PathResolver { context, steps, kind, bits: None };
    resolver.follow_references().map_err(whole)?;
    for step in path {
        resolver.apply_step(step).map_err(|what| wrong(step_text(step), what))?;
    }
    resolver.finish().map_err(whole)
}

fn step_text(step: &PathStep) -> String {
    match step {
        PathStep::Field(name) => name.clone(),
        PathStep::Element(indices) => format!("[{}]", indices.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
        PathStep::Dereference => "*".into(),
    }
}

struct PathResolver<'debug> {
    context: ExpressionContext<'debug>,
    steps: Vec<AddressStep>,
    kind: DieRef,
    /// First bit and size of a bit field.
    bits: Option<(u64, u64)>,
}

impl PathResolver<'_> {
    fn debug(&self) -> &DebugInfo {
        self.context.debug
    }

    fn unqualified_type(&self) -> Result<DieRef, String> {
        types::strip_qualifiers(self.debug(), self.kind).ok_or_else(|| "its type is unknown".to_owned())
    }

    fn value_type(&self) -> ValueType {
        types::describe(self.debug(), self.kind)
    }

    /// Follows a pointer.
    fn dereference(&mut self) -> Result<(), String> {
        let kind = self.unqualified_type()?;
        let entry = self.debug().entry(kind).ok_or("its type is unknown")?;
        self.kind = self.debug().referenced_die(kind.unit, &entry, gimli::DW_AT_type).ok_or("the type of its target is unknown")?;
        self.steps.push(AddressStep::FollowPointer);
        self.follow_references()
    }

    /// A reference stands for its target.
    fn follow_references(&mut self) -> Result<(), String> {
        let kind = self.unqualified_type()?;
        let tag = self.debug().entry(kind).ok_or("its type is unknown")?.tag();
        if matches!(tag, gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type) { self.dereference() } else { Ok(()) }
    }

    fn apply_step(&mut self, step: &PathStep) -> Result<(), String> {
        match step {
            PathStep::Dereference if self.value_type() == ValueType::Pointer => self.dereference(),
            PathStep::Dereference => Err(format!("this is {}, not a pointer", self.value_type())),
            PathStep::Element(indices) => self.elements(indices),
            PathStep::Field(name) => self.field(name),
        }
    }

    fn field(&mut self, name: &str) -> Result<(), String> {
        if self.bits.is_some() {
            return Err("a bit field has no fields".into());
        }
        if self.value_type() == ValueType::Pointer {
            self.dereference()?;
        }
        let kind = self.unqualified_type()?;
        let Some(found) = types::field(self.debug(), kind, name)? else { return Err(self.no_field(kind, name)) };
        self.kind = found.kind;
        self.bits = found.bits;
        location::add_offset(&mut self.steps, found.offset);
        self.follow_references()
    }

    fn no_field(&self, kind: DieRef, name: &str) -> String {
        let ValueType::Struct { name: structure, .. } = types::describe(self.debug(), kind) else {
            return format!("this is {}, which has no fields", types::describe(self.debug(), kind));
        };
        let names = types::field_names(self.debug(), kind);
        let near = nearest_name(name, names.iter().map(String::as_str)).map(|near| format!("; did you mean `{near}`?"));
        format!("the struct `{structure}` has no field `{name}`{}", near.unwrap_or_else(|| format!("; it has {}", names.join(", "))))
    }

    /// Applies consecutive indices: those of one array with several dimensions, or of arrays in arrays.
    fn elements(&mut self, indices: &[i64]) -> Result<(), String> {
        let mut rest = indices;
        while let [index, ..] = rest {
            let used = match self.value_type() {
                ValueType::Pointer => self.element_behind_pointer(*index)?,
                ValueType::Array { .. } => self.element_of_array(rest)?,
                ValueType::Struct { name, .. } if name.starts_with("vector<") => self.element_of_vector(*index)?,
                ValueType::Struct { name, .. } if name.starts_with("array<") => self.storage_of_std_array()?,
                other => return Err(format!("this is {other}, which has no elements")),
            };
            self.follow_references()?;
            rest = &rest[used..];
        }
        Ok(())
    }

    fn element_behind_pointer(&mut self, index: i64) -> Result<usize, String> {
        self.dereference()?;
        let bytes = self.value_type().bytes();
        if bytes == 0 {
            return Err("the size of its target is unknown".into());
        }
        location::add_offset(&mut self.steps, (index as u64).wrapping_mul(bytes));
        Ok(1)
    }

    fn element_of_array(&mut self, indices: &[i64]) -> Result<usize, String> {
        let shape = ArrayShape::new(&self.context, self.unqualified_type()?)?;
        let dimensions = shape.dimensions();
        let Some(indices) = indices.get(..dimensions).filter(|_| dimensions > 0) else {
            return Err(format!("the array has {dimensions} dimensions; give as many indices"));
        };
        shape.add_element(&mut self.steps, indices)?;
        self.kind = shape.element;
        Ok(dimensions)
    }

    /// An element of `std::vector`, of libstdc++ or libc++: the vector holds pointers to its first element and behind its last one.
    fn element_of_vector(&mut self, index: i64) -> Result<usize, String> {
        let unknown = "it is not a vector of a known C++ library";
        let vector = self.unqualified_type()?;
        let (begin, end) = match self.path_offset(vector, &["_M_impl", "_M_start"])? {
            Some(begin) => (begin, self.path_offset(vector, &["_M_impl", "_M_finish"])?),
            None => (self.path_offset(vector, &["__begin_"])?.ok_or(unknown)?, self.path_offset(vector, &["__end_"])?),
        };
        let (pointer, begin) = begin;
        let (_, end) = end.ok_or(unknown)?;
        if types::describe(self.debug(), pointer) != ValueType::Pointer {
            return Err("a vector of bool is packed, and its elements have no address".into());
        }
        let pointer = types::strip_qualifiers(self.debug(), pointer).ok_or(unknown)?;
        let element = types::type_of(self.debug(), pointer).ok_or(unknown)?;
        let bytes = types::describe(self.debug(), element).bytes();
        if bytes == 0 {
            return Err("the size of its elements is unknown".into());
        }
        let load = |offset| [AddressStep::Object, AddressStep::Constant(offset), AddressStep::Add, AddressStep::Load];
        self.steps.push(AddressStep::SetObject);
        self.steps.extend(load(begin));
        self.steps.push(AddressStep::Constant(0));
        self.steps.extend(load(end).into_iter().chain(load(begin)));
        self.steps.extend([AddressStep::Subtract, AddressStep::Constant(bytes), AddressStep::Divide]);
        self.steps.extend([AddressStep::Constant(1), AddressStep::Subtract, AddressStep::Constant(bytes), AddressStep::Element(index)]);
        self.kind = element;
        Ok(1)
    }

    /// The array inside a `std::array`; uses no index.
    fn storage_of_std_array(&mut self) -> Result<usize, String> {
        let array = self.unqualified_type()?;
        let storage = match self.path_offset(array, &["_M_elems"])? {
            Some(found) => Some(found),
            None => self.path_offset(array, &["__elems_"])?,
        };
        let (kind, offset) = storage.ok_or("it is not an array of a known C++ library")?;
        location::add_offset(&mut self.steps, offset);
        self.kind = kind;
        Ok(0)
    }

    /// Type and offset of a field of fields.
    fn path_offset(&self, structure: DieRef, path: &[&str]) -> Result<Option<(DieRef, u64)>, String> {
        let (mut kind, mut offset) = (structure, 0);
        for name in path {
            let Some(structure) = types::strip_qualifiers(self.debug(), kind) else { return Ok(None) };
            let Some(field) = types::field(self.debug(), structure, name)? else { return Ok(None) };
            (kind, offset) = (field.kind, offset + field.offset);
        }
        Ok(Some((kind, offset)))
    }

    /// The value at the end of the path.
    fn finish(mut self) -> Result<ResolvedVariable, String> {
        // In Fortran a pointer stands for its target, and an allocatable scalar is a pointer.
        if self.value_type() == ValueType::Pointer && self.debug().is_fortran(self.kind.unit) {
            self.dereference()?;
        }
        while let ValueType::Struct { name, .. } = self.value_type()
            && is_atomic(&name)
            && let Some(inner) = types::wrapped(self.debug(), self.unqualified_type()?)
        {
            self.kind = inner;
        }
        let kind = self.value_type();
        let Some((first_bit, bits)) = self.bits else {
            let bits = (8 * kind.bytes()).min(64) as u8;
            return Ok(ResolvedVariable { location: ValueLocation { steps: self.steps, first_bit: 0, bits }, value_type: kind });
        };
        if !(1..=64).contains(&bits) {
            return Err(format!("it is a bit field of {bits} bits"));
        }
        location::add_offset(&mut self.steps, first_bit / 8);
        let location = ValueLocation { steps: self.steps, first_bit: (first_bit % 8) as u8, bits: bits as u8 };
        let signed = matches!(kind, ValueType::Integer { signed: true, .. });
        Ok(ResolvedVariable { location, value_type: ValueType::BitField { signed, bits: bits as u8 } })
    }
}

/// Whether a class is `std::atomic` or one of the classes that it is made of.
fn is_atomic(name: &str) -> bool {
    ["atomic<", "__atomic_base<", "__atomic_float<", "__cxx_atomic_impl<", "__cxx_atomic_base_impl<"]
        .iter()
        .any(|begin| name.starts_with(begin))
}
