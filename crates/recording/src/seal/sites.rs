//! Call sites: addresses of many processes, each with its own map of memory, as places in files of code.

use std::collections::HashMap;

use crate::hash::QuickMap;
use crate::header::Site;
use crate::seal::process::Process;
use crate::seal::symbols;

/// The call sites of a recording.
#[derive(Default)]
pub struct Sites {
    sites: Vec<Site>,
    numbers: HashMap<(String, u64), u32>,
}

impl Sites {
    /// Adds the call sites of a process and numbers them.
    pub fn add(&mut self, process: &Process, addresses: &[u64]) -> QuickMap<u64, u32> {
        addresses.iter().map(|address| (*address, self.number(place(process, *address)))).collect()
    }

    fn number(&mut self, place: (String, u64)) -> u32 {
        let new = self.sites.len() as u32;
        *self.numbers.entry(place).or_insert_with_key(|(module, offset)| {
            self.sites.push(Site { module: module.clone(), offset: *offset, frames: Vec::new() });
            new
        })
    }

    /// All of them, with their places in the source.
    pub fn resolved(mut self) -> Vec<Site> {
        symbols::resolve(&mut self.sites);
        self.sites
    }
}

/// The file that is mapped at an address, and the place in it; an address outside all files stays what it is.
fn place(process: &Process, address: u64) -> (String, u64) {
    // A library may be unloaded and another mapped in its place: the later one is more likely to have been called for long.
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
    use crate::definitions::Module;

    #[test]
    fn addresses_of_different_processes_meet_in_one_place_of_a_file() {
        let process = |start: u64| Process {
            modules: vec![Module { start, end: start + 0x1000, offset: 0x2000, path: "/nowhere/program".into() }],
            ..Process::default()
        };
        let mut sites = Sites::default();
        let first = sites.add(&process(0x10000), &[0x10010, 0x5]);
        let second = sites.add(&process(0x70000), &[0x70010]);
        assert_eq!((first[&0x10010], first[&0x5], second[&0x70010]), (0, 1, 0));
        let sites = sites.resolved();
        assert_eq!((sites[0].module.as_str(), sites[0].offset), ("/nowhere/program", 0x2010));
        assert_eq!((sites[1].module.as_str(), sites[1].offset), ("", 0x5));
    }
}
