//! The debug information of a file of code, with an index of what is asked for: functions by address, variables by name, what was inlined.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, DebuggingInformationEntry, DwTag, EndianArcSlice, LittleEndian, UnitOffset};

use crate::module::section;

pub type Bytes = EndianArcSlice<LittleEndian>;
pub type Unit = gimli::Unit<Bytes>;
pub type Entry<'unit> = DebuggingInformationEntry<'unit, 'unit, Bytes>;

/// An entry of the debug information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Which unit.
    pub unit: usize,
    /// Where in the unit.
    pub offset: UnitOffset,
}

/// The debug information.
pub struct Debug {
    pub dwarf: gimli::Dwarf<Bytes>,
    pub units: Vec<Unit>,
    index: OnceLock<Index>,
}

/// Where things are.
#[derive(Default)]
pub struct Index {
    /// Functions that have code of their own, by the address in the file.
    pub functions: HashMap<u64, Reference>,
    /// Functions by the name in the source, and how often each was inlined.
    pub sources: HashMap<String, Vec<Reference>>,
    pub inlined: HashMap<Reference, usize>,
    /// Variables outside functions, by name and by name with namespace or module.
    pub variables: HashMap<String, Vec<Reference>>,
    /// The full names of variables that are only declared.
    declared: HashMap<Reference, String>,
}

impl Debug {
    /// The debug information of a file, if it has any.
    pub fn of(file: &object::File<'_>) -> Option<Debug> {
        let load =
            |id: gimli::SectionId| -> Result<Bytes, gimli::Error> { Ok(Bytes::new(Arc::from(section(file, id.name())), LittleEndian)) };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        if units.is_empty() { None } else { Some(Debug { dwarf, units, index: OnceLock::new() }) }
    }

    /// Where things are; made when first asked for.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::default();
            (0..self.units.len()).for_each(|unit| self.enter(unit, &mut index));
            index
        })
    }

    /// Adds what a unit has; what cannot be read ends the unit.
    fn enter(&self, number: usize, index: &mut Index) {
        let unit = &self.units[number];
        let mut cursor = unit.entries();
        let (mut depth, mut outer) = (0, Vec::<Outer>::new());
        while let Ok(Some((change, entry))) = cursor.next_dfs() {
            depth += change;
            outer.retain(|outer| outer.depth < depth);
            let reference = Reference { unit: number, offset: entry.offset() };
            match entry.tag() {
                gimli::DW_TAG_subprogram => self.enter_function(reference, entry, index),
                gimli::DW_TAG_inlined_subroutine => {
                    let origin = self.reference(number, entry, gimli::DW_AT_abstract_origin);
                    *index.inlined.entry(origin.unwrap_or(reference)).or_default() += 1;
                }
                gimli::DW_TAG_variable if Outer::allows_variables(&outer) => self.enter_variable(reference, entry, &outer, index),
                _ => {}
            }
            if entry.has_children() {
                outer.push(Outer { depth, tag: entry.tag(), name: self.own_name(number, entry) });
            }
        }
    }

    fn enter_function(&self, reference: Reference, entry: &Entry<'_>, index: &mut Index) {
        // A function may lie in several pieces; each that has a symbol is found.
        if let Ok(mut ranges) = self.dwarf.die_ranges(&self.units[reference.unit], entry) {
            while let Ok(Some(range)) = ranges.next() {
                index.functions.insert(range.begin, reference);
            }
        }
        for name in [gimli::DW_AT_name, gimli::DW_AT_linkage_name] {
            if let Some(name) = self.text(reference.unit, entry, name) {
                index.sources.entry(name).or_default().push(reference);
            }
        }
    }

    fn enter_variable(&self, reference: Reference, entry: &Entry<'_>, outer: &[Outer], index: &mut Index) {
        let Some(name) = self.name(reference.unit, entry) else { return };
        let spaces = outer.iter().filter(|outer| matches!(outer.tag, gimli::DW_TAG_namespace | gimli::DW_TAG_module));
        let full: String =
            spaces.filter_map(|outer| outer.name.as_deref()).flat_map(|space| [space, "::"]).chain([name.as_str()]).collect();
        if entry.attr_value(gimli::DW_AT_declaration).ok().flatten().is_some() {
            index.declared.insert(reference, full);
            return;
        }
        // What is declared in a namespace may be defined outside it.
        let full = self.origin(reference.unit, entry).and_then(|origin| index.declared.get(&origin).cloned()).unwrap_or(full);
        if full != name {
            index.variables.entry(full).or_default().push(reference);
        }
        index.variables.entry(name).or_default().push(reference);
    }

    /// An entry that is referred to.
    pub fn entry(&self, reference: Reference) -> Option<Entry<'_>> {
        self.units.get(reference.unit)?.entry(reference.offset).ok()
    }

    /// What an attribute of an entry refers to.
    pub fn reference(&self, unit: usize, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<Reference> {
        match entry.attr_value(attribute).ok()?? {
            AttributeValue::UnitRef(offset) => Some(Reference { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let number =
                    self.units.partition_point(|unit| unit.header.offset().as_debug_info_offset().is_some_and(|begin| begin <= offset));
                let unit = number.checked_sub(1)?;
                Some(Reference { unit, offset: offset.to_unit_offset(&self.units[unit].header)? })
            }
            _ => None,
        }
    }

    /// A name that an entry has itself.
    fn own_name(&self, unit: usize, entry: &Entry<'_>) -> Option<String> {
        self.text(unit, entry, gimli::DW_AT_name)
    }

    /// The name of an entry, or of what it is an instance of.
    pub fn name(&self, unit: usize, entry: &Entry<'_>) -> Option<String> {
        self.own_name(unit, entry).or_else(|| self.name(self.origin(unit, entry)?.unit, &self.entry(self.origin(unit, entry)?)?))
    }

    /// What an entry is an instance of.
    pub fn origin(&self, unit: usize, entry: &Entry<'_>) -> Option<Reference> {
        let attributes = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
        let own = Reference { unit, offset: entry.offset() };
        attributes.into_iter().find_map(|attribute| self.reference(unit, entry, attribute)).filter(|origin| *origin != own)
    }

    /// A text that an attribute holds.
    pub fn text(&self, unit: usize, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<String> {
        let value = entry.attr_value(attribute).ok()??;
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        String::from_utf8(text.to_vec()).ok()
    }

    /// A number that an attribute holds.
    pub fn number(&self, entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<u64> {
        entry.attr_value(attribute).ok()??.udata_value()
    }

    /// The source file of a unit, without its folders.
    pub fn file(&self, unit: usize) -> String {
        let name = self.units[unit].name.as_ref().map(|name| name.to_vec()).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).into_owned();
        name.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The entries directly inside one.
    pub fn children(&self, reference: Reference) -> Vec<Reference> {
        let mut children = Vec::new();
        let Some(unit) = self.units.get(reference.unit) else { return children };
        let Ok(mut tree) = unit.entries_tree(Some(reference.offset)) else { return children };
        let Ok(root) = tree.root() else { return children };
        let mut inside = root.children();
        while let Ok(Some(child)) = inside.next() {
            children.push(Reference { unit: reference.unit, offset: child.entry().offset() });
        }
        children
    }
}

/// An entry that others are inside of.
struct Outer {
    depth: isize,
    tag: DwTag,
    name: Option<String>,
}

impl Outer {
    /// Variables of functions are not looked for, but for those that Fortran shares between functions.
    fn allows_variables(outer: &[Outer]) -> bool {
        let shared = outer.last().is_some_and(|outer| outer.tag == gimli::DW_TAG_common_block);
        shared || !outer.iter().any(|outer| matches!(outer.tag, gimli::DW_TAG_subprogram | gimli::DW_TAG_lexical_block))
    }
}

impl Debug {
    /// How the bytes of a basic type are meant.
    pub fn encoding(&self, entry: &Entry<'_>) -> Option<gimli::DwAte> {
        match entry.attr_value(gimli::DW_AT_encoding).ok()?? {
            AttributeValue::Encoding(encoding) => Some(encoding),
            _ => None,
        }
    }
}
