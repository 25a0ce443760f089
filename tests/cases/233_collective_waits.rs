//! Waiting inside collectives: with each rank late in turn, the wait states of blocking and nonblocking collectives sum up to what the program itself
//! observes, whatever algorithm the library uses; and a replay without the lateness saves what the late rank costs.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sintonia_test_report::not_applicable;
use sintonia_tests::{
    Family, Mpi, Process, for_every_mpi, fresh_dir, record_command, remove_missing_cores, retry_assertions, retry_until_ok, sintonia,
};

const LATE_RANK: &str = include_str!("233_collective_waits/late_rank.c");
const UNBALANCED: &str = include_str!("233_collective_waits/unbalanced.c");
/// How far the found seconds may be from the observed ones.
const TOLERANCE: f64 = 0.10;
/// Sizes of vectors and blocks: buffered by every library, in between, and larger than any library buffers.
const SIZES: [&str; 3] = ["8", "4096", "262144"];

fn compile(mpi: &Mpi, folder: &Path, name: &str, source: &str) {
    let file = folder.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("written");
    mpi.compile(&[file], &folder.join(name));
}

/// Records a program; returns the recording and what the program printed.
fn record(mpi: &Mpi, folder: &Path, ranks: usize, program: &[&str]) -> (PathBuf, String) {
    let recording = folder.join("run.sin");
    let program: Vec<String> = program.iter().map(ToString::to_string).collect();
    let outcome = Process::new(record_command(&recording, &["--force"], mpi.launch(ranks, &program))).env(&mpi.env).run_in(folder);
    outcome.expect_status(0);
    remove_missing_cores(&recording);
    (recording, outcome.stdout)
}

fn json(folder: &Path, words: &[&str]) -> Value {
    let command: Vec<String> = [sintonia()].into_iter().chain(words.iter().map(ToString::to_string)).collect();
    let outcome = Process::new(command).run_in(folder);
    outcome.expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

/// The seconds of the waits for a late rank at the line marked `site:NAME`.
fn found_seconds(report: &Value, site: &str) -> f64 {
    let marker = format!("/*site:{site}*/");
    let line = LATE_RANK.lines().position(|line| line.contains(&marker)).expect("a line") + 1;
    let waits = report["wait_states"].as_array().expect("wait_states is a list");
    let here = waits.iter().filter(|wait| wait["line"] == line && !wait["kind"].as_str().expect("a kind").ends_with("completion"));
    here.map(|wait| wait["seconds"].as_f64().expect("seconds")).sum()
}

/// The lines `waited at SITE SECONDS`.
fn observed_seconds(printed: &str) -> Vec<(String, f64)> {
    let parse = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["waited", "at", site, seconds] => Some((site.to_owned(), seconds.parse().expect("seconds"))),
        _ => None,
    };
    printed.lines().filter_map(parse).collect()
}

/// Every collective whose waits differ from the observed ones; a collective in which nobody waits has less than a tenth of one lateness.
fn check_waits(mpi: &Mpi, folder: &Path, ranks: usize, bytes: &str, root: &str) -> Result<(), String> {
    let (recording, printed) = record(mpi, folder, ranks, &["./late_rank", bytes, root]);
    let report = json(folder, &["report", "--json", &recording.display().to_string()]);
    let observed = observed_seconds(&printed);
    assert_eq!(observed.len(), 41, "every collective is observed: {printed}");
    let wrong: Vec<String> = observed
        .iter()
        .map(|(site, seconds)| (site, *seconds, found_seconds(&report, site)))
        .filter(|(_, seconds, found)| (found - seconds).abs() > TOLERANCE * seconds.max(0.07))
        .map(|(site, seconds, found)| format!("{site}: {found:.3} s found, {seconds:.3} s observed"))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}: {bytes} bytes on {ranks} ranks: {}", mpi.name, wrong.join(", "))) }
}

fn check_all(ranks: usize, sizes: &[&str], root: &str) {
    // Waiting ranks of other libraries spin: many of them on few cores delay each other more than the late rank does.
    let most_spinning = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    for_every_mpi(|mpi| {
        if mpi.family != Family::OpenMpi && ranks > most_spinning {
            return not_applicable(format!("{}: {ranks} ranks that spin delay each other on so few cores", mpi.name));
        }
        let folder = fresh_dir();
        compile(mpi, folder.path(), "late_rank", LATE_RANK);
        for bytes in sizes {
            // Ranks that share cores may also take longer than the limit.
            retry_assertions(|| check_waits(mpi, folder.path(), ranks, bytes, root).unwrap_or_else(|complaint| panic!("{complaint}")));
        }
    });
}

#[test]
fn c233_the_waits_in_collectives_of_small_vectors_are_those_that_the_program_observes() {
    check_all(4, &SIZES[..1], "0");
}

/// The share of the run that perfect balance saves in a replay.
fn saved_by_balance(mpi: &Mpi, folder: &Path, operation: &str, bytes: &str) -> f64 {
    let (recording, _) = record(mpi, folder, 4, &["./unbalanced", operation, bytes]);
    let replay = json(folder, &["replay", "--json", &recording.display().to_string(), "-w", "balance=perfect"]);
    let (recorded, seconds) = (replay["measured_s"].as_f64().expect("seconds"), replay["seconds"][1].as_f64().expect("seconds"));
    1.0 - seconds / recorded
}

#[test]
fn c234_a_replay_with_perfect_balance_saves_what_ranks_wait_for_inside_collectives() {
    // One rank computes for 0.3 s, three for 0.1 s: 0.15 s each.
    let expected = 1.0 - 0.15 / 0.3;
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), "unbalanced", UNBALANCED);
        for (operation, bytes) in ["reduce", "bcast", "gather", "scan"].into_iter().flat_map(|name| [(name, SIZES[0]), (name, SIZES[2])]) {
            retry_until_ok(|| {
                let saved = saved_by_balance(mpi, folder.path(), operation, bytes);
                let complaint = || format!("{}, {operation} of {bytes} bytes: {saved:.3} saved, not {expected:.3}", mpi.name);
                // What a collective takes by itself remains: with much data, and ranks that poll on shared cores, tens of milliseconds.
                let own_cost = if bytes == SIZES[0] { 0.05 } else { 0.1 };
                if (expected - own_cost..expected + 0.05).contains(&saved) { Ok(()) } else { Err(complaint()) }
            });
        }
    });
}

/// All sizes, several numbers of ranks and another root: only where all libraries are tested, because it takes minutes.
#[test]
fn c235_the_waits_in_collectives_are_right_for_all_sizes_and_numbers_of_ranks() {
    if std::env::var("SINTONIA_TEST_PROBLEMS").is_ok_and(|which| which == "one") {
        return not_applicable("all sizes and numbers of ranks: only where all libraries are tested");
    }
    [(2, "0"), (3, "1"), (4, "0"), (5, "2"), (8, "0")].into_iter().for_each(|(ranks, root)| check_all(ranks, &SIZES, root));
}
