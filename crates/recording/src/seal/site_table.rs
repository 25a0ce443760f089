//! Call sites: converts addresses and call paths of many processes to places in executable files, each under its caller.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::definitions::ModuleDefinition;
use crate::header::CallSiteDefinition;
use crate::raw;
use crate::raw::samples::RawFrame;
use crate::seal::process::ProcessDefinitions;
use crate::seal::symbols;

/// Functions of the system that call `main` or the function of a thread.
const START_FUNCTIONS: [&str; 9] = [
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_main_alias_1",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone3",
];

/// The call sites of a recording.
#[derive(Default)]
pub(super) struct SiteTable {
    sites: Vec<CallSiteDefinition>,
    ids: HashMap<(Option<u32>, String, u64), u32>,
}

impl SiteTable {
    /// Adds the call sites of a process, given as addresses or call paths, and returns their indices.
    pub(super) fn add(&mut self, process: &ProcessDefinitions, words: &[u64]) -> FxHashMap<u64, u32> {
        words.iter().map(|word| (*word, self.site_of(process, *word))).collect()
    }

    fn site_of(&mut self, process: &ProcessDefinitions, word: u64) -> u32 {
        let Some(path) = raw::path_number(word) else { return self.site_id(None, module_offset(&process.modules, word)) };
        let mut places = Vec::new();
        let mut next = process.call_paths.get(&path);
        while let Some((path, modules)) = next {
            places.push(module_offset(&process.modules[..*modules], path.address));
            // A caller is defined before; anything else is damaged.
            next = path.caller.filter(|caller| *caller < path.id).and_then(|caller| process.call_paths.get(&caller));
        }
        let site = places.into_iter().rev().fold(None, |caller, place| Some(self.site_id(caller, place)));
        site.unwrap_or_else(|| self.site_id(None, (String::new(), 0)))
    }

    /// Adds the frames of the sampled stacks of a process, and returns the index of each.
    pub(super) fn add_frames(&mut self, process: &ProcessDefinitions, frames: &[RawFrame]) -> Vec<u32> {
        let mut sites: Vec<u32> = Vec::with_capacity(frames.len());
        for frame in frames {
            let caller = frame.caller.and_then(|caller| sites.get(caller as usize).copied());
            let modules = process.modules.get(..frame.modules as usize).unwrap_or(&process.modules);
            let (module, offset) = module_offset(modules, frame.address);
            // Places in code that is in no file cannot be told apart by anything that a user knows.
            let offset = if module.is_empty() { 0 } else { offset };
            sites.push(self.site_id(caller, (module, offset)));
        }
        sites
    }

    fn site_id(&mut self, caller: Option<u32>, (module, offset): (String, u64)) -> u32 {
        let new = self.sites.len() as u32;
        *self.ids.entry((caller, module, offset)).or_insert_with_key(|(caller, module, offset)| {
            self.sites.push(CallSiteDefinition { module: module.clone(), offset: *offset, caller: *caller, frames: Vec::new() });
            new
        })
    }

    /// All call sites, with their source frames resolved.
    pub(super) fn into_resolved(mut self) -> Vec<CallSiteDefinition> {
        symbols::resolve(&mut self.sites);
        remove_checking_wrappers(&mut self.sites);
        remove_start_of_program(&mut self.sites);
        self.sites
    }
}

/// Removes the inline functions of the C library's headers through which programs compiled with `_FORTIFY_SOURCE` call `read` and others.
fn remove_checking_wrappers(sites: &mut [CallSiteDefinition]) {
    let is_wrapper = |file: &String| file.starts_with("/usr/include/") && file.contains("/bits/");
    for frames in sites.iter_mut().map(|site| &mut site.frames) {
        let wrappers = frames.iter().take_while(|frame| frame.file.as_ref().is_some_and(is_wrapper)).count();
        if wrappers < frames.len() {
            frames.drain(..wrappers);
        }
    }
}

/// Ends paths at `main` and at the function of a thread.
fn remove_start_of_program(sites: &mut [CallSiteDefinition]) {
    let outermost = |site: &CallSiteDefinition| site.frames.last().and_then(|frame| frame.function.clone());
    let names: Vec<Option<String>> = sites.iter().map(outermost).collect();
    let is_start = |name: &Option<String>| name.as_deref().is_some_and(|name| START_FUNCTIONS.contains(&name));
    for (site, name) in sites.iter_mut().zip(&names) {
        let caller_is_start = site.caller.is_some_and(|caller| names.get(caller as usize).is_none_or(is_start));
        if name.as_deref() == Some("main") || caller_is_start {
            site.caller = None;
        }
    }
}

/// The file mapped at an address, and the offset in it; an address outside all files stays as it is.
fn module_offset(modules: &[ModuleDefinition], address: u64) -> (String, u64) {
    // A library may be unloaded and another mapped at the same address; prefer the later one.
    let module = modules.iter().rev().find(|module| (module.start..module.end).contains(&address));
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
    use crate::definitions::CallPathDefinition;
    use crate::header::SourceFrame;

    fn process(start: u64, paths: &[(u32, Option<u32>, u64)]) -> ProcessDefinitions {
        let path = |(id, caller, offset): &(u32, Option<u32>, u64)| {
            (*id, (CallPathDefinition { id: *id, caller: *caller, address: start + offset }, 1))
        };
        ProcessDefinitions {
            modules: vec![ModuleDefinition { start, end: start + 0x1000, offset: 0x2000, path: "/nowhere/program".into() }],
            call_paths: paths.iter().map(path).collect(),
            ..ProcessDefinitions::default()
        }
    }

    #[test]
    fn addresses_of_different_processes_meet_in_one_place_of_a_file() {
        let mut sites = SiteTable::default();
        let first = sites.add(&process(0x10000, &[]), &[0x10010, 0x5]);
        let second = sites.add(&process(0x70000, &[]), &[0x70010]);
        assert_eq!((first[&0x10010], first[&0x5], second[&0x70010]), (0, 1, 0));
        let sites = sites.into_resolved();
        assert_eq!((sites[0].module.as_str(), sites[0].offset), ("/nowhere/program", 0x2010));
        assert_eq!((sites[1].module.as_str(), sites[1].offset), ("", 0x5));
    }

    #[test]
    fn one_place_under_two_callers_is_two_call_sites_of_all_processes() {
        let mut sites = SiteTable::default();
        // The second process has met the same paths in another order.
        let first =
            sites.add(&process(0x10000, &[(0, None, 1), (1, Some(0), 9), (2, None, 2), (3, Some(2), 9)]), &[1, 3].map(raw::path_word));
        let second =
            sites.add(&process(0x70000, &[(0, None, 2), (1, Some(0), 9), (2, None, 1), (3, Some(2), 9)]), &[1, 3].map(raw::path_word));
        assert_ne!(first[&raw::path_word(1)], first[&raw::path_word(3)]);
        assert_eq!(first[&raw::path_word(1)], second[&raw::path_word(3)]);
        assert_eq!(first[&raw::path_word(3)], second[&raw::path_word(1)]);
        let sites = sites.into_resolved();
        let site = &sites[first[&raw::path_word(1)] as usize];
        assert_eq!((site.offset, site.caller.map(|caller| sites[caller as usize].offset)), (0x2009, Some(0x2001)));
    }

    #[test]
    fn damaged_paths_end_somewhere() {
        let mut sites = SiteTable::default();
        let ids = sites.add(&process(0, &[(0, Some(0), 1), (1, Some(2), 2), (2, Some(1), 3)]), &[0, 1, 2, 7].map(raw::path_word));
        assert_eq!(ids.len(), 4);
    }

    #[test]
    fn a_wrapper_in_a_header_of_the_c_library_is_not_the_call_site() {
        let frame = |file: &str| SourceFrame { file: Some(file.into()), ..SourceFrame::default() };
        let (header, own) = (frame("/usr/include/x86_64-linux-gnu/bits/stdio2.h"), frame("/home/me/a.c"));
        let site = |frames: &[&SourceFrame]| CallSiteDefinition {
            frames: frames.iter().map(|frame| (*frame).clone()).collect(),
            ..CallSiteDefinition::default()
        };
        let mut sites = [site(&[&header, &own]), site(&[&own, &header]), site(&[&header])];
        remove_checking_wrappers(&mut sites);
        assert_eq!(sites, [site(&[&own]), site(&[&own, &header]), site(&[&header])]);
    }

    #[test]
    fn a_path_begins_with_main() {
        let site = |function: &str, caller| CallSiteDefinition {
            frames: vec![SourceFrame { function: Some(function.into()), ..SourceFrame::default() }],
            caller,
            ..CallSiteDefinition::default()
        };
        let mut sites =
            [site("_start", None), site("main", Some(0)), site("work", Some(1)), site("start_thread", None), site("run", Some(3))];
        remove_start_of_program(&mut sites);
        assert_eq!(sites.map(|site| site.caller), [None, None, Some(1), None, None]);
    }
}
