//! Resolves names in programs built by the compilers of this system.

use std::path::{Path, PathBuf};
use std::process::Command;

use sintonia_link::value_location::AddressStep::{Add, Constant, FollowPointer};
use sintonia_link::value_location::ValueLocation;
use sintonia_symbols::{ArgumentLocation, ModuleCache, ProgramImage, ResolvedVariable, SymbolError, ValueType};

fn build(compiler: &str, file: &str, text: &str, options: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join(file);
    std::fs::write(&source, text).expect("written");
    let program = folder.path().join("program");
    let status = Command::new(compiler)
        .current_dir(folder.path())
        .args(options)
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .expect("the compiler runs");
    assert!(status.success(), "{compiler} failed");
    (folder, program)
}

/// The address of a variable that needs no further steps.
fn address(variable: &ResolvedVariable) -> u64 {
    match variable.location.steps[..] {
        [Constant(address)] => address,
        ref steps => panic!("a fixed address, not {steps:?}"),
    }
}

fn open(path: &Path) -> ProgramImage {
    ProgramImage::from_file(path).expect("a program")
}

const C: &str = r#"
#include <stdio.h>
struct cell { int id; double heat; struct cell *next; };
struct grid { int nx; struct { short a, b; } inner; struct cell cells[4]; struct cell *first; };
struct grid grid = { 3 };
struct grid *current = &grid;
double factor = 0.5;
static volatile unsigned char flag = 1;
static int never = 5;
unsigned long table[8];
_Thread_local int own;
__attribute__((noinline)) long work(long a, const double *data, double scale, int count) { __asm__ volatile("" ::: "memory"); return a + (long)(data[0] * scale) + count; }
static inline __attribute__((always_inline)) int twice(int x) { return 2 * x + flag; }
static __attribute__((noinline)) int step(int mode, int x) { __asm__ volatile("" ::: "memory"); return mode == 3 ? x + flag : x - mode; }
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, int g, double h) { __asm__ volatile("" ::: "memory"); return a + b + c + d + e + f + g + (long)h; }
int main(int argc, char **argv) { own = argc; printf("%ld %d %d %ld\n", work(argc, &factor, 2.0, 3), twice(argc) + twice(own), step(3, argc), many(1, 2, 3, 4, 5, 6, argc, 8.0)); return (int)(table[argc] + current->nx) + never; }
"#;

#[test]
fn t001_a_function_has_its_parameters_where_they_are_at_entry() {
    for level in ["-O0", "-O2"] {
        let (_folder, program) = build("cc", "a.c", C, &["-g", level]);
        let functions = open(&program).functions("work").expect("there is one");
        let [work] = &functions[..] else { panic!("one function, not {}", functions.len()) };
        let parameters = work.parameters.as_ref().expect("debug information");
        let places: Vec<(&str, ArgumentLocation)> =
            parameters.iter().map(|parameter| (parameter.name.as_str(), parameter.location)).collect();
        assert_eq!(
            places,
            [
                ("a", ArgumentLocation::IntRegister(0)),
                ("data", ArgumentLocation::IntRegister(1)),
                ("scale", ArgumentLocation::FloatRegister(0)),
                ("count", ArgumentLocation::IntRegister(2))
            ],
            "{level}"
        );
        assert_eq!(parameters[1].target, Some(ValueType::Float { bytes: 8 }));
        assert_eq!(work.result, Some(ValueType::Integer { signed: true, bytes: 8 }));
        assert!(!work.uses_stack && work.size > 0);
    }
}

#[test]
fn t002_arguments_on_the_stack_are_known() {
    let (_folder, program) = build("cc", "a.c", C, &["-g", "-O0"]);
    let many = open(&program).functions("many").expect("there is one").remove(0);
    assert!(many.uses_stack);
    assert_eq!(many.parameters.expect("debug information")[6].location, ArgumentLocation::Stack(0));
}

#[test]
fn t003_variables_fields_and_elements_are_found() {
    let (_folder, program) = build("cc", "a.c", C, &["-g", "-O2"]);
    let program = open(&program);
    let variable = |path: &str| program.variable(path).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    let grid = variable("grid");
    assert_eq!(grid.value_type, ValueType::Struct { name: "grid".into(), bytes: 112 });
    let begin = address(&grid);
    assert_eq!(
        variable("grid.nx"),
        ResolvedVariable { location: ValueLocation::at(begin, 4), value_type: ValueType::Integer { signed: true, bytes: 4 } }
    );
    assert_eq!(address(&variable("grid.inner.b")), begin + 6);
    assert_eq!(address(&variable("grid.cells[2].heat")), begin + 8 + 2 * 24 + 8);
    let current = address(&variable("current"));
    let behind = variable("current->first->heat");
    let steps = [Constant(current), FollowPointer, Constant(104), Add, FollowPointer, Constant(8), Add];
    assert_eq!((&behind.location.steps[..], behind.value_type), (&steps[..], ValueType::Float { bytes: 8 }));
    assert_eq!(variable("current->cells[1].id").location.steps, [Constant(current), FollowPointer, Constant(8 + 24), Add]);
    assert_eq!(variable("a.c:flag").value_type, ValueType::Integer { signed: false, bytes: 1 });
    assert_eq!(address(&variable("table[7]")), address(&variable("table")) + 56);
}

#[test]
fn t004_what_is_not_there_says_why() {
    let (_folder, program) = build("cc", "a.c", C, &["-g", "-O2"]);
    let program = open(&program);
    let function = |name: &str| program.functions(name).map(|_| ()).expect_err("not there").to_string();
    let variable = |name: &str| program.variable(name).map(|_| ()).expect_err("not there").to_string();
    assert!(function("wrok").contains("did you mean `work`?"), "{}", function("wrok"));
    assert!(function("twice").contains("inlined into its callers (1 place: a.c:"), "{}", function("twice"));
    assert!(function("setjmp").contains("returns twice"));
    assert!(variable("fcator").contains("did you mean `factor`?"));
    assert!(variable("never").contains("optimised away") && variable("a.c:never").contains("optimised away"));
    assert!(variable("grid.ny").contains("has no field `ny`; did you mean `nx`?"), "{}", variable("grid.ny"));
    assert!(variable("factor.x").contains("a floating-point number of 8 bytes, which has no fields"));
    assert!(variable("table[8]").contains("only the elements 0 to 7"));
    assert!(variable("*factor").contains("not a pointer"));
}

#[test]
fn t005_without_debug_information_functions_are_found_and_types_are_asked_for() {
    let (_folder, program) = build("cc", "a.c", C, &["-O2"]);
    let program = open(&program);
    let work = program.functions("work").expect("there is one").remove(0);
    assert!(work.parameters.is_none() && work.uses_stack);
    assert!(matches!(program.variable("factor"), Err(SymbolError::NoDebugInfo { .. })));
    let declared = program.variable_of_type("factor", ValueType::Float { bytes: 8 }).expect("a symbol");
    assert!(address(&declared) > 0);
}

#[test]
fn t006_a_clone_is_found_by_the_name_in_the_source() {
    let (_folder, program) = build("gcc", "a.c", C, &["-g", "-O3"]);
    let step = open(&program).functions("step").expect("found").remove(0);
    let parameters = step.parameters.expect("debug information");
    if step.clone.is_some() {
        assert_ne!(step.symbol, "step");
        let x = parameters.iter().find(|parameter| parameter.name == "x").expect("x is left");
        assert!(matches!(x.location, ArgumentLocation::IntRegister(_) | ArgumentLocation::Unavailable));
    }
}

#[test]
fn t007_cpp_is_found_by_what_is_written() {
    let text = r#"
        #include <cstdio>
        namespace sim { struct Solver { int rounds = 2; __attribute__((noinline)) double step(double dt, int n); }; double limit = 0.25; Solver *solver; }
        double sim::Solver::step(double dt, int n) { __asm__ volatile("" ::: "memory"); if (n < 0) throw 1; return dt * n * rounds; }
        int main(int argc, char **) { sim::Solver s; sim::solver = &s; std::printf("%f\n", s.step(sim::limit, argc)); }
    "#;
    let (_folder, program) = build("g++", "a.cpp", text, &["-g", "-O2"]);
    let program = open(&program);
    let step = program.functions("sim::Solver::step").expect("found").remove(0);
    let places: Vec<(String, ArgumentLocation)> =
        step.parameters.expect("debug information").into_iter().map(|one| (one.name, one.location)).collect();
    assert_eq!(
        places,
        [
            ("this".into(), ArgumentLocation::IntRegister(0)),
            ("dt".into(), ArgumentLocation::FloatRegister(0)),
            ("n".into(), ArgumentLocation::IntRegister(1))
        ]
    );
    assert_eq!(program.functions("sim::Solver::step(double, int)").expect("found").len(), 1);
    assert_eq!(program.variable("sim::limit").expect("found").value_type, ValueType::Float { bytes: 8 });
    assert_eq!(program.variable("sim::solver->rounds").expect("found").location.steps[1..], [FollowPointer]);
}

#[test]
fn t008_fortran_is_found_by_what_is_written() {
    let text = "module heat\n  integer :: rounds = 3\n  real(8) :: limit = 0.25d0\ncontains\n  subroutine step(n, x)\n    integer, intent(in) :: n\n    real(8), intent(inout) :: x\n    x = x * n + limit\n  end subroutine\nend module\nsubroutine outer(x)\n  real(8) :: x\n  integer :: chunk\n  common /share/ chunk\n  chunk = 4\n  x = x + chunk\nend subroutine\nprogram main\n  use heat\n  real(8) :: x = 1\n  call step(rounds, x)\n  call outer(x)\n  print *, x\nend program\n";
    let (_folder, program) = build("gfortran", "a.f90", text, &["-g", "-O0"]);
    let program = open(&program);
    let step = program.functions("heat::step").expect("found").remove(0);
    let parameters = step.parameters.expect("debug information");
    let n = &parameters[0];
    assert_eq!(
        (n.name.as_str(), &n.value_type, n.by_reference, n.location),
        ("n", &ValueType::Integer { signed: true, bytes: 4 }, true, ArgumentLocation::IntRegister(0))
    );
    assert_eq!(program.functions("Outer").expect("found")[0].symbol, "outer_");
    assert_eq!(program.variable("heat::limit").expect("found").value_type, ValueType::Float { bytes: 8 });
    assert_eq!(program.variable("chunk").expect("found").value_type, ValueType::Integer { signed: true, bytes: 4 });
}

#[test]
fn t009_a_running_process_is_seen_where_it_is() {
    let (_folder, program) = build(
        "cc",
        "a.c",
        "#include <unistd.h>\nlong answer = 42;\nint main(void) { write(1, \"ready\\n\", 6); pause(); return (int)answer; }\n",
        &["-g", "-O2"],
    );
    let mut child = Command::new(&program).stdout(std::process::Stdio::piped()).spawn().expect("runs");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().expect("a pipe")), &mut String::new()).expect("ready");
    let seen = ProgramImage::from_process(child.id(), &mut ModuleCache::default()).expect("seen");
    let answer = seen.variable("answer").expect("found");
    let memory = std::fs::File::open(format!("/proc/{}/mem", child.id())).expect("may be read");
    let mut bytes = [0; 8];
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut bytes, address(&answer)).expect("mapped");
    child.kill().expect("ends");
    child.wait().expect("ended");
    assert_eq!(i64::from_ne_bytes(bytes), 42);
    assert!(seen.functions("puts").is_ok(), "functions of libraries are found");
}

#[test]
fn t010_the_functions_that_a_function_calls_are_known_by_their_names() {
    let (_folder, program) = build("cc", "a.c", C, &["-g", "-O2"]);
    let program = open(&program);
    let mut callees = program.callees("main").expect("main");
    callees.sort();
    assert_eq!(callees, ["many", "step", "work"]);
    assert!(program.callees("work").expect("work").is_empty());
    assert!(matches!(program.callees("nothing"), Err(SymbolError::Unknown { .. })));
}

#[test]
fn t011_a_variable_of_a_library_is_where_the_linker_copied_it() {
    let library = "int copied = 5; static int own = 6; int get(void) { return copied + own; }";
    let (libraries, library) = build("cc", "l.c", library, &["-g", "-O0", "-shared", "-fPIC"]);
    let main = "#include <unistd.h>\nextern int copied; static volatile long own_of_main; int get(void);\nint main(void) { copied = 9; own_of_main = get(); write(1, \"ready\\n\", 6); pause(); return 0; }\n";
    let path = library.display().to_string();
    let place = format!("-Wl,-rpath,{}", libraries.path().display());
    // A library without a name of its own is found by its path.
    let (_folder, program) = build("cc", "a.c", main, &["-O0", "-no-pie", "-fno-pie", &place, "-Wl,--no-as-needed", &path]);
    let mut child = Command::new(&program).stdout(std::process::Stdio::piped()).spawn().expect("runs");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().expect("a pipe")), &mut String::new()).expect("ready");
    let seen = ProgramImage::from_process(child.id(), &mut ModuleCache::default()).expect("seen");
    let memory = std::fs::File::open(format!("/proc/{}/mem", child.id())).expect("may be read");
    let value = |name: &str| {
        let mut bytes = [0; 4];
        let address = address(&seen.variable(name).expect("found"));
        std::os::unix::fs::FileExt::read_exact_at(&memory, &mut bytes, address).expect("mapped");
        i32::from_ne_bytes(bytes)
    };
    let values = (value("copied"), value("own"));
    child.kill().expect("ends");
    child.wait().expect("ended");
    assert_eq!(values, (9, 6));
}
