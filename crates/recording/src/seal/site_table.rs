//! Call sites: converts addresses and call paths of many processes to places in executable files and lines of Python, each under its
//! caller.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::definitions::{CallPathDefinition, ModuleDefinition, PythonLineDefinition};
use crate::header::{CallSiteDefinition, SourceFrame};
use crate::raw;
use crate::raw::samples::{RawFrame, python_line};
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
    ids: HashMap<(Option<u32>, SitePlace), u32>,
}

/// The place of a call site, in all processes.
#[derive(PartialEq, Eq, Hash)]
enum SitePlace {
    /// A file and the offset in it; an address without a file.
    Code { module: String, offset: u64 },
    /// A line of a Python program.
    Python { file: String, function: String, line: u32 },
}

impl SitePlace {
    /// The place of the innermost frame of a path, with the modules that were defined before it.
    fn of(process: &ProcessDefinitions, path: &CallPathDefinition, modules: usize) -> SitePlace {
        match path.python.and_then(|line| process.python_lines.get(&line)) {
            Some(line) => SitePlace::of_line(line),
            None => module_offset(&process.modules[..modules], path.address),
        }
    }

    fn of_line(line: &PythonLineDefinition) -> SitePlace {
        SitePlace::Python { file: line.file.clone(), function: line.function.clone(), line: line.line }
    }

    fn definition(&self, caller: Option<u32>) -> CallSiteDefinition {
        match self {
            SitePlace::Code { module, offset } => {
                CallSiteDefinition { module: module.clone(), offset: *offset, caller, frames: Vec::new() }
            }
            SitePlace::Python { file, function, line } => {
                let frame = SourceFrame { function: Some(function.clone()), file: Some(file.clone()), line: Some(*line) };
                CallSiteDefinition { module: file.clone(), offset: (*line).into(), caller, frames: vec![frame] }
            }
        }
    }
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
            places.push(SitePlace::of(process, path, *modules));
            // A caller is defined before; anything else is damaged.
            next = path.caller.filter(|caller| *caller < path.id).and_then(|caller| process.call_paths.get(&caller));
        }
        let site = places.into_iter().rev().fold(None, |caller, place| Some(self.site_id(caller, place)));
        site.unwrap_or_else(|| self.site_id(None, SitePlace::Code { module: String::new(), offset: 0 }))
    }

    /// Adds the frames of the sampled stacks of a process, and returns the index of each.
    pub(super) fn add_frames(&mut self, process: &ProcessDefinitions, frames: &[RawFrame]) -> Vec<u32> {
        let mut sites: Vec<u32> = Vec::with_capacity(frames.len());
        for frame in frames {
            let caller = frame.caller.and_then(|caller| sites.get(caller as usize).copied());
            let modules = process.modules.get(..frame.modules as usize).unwrap_or(&process.modules);
            let line = python_line(frame.address).and_then(|line| process.python_lines.get(&line));
            let place = match line.map_or_else(|| module_offset(modules, frame.address), SitePlace::of_line) {
                // Places in code that is in no file cannot be told apart by anything that a user knows.
                SitePlace::Code { module, .. } if module.is_empty() => SitePlace::Code { module, offset: 0 },
                place => place,
            };
            sites.push(self.site_id(caller, place));
        }
        sites
    }

    fn site_id(&mut self, caller: Option<u32>, place: SitePlace) -> u32 {
        let new = self.sites.len() as u32;
        *self.ids.entry((caller, place)).or_insert_with_key(|(caller, place)| {
            self.sites.push(place.definition(*caller));
            new
        })
    }

    /// All call sites, with their source frames resolved.
    pub(super) fn into_resolved(mut self) -> Vec<CallSiteDefinition> {
        let is_python: Vec<bool> = self.sites.iter().map(|site| !site.frames.is_empty()).collect();
        symbols::resolve(&mut self.sites);
        remove_checking_wrappers(&mut self.sites);
        remove_start_of_program(&mut self.sites, &is_python);
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

/// Ends paths at `main` and at the function of a thread; functions of Python may have any name.
fn remove_start_of_program(sites: &mut [CallSiteDefinition], is_python: &[bool]) {
    let outermost = |site: &CallSiteDefinition| site.frames.last().and_then(|frame| frame.function.clone());
    let names: Vec<Option<String>> = sites.iter().zip(is_python).map(|(site, is_python)| outermost(site).filter(|_| !is_python)).collect();
    let is_start = |name: &Option<String>| name.as_deref().is_some_and(|name| START_FUNCTIONS.contains(&name));
    for (site, name) in sites.iter_mut().zip(&names) {
        let caller_is_start = site.caller.is_some_and(|caller| names.get(caller as usize).is_none_or(is_start));
        if name.as_deref() == Some("main") || caller_is_start {
            site.caller = None;
        }
    }
}

/// The file mapped at an address, and the offset in it; an address outside all files stays as it is.
fn module_offset(modules: &[ModuleDefinition], address: u64) -> SitePlace {
    // A library may be unloaded and another mapped at the same address; prefer the later one.
    let module = modules.iter().rev().find(|module| (module.start..module.end).contains(&address));
    match module {
        Some(module) => {
            let path = module.path.strip_suffix(" (deleted)").unwrap_or(&module.path);
            SitePlace::Code { module: path.to_owned(), offset: (address - module.start).wrapping_add(module.offset) }
        }
        None => SitePlace::Code { module: String::new(), offset: address },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::PythonLineDefinition;

    fn process(start: u64, paths: &[(u32, Option<u32>, u64)]) -> ProcessDefinitions {
        let path = |(id, caller, offset): &(u32, Option<u32>, u64)| {
            (*id, (CallPathDefinition { id: *id, caller: *caller, address: start + offset, python: None }, 1))
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
    fn lines_of_python_are_call_sites_of_all_processes() {
        let mut sites = SiteTable::default();
        // The second process has met another line before.
        let python = |first: u32| {
            let mut process = process(0x10000, &[(0, None, 0), (1, Some(0), 9)]);
            process.call_paths.get_mut(&0).unwrap().0.python = Some(first);
            let line = PythonLineDefinition { id: first, file: "a.py".into(), function: "work".into(), line: 7 };
            process.python_lines = [(first, line)].into();
            process
        };
        let first = sites.add(&python(0), &[0, 1].map(raw::path_word));
        let second = sites.add(&python(3), &[0, 1].map(raw::path_word));
        assert_eq!((first.len(), &first), (2, &second));
        let sites = sites.into_resolved();
        let frame = SourceFrame { function: Some("work".into()), file: Some("a.py".into()), line: Some(7) };
        assert_eq!(sites[first[&raw::path_word(0)] as usize].frames, [frame]);
        assert_eq!(sites[first[&raw::path_word(1)] as usize].caller, Some(first[&raw::path_word(0)]));
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
        remove_start_of_program(&mut sites, &[false; 5]);
        assert_eq!(sites.map(|site| site.caller), [None, None, Some(1), None, None]);
        let mut python = [site("<module>", None), site("main", Some(0)), site("clone", Some(1)), site("work", Some(2))];
        remove_start_of_program(&mut python, &[true; 4]);
        assert_eq!(python.map(|site| site.caller), [None, Some(0), Some(1), Some(2)]);
    }
}
