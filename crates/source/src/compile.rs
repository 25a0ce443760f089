//! From files to a model.

use std::fmt;
use std::path::{Path, PathBuf};

use sintonia_pamela::model::Model;

use crate::error::Error;
use crate::file::Text;
use crate::place::Place;
use crate::{c, generate, java, pasl};

/// The stack that compiling has.
const STACK_BYTES: usize = 64 << 20;

/// A model, and what the user should know of how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// The model.
    pub model: Model,
    /// What could not be derived, what was assumed.
    pub notes: Vec<Note>,
}

/// Something the user should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// What it is about.
    pub place: Place,
    /// What there is to know.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.text)
    }
}

/// What can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The routine that is the program, for Java without PASL; `main` unless told.
    pub entry: Option<String>,
    /// Macros of C that are defined from outside.
    pub definitions: Vec<c::Definition>,
}

/// The model of the program in these files, with the usual options.
pub fn compile(paths: &[PathBuf]) -> Result<Compiled, Error> {
    compile_with(paths, &Options::default())
}

/// The model of the program in these files: a PASL file with its Java files, Java files alone, or C files.
pub fn compile_with(paths: &[PathBuf], options: &Options) -> Result<Compiled, Error> {
    with_stack(|| dispatch(paths, options))
}

/// Does something with a stack of its own: programs may stand deep inside each other, up to a limit that not every caller's stack allows.
fn with_stack(work: impl FnOnce() -> Result<Compiled, Error> + Send) -> Result<Compiled, Error> {
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let result = work.map(|work| work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        result.unwrap_or_else(|problem| Err(Error::Files(format!("no thread to compile in: {problem}"))))
    })
}

fn dispatch(paths: &[PathBuf], options: &Options) -> Result<Compiled, Error> {
    let with = |ending: &str| paths.iter().filter(|path| has_ending(path, ending)).collect::<Vec<_>>();
    let (pasl, java, in_c) = (with("pasl"), with("java"), with("c"));
    if !in_c.is_empty() && in_c.len() == paths.len() {
        return c::compile(paths, &options.definitions);
    }
    if !options.definitions.is_empty() {
        return Err(Error::Files("macros are defined for programs in C only".to_owned()));
    }
    if let Some(other) = paths.iter().find(|path| !pasl.contains(path) && !java.contains(path)) {
        let problem =
            if in_c.is_empty() { "its name must end in .pasl, .java or .c" } else { "a program is either in C, or in PASL and Java" };
        return Err(Error::Files(format!("{}: {problem}", other.display())));
    }
    let mut texts: Vec<Text> = paths.iter().map(|path| Text::read(path)).collect::<Result<_, _>>()?;
    if let ([application], true) = (pasl.as_slice(), java.is_empty()) {
        for path in java_beside(application, &pasl::parse(&texts[0])?) {
            texts.push(Text::read(&path)?);
        }
    }
    of_texts(&texts, options.entry.as_deref())
}

/// The model of a program in Java, with PASL or without, whose texts are at hand.
pub fn compile_texts(texts: &[Text], entry: Option<&str>) -> Result<Compiled, Error> {
    with_stack(|| of_texts(texts, entry))
}

fn of_texts(texts: &[Text], entry: Option<&str>) -> Result<Compiled, Error> {
    let (pasl, java): (Vec<&Text>, Vec<&Text>) = texts.iter().partition(|text| has_ending(Path::new(&*text.file), "pasl"));
    match pasl.as_slice() {
        [] if java.is_empty() => Err(Error::Files("no files: name at least one .pasl, .java or .c file".to_owned())),
        [] => generate::routine(&java::read(&java)?, entry).map_err(|error| error.in_texts(texts)),
        [application] => {
            let application = pasl::parse(application)?;
            generate::application(&application, &java::read(&java)?).map_err(|error| error.in_texts(texts))
        }
        more => Err(Error::Files(format!("{} files of PASL: a program has one", more.len()))),
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// The files of the classes that an application names, which stand beside it unless the user names others.
fn java_beside(application: &Path, tree: &pasl::Application) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for batch in &tree.batches {
        let class = batch.routine.split('.').next().unwrap_or_default();
        let path = application.with_file_name(format!("{class}.java"));
        if !paths.contains(&path) && path.exists() {
            paths.push(path);
        }
    }
    paths
}
