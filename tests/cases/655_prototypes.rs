//! Functions with any prototype are hooked, and compute what they compute without hooks.

use std::path::Path;
use std::process::Command;

use sintonia_tests::fire::tuning;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, prototypes, sintonia};

/// Whether everything is tested, as in `make test-all`.
fn is_complete() -> bool {
    std::env::var("SINTONIA_TEST_MPI").is_ok_and(|which| which == "all")
}

/// A tunlet that measures each of these functions.
fn tunlet(functions: impl IntoIterator<Item = String>) -> String {
    let measure =
        |name: String| format!("[[measure]]\nname = \"{name}\"\nfunction = \"{name}\"\nside = \"exit\"\nvalues = [\"seconds\"]\n");
    functions.into_iter().map(measure).collect()
}

/// Runs a program without hooks, and under `sintonia tune` with these words; both must print the same. Returns the tuned run.
fn compare(mpi: &Mpi, folder: &Path, ranks: usize, program: &str, words: &[&str]) -> Outcome {
    let launch = mpi.launch(ranks, &[program.to_string()]);
    let bare = Process::new(launch.clone()).env(&mpi.env).limit(120).run_in(folder);
    bare.expect_status(0);
    let command = sintonia();
    let own = [&[command.as_str(), "tune", "--json", "--force", "-o", "tuned.sin"], words, &["--"]].concat();
    let own = own.iter().map(ToString::to_string).chain(launch);
    let env = [mpi.env.clone(), vec![("PROTOTYPES_HOOKED".to_string(), "1".to_string())]].concat();
    let tuned = Process::new(own).env(&env).limit(300).run_in(folder);
    tuned.expect_status(0);
    let lines = |outcome: &Outcome| outcome.stdout.lines().map(str::to_owned).collect::<Vec<_>>();
    let different: Vec<_> = lines(&bare).into_iter().zip(lines(&tuned)).filter(|(bare, tuned)| bare != tuned).collect();
    assert!(different.is_empty() && bare.stdout == tuned.stdout, "{}: {different:?}\n{}", mpi.name, tuned.text());
    tuned
}

fn generated(seed: u64, functions: usize) {
    let libraries = Mpi::available();
    let (mpi, folder) = (&libraries[seed as usize % libraries.len()], fresh_dir());
    let program = prototypes::build(mpi, folder.path(), seed, functions);
    let names = program.statics.iter().chain(program.functions.iter().map(|(name, _)| name)).cloned();
    std::fs::write(folder.path().join("all.tunlet"), tunlet(names)).expect("written");
    let tuned = compare(mpi, folder.path(), 1, &program.executable.display().to_string(), &["--tunlet", "all.tunlet"]);
    let report = tuning(&tuned);
    // Every function was hooked.
    let told = report["told"].to_string();
    let refused: Vec<&String> = program.functions.iter().map(|(name, _)| name).filter(|name| told.contains(&format!("{name}`"))).collect();
    assert!(refused.is_empty(), "{refused:?}: {told}");
    let calls: usize = program.functions.iter().map(|(_, calls)| calls).sum();
    assert!(report["events"].as_u64().is_some_and(|events| events as usize >= calls), "{} events of {calls} calls", report["events"]);
}

#[test]
fn c655_generated_functions_of_any_prototype_compute_the_same_under_hooks() {
    let (programs, functions) = if is_complete() { (4, 60) } else { (1, 20) };
    (0..programs).for_each(|seed| generated(seed, functions));
}

/// A step of a physics package: 31 arguments, 25 of them on the stack.
fn physics() -> (String, String) {
    let list = |separator: &str, one: &dyn Fn(usize) -> String| (1..=30).map(one).collect::<Vec<_>>().join(separator);
    let arrays = list(", &\n  ", &|number| format!("a{number}"));
    let sum = list(" &\n   + ", &|number| format!("{number} * a{number}(i)"));
    let columns = list(", &\n   ", &|number| format!("field(:, {number})"));
    let module = format!(
        "module physics_m\ncontains\nsubroutine physics(n, {arrays})\n integer, intent(in) :: n\n real(8), intent(inout), dimension(n) :: {arrays}\n \
         integer :: i\n do i = 1, n\n  a1(i) = 1d-3 * ({sum})\n end do\nend subroutine\nend module\n"
    );
    let main = format!(
        "program weather\n use mpi\n use physics_m\n implicit none\n integer, parameter :: n = 2000\n real(8), allocatable :: field(:, :)\n \
         real(8) :: own, all\n integer :: error, rank, step, i\n call MPI_Init(error)\n call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)\n \
         allocate(field(n, 30))\n do i = 1, 30\n  field(:, i) = i * 0.01d0 + rank\n end do\n do step = 1, 1500\n  call physics(n, {columns})\n  \
         own = sum(field(:, 1))\n  call MPI_Allreduce(own, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)\n end do\n \
         if (rank == 0) print '(es24.16)', all\n call MPI_Finalize(error)\nend program\n"
    );
    (module, main)
}

#[test]
fn c656_a_subroutine_with_31_arguments_computes_the_same_under_hooks() {
    for_every_mpi(|mpi| {
        let Some(fortran) = &mpi.fortran else { return };
        for options in [&["-O2"][..], &["-O2", "-g"], &["-O0", "-g"]] {
            let folder = fresh_dir();
            let (module, main) = physics();
            std::fs::write(folder.path().join("physics.f90"), module).expect("written");
            std::fs::write(folder.path().join("weather.f90"), main).expect("written");
            let mut command = Command::new(&fortran[0]);
            command.args(&fortran[1..]).args(options).args(["-o", "weather", "physics.f90", "weather.f90"]).args(&mpi.link_fortran);
            assert!(command.current_dir(folder.path()).status().expect("the compiler runs").success());
            let program = folder.path().join("weather").display().to_string();
            compare(mpi, folder.path(), 2, &program, &[]);
            let symbol = "__physics_m_MOD_physics";
            std::fs::write(folder.path().join("physics.tunlet"), tunlet([symbol.to_string()])).expect("written");
            let tuned = compare(mpi, folder.path(), 2, &program, &["--tunlet", "physics.tunlet"]);
            assert!(tuning(&tuned)["events"].as_u64().is_some_and(|events| events >= 2 * 1500), "{}", tuned.text());
        }
    });
}

/// Structures by value from 1 to 4000 words, given and returned, and many arguments of other kinds.
const LARGE: &str = r#"
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#define SIZE(n) \
    typedef struct { long word[n]; } large##n; \
    __attribute__((noinline)) long take##n(large##n value, int by) { long sum = by; \
        for (int i = 0; i < n; i++) sum = sum * 31 + value.word[i]; return sum; } \
    __attribute__((noinline)) large##n give##n(int by, large##n value) { for (int i = 0; i < n; i++) value.word[i] += by * i; return value; } \
    static long use##n(int by) { large##n value; for (int i = 0; i < n; i++) value.word[i] = i * i - by; \
        return take##n(give##n(by, value), by) ^ take##n(value, by + 1); }
SIZE(1) SIZE(2) SIZE(3) SIZE(15) SIZE(16) SIZE(17) SIZE(18) SIZE(19) SIZE(20) SIZE(21) SIZE(64) SIZE(4000)
__attribute__((noinline)) double total(int count, ...)
{
    va_list rest;
    double sum = 0;
    va_start(rest, count);
    for (int i = 0; i < count; i++) sum = sum / 2 + (i % 2 ? va_arg(rest, double) : va_arg(rest, int));
    va_end(rest);
    return sum;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int by = 0; by < 50; by++) {
        printf("%lx %lx %lx %lx %lx %lx ", use1(by), use2(by), use3(by), use15(by), use16(by), use17(by));
        printf("%lx %lx %lx %lx %lx %lx ", use18(by), use19(by), use20(by), use21(by), use64(by), use4000(by));
        printf("%.17g\n", total(40, by, 1., 2, 3., 4, 5., 6, 7., 8, 9., 10, 11., 12, 13., 14, 15., 16, 17., 18, 19., 20, 21., 22, 23., 24, 25.,
                                26, 27., 28, 29., 30, 31., 32, 33., 34, 35., 36, 37., 38, 39.));
    }
    MPI_Finalize();
}
"#;

#[test]
fn c657_structures_by_value_and_variable_arguments_of_any_size_arrive() {
    for_every_mpi(|mpi| {
        for options in [&["-O2"][..], &["-O2", "-g"]] {
            let folder = fresh_dir();
            std::fs::write(folder.path().join("large.c"), LARGE).expect("written");
            let mut command = Command::new(&mpi.cc[0]);
            command.args(&mpi.cc[1..]).args(options).args(["-o", "large", "large.c"]).args(&mpi.link).current_dir(folder.path());
            assert!(command.status().expect("the compiler runs").success());
            let sizes = [1, 2, 3, 15, 16, 17, 18, 19, 20, 21, 64, 4000];
            let names = sizes.iter().flat_map(|size| [format!("take{size}"), format!("give{size}")]).chain(["total".to_string()]);
            std::fs::write(folder.path().join("large.tunlet"), tunlet(names)).expect("written");
            let program = folder.path().join("large").display().to_string();
            let tuned = compare(mpi, folder.path(), 1, &program, &["--watch", "--tunlet", "large.tunlet"]);
            let calls = 50 * (3 * sizes.len() as u64 + 1);
            assert!(tuning(&tuned)["events"].as_u64().is_some_and(|events| events >= calls), "{}", tuned.text());
        }
    });
}

/// What leaves a function other than by returning, or looks at the stack, all through functions with arguments on the stack; one line each.
const TORTURE: &str = r#"
#include <mpi.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
struct Load { long word[30]; };
struct Guard { int *count; ~Guard() { ++*count; } };
static std::jmp_buf back;
static ucontext_t main_context, other_context;
static int unwound;
static volatile long signals;
enum What { RETURNS, THROWS, JUMPS, RECURSES, TRACES, CANCELS, SWITCHES };
extern "C" __attribute__((noinline)) long sum(Load load, int what, long depth);
extern "C" __attribute__((noinline)) long forward(Load load, int what, long depth) { return sum(load, what, depth); }
extern "C" __attribute__((noinline)) long sum(Load load, int what, long depth)
{
    Guard guard{&unwound};
    void *frames[64];
    long total = depth;
    for (long word : load.word) total += word;
    switch (what) {
    case THROWS: throw std::runtime_error("thrown");
    case JUMPS: std::longjmp(back, 7);
    case RECURSES: return depth == 0 ? 0 : 1 + sum(load, what, depth - 1);
    case TRACES: return backtrace(frames, 64);
    case CANCELS: for (;;) { sleep(1); pthread_testcancel(); }
    case SWITCHES: swapcontext(&other_context, &main_context);
    }
    return total;
}
static Load load() { Load made; for (int i = 0; i < 30; i++) made.word[i] = i; return made; }
static void *cancelled(void *) { sum(load(), CANCELS, 0); return nullptr; }
static long switched;
static void coroutine() { switched = forward(load(), SWITCHES, 1); }
static void on_signal(int) { signals = signals + (sum(load(), RETURNS, 5) == 440); }
static void *busy(void *wrong) { for (int i = 0; i < 8000; i++) *(long *)wrong += forward(load(), RETURNS, i) != 435 + i; return wrong; }
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int caught = 0, jumped = 0;
    for (int round = 0; round < 20000; round++) {
        try { forward(load(), THROWS, 0); } catch (const std::runtime_error &error) { caught += error.what()[0] == 't'; }
        if (setjmp(back) == 7) jumped++; else forward(load(), JUMPS, 0);
    }
    std::printf("caught %d, jumped %d, unwound %d\n", caught, jumped, unwound);
    std::printf("recursion %ld, returns %ld\n", sum(load(), RECURSES, 4000), forward(load(), RETURNS, 9));
    std::printf("backtrace reaches main: %s\n", forward(load(), TRACES, 0) >= 4 ? "yes" : "no");
    pthread_t thread[3];
    void *result;
    int before = unwound;
    pthread_create(&thread[0], nullptr, cancelled, nullptr);
    usleep(100000);
    pthread_cancel(thread[0]);
    pthread_join(thread[0], &result);
    std::printf("cancelled %s, unwound %d\n", result == PTHREAD_CANCELED ? "yes" : "no", unwound - before);
    static char stack[1 << 17];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = sizeof stack;
    other_context.uc_link = &main_context;
    makecontext(&other_context, coroutine, 0);
    swapcontext(&main_context, &other_context);
    long meanwhile = sum(load(), RETURNS, 2);
    swapcontext(&main_context, &other_context);
    std::printf("switched %ld, meanwhile %ld\n", switched, meanwhile);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    std::signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, nullptr);
    long wrong[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], nullptr, busy, &wrong[i]);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], nullptr);
    for (int i = 0; signals == 0 && i < 100000; i++) sum(load(), RETURNS, i);
    setitimer(ITIMER_REAL, &never, nullptr);
    std::printf("wrong %ld, signals %s\n", wrong[0] + wrong[1] + wrong[2], signals > 0 ? "right" : "none");
    MPI_Finalize();
}
"#;

#[test]
fn c658_exceptions_jumps_coroutines_signals_and_backtraces_go_through_hooks_in_place() {
    for_every_mpi(|mpi| {
        for options in [&["-O2"][..], &["-O0", "-g"]] {
            let folder = fresh_dir();
            std::fs::write(folder.path().join("torture.cpp"), TORTURE).expect("written");
            let mut command = Command::new(&mpi.cxx[0]);
            command.args(&mpi.cxx[1..]).args(options).args(["-pthread", "-o", "torture", "torture.cpp"]).args(&mpi.link);
            assert!(command.current_dir(folder.path()).status().expect("the compiler runs").success());
            std::fs::write(folder.path().join("torture.tunlet"), tunlet(["sum", "forward"].map(String::from))).expect("written");
            let program = folder.path().join("torture").display().to_string();
            let tuned = compare(mpi, folder.path(), 1, &program, &["--tunlet", "torture.tunlet"]);
            assert!(
                tuned.stdout.starts_with("caught 20000, jumped 20000, unwound 20000\nrecursion 4000, returns 444\n"),
                "{}",
                tuned.text()
            );
            assert!(tuned.stdout.contains("switched 436, meanwhile 437\nwrong 0, signals right\n"), "{}", tuned.text());
        }
    });
}
