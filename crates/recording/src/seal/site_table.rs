//! Call sites: converts addresses in many processes to offsets in executable files.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::header::CallSiteDefinition;
use crate::seal::process::ProcessDefinitions;
use crate::seal::symbols;

/// The call sites of a recording.
#[derive(Default)]
pub(super) struct SiteTable {
    sites: Vec<CallSiteDefinition>,
    ids: HashMap<(String, u64), u32>,
}

impl SiteTable {
    /// Adds the call sites of a process and returns their indices by address.
    pub(super) fn add(&mut self, process: &ProcessDefinitions, addresses: &[u64]) -> FxHashMap<u64, u32> {
        addresses.iter().map(|address| (*address, self.site_id(module_offset(process, *address)))).collect()
    }

    fn site_id(&mut self, location: (String, u64)) -> u32 {
        let new = self.sites.len() as u32;
        *self.ids.entry(location).or_insert_with_key(|(module, offset)| {
            self.sites.push(CallSiteDefinition { module: module.clone(), offset: *offset, frames: Vec::new() });
            new
        })
    }

    /// All call sites, with their source frames resolved.
    pub(super) fn into_resolved(mut self) -> Vec<CallSiteDefinition> {
        symbols::resolve(&mut self.sites);
        self.sites
    }
}

/// The file mapped at an address, and the offset in it; an address outside all files stays as it is.
fn module_offset(process: &ProcessDefinitions, address: u64) -> (String, u64) {
    // A library may be unloaded and another mapped at the same address; prefer the later one.
    let module = process.modules.iter().rev().find(|module| (module.start..module.end).contains(&address));
    match module {
        Some(module) => {
            let path = module.path.strip_suffix(" (deleted)").unwrap_or(&module.path);
            (path.to_owned(), (address - module.start).wrapping_add(module.offset))
        }
        None => (String::new(), address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::ModuleDefinition;

    #[test]
    fn addresses_of_different_processes_meet_in_one_place_of_a_file() {
        let process = |start: u64| ProcessDefinitions {
            modules: vec![ModuleDefinition { start, end: start + 0x1000, offset: 0x2000, path: "/nowhere/program".into() }],
            ..ProcessDefinitions::default()
        };
        let mut sites = SiteTable::default();
        let first = sites.add(&process(0x10000), &[0x10010, 0x5]);
        let second = sites.add(&process(0x70000), &[0x70010]);
        assert_eq!((first[&0x10010], first[&0x5], second[&0x70010]), (0, 1, 0));
        let sites = sites.into_resolved();
        assert_eq!((sites[0].module.as_str(), sites[0].offset), ("/nowhere/program", 0x2010));
        assert_eq!((sites[1].module.as_str(), sites[1].offset), ("", 0x5));
    }
}
