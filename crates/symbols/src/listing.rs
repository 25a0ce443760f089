//! Everything of a program that a hook or a change can name, or why it cannot be hooked or set.

use std::collections::{BTreeMap, HashMap};

use object::{Object, ObjectSection, SectionFlags};
use sintonia_link::value_location::AddressStep;

use crate::debug::DieRef;
use crate::error::SymbolError;
use crate::function::ResolvedFunction;
use crate::inline_site::InlineSite;
use crate::inlining;
use crate::module::{LoadedModule, ProgramImage};
use crate::symbol_names;
use crate::type_names::type_name;
use crate::types::{self, ValueType};
use crate::variable::ResolvedVariable;

/// A function of the source.
#[derive(Debug, Clone)]
pub struct ListedFunction {
    /// The name to write.
    pub name: String,
    /// Its symbols: copies, and parts split off.
    pub symbols: Vec<String>,
    /// The copies that can be called; none if all calls were inlined.
    pub copies: Vec<ResolvedFunction>,
    /// File and line of the source.
    pub declared_at: Option<(String, u64)>,
    /// Where calls were inlined.
    pub inlined_at: Vec<InlineSite>,
}

/// A global variable of the source, or a field of one.
#[derive(Debug, Clone)]
pub struct ListedVariable {
    /// The name to write.
    pub name: String,
    /// The name of its type.
    pub type_name: String,
    /// File and line of the source.
    pub declared_at: Option<(String, u64)>,
    /// Where its value is, if it has one.
    pub resolved: Option<ResolvedVariable>,
    /// Why it cannot be set, or only in part.
    pub why_not: Option<String>,
}

impl ListedVariable {
    /// Whether it can be set.
    pub fn is_settable(&self) -> bool {
        self.resolved.is_some() && self.why_not.is_none()
    }
}

/// Functions of the compiler's start-up code.
const STARTUP: [&str; 10] = [
    "_start",
    "_init",
    "_fini",
    "frame_dummy",
    "register_tm_clones",
    "deregister_tm_clones",
    "__do_global_dtors_aux",
    "__libc_csu_init",
    "__libc_csu_fini",
    "_dl_relocate_static_pie",
];

impl ListedFunction {
    /// Whether it belongs to the compiler's start-up code.
    pub fn is_startup(&self) -> bool {
        STARTUP.contains(&self.name.as_str())
    }
}

impl ProgramImage {
    /// The functions of the main program, by name.
    pub fn list_functions(&self) -> Vec<ListedFunction> {
        self.modules.first().map(LoadedModule::list_functions).unwrap_or_default()
    }

    /// The global variables of the main program and the fields of structs among them, by name.
    pub fn list_variables(&self) -> Vec<ListedVariable> {
        let Some(module) = self.modules.first() else { return Vec::new() };
        let names = module.variable_names();
        let mut listed: Vec<ListedVariable> = names.iter().flat_map(|(name, entry)| self.list_variable(module, name, *entry)).collect();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        listed.dedup_by(|one, other| one.name == other.name);
        listed
    }

    /// The bytes at an address, as the file has them.
    pub fn initial_bytes(&self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        let module = self.modules.first()?;
        let address = address.checked_sub(module.bias)?;
        let file = module.file();
        let section = file.sections().find(|section| section.address() != 0 && contains(section, address))?;
        match section.kind() {
            object::SectionKind::UninitializedData => Some(vec![0; bytes as usize]),
            _ => section.data_range(address, bytes).ok().flatten().map(<[u8]>::to_vec),
        }
    }

    fn list_variable(&self, module: &LoadedModule, name: &str, entry: DieRef) -> Vec<ListedVariable> {
        match self.variable(name) {
            Err(SymbolError::Ambiguous { files, .. }) => {
                files.iter().flat_map(|file| self.list_path(module, &format!("{file}:{name}"), entry, FIELD_LEVELS)).collect()
            }
            _ => self.list_path(module, name, entry, FIELD_LEVELS),
        }
    }

    /// A variable or field, and the fields of a struct.
    fn list_path(&self, module: &LoadedModule, name: &str, entry: DieRef, levels: usize) -> Vec<ListedVariable> {
        let Some(debug) = module.debug() else { return Vec::new() };
        let resolved = self.variable(name);
        let kind = types::type_of(debug, entry);
        let is_fortran = debug.is_fortran(entry.unit);
        let mut listed = Vec::new();
        let why_not = match &resolved {
            Err(problem) => Some(problem.to_string()),
            Ok(variable) => match &variable.value_type {
                _ if module.is_read_only(variable) => Some("it is a constant in read-only memory".into()),
                ValueType::Struct { name, .. } if name.starts_with("vector<") => Some("its elements can be set, as in `name[0]`".into()),
                ValueType::Struct { .. } => {
                    if levels > 0 {
                        let between = if is_fortran { "%" } else { "." };
                        listed.extend(self.list_fields(module, name, between, kind, levels));
                    }
                    Some("its fields can be set".into())
                }
                ValueType::Array { .. } if is_fortran => Some("its elements can be set, as in `name(1)`".into()),
                ValueType::Array { .. } => Some("its elements can be set, as in `name[0]`".into()),
                ValueType::Pointer => {
                    let target = kind.and_then(|kind| types::type_of(debug, types::strip_qualifiers(debug, kind)?));
                    if levels > 0 && target.is_some_and(|target| matches!(types::describe(debug, target), ValueType::Struct { .. })) {
                        listed.extend(self.list_fields(module, name, "->", target, 1));
                    }
                    Some("it is a pointer".into())
                }
                kind if !kind.is_scalar() => Some(format!("it is {kind}")),
                _ if variable.location.is_thread_local() => Some("every thread has one of its own".into()),
                _ => None,
            },
        };
        let variable = ListedVariable {
            name: name.to_owned(),
            type_name: type_name(debug, kind),
            declared_at: debug.declared_at(entry),
            resolved: resolved.ok(),
            why_not,
        };
        listed.insert(0, variable);
        listed
    }

    fn list_fields(&self, module: &LoadedModule, name: &str, between: &str, kind: Option<DieRef>, levels: usize) -> Vec<ListedVariable> {
        let Some(debug) = module.debug() else { return Vec::new() };
        let Some(structure) = kind.and_then(|kind| types::strip_qualifiers(debug, kind)) else { return Vec::new() };
        // The innards of the C++ library are nobody's to set.
        let is_own = |field: &String| !field.is_empty() && !field.starts_with('_');
        let fields = debug.children(structure).into_iter().filter_map(|field| {
            let entry = debug.entry(field).filter(|entry| entry.tag() == gimli::DW_TAG_member && !crate::debug::is_declaration(entry))?;
            Some((field, debug.name(field.unit, &entry).filter(is_own)?))
        });
        fields
            .take(MOST_FIELDS)
            .flat_map(|(field, own)| self.list_path(module, &format!("{name}{between}{own}"), field, levels - 1))
            .collect()
    }
}

/// Structs in structs are listed up to this depth.
const FIELD_LEVELS: usize = 2;
/// Fields of one struct that are listed.
const MOST_FIELDS: usize = 64;

impl LoadedModule {
    fn list_functions(&self) -> Vec<ListedFunction> {
        let symbols = &self.symbols().list;
        let mut by_name: BTreeMap<&str, ListedFunction> = BTreeMap::new();
        for named in self.named_functions() {
            let symbol = &symbols[named.symbol];
            let listed = by_name.entry(&named.display).or_insert_with(|| ListedFunction {
                name: named.display.clone(),
                symbols: Vec::new(),
                copies: Vec::new(),
                declared_at: self.declared_at(named),
                inlined_at: Vec::new(),
            });
            listed.symbols.push(symbol.name.clone());
            if !symbol_names::is_partial_clone(symbol_names::split_clone_suffix(&symbol.name).1) {
                let function = self.function(symbol);
                if listed.inlined_at.is_empty() {
                    listed.inlined_at.clone_from(&function.inlined_at);
                }
                if !listed.copies.iter().any(|known| known.address == function.address) {
                    listed.copies.push(function);
                }
            }
        }
        let mut all: Vec<ListedFunction> = by_name.into_values().collect();
        all.extend(self.list_inlined(&all));
        all
    }

    /// Functions of which no code of their own is left.
    fn list_inlined(&self, others: &[ListedFunction]) -> Vec<ListedFunction> {
        let Some(debug) = self.debug() else { return Vec::new() };
        let known: HashMap<&str, ()> = others.iter().map(|function| (function.name.as_str(), ())).collect();
        let mut inlined: BTreeMap<String, ListedFunction> = BTreeMap::new();
        for function in debug.index().inlined.keys() {
            let name = inlining::display_name(debug, *function);
            if name.is_empty() || known.contains_key(name.as_str()) {
                continue;
            }
            let declared_at = debug.declared_at(*function);
            if declared_at.as_ref().is_some_and(|(file, _)| known.contains_key(format!("{file}:{name}").as_str())) {
                continue;
            }
            let listed = inlined.entry(name.clone()).or_insert_with(|| ListedFunction {
                name,
                symbols: Vec::new(),
                copies: Vec::new(),
                declared_at,
                inlined_at: Vec::new(),
            });
            listed.inlined_at.extend(inlining::sites_of(debug, *function));
        }
        inlined.into_values().collect()
    }

    /// The global variables by qualified name.
    fn variable_names(&self) -> BTreeMap<String, DieRef> {
        let Some(debug) = self.debug() else { return BTreeMap::new() };
        let mut longest: HashMap<DieRef, &String> = HashMap::new();
        for (name, entries) in &debug.index().variables {
            for entry in entries {
                let known = longest.entry(*entry).or_insert(name);
                if name.len() > known.len() {
                    *known = name;
                }
            }
        }
        longest.into_iter().map(|(entry, name)| (name.clone(), entry)).collect()
    }

    /// Whether a variable is in memory that the program may not write.
    fn is_read_only(&self, variable: &ResolvedVariable) -> bool {
        let [AddressStep::Constant(address)] = variable.location.steps[..] else { return false };
        let file = self.file();
        let Some(address) = address.checked_sub(self.bias) else { return false };
        let section = file.sections().find(|section| section.address() != 0 && contains(section, address));
        section.is_some_and(|section| {
            let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
            // Made read-only once it is relocated.
            let is_relro = section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"));
            sh_flags & u64::from(object::elf::SHF_WRITE) == 0 || is_relro
        })
    }
}

fn contains(section: &object::Section<'_, '_>, address: u64) -> bool {
    (section.address()..section.address() + section.size()).contains(&address)
}
