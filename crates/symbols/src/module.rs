//! The executable files of a process, and their load addresses.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::debug::DebugInfo;
use crate::error::SymbolError;
use crate::named_function::NamedFunction;

/// A program: its executable files, the main program first.
pub struct ProgramImage {
    /// The files.
    pub modules: Vec<LoadedModule>,
}

/// A loaded executable file.
pub struct LoadedModule {
    /// The file.
    pub path: PathBuf,
    /// Load bias: added to link-time addresses.
    pub bias: u64,
    contents: Arc<ModuleContents>,
}

/// Contents of an executable file, shared by all processes that run it.
struct ModuleContents {
    data: Vec<u8>,
    /// Lowest link-time address of a position-independent file.
    lowest: Option<u64>,
    symbols: OnceLock<SymbolTable>,
    functions: OnceLock<Vec<NamedFunction>>,
    debug: OnceLock<Option<DebugInfo>>,
}

/// Cache of parsed files: processes of one program run the same ones.
#[derive(Default)]
pub struct ModuleCache(HashMap<(u64, u64, i64, u64), Arc<ModuleContents>>);

impl ModuleCache {
    /// The contents of a file, from the cache if it is unchanged.
    fn read(&mut self, path: &Path, seen: &Path) -> Result<Arc<ModuleContents>, SymbolError> {
        let unreadable = |source| SymbolError::Unreadable { path: path.to_owned(), source };
        let metadata = fs::metadata(seen).map_err(unreadable)?;
        let key = (metadata.dev(), metadata.ino(), metadata.mtime_nsec() ^ metadata.mtime(), metadata.len());
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let contents = Arc::new(ModuleContents::parse(path, fs::read(seen).map_err(unreadable)?)?);
        self.0.insert(key, contents.clone());
        Ok(contents)
    }
}

impl ModuleContents {
    fn parse(path: &Path, data: Vec<u8>) -> Result<ModuleContents, SymbolError> {
        let what = |problem: object::Error| SymbolError::NotAnObjectFile { path: path.to_owned(), what: problem.to_string() };
        let file = object::File::parse(&*data).map_err(what)?;
        let lowest = (file.kind() != ObjectKind::Executable).then(|| lowest_address(&file));
        Ok(ModuleContents { data, lowest, symbols: OnceLock::new(), functions: OnceLock::new(), debug: OnceLock::new() })
    }
}

/// A symbol of the linker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkerSymbol {
    /// Its (mangled) name.
    pub name: String,
    /// Link-time address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Whether it is a function.
    pub is_function: bool,
    /// Whether other files cannot refer to it.
    pub is_local: bool,
}

/// The symbols of a file, by address and by name.
#[derive(Default)]
pub struct SymbolTable {
    /// All symbols by address.
    pub list: Vec<LinkerSymbol>,
    by_name: HashMap<String, usize>,
}

impl ProgramImage {
    /// The file of a program that is not running; addresses are link-time addresses.
    pub fn from_file(path: &Path) -> Result<ProgramImage, SymbolError> {
        let contents = ModuleCache::default().read(path, path)?;
        Ok(ProgramImage { modules: vec![LoadedModule { path: path.to_owned(), bias: 0, contents }] })
    }

    /// The files of a running process; `known` is a cache shared between processes.
    pub fn from_process(process: u32, known: &mut ModuleCache) -> Result<ProgramImage, SymbolError> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let maps = folder.join("maps");
        let text = fs::read_to_string(&maps).map_err(|source| SymbolError::Unreadable { path: maps, source })?;
        let own = fs::read_link(folder.join("exe")).ok();
        let mut loaded = mapped_modules(&text);
        loaded.sort_by_key(|(path, _)| Some(path) != own.as_ref());
        // The file may have been replaced since, or be in another root: access it through the process.
        let root = folder.join("root");
        let modules = loaded.into_iter().filter_map(|(path, begin)| {
            let seen = root.join(path.strip_prefix("/").unwrap_or(&path));
            let contents = known.read(&path, &seen).ok()?;
            Some(LoadedModule { bias: contents.lowest.map_or(0, |lowest| begin - lowest), path, contents })
        });
        Ok(ProgramImage { modules: modules.collect() })
    }
}

/// The executable files that a process has loaded now.
pub fn loaded_files(process: u32) -> std::io::Result<Vec<PathBuf>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    Ok(mapped_modules(&maps).into_iter().map(|(path, _)| path).collect())
}

/// The mapped executable files, each with its lowest address.
fn mapped_modules(maps: &str) -> Vec<(PathBuf, u64)> {
    let mut lowest: Vec<(PathBuf, u64, bool)> = Vec::new();
    for line in maps.lines() {
        let mut words = line.splitn(6, ' ').map(str::trim);
        let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
        let Some(path) = words.nth(3).filter(|path| path.starts_with('/')) else { continue };
        let Some(begin) = range.split('-').next().and_then(|begin| u64::from_str_radix(begin, 16).ok()) else { continue };
        let runs = rights.contains('x');
        match lowest.iter_mut().find(|(known, ..)| known == Path::new(path)) {
            Some(known) => known.2 |= runs,
            None => lowest.push((path.into(), begin, runs)),
        }
    }
    lowest.into_iter().filter(|(.., runs)| *runs).map(|(path, begin, _)| (path, begin)).collect()
}

impl LoadedModule {
    pub(crate) fn file(&self) -> object::File<'_> {
        object::File::parse(&*self.contents.data).expect("it was parsed before")
    }

    /// Size of the thread-local storage of a main program: it ends at the thread pointer.
    pub(crate) fn thread_local_size(&self) -> u64 {
        let file = self.file();
        let is_thread_local =
            |section: &object::Section<'_, '_>| matches!(section.kind(), SectionKind::Tls | SectionKind::UninitializedTls);
        let sections: Vec<_> = file.sections().filter(is_thread_local).collect();
        let begin = sections.iter().map(ObjectSection::address).min().unwrap_or(0);
        let end = sections.iter().map(|section| section.address() + section.size()).max().unwrap_or(0);
        let align = sections.iter().map(ObjectSection::align).max().unwrap_or(1).max(1);
        (end - begin).next_multiple_of(align)
    }

    /// Link-time address of a variable that the file defines for all modules.
    pub(crate) fn exported_variable(&self, name: &str) -> Option<u64> {
        let file = self.file();
        let is_meant = |symbol: &object::Symbol<'_, '_>| {
            !symbol.is_undefined()
                && symbol.kind() == SymbolKind::Data
                && symbol.name().is_ok_and(|own| own.split('@').next() == Some(name))
        };
        file.dynamic_symbols().find(is_meant).map(|symbol| symbol.address())
    }

    /// The symbols of the file.
    pub fn symbols(&self) -> &SymbolTable {
        self.contents.symbols.get_or_init(|| SymbolTable::from_file(&self.file()))
    }

    /// The functions with their names in the source.
    pub(crate) fn named_functions(&self) -> &[NamedFunction] {
        self.contents.functions.get_or_init(|| self.name_functions())
    }

    /// Whether it has neither symbols, except those for other files, nor debug information.
    pub fn is_stripped(&self) -> bool {
        self.file().symbols().next().is_none() && self.debug().is_none()
    }

    /// Its debug information, if it has any.
    pub fn debug(&self) -> Option<&DebugInfo> {
        self.contents.debug.get_or_init(|| DebugInfo::load(&self.file())).as_ref()
    }
}

fn lowest_address(file: &object::File<'_>) -> u64 {
    use object::ObjectSegment;
    file.segments().map(|segment| segment.address()).min().unwrap_or(0) & !0xfff
}

impl SymbolTable {
    fn from_file(file: &object::File<'_>) -> SymbolTable {
        let mut list: Vec<LinkerSymbol> =
            file.symbols().chain(file.dynamic_symbols()).filter_map(|symbol| relevant_symbol(&symbol)).collect();
        list.sort_by(|one, other| (one.address, &one.name).cmp(&(other.address, &other.name)));
        list.dedup();
        let by_name = list.iter().enumerate().map(|(index, symbol)| (symbol.name.clone(), index)).collect();
        SymbolTable { list, by_name }
    }

    /// The symbol with exactly this name.
    pub fn by_name(&self, name: &str) -> Option<&LinkerSymbol> {
        self.by_name.get(name).map(|index| &self.list[*index])
    }

    /// The function that starts at this address.
    pub fn function_at(&self, address: u64) -> Option<&LinkerSymbol> {
        self.functions_at(address).next()
    }

    /// The functions that start at this address.
    pub fn functions_at(&self, address: u64) -> impl Iterator<Item = &LinkerSymbol> {
        let index = self.list.partition_point(|symbol| symbol.address < address);
        self.list[index..].iter().take_while(move |symbol| symbol.address == address).filter(|symbol| symbol.is_function)
    }

    /// Whether a function may have this name in the source: symbols contain the names that they were made of. Demangling those of every
    /// library for each name would take seconds.
    pub fn may_have(&self, name: &str) -> bool {
        let is_identifier = !name.starts_with("operator") && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let name = name.to_ascii_lowercase();
        !is_identifier || self.functions().any(|symbol| symbol.name.to_ascii_lowercase().contains(&name))
    }

    /// The functions.
    pub fn functions(&self) -> impl Iterator<Item = &LinkerSymbol> {
        self.list.iter().filter(|symbol| symbol.is_function)
    }

    /// Address of the next symbol after this one.
    pub fn next_address_after(&self, address: u64) -> Option<u64> {
        let index = self.list.partition_point(|symbol| symbol.address <= address);
        self.list.get(index).map(|symbol| symbol.address)
    }
}

fn relevant_symbol<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<LinkerSymbol> {
    let is_function = symbol.kind() == SymbolKind::Text;
    if symbol.address() == 0 || !is_function && symbol.kind() != SymbolKind::Data {
        return None;
    }
    // A dynamic symbol may have a version suffix.
    let name = symbol.name().ok()?.split('@').next()?.to_owned();
    let (address, size, is_local) = (symbol.address(), symbol.size(), symbol.is_local());
    Some(LinkerSymbol { name, address, size, is_function, is_local }).filter(|symbol| !symbol.name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_code_are_found_among_what_is_mapped() {
        let maps = "55e0-55e1 r--p 00000000 fe:00 12 /home/a b/app\n55e1-55e2 r-xp 00001000 fe:00 12 /home/a b/app\n7f00-7f01 r--p 0 fe:00 9 /usr/share/locale\n7f10-7f11 rw-p 0 00:00 0 \n7fff-8000 r-xp 0 00:00 0 [vdso]\n";
        assert_eq!(mapped_modules(maps), [(PathBuf::from("/home/a b/app"), 0x55e0)]);
    }
}
