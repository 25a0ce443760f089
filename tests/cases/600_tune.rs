//! `sintonia tune`: a real program, adapted while it runs.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use sintonia_tests::fire::{SHORT_FIRE, tuning, was_made, xfire};
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, sintonia, wait_until};

fn launch(mpi: &Mpi, folder: &Path, words: &[&str]) -> Outcome {
    let command = mpi.launch(4, &xfire(mpi, folder, SHORT_FIRE));
    let own: Vec<String> = if words.is_empty() {
        Vec::new()
    } else {
        [&[sintonia().as_str(), "tune"], words, &["--"]].concat().iter().map(ToString::to_string).collect()
    };
    Process::new(own.into_iter().chain(command)).env(&mpi.env).limit(60).run_in(folder)
}

#[test]
fn c600_factoring_changes_the_shares_and_not_the_result() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let bare = launch(mpi, folder.path(), &[]);
        bare.expect_status(0);
        let tuned = launch(mpi, folder.path(), &["--tunlet", "factoring", "-o", "tuned.sin", "--json"]);
        tuned.expect_status(0);
        assert_eq!(tuned.stdout, bare.stdout, "{}", mpi.name);
        let report = tuning(&tuned);
        let decisions = report["decisions"].as_array().expect("decisions");
        let first: Vec<(&str, f64)> =
            decisions.iter().take(3).map(|one| (one["action"].as_str().expect("a name"), one["new"].as_f64().expect("a number"))).collect();
        assert_eq!(first, [("F0", 0.5), ("F1", 0.5), ("F2", 0.5)], "{report}");
        assert!(decisions.iter().all(|one| one["why"].is_string() && was_made(one)), "{report}");
        // The heavy half makes tasks unequal, so that the first batch must not be everything.
        let mut later = decisions.iter().skip(3).filter(|one| one["action"] == "F0").map(|one| one["new"].as_f64().expect("a number"));
        assert!(later.any(|share| (0.3..0.98).contains(&share)), "{report}");
        assert!(report["events"].as_u64().expect("a number") > 100, "{report}");
        let log = std::fs::read_to_string(folder.path().join("tuned.sin/tuning.jsonl")).expect("a log");
        assert_eq!(log.lines().filter(|line| line.starts_with("{\"kind\":\"change\"")).count(), decisions.len());
    });
}

#[test]
fn c601_what_is_only_watched_is_not_changed() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let watched = launch(mpi, folder.path(), &["--watch", "--tunlet", "factoring", "-o", "watched.sin", "--json"]);
        watched.expect_status(0);
        let report = tuning(&watched);
        let decisions = report["decisions"].as_array().expect("decisions");
        assert!(!decisions.is_empty() && decisions.iter().all(|one| one["refused"] == "only watched" && one["old"].is_null()), "{report}");
    });
}

#[test]
fn c602_a_program_without_the_names_runs_and_is_told_of() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let source = folder.path().join("other.c");
    std::fs::write(&source, "#include <mpi.h>\n#include <stdio.h>\ndouble F00 = 1;\nint main(int c, char **v) { MPI_Init(&c, &v); printf(\"%g\\n\", F00); MPI_Finalize(); return 3; }\n").expect("written");
    mpi.compile(&[source], &folder.path().join("other"));
    let program = [folder.path().join("other").display().to_string()];
    let own = [sintonia(), "tune".into(), "--tunlet".into(), "factoring".into(), "--".into()];
    let outcome = Process::new(own.into_iter().chain(mpi.launch(1, &program))).env(&mpi.env).limit(60).run_in(folder.path());
    assert_eq!((outcome.status, outcome.stdout.as_str()), (3, "1\n"), "{}", outcome.text());
    assert!(outcome.stderr.contains("there is no function `global_sendreceive`"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("there is no variable `F0`; did you mean `F00`?"), "{}", outcome.stderr);
}

#[test]
fn c603_a_tunlet_that_does_not_exist_is_an_error_before_anything_runs() {
    let folder = fresh_dir();
    let own = [sintonia().as_str(), "tune", "--tunlet", "facturing", "--", "true"].map(String::from);
    let outcome = Process::new(own).limit(20).run_in(folder.path());
    outcome.expect_status(1);
    assert!(outcome.stderr.contains("there is no tunlet `facturing`"), "{}", outcome.stderr);
}

/// Everything that leaves a function other than by returning, through a hooked one; one line of output each.
const TORTURE: &str = r#"
#include <mpi.h>
#include <csetjmp>
#include <cstdio>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>
extern "C" { int NW = 1; double F0 = 1, F1 = 1, F2 = 1; }
static std::jmp_buf back;
static volatile int sink;
struct Guard { int *count; ~Guard() { ++*count; } };
static int unwound;
enum What { RETURNS, THROWS, THROUGH, JUMPS, RECURSES, TRACES, CANCELS };
extern "C" __attribute__((noinline)) long global_sendreceive(int what, long depth);
__attribute__((noinline)) static void thrower(int what) { if (what == THROUGH) throw std::runtime_error("through"); sink++; }
extern "C" long global_sendreceive(int what, long depth)
{
    Guard guard{&unwound};
    void *frames[64];
    switch (what) {
    case THROWS: throw std::runtime_error("from");
    case THROUGH: thrower(what); break;
    case JUMPS: std::longjmp(back, 7);
    case RECURSES: return depth == 0 ? 0 : 1 + global_sendreceive(what, depth - 1);
    case TRACES: return backtrace(frames, 64);
    case CANCELS: for (;;) { sleep(1); pthread_testcancel(); }
    }
    return depth;
}
static void *cancelled(void *) { global_sendreceive(CANCELS, 0); return nullptr; }
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int caught = 0, jumped = 0;
    for (int round = 0; round < 1000; round++) {
        try { global_sendreceive(THROWS, 0); } catch (const std::runtime_error &error) { caught += error.what()[0] == 'f'; }
        try { global_sendreceive(THROUGH, 0); } catch (const std::runtime_error &error) { caught += error.what()[0] == 't'; }
        if (setjmp(back) == 7) jumped++; else global_sendreceive(JUMPS, 0);
    }
    std::printf("caught %d, jumped %d, unwound %d\n", caught, jumped, unwound);
    std::printf("recursion %ld, returns %ld\n", global_sendreceive(RECURSES, 500), global_sendreceive(RETURNS, 9));
    std::printf("backtrace reaches main: %s\n", global_sendreceive(TRACES, 0) >= 4 ? "yes" : "no");
    pthread_t thread;
    void *result;
    int before = unwound;
    pthread_create(&thread, nullptr, cancelled, nullptr);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    std::printf("cancelled %s, unwound %d\n", result == PTHREAD_CANCELED ? "yes" : "no", unwound - before);
    MPI_Finalize();
}
"#;

#[test]
fn c604_exceptions_jumps_recursion_backtraces_and_cancellation_go_through_hooks() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let source = folder.path().join("torture.cpp");
        std::fs::write(&source, TORTURE).expect("written");
        let mut command = Command::new(&mpi.cxx[0]);
        command.args(&mpi.cxx[1..]).args(["-O2", "-g", "-pthread", "-o"]).arg(folder.path().join("torture")).arg(&source).args(&mpi.link);
        assert!(command.status().expect("the compiler runs").success());
        let program = [folder.path().join("torture").display().to_string()];
        let own = [sintonia(), "tune".into(), "--tunlet".into(), "factoring".into(), "--json".into(), "--".into()];
        let outcome = Process::new(own.into_iter().chain(mpi.launch(1, &program))).env(&mpi.env).limit(60).run_in(folder.path());
        outcome.expect_status(0);
        let expected =
            "caught 2000, jumped 1000, unwound 2000\nrecursion 500, returns 9\nbacktrace reaches main: yes\ncancelled yes, unwound 1\n";
        assert_eq!(outcome.stdout, expected, "{}", outcome.text());
        // Every call was seen: what was thrown or jumped out of has no exit.
        assert!(tuning(&outcome)["events"].as_u64().expect("a number") > 3000, "{}", outcome.text());
    });
}

#[test]
fn c605_a_program_whose_command_is_killed_goes_on_to_its_end() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let bare = launch(mpi, folder.path(), &[]);
        let program = xfire(mpi, folder.path(), SHORT_FIRE);
        let own = ["tune", "--tunlet", "factoring", "-o", "killed.sin", "--"].map(String::from);
        let result = folder.path().join("result");
        let mut command = Command::new(sintonia());
        command.args(own).args(mpi.launch(4, &program)).envs(mpi.env.iter().cloned()).current_dir(folder.path());
        command.stdout(File::create(&result).expect("made")).stderr(File::create(folder.path().join("said")).expect("made"));
        let mut child = command.spawn().expect("runs");
        let said = || std::fs::read_to_string(folder.path().join("said")).unwrap_or_default();
        wait_until("something is changed", || said().contains("F0"));
        child.kill().expect("killed");
        child.wait().expect("ended");
        wait_until("the program ends", || std::fs::read_to_string(&result).is_ok_and(|text| !text.is_empty()));
        assert_eq!(std::fs::read_to_string(&result).expect("a result"), bare.stdout, "{}: {}", mpi.name, said());
    });
}
