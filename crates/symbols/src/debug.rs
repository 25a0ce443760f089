//! DWARF debug information of an executable file, with an index of functions by address, variables by name, and inlined calls.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, DebuggingInformationEntry, DwTag, EndianArcSlice, LittleEndian, UnitOffset};
use object::{Object, ObjectSection};

pub(crate) type Bytes = EndianArcSlice<LittleEndian>;
pub(crate) type Unit = gimli::Unit<Bytes>;
pub(crate) type Entry<'unit> = DebuggingInformationEntry<'unit, 'unit, Bytes>;

/// A debugging information entry (DIE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DieRef {
    /// Index of its unit.
    pub unit: usize,
    /// Offset in the unit.
    pub offset: UnitOffset,
}

/// Debug information of a file.
pub struct DebugInfo {
    pub dwarf: gimli::Dwarf<Bytes>,
    pub units: Vec<Unit>,
    index: OnceLock<DebugIndex>,
}

/// Index of the debug information.
#[derive(Default)]
pub struct DebugIndex {
    /// Functions with code, by link-time address: several if the compiler has merged equal ones.
    functions: HashMap<u64, Vec<DieRef>>,
    /// Qualified names of Fortran procedures: modules and enclosing procedures.
    fortran: HashMap<DieRef, Vec<String>>,
    /// Calls that were inlined, by called function: each place once, with the function that contains it.
    pub inlined: HashMap<DieRef, BTreeMap<InlinedCall, DieRef>>,
    /// Global variables, by plain and by qualified name (namespace or module).
    pub variables: HashMap<String, Vec<DieRef>>,
    /// Qualified names of variables that are only declared.
    declared: HashMap<DieRef, String>,
}

/// The place of a call that was inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InlinedCall {
    /// Index of the unit.
    pub unit: usize,
    /// Number of the source file in the unit.
    pub file: u64,
    /// Line.
    pub line: u64,
}

impl DebugInfo {
    /// Loads the debug information of a file, if it has any.
    pub fn load(file: &object::File<'_>) -> Option<DebugInfo> {
        let load =
            |id: gimli::SectionId| -> Result<Bytes, gimli::Error> { Ok(Bytes::new(Arc::from(section(file, id.name())), LittleEndian)) };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        if units.is_empty() { None } else { Some(DebugInfo { dwarf, units, index: OnceLock::new() }) }
    }

    /// The index, built on first use.
    pub fn index(&self) -> &DebugIndex {
        self.index.get_or_init(|| {
            let mut index = DebugIndex::default();
            (0..self.units.len()).for_each(|unit| self.index_unit(unit, &mut index));
            index
        })
    }

    /// Indexes a unit; stops at the first malformed entry.
    fn index_unit(&self, number: usize, index: &mut DebugIndex) {
        let unit = &self.units[number];
        let mut cursor = unit.entries();
        let is_fortran = self.is_fortran(number);
        let (mut depth, mut outer) = (0, Vec::<EnclosingScope>::new());
        while let Ok(Some((change, entry))) = cursor.next_dfs() {
            depth += change;
            outer.retain(|outer| outer.depth < depth);
            let reference = DieRef { unit: number, offset: entry.offset() };
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    self.index_function(reference, entry, index);
                    if is_fortran && let Some(name) = self.own_name(number, entry) {
                        let scopes = outer.iter().filter(|outer| EnclosingScope::qualifies_procedure(outer.tag));
                        let path = scopes.filter_map(|outer| outer.name.clone()).chain([name]).collect();
                        index.fortran.insert(reference, path);
                    }
                }
                gimli::DW_TAG_inlined_subroutine => self.index_inlined(reference, entry, &outer, index),
                // A static member is a variable since DWARF 5, before it a member that is only declared.
                gimli::DW_TAG_member if is_declaration(entry) => self.index_variable(reference, entry, &outer, index),
                gimli::DW_TAG_variable | gimli::DW_TAG_constant if EnclosingScope::allows_variables(&outer) => {
                    self.index_variable(reference, entry, &outer, index)
                }
                _ => {}
            }
            if entry.has_children() {
                outer.push(EnclosingScope { depth, tag: entry.tag(), offset: entry.offset(), name: self.own_name(number, entry) });
            }
        }
    }

    fn index_function(&self, reference: DieRef, entry: &Entry<'_>, index: &mut DebugIndex) {
        // A function may consist of several ranges; each that has a symbol can be found.
        if let Ok(mut ranges) = self.dwarf.die_ranges(&self.units[reference.unit], entry) {
            while let Ok(Some(range)) = ranges.next() {
                index.functions.entry(range.begin).or_default().push(reference);
            }
        }
    }

    fn index_inlined(&self, reference: DieRef, entry: &Entry<'_>, outer: &[EnclosingScope], index: &mut DebugIndex) {
        let Some(origin) = self.referenced_die(reference.unit, entry, gimli::DW_AT_abstract_origin) else { return };
        let Some(caller) = outer.iter().rev().find(|outer| outer.tag == gimli::DW_TAG_subprogram) else { return };
        let number = |attribute| match entry.attr_value(attribute) {
            Ok(Some(AttributeValue::FileIndex(index))) => index,
            Ok(Some(value)) => value.udata_value().unwrap_or(0),
            _ => 0,
        };
        let call = InlinedCall { unit: reference.unit, file: number(gimli::DW_AT_call_file), line: number(gimli::DW_AT_call_line) };
        // Copies of the calling code contain copies of the call.
        let calls = index.inlined.entry(self.declaration(origin)).or_default();
        calls.entry(call).or_insert(DieRef { unit: reference.unit, offset: caller.offset });
    }

    fn index_variable(&self, reference: DieRef, entry: &Entry<'_>, outer: &[EnclosingScope], index: &mut DebugIndex) {
        let Some(name) = self.name(reference.unit, entry) else { return };
        let spaces = outer.iter().filter(|outer| EnclosingScope::qualifies(outer.tag));
        let full: String =
            spaces.filter_map(|outer| outer.name.as_deref()).flat_map(|space| [space, "::"]).chain([name.as_str()]).collect();
        if is_declaration(entry) {
            index.declared.insert(reference, full.clone());
            // A constant may have no other entry.
            if entry.attr_value(gimli::DW_AT_const_value).ok().flatten().is_none() {
                return;
            }
        }
        // A variable declared in a namespace may be defined outside it.
        let full = self.origin(reference.unit, entry).and_then(|origin| index.declared.get(&origin).cloned()).unwrap_or(full);
        if full != name {
            index.variables.entry(full).or_default().push(reference);
        }
        index.variables.entry(name).or_default().push(reference);
    }

    /// The function at a link-time address that has this symbol, without the suffix of a clone.
    pub fn function_at(&self, address: u64, symbol: &str) -> Option<DieRef> {
        let all = self.index().functions.get(&address)?;
        let is_meant = |function: &&DieRef| self.linker_name(**function).is_some_and(|name| name == symbol);
        all.iter().find(is_meant).or(all.first()).copied()
    }

    /// The name of a function or variable for the linker.
    pub fn linker_name(&self, reference: DieRef) -> Option<String> {
        let entry = self.entry(reference)?;
        let own = self.string_attribute(reference.unit, &entry, gimli::DW_AT_linkage_name);
        own.or_else(|| self.linker_name(self.origin(reference.unit, &entry)?)).or_else(|| self.name(reference.unit, &entry))
    }

    /// The first entry for a function: its copies refer to it.
    pub fn declaration(&self, reference: DieRef) -> DieRef {
        /// A longer chain is cyclic.
        const LONGEST: usize = 8;
        let next = |reference: &DieRef| self.origin(reference.unit, &self.entry(*reference)?);
        std::iter::successors(Some(reference), next).take(LONGEST).last().unwrap_or(reference)
    }

    /// Module, enclosing procedures and name of a Fortran procedure.
    pub fn fortran_path(&self, reference: DieRef) -> Option<&[String]> {
        self.index().fortran.get(&self.declaration(reference)).map(Vec::as_slice)
    }

    /// A source file by its number in a unit, without directories.
    pub fn numbered_file(&self, unit: usize, number: u64) -> Option<String> {
        let unit = self.units.get(unit)?;
        let header = unit.line_program.as_ref()?.header();
        let name = self.dwarf.attr_string(unit, header.file(number)?.path_name()).ok()?;
        let name = String::from_utf8_lossy(&name).into_owned();
        name.rsplit('/').next().map(str::to_owned)
    }

    /// File and line where something is declared.
    pub fn declared_at(&self, reference: DieRef) -> Option<(String, u64)> {
        let entry = self.entry(reference)?;
        let line = self.number_attribute(&entry, gimli::DW_AT_decl_line);
        let file = match entry.attr_value(gimli::DW_AT_decl_file) {
            Ok(Some(AttributeValue::FileIndex(index))) => Some(index),
            Ok(Some(value)) => value.udata_value(),
            _ => None,
        };
        match (file.and_then(|file| self.numbered_file(reference.unit, file)), line) {
            (Some(file), Some(line)) => Some((file, line)),
            _ => self.declared_at(self.origin(reference.unit, &entry)?),
        }
    }

    /// The entry that a reference denotes.
    pub fn entry(&self, reference: DieRef) -> Option<Entry<'_>> {
        self.units.get(reference.unit)?.entry(reference.offset).ok()
    }

    /// The entry that an attribute refers to.
    pub fn referenced_die(&self, unit: usize, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<DieRef> {
        match entry.attr_value(attribute).ok()?? {
            AttributeValue::UnitRef(offset) => Some(DieRef { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let number =
                    self.units.partition_point(|unit| unit.header.offset().as_debug_info_offset().is_some_and(|begin| begin <= offset));
                let unit = number.checked_sub(1)?;
                Some(DieRef { unit, offset: offset.to_unit_offset(&self.units[unit].header)? })
            }
            _ => None,
        }
    }

    /// The entry's own name.
    fn own_name(&self, unit: usize, entry: &Entry<'_>) -> Option<String> {
        self.string_attribute(unit, entry, gimli::DW_AT_name)
    }

    /// The name of an entry, or of its origin.
    pub fn name(&self, unit: usize, entry: &Entry<'_>) -> Option<String> {
        self.own_name(unit, entry).or_else(|| self.name(self.origin(unit, entry)?.unit, &self.entry(self.origin(unit, entry)?)?))
    }

    /// The abstract origin or specification of an entry.
    pub fn origin(&self, unit: usize, entry: &Entry<'_>) -> Option<DieRef> {
        let attributes = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let own = DieRef { unit, offset: entry.offset() };
        attributes.into_iter().find_map(|attribute| self.referenced_die(unit, entry, attribute)).filter(|origin| *origin != own)
    }

    /// A string attribute.
    pub fn string_attribute(&self, unit: usize, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<String> {
        let value = entry.attr_value(attribute).ok()??;
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        String::from_utf8(text.to_vec()).ok()
    }

    /// A numeric attribute.
    pub fn number_attribute(&self, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<u64> {
        entry.attr_value(attribute).ok()??.udata_value()
    }

    /// A numeric attribute that may be negative.
    pub fn integer_attribute(&self, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<i64> {
        match entry.attr_value(attribute).ok()?? {
            AttributeValue::Sdata(number) => Some(number),
            value => value.udata_value().map(|number| number as i64),
        }
    }

    /// Whether a unit was written in Fortran.
    pub fn is_fortran(&self, unit: usize) -> bool {
        let language = || {
            let mut tree = self.units[unit].entries_tree(None).ok()?;
            match tree.root().ok()?.entry().attr_value(gimli::DW_AT_language).ok()?? {
                AttributeValue::Language(language) => Some(language),
                _ => None,
            }
        };
        let fortran = [gimli::DW_LANG_Fortran77, gimli::DW_LANG_Fortran90, gimli::DW_LANG_Fortran95];
        let newer = [gimli::DW_LANG_Fortran03, gimli::DW_LANG_Fortran08, gimli::DW_LANG_Fortran18];
        language().is_some_and(|language| fortran.contains(&language) || newer.contains(&language))
    }

    /// File name of a unit's source, without directories.
    pub fn file(&self, unit: usize) -> String {
        let name = self.units[unit].name.as_ref().map(|name| name.to_vec()).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).into_owned();
        name.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The direct children of an entry.
    pub fn children(&self, reference: DieRef) -> Vec<DieRef> {
        let mut children = Vec::new();
        let Some(unit) = self.units.get(reference.unit) else { return children };
        let Ok(mut tree) = unit.entries_tree(Some(reference.offset)) else { return children };
        let Ok(root) = tree.root() else { return children };
        let mut inside = root.children();
        while let Ok(Some(child)) = inside.next() {
            children.push(DieRef { unit: reference.unit, offset: child.entry().offset() });
        }
        children
    }
}

/// Whether an entry only declares something that is defined elsewhere.
pub(crate) fn is_declaration(entry: &Entry<'_>) -> bool {
    entry.attr_value(gimli::DW_AT_declaration).is_ok_and(|value| value.is_some())
}

/// An entry that encloses others.
struct EnclosingScope {
    depth: isize,
    tag: DwTag,
    offset: UnitOffset,
    name: Option<String>,
}

impl EnclosingScope {
    /// Whether names inside are qualified by its name.
    fn qualifies(tag: DwTag) -> bool {
        let is_space = matches!(tag, gimli::DW_TAG_namespace | gimli::DW_TAG_module);
        is_space || matches!(tag, gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type)
    }

    /// Whether procedures inside are qualified by its name, in Fortran.
    fn qualifies_procedure(tag: DwTag) -> bool {
        matches!(tag, gimli::DW_TAG_module | gimli::DW_TAG_subprogram)
    }

    /// Local variables are not indexed, except those in Fortran common blocks.
    fn allows_variables(outer: &[EnclosingScope]) -> bool {
        let shared = outer.last().is_some_and(|outer| outer.tag == gimli::DW_TAG_common_block);
        shared || !outer.iter().any(|outer| matches!(outer.tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_lexical_block))
    }
}

impl DebugInfo {
    /// Encoding of a base type.
    pub fn encoding(&self, entry: &Entry<'_>) -> Option<gimli::DwAte> {
        match entry.attr_value(gimli::DW_AT_encoding).ok()?? {
            AttributeValue::Encoding(encoding) => Some(encoding),
            _ => None,
        }
    }
}

/// The contents of a section; empty if it does not exist.
fn section(file: &object::File<'_>, name: &str) -> Vec<u8> {
    file.section_by_name(name).and_then(|section| section.uncompressed_data().ok()).map(|data| data.into_owned()).unwrap_or_default()
}
