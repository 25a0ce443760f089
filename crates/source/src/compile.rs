//! The entry points of the compiler.

use std::path::{Path, PathBuf};

use crate::compiled_model::CompiledModel;
use crate::error::Error;
use crate::source_file::SourceFile;
use crate::{c, generate, java, pasl};

/// The stack size of the compiler thread.
const STACK_BYTES: usize = 64 << 20;

/// Compiler options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// The entry routine, for Java without PASL; `main` by default.
    pub entry: Option<String>,
    /// Macro definitions for C.
    pub definitions: Vec<c::MacroDefinition>,
}

/// Compiles the program in these files with default options.
pub fn compile(paths: &[PathBuf]) -> Result<CompiledModel, Error> {
    compile_with(paths, &CompileOptions::default())
}

/// Compiles the program in these files: a PASL file with its Java files, Java files alone, or C files.
pub fn compile_with(paths: &[PathBuf], options: &CompileOptions) -> Result<CompiledModel, Error> {
    with_stack(|| dispatch(paths, options))
}

/// Runs the compiler on a thread with a large stack: programs may be nested deeper than the caller's stack allows.
fn with_stack(work: impl FnOnce() -> Result<CompiledModel, Error> + Send) -> Result<CompiledModel, Error> {
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let result = work.map(|work| work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        result.unwrap_or_else(|problem| Err(Error::InvalidInput(format!("cannot start the compiler thread: {problem}"))))
    })
}

fn dispatch(paths: &[PathBuf], options: &CompileOptions) -> Result<CompiledModel, Error> {
    let with = |ending: &str| paths.iter().filter(|path| has_extension(path, ending)).collect::<Vec<_>>();
    let (pasl, java, in_c) = (with("pasl"), with("java"), with("c"));
    if !in_c.is_empty() && in_c.len() == paths.len() {
        return c::compile(paths, &options.definitions);
    }
    if !options.definitions.is_empty() {
        return Err(Error::InvalidInput("macro definitions are only for C programs".to_owned()));
    }
    if let Some(other) = paths.iter().find(|path| !pasl.contains(path) && !java.contains(path)) {
        let problem =
            if in_c.is_empty() { "its extension must be .pasl, .java or .c" } else { "a program is either in C, or in PASL and Java" };
        return Err(Error::InvalidInput(format!("{}: {problem}", other.display())));
    }
    let mut texts: Vec<SourceFile> = paths.iter().map(|path| SourceFile::read(path)).collect::<Result<_, _>>()?;
    if let ([application], true) = (pasl.as_slice(), java.is_empty()) {
        for path in sibling_java_files(application, &pasl::parse(&texts[0])?) {
            texts.push(SourceFile::read(&path)?);
        }
    }
    compile_sources(&texts, options.entry.as_deref())
}

/// Compiles a program in Java, with PASL or without, whose sources are in memory.
pub fn compile_texts(texts: &[SourceFile], entry: Option<&str>) -> Result<CompiledModel, Error> {
    with_stack(|| compile_sources(texts, entry))
}

fn compile_sources(texts: &[SourceFile], entry: Option<&str>) -> Result<CompiledModel, Error> {
    let (pasl, java): (Vec<&SourceFile>, Vec<&SourceFile>) = texts.iter().partition(|text| has_extension(Path::new(&*text.name), "pasl"));
    match pasl.as_slice() {
        [] if java.is_empty() => Err(Error::InvalidInput("no files: name at least one .pasl, .java or .c file".to_owned())),
        [] => generate::routine_model(&java::read(&java)?, entry).map_err(|error| error.with_source_line(texts)),
        [application] => {
            let application = pasl::parse(application)?;
            generate::application_model(&application, &java::read(&java)?).map_err(|error| error.with_source_line(texts))
        }
        more => Err(Error::InvalidInput(format!("{} PASL files: a program has only one", more.len()))),
    }
}

fn has_extension(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// The Java files of an application's classes, next to the PASL file.
fn sibling_java_files(application: &Path, tree: &pasl::PaslApplication) -> Vec<PathBuf> {
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
