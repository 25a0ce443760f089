//! The definitions of an archive in memory.

use std::collections::HashMap;

use crate::definition::Definition;
use crate::error::Error;
use crate::reader::ArchiveReader;
use crate::reference::{LocationRef, RegionRef, StringRef};

/// All global definitions of an archive, with strings and regions by reference.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    all: Vec<Definition>,
    strings: HashMap<StringRef, usize>,
    regions: HashMap<RegionRef, usize>,
}

impl Definitions {
    /// Reads the definitions of an archive.
    pub fn read(archive: &ArchiveReader) -> Result<Definitions, Error> {
        let mut definitions = Definitions::default();
        for definition in archive.definitions()? {
            definitions.add(definition?);
        }
        Ok(definitions)
    }

    fn add(&mut self, definition: Definition) {
        match definition {
            Definition::String { reference, .. } => _ = self.strings.insert(reference, self.all.len()),
            Definition::Region { reference, .. } => _ = self.regions.insert(reference, self.all.len()),
            _ => {}
        }
        self.all.push(definition);
    }

    /// All definitions, in file order.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.all.iter()
    }

    /// A string.
    pub fn string(&self, reference: StringRef) -> Option<&str> {
        match self.all.get(*self.strings.get(&reference)?)? {
            Definition::String { string, .. } => Some(string),
            _ => None,
        }
    }

    /// The name of a region.
    pub fn region_name(&self, reference: RegionRef) -> Option<&str> {
        match self.all.get(*self.regions.get(&reference)?)? {
            Definition::Region { name, .. } => self.string(*name),
            _ => None,
        }
    }

    /// The locations, in file order.
    pub fn locations(&self) -> impl Iterator<Item = LocationRef> + '_ {
        self.all.iter().filter_map(|definition| match definition {
            Definition::Location { reference, .. } => Some(*reference),
            _ => None,
        })
    }
}
