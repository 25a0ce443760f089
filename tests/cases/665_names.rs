//! Names as people write them in `sintonia tune`, and the list of what can be tuned: the program keeps count of its calls itself, and gdb
//! says which functions and variables it has.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::fire::tuning;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, sintonia};

fn build(compiler: &[String], options: &[&str], link: &[String], folder: &Path, file: &str, text: &str) -> PathBuf {
    std::fs::write(folder.join(file), text).expect("written");
    let mut command = Command::new(&compiler[0]);
    command.args(&compiler[1..]).args(options).args(["-g", "-o", "program", file]).args(link).current_dir(folder);
    assert!(command.status().expect("the compiler runs").success());
    folder.join("program")
}

fn tune(mpi: &Mpi, folder: &Path, program: &Path, tunlet: &str) -> Outcome {
    std::fs::write(folder.join("case.tunlet"), tunlet).expect("written");
    let own = [&sintonia(), "tune", "--force", "-o", "run.sin", "--json", "--tunlet", "case.tunlet", "--"].map(ToString::to_string);
    let launched = mpi.launch(1, &[program.display().to_string()]);
    Process::new(own.into_iter().chain(launched)).env(&mpi.env).limit(100).run_in(folder)
}

fn bare(mpi: &Mpi, ranks: usize, folder: &Path, program: &Path) -> Outcome {
    Process::new(mpi.launch(ranks, &[program.display().to_string()])).env(&mpi.env).limit(100).run_in(folder)
}

const OVERLOADED: &str = r#"
#include <cstdio>
#include <mpi.h>
#include <unistd.h>
namespace sim {
struct Solver {
    long calls = 0;
    __attribute__((noinline)) int step(int i) { calls += 3; asm volatile("" ::"r"(this) : "memory"); return i + 1; }
    __attribute__((noinline)) double step(double x) { calls += 5; asm volatile("" ::"r"(this) : "memory"); return x * 2; }
};
}
int knob = 1;
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    sim::Solver solver;
    double sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += solver.step(i);
        for (int k = 0; k < 3; k++) sum += solver.step(0.5);
        usleep(5000);
    }
    std::printf("sum %g knob %d calls %ld\n", sum, knob, solver.calls);
    MPI_Finalize();
}
"#;

#[test]
fn c665_an_overload_of_a_class_is_found_without_its_namespace() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = build(&mpi.cxx, &["-O2"], &mpi.link, folder.path(), "a.cpp", OVERLOADED);
        let tunlet = |function: &str| {
            format!(
                "period = \"step\"\n[[measure]]\nname = \"step\"\nfunction = \"{function}\"\nside = \"entry\"\nvalues = {{ absent = \"no_such\", i = \"i\" }}\n\
                 [[tune]]\nvariable = \"knob\"\nrange = [0, 1000]\nvalue = \"step.i\"\nif = \"step.i >= 70\"\n"
            )
        };
        // Of the two, the one with an integer: its parameter goes from 0 to 99. One value that does not exist does not hinder the other.
        let outcome = tune(mpi, folder.path(), &program, &tunlet("Solver::step(int)"));
        outcome.expect_status(0);
        let knob: i64 = outcome.stdout.split_whitespace().nth(3).and_then(|word| word.parse().ok()).expect("knob");
        assert!((70..100).contains(&knob), "{}", outcome.text());
        let text = outcome.text();
        assert!(text.contains("`no_such` of `Solver::step(int)`"), "{text}");
        // Without the parameter it is not clear which one is meant.
        let text = tune(mpi, folder.path(), &program, &tunlet("Solver::step")).text();
        assert!(text.contains("`sim::Solver::step(int)`") && text.contains("`sim::Solver::step(double)`"), "{text}");
        let text = tune(mpi, folder.path(), &program, &tunlet("Solver::stpe(int)")).text();
        assert!(text.contains("did you mean `sim::Solver::step`?"), "{text}");
    });
}

const INLINED: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int knob = 1; double acc;
void step(int i) { for (int k = 0; k < knob; k++) acc += i * 0.5; }
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    for (int i = 0; i < 100; i++) {
        step(i);
        usleep(2000);
    }
    printf("acc %g knob %d\n", acc, knob);
    MPI_Finalize();
}
"#;

#[test]
fn c666_calls_that_were_inlined_are_told_when_binding_and_at_the_end() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = build(&mpi.cc, &["-O2"], &mpi.link, folder.path(), "inl.c", INLINED);
        let code = Command::new("objdump").args(["-d", "--disassemble=main"]).arg(&program).output().expect("objdump runs");
        assert!(!String::from_utf8_lossy(&code.stdout).contains("<step>"), "the compiler has inlined the call");
        let outcome =
            tune(mpi, folder.path(), &program, "period = \"step\"\n[[measure]]\nname = \"step\"\nfunction = \"step\"\nside = \"call\"\n");
        outcome.expect_status(0);
        let report = tuning(&outcome);
        let told = report["told"].to_string();
        assert!(told.contains("`step` was inlined at 1 place: inl.c:11 in main"), "{report}");
        assert!(told.contains("no call of `step` was seen, because its calls were inlined (1 place: inl.c:11 in main)"), "{report}");
    });
}

const PLUGIN: &str = "int plug_knob = 1, plug_calls;\n__attribute__((noinline)) void kernel(int i) { __asm__ volatile(\"\" ::\"r\"(i) : \"memory\"); plug_calls++; }\n";
const HOST: &str = r#"
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    usleep(300000);
    void *plugin = dlopen("./libplug.so", RTLD_NOW);
    void (*kernel)(int) = (void (*)(int))dlsym(plugin, "kernel");
    volatile int *knob = (int *)dlsym(plugin, "plug_knob");
    int made = 0;
    while (made < 4000 && *knob == 1) {
        kernel(made++);
        usleep(5000);
    }
    printf("knob %d calls %s\n", *knob, *(int *)dlsym(plugin, "plug_calls") == made ? "right" : "wrong");
    dlclose(plugin);
    plugin = dlopen("./libplug.so", RTLD_NOW);
    kernel = (void (*)(int))dlsym(plugin, "kernel");
    kernel(1);
    printf("again %d calls %d\n", *(int *)dlsym(plugin, "plug_knob"), *(int *)dlsym(plugin, "plug_calls"));
    MPI_Finalize();
}
"#;

#[test]
fn c667_a_library_that_is_loaded_later_is_searched_when_it_comes() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        std::fs::write(folder.path().join("plug.c"), PLUGIN).expect("written");
        let words = ["-shared", "-fPIC", "-g", "-O2", "-o", "libplug.so", "plug.c"];
        assert!(Command::new("cc").args(words).current_dir(folder.path()).status().expect("cc runs").success());
        let link: Vec<String> = mpi.link.iter().cloned().chain(["-ldl".to_string()]).collect();
        let program = build(&mpi.cc, &["-O2"], &link, folder.path(), "host.c", HOST);
        let tunlet = "guard = false\nperiod = \"kernel\"\n[[measure]]\nname = \"kernel\"\nfunction = \"kernel\"\nside = \"entry\"\nvalues = { i = \"i\" }\n[[tune]]\nvariable = \"plug_knob\"\nrange = [1, 10]\nvalue = \"7\"\nif = \"kernel.count > 5\"\n";
        let outcome = tune(mpi, folder.path(), &program, tunlet);
        outcome.expect_status(0);
        let text = outcome.text();
        assert!(text.contains("knob 7 calls right"), "{text}");
        // It can be unloaded: what was loaded again is new.
        assert!(text.contains("again 1 calls 1"), "{text}");
        assert!(text.contains("`kernel` is found now, in a library that was loaded later"), "{text}");
    });
}

const LISTED: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
struct setting { int chunk; double factor; } setting = { 8, 0.5 };
int rounds = 3; long total; unsigned char flag = 200; static float ratio = 1.25f; extern const int limit; const int limit = 9;
int table[4]; struct setting *chosen = &setting;
KEEP void hot(int i) { __asm__ volatile("" ::"r"(i) : "memory"); total += i & 1; }
KEEP void now_and_then(int i) { __asm__ volatile("" ::"r"(i) : "memory"); usleep(2000); }
KEEP void often(int i) { __asm__ volatile("" ::"r"(i) : "memory"); table[i & 3]++; }
KEEP void never(int i) { __asm__ volatile("" ::"r"(i) : "memory"); total -= 3 * i; }
static inline __attribute__((always_inline)) int inlined(int i) { return i * rounds; }
int main(int c, char **v)
{
    int rank;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int much = 20 + rank;
    for (int i = 0; i < 400; i++) {
        now_and_then(i);
        for (int k = 0; k < much; k++) often(k);
        for (int k = 0; k < 20000; k++) hot(k);
    }
    setting.chunk += inlined(2) + rank; rounds = 4; ratio += 1;
    if (c > 5) never(c);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("total %ld chunk %d ratio %g table %d\n", total, setting.chunk, ratio, table[0]);
    MPI_Finalize();
}
"#;

fn list(mpi: &Mpi, ranks: usize, folder: &Path, program: &Path) -> (Outcome, Value) {
    let own = [&sintonia(), "tune", "--list", "--json", "--"].map(ToString::to_string);
    let outcome =
        Process::new(own.into_iter().chain(mpi.launch(ranks, &[program.display().to_string()]))).env(&mpi.env).limit(100).run_in(folder);
    outcome.expect_status(0);
    let line = outcome.stderr.lines().find(|line| line.starts_with("{\"program\"")).unwrap_or_else(|| panic!("{}", outcome.text()));
    let list = serde_json::from_str(line).expect("JSON");
    (outcome, list)
}

/// The line of a list with this name.
fn line<'list>(list: &'list Value, part: &str, name: &str) -> &'list Value {
    let all = list[part].as_array().expect("a list");
    all.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name} is not among the {part}: {list}"))
}

/// The names in gdb's answer to a question, of functions or variables that the program itself defines.
fn names_by_gdb(program: &Path, question: &str) -> Vec<String> {
    let output = Command::new("gdb").args(["-batch", "-nx", "-ex", question]).arg(program).output().expect("gdb runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let declared = text.lines().filter(|line| line.ends_with(';')).map(|line| {
        let before = line.split(['(', '[', ';']).next().unwrap_or("");
        before.rsplit([' ', '*', '\t']).next().unwrap_or("").to_owned()
    });
    let other =
        text.lines().filter(|line| line.starts_with("0x") && !line.contains("@plt")).filter_map(|line| line.split_whitespace().nth(1));
    declared.chain(other.map(str::to_owned)).collect()
}

#[test]
fn c668_the_list_has_the_calls_that_the_program_made_and_the_values_it_had() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = build(&mpi.cc, &["-O2"], &mpi.link, folder.path(), "listed.c", LISTED);
        let alone = bare(mpi, 2, folder.path(), &program);
        let (outcome, list) = list(mpi, 2, folder.path(), &program);
        assert_eq!(outcome.stdout, alone.stdout, "{}", outcome.text());
        assert!(!folder.path().join("program.sin").exists(), "nothing is recorded");
        let calls = |name: &str| line(&list, "functions", name)["calls"]["calls"].as_u64();
        // Two processes make 400 rounds, with 20 and 21 calls in each.
        assert_eq!((calls("now_and_then"), calls("often"), calls("never")), (Some(800), Some(400 * 41), Some(0)), "{list}");
        assert_eq!(line(&list, "functions", "hot")["calls"]["is_too_often"], true, "{list}");
        let rate = line(&list, "functions", "now_and_then")["calls"]["calls_per_second"].as_f64().expect("a rate");
        let seconds = list["run"]["seconds"].as_f64().expect("seconds");
        assert!((0.5..2.0).contains(&(rate * seconds / 400.0)), "{rate} calls per second in {seconds} s");
        assert_eq!(list["run"]["processes"], 2);
        assert_eq!(line(&list, "functions", "inlined")["can_be_hooked"], false, "{list}");
        assert_eq!(line(&list, "functions", "inlined")["inlined_at"].as_array().map(Vec::len), Some(1), "{list}");
        // The values at the end, in rank 0.
        let value = |name: &str| line(&list, "variables", name)["value"].as_f64();
        assert_eq!((value("rounds"), value("setting.chunk"), value("ratio")), (Some(4.0), Some(14.0), Some(2.25)), "{list}");
        assert_eq!((value("chosen->chunk"), value("setting.factor"), value("flag")), (Some(14.0), Some(0.5), Some(200.0)), "{list}");
        assert_eq!(line(&list, "variables", "setting.chunk")["differs"], true, "{list}");
        let can_be_set = |name: &str| line(&list, "variables", name)["can_be_set"].as_bool();
        assert_eq!((can_be_set("rounds"), can_be_set("limit"), can_be_set("setting")), (Some(true), Some(false), Some(false)), "{list}");
        let controls = list["controls"].as_array().expect("control variables");
        assert!(
            controls.len() > 100 && controls.iter().any(|control| control["settable"] != "never"),
            "{} control variables",
            controls.len()
        );
    });
}

#[test]
fn c669_the_list_of_a_file_has_every_name_that_gdb_has() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = build(&mpi.cc, &["-O2"], &mpi.link, folder.path(), "listed.c", LISTED);
        let outcome = Process::new([sintonia(), "tune".into(), "--json".into(), "--list".into(), "program".into()]).run_in(folder.path());
        outcome.expect_status(0);
        let list: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        let listed = |part: &str, key: &str| -> HashSet<String> {
            let lines = list[part].as_array().expect("a list").iter();
            let texts = lines.flat_map(|line| match &line[key] {
                Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>(),
                other => other.as_str().map(str::to_owned).into_iter().collect(),
            });
            texts.collect()
        };
        let functions = &listed("functions", "name") | &listed("functions", "symbols");
        for name in names_by_gdb(&program, "info functions") {
            assert!(functions.contains(&name), "the function {name} is missing: {functions:?}");
        }
        let variables = listed("variables", "name");
        let known = names_by_gdb(&program, "info variables");
        for name in ["rounds", "total", "flag", "ratio", "limit", "table", "chosen", "setting"] {
            assert!(
                known.iter().any(|known| known == name) && variables.contains(name),
                "the variable {name} is missing: {variables:?} {known:?}"
            );
        }
        // What cannot be used has its reason.
        for (part, can) in [("functions", "can_be_hooked"), ("variables", "can_be_set")] {
            for line in list[part].as_array().expect("a list") {
                assert_eq!(line[can].as_bool(), Some(line["why_not"].is_null()), "{line}");
            }
        }
        let stripped = Command::new("strip").arg(&program).status().expect("strip runs");
        assert!(stripped.success());
        let outcome = Process::new([sintonia(), "tune".into(), "--list".into(), "program".into()]).run_in(folder.path());
        assert!(outcome.expect_status(0).stdout.contains("stripped"), "{}", outcome.text());
    });
}
