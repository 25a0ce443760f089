//! Resolves call sites to source locations with debug information.
//!
//! A call site is a return address, so the call itself is one byte before it. Debug information may be in the file itself, in a separate
//! file next to it, or under `/usr/lib/debug`; without any, the symbol table still gives the function name.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use rayon::prelude::*;

use super::cython;
use crate::header::{CallSiteDefinition, SourceFrame};

/// Fills in the source frames of call sites that have none yet.
pub(super) fn resolve(sites: &mut [CallSiteDefinition]) {
    let mut of_modules: Vec<(String, Vec<&mut CallSiteDefinition>)> = Vec::new();
    for site in sites.iter_mut().filter(|site| site.frames.is_empty()) {
        match of_modules.iter_mut().find(|(module, _)| *module == site.module) {
            Some((_, sites)) => sites.push(site),
            None => of_modules.push((site.module.clone(), vec![site])),
        }
    }
    of_modules.into_par_iter().for_each(|(module, sites)| {
        let addresses: Vec<u64> = sites.iter().map(|site| site.offset).collect();
        let frames = DebugModule::open(Path::new(&module)).map(|module| module.frames(&addresses)).unwrap_or_default();
        for (site, frames) in sites.into_iter().zip(frames) {
            site.frames = frames;
        }
    });
}

/// The source frames of a call site, given by its file and the offset in it, innermost first.
pub fn resolve_call_site(module: &Path, offset: u64) -> Vec<SourceFrame> {
    DebugModule::open(module).and_then(|module| module.frames(&[offset]).pop()).unwrap_or_default()
}

/// An executable file.
struct DebugModule {
    /// Loaded segments: file offset, size, address.
    segments: Vec<(u64, u64, u64)>,
    /// Functions by address: start, size, name.
    symbols: Vec<(u64, u64, String)>,
    debug: Option<Loader>,
}

impl DebugModule {
    fn open(path: &Path) -> Option<DebugModule> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let segments = file.segments().map(|s| (s.file_range().0, s.file_range().1, s.address())).collect();
        let debug_path = if file.has_debug_symbols() { Some(path.to_owned()) } else { debug_file(path, &file) };
        let debug = debug_path.and_then(|path| Loader::new_with_sup(&path, supplementary_debug_file(&path)).ok());
        Some(DebugModule { segments, symbols: functions(&file), debug })
    }

    fn frames(&self, offsets: &[u64]) -> Vec<Vec<SourceFrame>> {
        offsets.iter().map(|offset| self.address(offset.saturating_sub(1)).map(|a| self.frames_at(a)).unwrap_or_default()).collect()
    }

    /// The link-time address of a file offset.
    fn address(&self, offset: u64) -> Option<u64> {
        let holds = |(from, bytes, _): &&(u64, u64, u64)| offset >= *from && offset - from < *bytes;
        self.segments.iter().find(holds).map(|(from, _, address)| address.wrapping_add(offset - from))
    }

    fn frames_at(&self, address: u64) -> Vec<SourceFrame> {
        let mut found = Vec::new();
        if let Some(mut frames) = self.debug.as_ref().and_then(|debug| debug.find_frames(address).ok()) {
            while let Ok(Some(frame)) = frames.next() {
                found.push(SourceFrame {
                    function: frame.function.and_then(|name| Some(display_name(&name.demangle().ok()?))),
                    file: frame.location.as_ref().and_then(|place| place.file).map(without_current_folders),
                    line: frame.location.as_ref().and_then(|place| place.line),
                });
            }
        }
        // The outermost frame is the function in the symbol table; line-only debug information omits its name.
        match found.last_mut() {
            Some(outermost) => outermost.function = outermost.function.take().or_else(|| self.function(address)),
            None => found.extend(self.function(address).map(|function| SourceFrame { function: Some(function), ..SourceFrame::default() })),
        }
        found
    }

    fn function(&self, address: u64) -> Option<String> {
        let after = self.symbols.partition_point(|(first, _, _)| *first <= address);
        let (first, bytes, name) = self.symbols.get(after.checked_sub(1)?)?;
        (address - first < *bytes).then(|| display_name(&addr2line::demangle_auto(name.into(), None)))
    }
}

/// A path without `/./`, which compilers leave behind for files found by `-I.`.
fn without_current_folders(path: &str) -> String {
    path.replace("/./", "/")
}

/// Function name as in the source, demangled.
fn display_name(name: &str) -> String {
    cython::demangle(name).unwrap_or_else(|| name.to_owned())
}

fn functions<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Vec<(u64, u64, String)> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let mut found: Vec<_> = functions.filter_map(|s| Some((s.address(), s.size(), s.name().ok()?.to_owned()))).collect();
    found.sort_unstable();
    found.dedup_by_key(|(address, _, _)| *address);
    found
}

/// System directory of separate debug information.
const DEBUG_DIR: &str = "/usr/lib/debug";

/// The separate debug file of an executable file.
fn debug_file<'a, R: ReadRef<'a>>(path: &Path, file: &object::File<'a, R>) -> Option<PathBuf> {
    let mut candidates: Vec<PathBuf> = file.build_id().ok().flatten().and_then(build_id_path).into_iter().collect();
    if let Ok(Some((name, _))) = file.gnu_debuglink() {
        let (name, folder) = (as_path(name), path.parent().unwrap_or(Path::new("/")));
        let elsewhere = Path::new(DEBUG_DIR).join(folder.strip_prefix("/").unwrap_or(folder));
        candidates.extend([folder.join(&name), folder.join(".debug").join(&name), elsewhere.join(&name)]);
    }
    candidates.into_iter().find(|candidate| candidate != path && candidate.is_file())
}

/// The supplementary file with debug information shared by several files (dwz).
fn supplementary_debug_file(debug: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(debug).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let beside = debug.parent().unwrap_or(Path::new("/")).join(as_path(name));
    [Some(beside), build_id_path(id)].into_iter().flatten().find(|candidate| candidate.is_file())
}

fn build_id_path(id: &[u8]) -> Option<PathBuf> {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (folder, name) = hex.split_at_checked(2)?;
    Some(PathBuf::from(format!("{DEBUG_DIR}/.build-id/{folder}/{name}.debug")))
}

fn as_path(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_to_be_found() -> u32 {
        std::hint::black_box(5)
    }

    /// The offset in this program's file of an address in memory.
    fn site_of(address: u64) -> CallSiteDefinition {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let found = maps.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (start, end) = fields[0].split_once('-')?;
            let offset = (number(start)..number(end)).contains(&address).then(|| address - number(start) + number(fields[2]))?;
            Some(CallSiteDefinition { module: (*fields.get(5)?).to_owned(), offset, caller: None, frames: Vec::new() })
        });
        found.unwrap()
    }

    #[test]
    fn a_header_that_was_found_in_the_current_folder_has_a_plain_path() {
        assert_eq!(without_current_folders("/home/me/src/./solve.hpp"), "/home/me/src/solve.hpp");
        assert_eq!(without_current_folders("../utils/./x.hpp"), "../utils/x.hpp");
    }

    #[test]
    fn a_place_in_a_file_is_found_in_the_source() {
        assert_eq!(a_function_to_be_found(), 5);
        let address = a_function_to_be_found as fn() -> u32 as usize as u64;
        let mut sites =
            [site_of(address + 1), CallSiteDefinition { module: "/nowhere".into(), offset: 5, ..CallSiteDefinition::default() }];
        resolve(&mut sites);
        let frame = sites[0].frames.last().unwrap();
        assert!(frame.function.as_ref().unwrap().contains("a_function_to_be_found"), "{frame:?}");
        assert!(frame.file.as_ref().unwrap().ends_with("symbols.rs"), "{frame:?}");
        assert!(frame.line.is_some());
        assert!(sites[1].frames.is_empty());
    }

    fn run(folder: &Path, program: &str, arguments: &[&str]) {
        // A machine that can link a Rust program has a C compiler and binutils.
        let status = std::process::Command::new(program).args(arguments).current_dir(folder).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    }

    /// The frames of the call in `work`, resolved with the given file.
    fn frames_of(path: &Path, offset: u64) -> Vec<SourceFrame> {
        let mut sites = [CallSiteDefinition { module: path.display().to_string(), offset, caller: None, frames: Vec::new() }];
        resolve(&mut sites);
        std::mem::take(&mut sites[0].frames)
    }

    #[test]
    fn inlined_functions_and_debug_information_elsewhere_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let source = "void there(void);\n\
            static inline __attribute__((always_inline)) void inlined(void) { there(); there(); }\n\
            __attribute__((noinline)) void work(void) { inlined(); }\n";
        std::fs::write(folder.path().join("work.c"), source).unwrap();
        run(folder.path(), "cc", &["-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=none", "work.c", "-o", "whole.so"]);
        run(folder.path(), "objcopy", &["--only-keep-debug", "whole.so", "kept.debug"]);
        run(folder.path(), "objcopy", &["--strip-debug", "whole.so", "symbols.so"]);
        run(folder.path(), "objcopy", &["--strip-debug", "--add-gnu-debuglink=kept.debug", "whole.so", "linked.so"]);
        let whole = folder.path().join("whole.so");
        let work = DebugModule::open(&whole).unwrap();
        let (first, bytes, _) = work.symbols.iter().find(|(_, _, name)| name == "work").unwrap();
        let (from, _, address) = work.segments.iter().find(|(_, bytes, address)| *first >= *address && first - address < *bytes).unwrap();
        let offset = first - address + from + bytes / 2;
        let frames = frames_of(&whole, offset);
        let names: Vec<_> = frames.iter().map(|frame| (frame.function.as_deref().unwrap(), frame.line)).collect();
        assert_eq!(names, [("inlined", Some(2)), ("work", Some(3))]);
        assert_eq!(frames_of(&folder.path().join("linked.so"), offset), frames);
        let plain = frames_of(&folder.path().join("symbols.so"), offset);
        assert_eq!(plain, [SourceFrame { function: Some("work".into()), file: None, line: None }]);
    }

    #[test]
    fn a_file_that_is_no_code_has_no_frames() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for bytes in [&b""[..], b"\x7fELF", b"just some text that is long enough to be looked at as a header of something"] {
            std::fs::write(&path, bytes).unwrap();
            let mut sites = [CallSiteDefinition { module: path.display().to_string(), offset: 5, caller: None, frames: Vec::new() }];
            resolve(&mut sites);
            assert!(sites[0].frames.is_empty());
        }
    }
}
