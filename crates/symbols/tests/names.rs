//! Functions by names as people write them; the symbol that is meant is asked of `nm`.

use std::path::{Path, PathBuf};
use std::process::Command;

use sintonia_symbols::{ProgramImage, SymbolError};

fn build(compiler: &str, files: &[(&str, &str)], options: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files {
        std::fs::write(folder.path().join(file), text).expect("written");
    }
    let sources = files.iter().map(|(file, _)| file);
    let status = Command::new(compiler).current_dir(folder.path()).args(options).args(["-o", "program"]).args(sources).status();
    assert!(status.expect("the compiler runs").success(), "{compiler} failed");
    let program = folder.path().join("program");
    (folder, program)
}

/// The symbols of the functions that `nm` demangles to this name.
fn symbols_by_nm(program: &Path, demangled: &str) -> Vec<String> {
    let listed = |option: &[&str]| {
        let output = Command::new("nm").args(option).arg(program).output().expect("nm runs");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let (plain, full) = (listed(&["-p"]), listed(&["-p", "-C"]));
    plain.into_iter().zip(full).filter(|(_, full)| full.split(" [clone").next() == Some(demangled)).map(|(plain, _)| plain).collect()
}

fn found(program: &ProgramImage, name: &str) -> Vec<String> {
    let functions = program.functions(name).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    functions.into_iter().map(|function| function.symbol).collect()
}

const CPP: &str = r#"
#include <cstdio>
#include <string>
#include <vector>
#define KEEP __attribute__((noinline))
namespace sim {
template <class T> struct Solver {
    KEEP int step(int x) { asm volatile("" ::: "memory"); return x + 1; }
    KEEP double step(double x, int y) { asm volatile("" ::: "memory"); return x + y; }
    template <class U> KEEP U conv(U x) { asm volatile("" ::: "memory"); return x; }
    KEEP bool operator<(const Solver &) const { asm volatile("" ::: "memory"); return true; }
};
struct Grid { int n; KEEP void fill(const double *p, unsigned long k) { asm volatile("" ::"r"(p), "r"(k)); n++; } };
}
namespace { KEEP int hidden(int x) { asm volatile("" ::: "memory"); return x - 1; } }
template <class T> KEEP T f(T x) { asm volatile("" ::: "memory"); return x; }
template <class T> KEEP T only(T x) { asm volatile("" ::: "memory"); return x + x; }
KEEP int g(std::vector<double> &v, const std::string &) { asm volatile("" ::: "memory"); return (int)v.size(); }
KEEP int g(int x) { asm volatile("" ::: "memory"); return 3 * x; }
int main(int c, char **)
{
    sim::Solver<double> s; sim::Solver<float> t; sim::Grid grid{c}; double d = 1; std::vector<double> v(c); std::string text;
    grid.fill(&d, 3);
    std::printf("%d %g %d %g %d %d %d %d %d\n", s.step(c), s.step(1.0, c), hidden(c), f(2.0), f(c), only(c), g(v, text), g(c), s < s);
    return t.step(c) + t.conv('c') + grid.n;
}
"#;

#[test]
fn t020_cpp_names_may_be_partly_written() {
    const STRING: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&";
    let vector = format!("g(std::vector<double, std::allocator<double> >&, {STRING})");
    let of = |name: &str| name.to_owned();
    for level in ["-O0", "-O2"] {
        let (_folder, path) = build("g++", &[("a.cpp", CPP)], &["-g", level, "-fno-ipa-icf"]);
        let program = ProgramImage::from_file(&path).expect("a program");
        for (wanted, full) in [
            ("Grid::fill", of("sim::Grid::fill(double const*, unsigned long)")),
            ("fill", of("sim::Grid::fill(double const*, unsigned long)")),
            ("fill(const double *, size_t)", of("sim::Grid::fill(double const*, unsigned long)")),
            ("Solver<double>::step(int)", of("sim::Solver<double>::step(int)")),
            ("Solver<float>::step", of("sim::Solver<float>::step(int)")),
            ("step(double, int)", of("sim::Solver<double>::step(double, int)")),
            ("conv", of("char sim::Solver<float>::conv<char>(char)")),
            ("Solver::operator<", of("sim::Solver<double>::operator<(sim::Solver<double> const&) const")),
            ("hidden", of("(anonymous namespace)::hidden(int)")),
            ("f<double>", of("double f<double>(double)")),
            ("f(int)", of("int f<int>(int)")),
            ("only", of("int only<int>(int)")),
            ("g(int)", of("g(int)")),
            ("g(std::vector<double>&, const std::string&)", vector.clone()),
        ] {
            let meant = symbols_by_nm(&path, &full);
            assert!(!meant.is_empty(), "nm knows {full}");
            assert_eq!(found(&program, wanted), meant, "{wanted} {level}");
        }
        for (wanted, candidates) in [
            ("f", vec!["f<double>(double)", "f<int>(int)"]),
            ("Solver<double>::step", vec!["sim::Solver<double>::step(double, int)", "sim::Solver<double>::step(int)"]),
            ("step(int)", vec!["sim::Solver<double>::step(int)", "sim::Solver<float>::step(int)"]),
        ] {
            let Err(SymbolError::AmbiguousFunction { candidates: mut listed, .. }) = program.functions(wanted) else {
                panic!("{wanted} is ambiguous")
            };
            listed.sort();
            assert_eq!(listed, candidates, "{wanted} {level}");
            // What is listed can be written.
            for candidate in &listed {
                assert_eq!(program.functions(candidate).map(|found| found.len()).ok(), Some(1), "{candidate}");
            }
        }
        assert!(matches!(program.functions("g(long)"), Err(SymbolError::Unknown { .. })));
    }
}

const FORTRAN: &str = "module phys\ncontains\n  subroutine Compute(x, n)\n    integer, intent(in) :: n\n    real(8), intent(inout) :: x(n)\n    x = x * 1.5d0\n    call inner()\n  contains\n    subroutine inner()\n      x(1) = x(1) + 1\n    end subroutine\n  end subroutine\n  subroutine twin(x)\n    real(8) :: x\n    x = x + 2\n  end subroutine\nend module\nmodule other\ncontains\n  subroutine twin(x)\n    real(8) :: x\n    x = x + 1\n  end subroutine\nend module\nsubroutine ext(a)\n  real(8) :: a\n  a = a + 1\nend subroutine\nprogram main\n  use phys\n  use other, only: again => twin\n  real(8) :: x(10)\n  x = 1\n  call compute(x, 10)\n  call ext(x(2))\n  call twin(x(3))\n  call again(x(3))\n  print *, x(1)\nend program\n";

#[test]
fn t021_fortran_procedures_are_found_without_their_module() {
    for options in [&["-g", "-O0"][..], &["-O0"]] {
        let (_folder, path) = build("gfortran", &[("a.f90", FORTRAN)], options);
        let program = ProgramImage::from_file(&path).expect("a program");
        for (wanted, symbol) in [
            ("compute", "__phys_MOD_compute"),
            ("Compute", "__phys_MOD_compute"),
            ("PHYS::COMPUTE", "__phys_MOD_compute"),
            ("ext", "ext_"),
            ("EXT", "ext_"),
            ("other::twin", "__other_MOD_twin"),
        ] {
            assert_eq!(symbols_by_nm(&path, symbol), [symbol], "nm knows it");
            assert_eq!(found(&program, wanted), [symbol], "{wanted} {options:?}");
        }
        let Err(SymbolError::AmbiguousFunction { mut candidates, .. }) = program.functions("twin") else { panic!("two modules have it") };
        candidates.sort();
        assert_eq!(candidates, ["other::twin", "phys::twin"]);
        let Err(SymbolError::Unknown { near, .. }) = program.functions("comptue") else { panic!("misspelt") };
        assert_eq!(near.as_deref(), Some("phys::compute"));
        let has_debug = options.contains(&"-g");
        assert_eq!(program.functions("compute::inner").is_ok(), has_debug);
        if has_debug {
            assert_eq!(found(&program, "inner"), ["inner.0"]);
        }
    }
}

const ONE: &str = "static __attribute__((noinline)) int step(int x) { __asm__ volatile(\"\" ::: \"memory\"); return x + 1; }\nint one(int x) { return step(x); }\n";
const TWO: &str = "static __attribute__((noinline)) int step(int x) { __asm__ volatile(\"\" ::: \"memory\"); return x * 5; }\nint one(int);\nint main(int c, char **v) { (void)v; return step(c) + one(c); }\n";

#[test]
fn t022_static_functions_of_the_same_name_are_told_apart_by_their_file() {
    let (_folder, path) = build("cc", &[("one.c", ONE), ("two.c", TWO)], &["-g", "-O1"]);
    let program = ProgramImage::from_file(&path).expect("a program");
    let Err(SymbolError::AmbiguousFunction { mut candidates, .. }) = program.functions("step") else { panic!("two files have it") };
    candidates.sort();
    assert_eq!(candidates, ["one.c:step", "two.c:step"]);
    let address = |name: &str| program.functions(name).expect("found")[0].address;
    assert_ne!(address("one.c:step"), address("two.c:step"));
    assert_eq!(program.callees("one").expect("found"), ["one.c:step"]);
}

#[test]
fn t023_a_stripped_program_is_called_stripped() {
    let (_folder, path) = build("cc", &[("one.c", ONE), ("two.c", TWO)], &["-O1", "-s"]);
    let program = ProgramImage::from_file(&path).expect("a program");
    for problem in [program.functions("step").map(drop).unwrap_err(), program.variable("chunk").map(drop).unwrap_err()] {
        assert!(matches!(&problem, SymbolError::Stripped { .. }) && problem.to_string().contains("strip"), "{problem}");
    }
}

const INLINED: &str = "int knob = 1; double acc;\nvoid step(int i) { for (int k = 0; k < knob; k++) acc += i * 0.5; }\nstatic inline __attribute__((always_inline)) int twice(int x) { return 2 * x + knob; }\nint main(int c, char **v)\n{\n    (void)v;\n    for (int i = 0; i < c; i++)\n        step(i);\n    return twice(c);\n}\n";

#[test]
fn t024_inlined_calls_are_told_with_their_lines() {
    let (_folder, path) = build("cc", &[("a.c", INLINED)], &["-g", "-O2"]);
    let program = ProgramImage::from_file(&path).expect("a program");
    let step = program.functions("step").expect("a copy is left").remove(0);
    let sites: Vec<String> = step.inlined_at.iter().map(ToString::to_string).collect();
    assert_eq!(sites, ["a.c:8 in main"]);
    let code = Command::new("objdump").args(["-d", "--disassemble=main"]).arg(&path).output().expect("objdump runs");
    assert!(!String::from_utf8_lossy(&code.stdout).contains("<step>"), "main does not call step");
    let Err(SymbolError::Inlined { sites, .. }) = program.functions("twice") else { panic!("no copy is left") };
    assert_eq!(sites.iter().map(|site| site.line).collect::<Vec<_>>(), [9]);
    assert!(program.functions("main").expect("found")[0].inlined_at.is_empty());
    let Err(SymbolError::OtherKind { kind, .. }) = program.functions("knob") else { panic!("a variable") };
    assert_eq!(kind, "variable");
}

/// Symbols of functions by `nm`, without those of partial clones.
fn function_symbols_by_nm(program: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["--defined-only", "-p"]).arg(program).output().expect("nm runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let words = text.lines().filter_map(|line| line.split_once(' ')?.1.split_once(' '));
    // Weak data is V, and `data_start` is weak without a kind.
    words.filter(|(kind, name)| "tTWi".contains(kind) && *name != "data_start").map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn t025_every_function_is_listed_by_a_name_that_finds_it() {
    let sources =
        [("g++", "a.cpp", CPP, "-O2"), ("g++", "a.cpp", CPP, "-O0"), ("gfortran", "a.f90", FORTRAN, "-O2"), ("cc", "a.c", INLINED, "-O2")];
    for (compiler, file, text, level) in sources {
        let (_folder, path) = build(compiler, &[(file, text)], &["-g", level]);
        let program = ProgramImage::from_file(&path).expect("a program");
        let listed = program.list_functions();
        let symbols: Vec<&String> = listed.iter().flat_map(|function| &function.symbols).collect();
        for symbol in function_symbols_by_nm(&path) {
            assert!(symbols.contains(&&symbol), "{symbol} of {compiler} {level} is missing");
        }
        for function in listed.iter().filter(|function| !function.copies.is_empty()) {
            let found = program.functions(&function.name).unwrap_or_else(|problem| panic!("{}: {problem}", function.name));
            let addresses = |all: &[sintonia_symbols::ResolvedFunction]| all.iter().map(|one| one.address).collect::<Vec<_>>();
            assert_eq!(addresses(&found), addresses(&function.copies), "{} {level}", function.name);
        }
        for variable in program.list_variables().iter().filter(|variable| variable.is_settable()) {
            assert_eq!(program.variable(&variable.name).ok(), variable.resolved, "{}", variable.name);
        }
    }
}

/// Variables that loops read: in the loop itself, in a function called from it; not those that are only written, or read once.
const LOOPS: &str = r#"
#include <stdio.h>
int bound = 10, step = 2, inner = 3, once = 4, written;
__attribute__((noinline)) int callee(int i) { asm volatile("" ::: "memory"); return i + inner; }
__attribute__((noinline)) int sum(void)
{
    int all = 0;
    for (int i = 0; i < bound; i += step) {
        all += callee(i);
        written = i;
        asm volatile("" ::: "memory");
    }
    return all;
}
int main(void) { int all = sum(); printf("%d\n", all + once); return 0; }
"#;

#[test]
fn variables_that_loops_read_are_found() {
    for options in [&["-g", "-O0"][..], &["-g", "-O2"], &["-g", "-O2", "-no-pie", "-fno-pie"]] {
        for compiler in ["gcc", "clang"] {
            let (_folder, program) = build(compiler, &[("loops.c", LOOPS)], options);
            let image = ProgramImage::from_file(&program).expect("read");
            let read = image.addresses_read_in_loops();
            let is_read = |name: &str| {
                let found = image.list_variables().into_iter().find(|variable| variable.name == name).expect("listed");
                read.contains(&found.resolved.expect("resolved").location.fixed_address().expect("fixed"))
            };
            for name in ["bound", "step", "inner"] {
                assert!(is_read(name), "{name} with {compiler} {options:?}");
            }
            for name in ["once", "written"] {
                assert!(!is_read(name), "{name} with {compiler} {options:?}");
            }
        }
    }
}
