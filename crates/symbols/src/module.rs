//! The files of code that a process runs, and where each is in its memory.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};

use crate::debug::Debug;
use crate::problem::Problem;

/// A program: the files of code it consists of, its own first.
pub struct Program {
    /// The files.
    pub modules: Vec<Module>,
}

/// A file of code, and where it is.
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// What is added to the addresses in the file.
    pub bias: u64,
    contents: Arc<Contents>,
}

/// What a file of code holds: the same for every process that runs it.
struct Contents {
    data: Vec<u8>,
    /// The lowest address in the file, if it can be moved.
    lowest: Option<u64>,
    symbols: OnceLock<Symbols>,
    debug: OnceLock<Option<Debug>>,
}

/// Files that were read before: processes of one program run the same.
#[derive(Default)]
pub struct Files(HashMap<(u64, u64, i64, u64), Arc<Contents>>);

impl Files {
    /// What a file holds, read unless it was before and is still the same.
    fn read(&mut self, path: &Path, seen: &Path) -> Result<Arc<Contents>, Problem> {
        let unreadable = |source| Problem::Unreadable { path: path.to_owned(), source };
        let about = fs::metadata(seen).map_err(unreadable)?;
        let key = (about.dev(), about.ino(), about.mtime_nsec() ^ about.mtime(), about.len());
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let contents = Arc::new(Contents::of(path, fs::read(seen).map_err(unreadable)?)?);
        self.0.insert(key, contents.clone());
        Ok(contents)
    }
}

impl Contents {
    fn of(path: &Path, data: Vec<u8>) -> Result<Contents, Problem> {
        let what = |problem: object::Error| Problem::NoCode { path: path.to_owned(), what: problem.to_string() };
        let file = object::File::parse(&*data).map_err(what)?;
        let lowest = (file.kind() != ObjectKind::Executable).then(|| lowest_address(&file));
        Ok(Contents { data, lowest, symbols: OnceLock::new(), debug: OnceLock::new() })
    }
}

/// A function or variable as the linker knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, as it is written in the file.
    pub name: String,
    /// Its address in the file.
    pub address: u64,
    /// Its bytes.
    pub size: u64,
    /// Whether it is code.
    pub is_function: bool,
}

/// The symbols of a file, in the order of addresses, and by name.
#[derive(Default)]
pub struct Symbols {
    /// All of them.
    pub list: Vec<Symbol>,
    by_name: HashMap<String, usize>,
}

impl Program {
    /// The files of a program that does not run; addresses are those in the file.
    pub fn of_file(path: &Path) -> Result<Program, Problem> {
        let contents = Files::default().read(path, path)?;
        Ok(Program { modules: vec![Module { path: path.to_owned(), bias: 0, contents }] })
    }

    /// The files of a running process; `known` are those of others.
    pub fn of_process(process: u32, known: &mut Files) -> Result<Program, Problem> {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let maps = folder.join("maps");
        let text = fs::read_to_string(&maps).map_err(|source| Problem::Unreadable { path: maps, source })?;
        let own = fs::read_link(folder.join("exe")).ok();
        let mut loaded = mapped(&text);
        loaded.sort_by_key(|(path, _)| Some(path) != own.as_ref());
        // The file may have been replaced since, or lie in another root: the process itself knows it best.
        let root = folder.join("root");
        let modules = loaded.into_iter().filter_map(|(path, begin)| {
            let seen = root.join(path.strip_prefix("/").unwrap_or(&path));
            let contents = known.read(&path, &seen).ok()?;
            Some(Module { bias: contents.lowest.map_or(0, |lowest| begin - lowest), path, contents })
        });
        Ok(Program { modules: modules.collect() })
    }
}

/// The files mapped with code in them, each with the lowest address it is mapped at.
fn mapped(maps: &str) -> Vec<(PathBuf, u64)> {
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

impl Module {
    pub(crate) fn file(&self) -> object::File<'_> {
        object::File::parse(&*self.contents.data).expect("it was parsed before")
    }

    /// The symbols of the file.
    pub fn symbols(&self) -> &Symbols {
        self.contents.symbols.get_or_init(|| Symbols::of(&self.file()))
    }

    /// Its debug information, if it has any.
    pub fn debug(&self) -> Option<&Debug> {
        self.contents.debug.get_or_init(|| Debug::of(&self.file())).as_ref()
    }
}

fn lowest_address(file: &object::File<'_>) -> u64 {
    use object::ObjectSegment;
    file.segments().map(|segment| segment.address()).min().unwrap_or(0) & !0xfff
}

impl Symbols {
    fn of(file: &object::File<'_>) -> Symbols {
        let mut list: Vec<Symbol> = file.symbols().chain(file.dynamic_symbols()).filter_map(|symbol| kept(&symbol)).collect();
        list.sort_by(|one, other| (one.address, &one.name).cmp(&(other.address, &other.name)));
        list.dedup();
        let by_name = list.iter().enumerate().map(|(place, symbol)| (symbol.name.clone(), place)).collect();
        Symbols { list, by_name }
    }

    /// The symbol with exactly this name.
    pub fn named(&self, name: &str) -> Option<&Symbol> {
        self.by_name.get(name).map(|place| &self.list[*place])
    }

    /// The function that begins at this address.
    pub fn at(&self, address: u64) -> Option<&Symbol> {
        let place = self.list.partition_point(|symbol| symbol.address < address);
        self.list[place..].iter().take_while(|symbol| symbol.address == address).find(|symbol| symbol.is_function)
    }

    /// The functions.
    pub fn functions(&self) -> impl Iterator<Item = &Symbol> {
        self.list.iter().filter(|symbol| symbol.is_function)
    }

    /// Where the next symbol behind this address begins.
    pub fn next_behind(&self, address: u64) -> Option<u64> {
        let place = self.list.partition_point(|symbol| symbol.address <= address);
        self.list.get(place).map(|symbol| symbol.address)
    }
}

fn kept<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<Symbol> {
    let is_function = symbol.kind() == SymbolKind::Text;
    if symbol.address() == 0 || !is_function && symbol.kind() != SymbolKind::Data {
        return None;
    }
    // A dynamic symbol may carry its version.
    let name = symbol.name().ok()?.split('@').next()?.to_owned();
    Some(Symbol { name, address: symbol.address(), size: symbol.size(), is_function }).filter(|symbol| !symbol.name.is_empty())
}

/// The bytes of a section; nothing if it is not there.
pub fn section(file: &object::File<'_>, name: &str) -> Vec<u8> {
    file.section_by_name(name).and_then(|section| section.uncompressed_data().ok()).map(|data| data.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_code_are_found_among_what_is_mapped() {
        let maps = "55e0-55e1 r--p 00000000 fe:00 12 /home/a b/app\n55e1-55e2 r-xp 00001000 fe:00 12 /home/a b/app\n7f00-7f01 r--p 0 fe:00 9 /usr/share/locale\n7f10-7f11 rw-p 0 00:00 0 \n7fff-8000 r-xp 0 00:00 0 [vdso]\n";
        assert_eq!(mapped(maps), [(PathBuf::from("/home/a b/app"), 0x55e0)]);
    }
}
