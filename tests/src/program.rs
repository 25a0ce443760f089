//! A test program: what its first comment says of it, and how it is built.
//!
//! The first comment tells what the program exercises and what its record must show, then, one per line:
//! - `ranks: 3` (default 2), `args: ...` (`{soname}` is the library's), `stdin: ...`;
//! - `status: 7` or `status: failure`, of the run (default 0);
//! - `needs: MPI_Psend_init`, skipped where the library has no such function; `except: mpich (reason)`, skipped where even
//!   the bare program fails;
//! - `compile: flags`; `link: none`, not linked with MPI; `plugin: file`, built with MPI, its path is the macro PLUGIN;
//!   `library: file`, built without MPI and linked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Mpi, Outcome, Process, tests_dir};

/// What a program is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Any of the three Fortran families.
    Fortran,
    /// Python with mpi4py.
    Python,
}

/// One program of `programs/`.
#[derive(Debug, Clone)]
pub struct Program {
    /// Folder and file without its ending: `c/001_send_modes`.
    pub name: String,
    /// Its source file.
    pub source: PathBuf,
    /// What it is written in.
    pub language: Language,
    /// How many ranks it is made for.
    pub ranks: usize,
    /// A function it cannot do without.
    pub needs: Option<String>,
    except: Option<String>,
    /// None: any status but 0.
    pub status: Option<i32>,
    args: Vec<String>,
    stdin: String,
    compile: Vec<String>,
    plugin: Option<PathBuf>,
    library: Option<PathBuf>,
    linked: bool,
}

impl Program {
    /// Every program there is, in order.
    pub fn all() -> Vec<Program> {
        let mut programs = Vec::new();
        for folder in ["c", "f77", "f90", "f08", "python"] {
            let path = tests_dir().join("programs").join(folder);
            for entry in std::fs::read_dir(&path).expect("a folder of programs").flatten() {
                let file = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with(|first: char| first.is_ascii_digit()) && !name.contains(".lib.") {
                    programs.push(Program::from_file(folder, &file));
                }
            }
        }
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        programs
    }

    /// The program of that name.
    pub fn find(name: &str) -> Program {
        let found = Program::all().into_iter().find(|program| program.name == name);
        found.unwrap_or_else(|| panic!("no test program is called {name}"))
    }

    /// The number its file name begins with.
    pub fn number(&self) -> usize {
        let file = self.name.rsplit('/').next().unwrap_or_default();
        file.split('_').next().and_then(|number| number.parse().ok()).expect("a program's file name begins with a number")
    }

    fn from_file(folder: &str, source: &Path) -> Program {
        let ending = source.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let language = match ending {
            "c" => Language::C,
            "cpp" => Language::Cxx,
            "f" | "f90" => Language::Fortran,
            "py" => Language::Python,
            _ => panic!("{} is in no known language", source.display()),
        };
        let stem = source.file_stem().and_then(|stem| stem.to_str()).expect("programs have names");
        let text = std::fs::read_to_string(source).expect("a program can be read");
        let beside = |file: &str| source.with_file_name(file);
        let mut program = Program {
            name: format!("{folder}/{stem}"),
            source: source.to_path_buf(),
            language,
            ranks: 2,
            needs: None,
            except: None,
            status: Some(0),
            args: Vec::new(),
            stdin: String::new(),
            compile: Vec::new(),
            plugin: None,
            library: None,
            linked: true,
        };
        for line in first_comment(&text) {
            let Some((key, value)) = line.split_once(": ") else { continue };
            let words = || value.split_whitespace().map(String::from).collect();
            match key {
                "ranks" => program.ranks = value.parse().expect("ranks: a number"),
                "needs" => program.needs = Some(value.to_string()),
                "except" => program.except = Some(value.to_string()),
                "status" => program.status = value.parse().ok(),
                "args" => program.args = words(),
                "stdin" => program.stdin = format!("{value}\n"),
                "compile" => program.compile = words(),
                "plugin" => program.plugin = Some(beside(value)),
                "library" => program.library = Some(beside(value)),
                "link" => program.linked = value != "none",
                _ => {}
            }
        }
        program
    }

    /// The line that carries the marker `site:name`, in this program or, failing that, in what it loads.
    pub fn line(&self, site: &str) -> u64 {
        let files = [Some(&self.source), self.plugin.as_ref(), self.library.as_ref()];
        for file in files.into_iter().flatten() {
            let text = std::fs::read_to_string(file).expect("a program can be read");
            let at = text.lines().position(|line| marked(line, site));
            if let Some(index) = at {
                return index as u64 + 1;
            }
        }
        panic!("{} has no line marked site:{site}", self.name)
    }

    /// The command line of one rank: built first if its source is newer. The reason, where this library cannot.
    pub fn build(&self, mpi: &Mpi) -> Result<Vec<String>, String> {
        if let Some(function) = &self.needs
            && !mpi.has(function)
        {
            return Err(format!("{} has no {function}", mpi.name));
        }
        let names = |except: &&String| except.split_whitespace().any(|word| word == mpi.name);
        if let Some(reason) = self.except.as_ref().filter(names) {
            return Err(reason.clone());
        }
        let mut command = match self.language {
            Language::Python => vec![text(&mpi.python), text(&self.source)],
            Language::Fortran if mpi.fortran.is_none() => return Err(format!("{} has no Fortran", mpi.name)),
            _ => vec![text(&self.built(mpi))],
        };
        command.extend(self.args.iter().map(|argument| argument.replace("{soname}", mpi.soname)));
        Ok(command)
    }

    /// The variables it runs with.
    pub fn env(&self, mpi: &Mpi) -> Vec<(String, String)> {
        let mut env = mpi.env.clone();
        if self.language == Language::Python {
            env.extend(mpi.python_env.iter().cloned());
            env.push(("PYTHONDONTWRITEBYTECODE".to_string(), "1".to_string()));
        }
        env
    }

    /// Runs it without Sintonia, in `folder`.
    pub fn run_bare(&self, mpi: &Mpi, folder: &Path) -> Outcome {
        let program = self.build(mpi).expect("the caller asked whether it can be built");
        self.process(mpi, mpi.launch(self.ranks, &program)).run_in(folder)
    }

    /// A process with the variables and the input of this program.
    pub fn process(&self, mpi: &Mpi, command: Vec<String>) -> Process {
        Process::new(command).env(&self.env(mpi)).stdin(&self.stdin)
    }

    fn built(&self, mpi: &Mpi) -> PathBuf {
        let folder = mpi.build_dir();
        let place = |name: &str, ending: &str| folder.join(format!("{}{ending}", name.replace('/', "_")));
        let output = place(&self.name, "");
        let mut flags = self.compile.clone();
        let mut libraries = Vec::new();
        if let Some(source) = &self.plugin {
            let plugin = place(&self.name, ".plugin.so");
            make(&plugin, &with_included(source), |to| {
                run(command(&mpi.cc).args(["-g", "-O1", "-shared", "-fPIC"]).arg(source).arg("-o").arg(to).args(&mpi.link));
            });
            flags.push(format!("-DPLUGIN=\"{}\"", text(&plugin)));
        }
        if let Some(source) = &self.library {
            let library = place(&self.name, ".so");
            make(&library, &with_included(source), |to| {
                run(Command::new("gcc").args(["-g", "-O1", "-shared", "-fPIC"]).arg(source).arg("-o").arg(to));
            });
            libraries.push(text(&library));
        }
        make(&output, &with_included(&self.source), |to| {
            let object = PathBuf::from(format!("{}.o", to.display()));
            let (compiler, link) = match self.language {
                Language::Cxx => (&mpi.cxx, &mpi.link),
                Language::Fortran => {
                    let f08 = mpi.link_f08.as_ref().filter(|_| self.name.starts_with("f08/"));
                    (mpi.fortran.as_ref().expect("asked before"), f08.unwrap_or(&mpi.link_fortran))
                }
                _ => (&mpi.cc, &mpi.link),
            };
            let mut compile = command(compiler);
            compile.args(["-g", "-O1", "-c"]);
            if self.source.extension().is_some_and(|ending| ending == "f") {
                compile.arg("-ffixed-line-length-none");
            }
            // modules and other by-products stay out of the source folder
            compile.current_dir(&folder).args(&flags).arg(&self.source).arg("-o").arg(&object);
            run(&mut compile);
            let mut linker = if self.linked { command(compiler) } else { Command::new("gcc") };
            linker.arg(&object).arg("-o").arg(to).args(&libraries).args(&flags);
            if self.linked {
                linker.args(link);
            }
            run(&mut linker);
            let _ = std::fs::remove_file(object);
        });
        output
    }
}

/// Lines of the comment a source begins with, without the signs that make them comments.
fn first_comment(text: &str) -> Vec<&str> {
    let sign = |line: &str| ["/*", " *", "C ", "!", "#"].iter().any(|sign| line.starts_with(sign));
    let lines = text.lines().take_while(|line| sign(line) && !line.starts_with("#include"));
    lines.map(|line| line.trim_start_matches(['/', '*', 'C', '!', '#', ' ']).trim()).collect()
}

fn marked(line: &str, site: &str) -> bool {
    let Some((_, rest)) = line.split_once("site:") else { return false };
    rest.trim_end_matches("*/").trim() == site
}

/// A source and the files beside it that it includes.
pub(crate) fn with_included(source: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(source).expect("a program can be read");
    let quoted = |line: &str| Some(line.strip_prefix("#include \"")?.trim_end().strip_suffix('"')?.to_string());
    let included = text.lines().filter_map(quoted).map(|name| source.with_file_name(name));
    std::iter::once(source.to_path_buf()).chain(included).collect()
}

/// Makes `output` unless it is newer than its sources; under another name first, for tests that run at the same time.
pub(crate) fn make(output: &Path, sources: &[PathBuf], build: impl FnOnce(&Path)) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    let newest = sources.iter().filter_map(|source| time(source)).max();
    if time(output).is_some_and(|made| Some(made) > newest) {
        return;
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let making = output.with_extension(format!("{}-{number}", std::process::id()));
    build(&making);
    std::fs::rename(&making, output).expect("a built program takes its place");
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn run(command: &mut Command) {
    let outcome = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(outcome.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&outcome.stderr));
}

fn text(path: &Path) -> String {
    path.to_str().expect("paths of tests are text").to_string()
}
