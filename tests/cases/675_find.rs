//! `sintonia tune --find`: planted settings are found, what does not pay or changes the program is not, and a claimed gain is there without
//! Sintonia, too.

use std::path::Path;

use serde_json::Value;
use sintonia_tests::{Hosts, Mpi, Outcome, Process, for_share_of_mpis, fresh_dir, retry_assertions, sintonia};

/// Sleeps in a loop. Variables of the environment change for how long, and what it prints.
const SLEEPER: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int rank, us = getenv("FAST") ? 5000 : getenv("SLOW") ? 15000 : getenv("WRONG") ? 1000 : 10000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double began = MPI_Wtime();
    long sum = 0, all = 0;
    for (int i = 0; i < 25; i++) {
        usleep(us);
        sum += i;
        MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("result %ld\n", all + (getenv("WRONG") != NULL));
        printf("loop time %.6f s\n", MPI_Wtime() - began);
    }
    MPI_Finalize();
}
"#;

/// Allocates, writes and frees a block in each iteration, too large for the allocator to keep it by default.
const ALLOCATOR: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { BYTES = 48 << 20, PAGE = 4096 };
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double began = MPI_Wtime();
    long sum = 0, all = 0;
    for (int i = 0; i < 20; i++) {
        char *block = malloc(BYTES);
        for (long at = 0; at < BYTES; at += PAGE)
            block[at] = (char)(at / PAGE + i);
        sum += block[PAGE * (17 + i)];
        free(block);
        MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("result %ld\nloop time %.6f s\n", all, MPI_Wtime() - began);
    MPI_Finalize();
}
"#;

/// Many short barriers.
const BARRIERS: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double began = MPI_Wtime();
    volatile double sum = 0;
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < 20000; k++)
            sum += k;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("loop time %.6f s\n", MPI_Wtime() - began);
    MPI_Finalize();
}
"#;

/// Does its items in pieces of `block`, each of which costs the same. `scale` changes the result, `fixed` cannot be set.
const BLOCKS: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int block = 4, items = 64, scale = 1;
const int fixed = 3;
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double began = MPI_Wtime();
    long sum = 0, all = 0;
    for (int step = 0; step < 120; step++) {
        for (int i = 0; i < items; i += block) {
            usleep(300);
            for (int j = i; j < i + block && j < items; j++)
                sum += (long)j * scale + *(volatile const int *)&fixed;
        }
        MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("result %ld\nloop time %.6f s\n", all, MPI_Wtime() - began);
    MPI_Finalize();
}
"#;

/// Ranks 0 and 3, and 1 and 2, exchange long messages: neither in blocks nor dealt out in turn are they on one host.
const DISTANT_PAIRS: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { BYTES = 1 << 20 };
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *out = calloc(BYTES, 1), *in = calloc(BYTES, 1);
    int peer = 3 - rank;
    double began = MPI_Wtime();
    for (int i = 0; i < 150; i++)
        MPI_Sendrecv(out, BYTES, MPI_CHAR, peer, 0, in, BYTES, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("loop time %.6f s\n", MPI_Wtime() - began);
    MPI_Finalize();
}
"#;

fn build(mpi: &Mpi, folder: &Path, source: &str) {
    let file = folder.join("app.c");
    std::fs::write(&file, source).expect("a source file");
    mpi.compile(&[file], &folder.join("app"));
}

fn environment(mpi: &Mpi, folder: &Path) -> Vec<(String, String)> {
    let data = ("XDG_DATA_HOME".to_owned(), folder.join("data").display().to_string());
    // The tests' own setting would hide what is to be found.
    let own = mpi.env.iter().filter(|(name, _)| name != "OMPI_MCA_mpi_yield_when_idle").cloned();
    own.chain([data]).collect()
}

fn tune(mpi: &Mpi, folder: &Path, options: &[&str], command: Vec<String>) -> Outcome {
    let sintonia = sintonia();
    let separator: &[&str] = if command.is_empty() { &[] } else { &["--"] };
    let own = [&[sintonia.as_str(), "tune"], options, separator].concat();
    let words = own.iter().map(ToString::to_string).chain(command);
    Process::new(words).env(&environment(mpi, folder)).limit(240).run_in(folder)
}

/// Searches, and returns the result.
fn find(mpi: &Mpi, folder: &Path, options: &[&str], command: Vec<String>) -> (Outcome, Value) {
    let outcome = tune(mpi, folder, &[&["--find", "--json"], options].concat(), command);
    outcome.expect_status(0);
    let last = outcome.stderr.lines().rfind(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no JSON\n{}", outcome.text()));
    let result = serde_json::from_str(last).expect("JSON");
    (outcome, result)
}

fn app() -> Vec<String> {
    vec!["./app".to_owned()]
}

/// The time that the program itself has measured, in a run without Sintonia, after these shell commands.
fn plain_time(mpi: &Mpi, folder: &Path, before: &str, command: &[String]) -> f64 {
    let line = format!("{before}{}", command.join(" "));
    let outcome = Process::new(["sh", "-c", &line]).env(&mpi.env).run_in(folder);
    outcome.expect_status(0);
    loop_time(&outcome)
}

/// The time that the program itself has measured.
fn loop_time(outcome: &Outcome) -> f64 {
    let text = outcome.stdout.split("loop time ").nth(1).expect("a time");
    text.split_whitespace().next().expect("a number").parse().expect("a number")
}

/// How much faster plain runs are with the exported settings: the best of a few runs each, in turn.
fn plain_ratio(mpi: &Mpi, folder: &Path, command: &[String]) -> f64 {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..3 {
        for (way, before) in ["", ". ./app.tuned.sh && "].into_iter().enumerate() {
            best[way] = best[way].min(plain_time(mpi, folder, before, command));
        }
    }
    best[0] / best[1]
}

fn state<'a>(result: &'a Value, variable: &str) -> &'a Value {
    let candidates = result["candidates"].as_array().expect("candidates");
    let found = candidates.iter().find(|one| !one["settings"]["environment"][variable].is_null());
    &found.unwrap_or_else(|| panic!("{variable} is no candidate: {result}"))["state"]
}

#[test]
fn c675_a_planted_setting_is_found_and_a_wrong_one_is_not_however_fast_it_is() {
    for_share_of_mpis(675, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            build(mpi, folder.path(), SLEEPER);
            let command = mpi.launch(2, &app());
            let options = ["--budget", "26runs", "--try", "FAST=1", "--try", "SLOW=1", "--try", "WRONG=1"];
            let (outcome, result) = find(mpi, folder.path(), &options, command.clone());
            assert!(outcome.stdout.contains("result 600\n"), "the program's output is shown: {}", outcome.text());
            assert_eq!(result["gain_claimed"], true, "{result}");
            assert_eq!(result["environment"]["FAST"], "1", "{result}");
            assert_eq!(state(&result, "FAST"), "chosen");
            assert_eq!(state(&result, "SLOW"), "no_gain");
            let dropped = state(&result, "WRONG")["rejected"].as_str().expect("a reason");
            assert!(dropped.contains("result 601"), "{dropped}");
            assert_eq!(result["measure"], "main loop", "{result}");
            assert_eq!(result["main_loop"]["iterations"], 25, "{result}");
            let claimed = result["speedup"]["ratio"].as_f64().expect("a ratio");
            let plain = plain_ratio(mpi, folder.path(), &command);
            assert!(plain > 1.4 && (0.6..1.6).contains(&(claimed / plain)), "{claimed} claimed, {plain} without Sintonia");
        });
    });
}

#[test]
fn c676_where_nothing_pays_nothing_is_claimed_or_written() {
    for_share_of_mpis(676, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            build(mpi, folder.path(), SLEEPER);
            let (_, result) = find(mpi, folder.path(), &["--budget", "20runs", "--try", "NOTHING=1"], mpi.launch(2, &app()));
            assert_eq!(result["gain_claimed"], false, "{result}");
            assert!(result["file"].is_null(), "{result}");
            let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
            assert!(left.iter().all(|name| ["app", "app.c", "data"].iter().any(|known| name == known)), "{left:?}");
        });
    });
}

#[test]
fn c677_an_allocator_that_keeps_freed_memory_pays_and_does_so_without_sintonia() {
    retry_assertions(|| {
        let mpi = Mpi::named("mpich");
        let folder = fresh_dir();
        build(&mpi, folder.path(), ALLOCATOR);
        let command = mpi.launch(2, &app());
        let (_, result) = find(&mpi, folder.path(), &["--budget", "24runs"], command.clone());
        assert_eq!(result["gain_claimed"], true, "{result}");
        // Huge pages save most of the page faults as well.
        let found = ["MALLOC_MMAP_MAX_", "GLIBC_TUNABLES"].iter().any(|name| result["environment"][name].is_string());
        assert!(found, "{result}");
        let claimed = result["speedup"]["ratio"].as_f64().expect("a ratio");
        let plain = plain_ratio(&mpi, folder.path(), &command);
        // The first iteration, which faults in any case, is part of the program's own time only.
        assert!(plain > 2.0 && claimed > 2.0, "{claimed} claimed, {plain} without Sintonia");
    });
}

#[test]
fn c678_ranks_that_share_processors_are_made_to_yield() {
    retry_assertions(|| {
        let mpi = Mpi::named("openmpi");
        let folder = fresh_dir();
        build(&mpi, folder.path(), BARRIERS);
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let ranks = (2 * processors).min(16);
        // Open MPI yields by itself where it knows of the shortage; here it is told that there are slots for all.
        let mut command = mpi.launch(ranks, &app());
        drop(command.splice(1..1, ["--host".to_owned(), format!("localhost:{ranks}"), "--bind-to".into(), "none".into()]));
        let (_, result) = find(&mpi, folder.path(), &["--budget", "24runs"], command);
        assert_eq!(result["gain_claimed"], true, "{result}");
        assert_eq!(result["environment"]["OMPI_MCA_mpi_yield_when_idle"], "1", "{result}");
    });
}

#[test]
fn c679_what_was_found_is_used_printed_and_remembered() {
    let mpi = Mpi::named("mpich");
    let folder = fresh_dir();
    build(&mpi, folder.path(), SLEEPER);
    let command = mpi.launch(2, &app());
    let options = ["--budget", "20runs", "--try", "FAST=1", "--expect", "result 600\n", "--save", "mine.tuned.toml"];
    let (_, result) = find(&mpi, folder.path(), &options, command.clone());
    assert_eq!(result["gain_claimed"], true, "{result}");
    let printed = tune(&mpi, folder.path(), &["--use", "mine.tuned.toml", "--print-env"], Vec::new());
    assert!(printed.expect_status(0).stdout.contains("export FAST=1\n"), "{}", printed.text());
    let used =
        tune(&mpi, folder.path(), &["--use", "mine.tuned.toml"], [vec!["env".to_owned(), "FIRST=1".into()], command.clone()].concat());
    assert!(used.expect_status(0).stdout.contains("result 600\n"), "{}", used.text());
    let shown = tune(&mpi, folder.path(), &["--use", "mine.tuned.toml"], vec!["printenv".into(), "FAST".into()]);
    assert_eq!(shown.expect_status(0).stdout, "1\n");
    // The next search begins with what is known, without being told to try it.
    let again = tune(&mpi, folder.path(), &["--find", "--dry-run"], command.clone());
    assert!(again.expect_status(0).stderr.contains("an earlier search found FAST=1"), "{}", again.text());
    let other = tune(&mpi, folder.path(), &["--find", "--dry-run"], [command, vec!["larger".into()]].concat());
    assert!(!other.expect_status(0).stderr.contains("earlier search"), "{}", other.text());
    for (options, command, wrong) in [
        (&["--use", "no.tuned.toml"][..], vec!["true"], "no.tuned.toml"),
        (&["--find", "--expect", "("][..], vec!["true"], "regular expression"),
        (&["--find", "--budget", "soon"][..], vec!["true"], "budget"),
        (&["--find"][..], vec!["no-such-program"], "no-such-program"),
        (&["--find", "--verify", "false"][..], vec!["true"], "check"),
        (&["--find"][..], vec!["true"], "MPI"),
    ] {
        let refused = tune(&mpi, folder.path(), options, command.iter().map(ToString::to_string).collect());
        assert!(refused.status != 0 && refused.stderr.contains(wrong), "{options:?}: {}", refused.text());
    }
}

#[test]
fn c694_a_variable_of_the_program_is_tuned_if_it_is_named() {
    for_share_of_mpis(694, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            build(mpi, folder.path(), BLOCKS);
            let command = mpi.launch(2, &app());
            let options = ["--budget", "34runs", "--variable", "block", "--variable", "scale=2", "--variable", "fixed=5"];
            let (outcome, result) = find(mpi, folder.path(), &options, command.clone());
            assert_eq!(result["gain_claimed"], true, "{result}");
            assert_eq!(result["variables"]["block"], 16, "{result}");
            for (variable, reason) in [("scale", "result"), ("fixed", "cannot be set")] {
                let candidates = result["candidates"].as_array().expect("candidates");
                let one = candidates.iter().find(|one| !one["settings"]["variables"][variable].is_null()).expect("a candidate");
                assert!(one["state"]["rejected"].as_str().is_some_and(|why| why.contains(reason)), "{one}");
            }
            // What the program measures itself, in turn, and its results.
            let mut best = [f64::INFINITY; 2];
            for _ in 0..3 {
                best[0] = best[0].min(plain_time(mpi, folder.path(), "", &command));
                let used = tune(mpi, folder.path(), &["--use", "app.tuned.toml"], command.clone());
                best[1] = best[1].min(loop_time(used.expect_status(0)));
                assert_eq!(used.stdout.lines().next(), outcome.stdout.lines().next(), "{}", used.text());
            }
            assert!(best[0] / best[1] > 2.0, "{best:?}");
            let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
            assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".sin")), "nothing is recorded: {left:?}");
        });
    });
}

#[test]
fn c695_variables_are_tried_unnamed_only_if_that_is_allowed_and_they_look_like_sizes() {
    let mpi = Mpi::named("mpich");
    let folder = fresh_dir();
    build(&mpi, folder.path(), BLOCKS);
    let tried = |options: &[&str]| {
        let outcome = tune(&mpi, folder.path(), &[&["--find", "--dry-run"], options].concat(), mpi.launch(2, &app()));
        outcome.expect_status(0).stderr.clone()
    };
    let allowed = tried(&["--allow-variables"]);
    for value in [1, 2, 8, 16] {
        assert!(allowed.contains(&format!("block = {value} ")), "{allowed}");
    }
    assert!(!allowed.contains("items =") && !allowed.contains("scale ="), "{allowed}");
    assert!(!tried(&[]).contains("block ="));
    let refused = tune(&mpi, folder.path(), &["--find", "--variable", "blok"], mpi.launch(2, &app()));
    assert!(refused.status == 1 && refused.stderr.contains("blok") && refused.stderr.contains("--list"), "{}", refused.text());
}

#[test]
fn c696_ranks_on_several_hosts_are_placed_by_their_messages() {
    let Some(hosts) = Hosts::create() else { return };
    let mpi = Mpi::named("openmpi");
    retry_assertions(|| {
        let folder = fresh_dir();
        build(&mpi, folder.path(), DISTANT_PAIRS);
        let command = hosts.launch(&mpi, 4, 2, &[folder.path().join("app").display().to_string()]);
        let (_, result) = find(&mpi, folder.path(), &["--budget", "40runs", "--save", "app.tuned.toml"], command.clone());
        assert_eq!(result["gain_claimed"], true, "{result}");
        assert!(result["placed_command"].is_array(), "{result}");
        let file = std::fs::read_to_string(folder.path().join("app.tuned.rankfile")).expect("the placement is kept");
        let placed: Vec<&str> = file.lines().collect();
        assert!(placed.len() == 4 && placed[0] == placed[3] && placed[1] == placed[2] && placed[0] != placed[1], "{file}");
        let used = tune(&mpi, folder.path(), &["--use", "app.tuned.toml"], command.clone());
        assert!(used.expect_status(0).stdout.contains("loop time"), "{}", used.text());
        let other = tune(&mpi, folder.path(), &["--use", "app.tuned.toml"], [command, vec!["more".into()]].concat());
        assert!(other.expect_status(0).stderr.contains("another command"), "{}", other.text());
    });
}
