//! Generates functions with random prototypes, and a program that calls each of them and prints what came of it: a hook must not change a
//! line. Every function computes a checksum of all its arguments, and its result depends on the checksum.
//!
//! A program consists of parts, one per compiler and set of options. The functions of a part and their callers are in two files, so that
//! the compiler cannot adapt one to the other; static functions are in the file of their callers, so that it can.

mod c_part;
mod fortran_part;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Mpi;

/// A source file of a part.
struct SourceFile {
    name: String,
    text: String,
}

/// One part of a program.
struct Part {
    /// In the order of compilation.
    files: Vec<SourceFile>,
    /// Functions that are there under this symbol or name, and how often each is called.
    functions: Vec<(String, usize)>,
    /// Static functions, which the compiler may have inlined or changed.
    statics: Vec<String>,
}

/// A generated program.
#[derive(Debug)]
pub struct GeneratedProgram {
    /// The executable.
    pub executable: PathBuf,
    /// Its functions, and how often each is called. With `PROTOTYPES_HOOKED` in its environment, the program waits for a hook of the last one.
    pub functions: Vec<(String, usize)>,
    /// Its static functions, which the compiler may have inlined or changed.
    pub statics: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum PartLanguage {
    C,
    Cpp,
    Fortran,
}

const COMPILERS: [(&str, PartLanguage); 5] = [
    ("gcc", PartLanguage::C),
    ("clang", PartLanguage::C),
    ("g++", PartLanguage::Cpp),
    ("clang++", PartLanguage::Cpp),
    ("gfortran", PartLanguage::Fortran),
];

/// The main program. Where it is to be hooked, it waits until the last function begins with a jump.
const MAIN: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
DECLARED
extern volatile unsigned char last[] __asm__("LAST");
void show(int part, int function, long h) { printf("p%d_f%d %016lx\n", part, function, (unsigned long)h); }
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; getenv("PROTOTYPES_HOOKED") && last[0] != 0xe9 && last[4] != 0xe9 && i < 10000; i++) usleep(10000);
CALLED
    MPI_Finalize();
}
"#;

/// Generates and builds a program: for every compiler, with and without optimisation, with and without debug information, `functions`
/// functions. The same seed gives the same program.
pub fn build(mpi: &Mpi, folder: &Path, seed: u64, functions: usize) -> GeneratedProgram {
    let mut program = GeneratedProgram { executable: folder.join("prototypes"), functions: Vec::new(), statics: Vec::new() };
    let (mut objects, mut entries) = (Vec::new(), Vec::new());
    let mut random = fastrand::Rng::with_seed(seed);
    for (compiler, language) in COMPILERS {
        for options in [&["-O0"][..], &["-O0", "-g"], &["-O2"], &["-O2", "-g"]] {
            let name = format!("p{}", entries.len());
            let part = match language {
                PartLanguage::C => c_part::generate(&name, &mut random, functions, false),
                PartLanguage::Cpp => c_part::generate(&name, &mut random, functions, true),
                PartLanguage::Fortran => fortran_part::generate(&name, &mut random, functions),
            };
            let vectors = if language == PartLanguage::Fortran { None } else { Some(widest_vectors()).filter(|_| random.bool()) };
            for SourceFile { name, text } in part.files {
                objects.push(compile(folder, compiler, options, vectors, &name, &text));
            }
            entries.push(name);
            program.functions.extend(part.functions);
            program.statics.extend(part.statics);
        }
    }
    let last = program.functions.last().expect("a function").0.clone();
    link(mpi, folder, &entries, &last, &objects, &program.executable);
    program
}

/// The option for the widest vectors that this processor has.
fn widest_vectors() -> &'static str {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |feature: &str| about.split_whitespace().any(|word| word == feature);
    ["avx512f", "avx2"].into_iter().find(|feature| has(feature)).map_or("-msse2", |feature| match feature {
        "avx512f" => "-mavx512f",
        _ => "-mavx2",
    })
}

fn compile(folder: &Path, compiler: &str, options: &[&str], vectors: Option<&str>, name: &str, text: &str) -> PathBuf {
    let (source, object) = (folder.join(name), folder.join(format!("{name}.o")));
    std::fs::write(&source, text).expect("written");
    let mut command = Command::new(compiler);
    command.args(options).args(vectors).args(["-w", "-c", "-o"]).arg(&object).arg(&source).current_dir(folder);
    let output = command.output().unwrap_or_else(|problem| panic!("{compiler} does not run ({problem}): run `make setup`"));
    assert!(output.status.success(), "{compiler} {options:?} {name}: {}", String::from_utf8_lossy(&output.stderr));
    object
}

fn link(mpi: &Mpi, folder: &Path, entries: &[String], last: &str, objects: &[PathBuf], executable: &Path) {
    let declared: String = entries.iter().map(|entry| format!("void {entry}_run(void);\n")).collect();
    let called: String = entries.iter().map(|entry| format!("    {entry}_run();\n")).collect();
    let text = MAIN.replace("DECLARED", &declared).replace("CALLED", &called).replace("LAST", last);
    let (source, main) = (folder.join("main.c"), folder.join("main.o"));
    std::fs::write(&source, text).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-c", "-o"]).arg(&main).arg(&source);
    assert!(command.status().expect("the compiler runs").success());
    let mut command = Command::new(&mpi.cxx[0]);
    command.args(&mpi.cxx[1..]).arg("-o").arg(executable).arg(&main).args(objects).args(&mpi.link).args(["-lgfortran", "-lm"]);
    assert!(command.status().expect("the linker runs").success());
}
