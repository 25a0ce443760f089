//! Every thread that calls MPI counts: times of threads are those of the program's own ledger, efficiencies follow from them as they do
//! for the same work done by ranks, and helpers that only communicate are reported.

use serde_json::Value;
use sintonia_tests::{Mpi, Program, Recording, for_every_mpi, retry_until_ok};

/// How far times may be from the ledger, as a share of them. (The ledger has the cost of recording in its calls, and a thread can lose its
/// core between the ledger's reading of the clock and that of the probe.)
const TIME_TOLERANCE: f64 = 0.08;
/// How far efficiencies may be from those of the ledger.
const EFFICIENCY_TOLERANCE: f64 = 0.09;

/// One line of a ledger, in seconds.
#[derive(Debug)]
struct LedgerEntry {
    rank: u64,
    thread: u64,
    mpi_s: f64,
    outside_s: f64,
}

impl LedgerEntry {
    fn active_s(&self) -> f64 {
        self.mpi_s + self.outside_s
    }
}

fn ledger(recording: &Recording) -> Vec<LedgerEntry> {
    let parse = |line: &str| {
        let fields: Vec<f64> = line.strip_prefix("ledger ")?.split(' ').filter_map(|field| field.parse().ok()).collect();
        let [rank, thread, mpi, outside] = fields[..] else { return None };
        Some(LedgerEntry { rank: rank as u64, thread: thread as u64, mpi_s: mpi / 1e9, outside_s: outside / 1e9 })
    };
    recording.run.stderr.lines().filter_map(parse).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The times of a thread: in MPI without MPI_Init and MPI_Finalize, and outside.
fn thread_times(report: &Value, rank: u64, thread: u64) -> Option<(f64, f64)> {
    let of_rank = report["per_rank"].as_array()?.iter().find(|time| time["rank"] == rank)?;
    let time = match report["threads"]["per_thread"].as_array() {
        Some(threads) => threads.iter().find(|time| time["rank"] == rank && time["thread"] == thread)?,
        None => of_rank,
    };
    let edges = if thread == 0 { number(&of_rank["init_s"]) + number(&of_rank["finalize_s"]) } else { 0.0 };
    Some((number(&time["mpi_s"]) - edges, number(&time["outside_s"]) + time["blocked_s"].as_f64().unwrap_or(0.0)))
}

fn record(mpi: &Mpi, name: &str) -> Option<Recording> {
    let program = Program::find(name);
    program.build(mpi).ok().map(|_| Recording::record(mpi, &program, &[]).without_missing_cores())
}

fn check(holds: bool, complaint: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(complaint()) }
}

/// The times of all workers are those of the ledger, and the efficiencies follow from it.
fn check_ledger(mpi: &Mpi, name: &str) -> Result<(), String> {
    let Some(recording) = record(mpi, name) else { return Ok(()) };
    let (report, entries) = (recording.report(), ledger(&recording));
    check(entries.len() == 4, || format!("{}: {name}: {entries:?}", mpi.name))?;
    for entry in &entries {
        let (mpi_s, outside_s) = thread_times(&report, entry.rank, entry.thread).ok_or(format!("{entry:?} is not in the report"))?;
        let most = TIME_TOLERANCE * (entry.mpi_s + entry.outside_s);
        let is_close = (mpi_s - entry.mpi_s).abs() < most && (outside_s - entry.outside_s).abs() < most;
        check(is_close, || format!("{}: {name}: {entry:?}, reported {mpi_s} and {outside_s}", mpi.name))?;
    }
    let parallel = entries.iter().map(|entry| entry.outside_s).sum::<f64>() / entries.iter().map(LedgerEntry::active_s).sum::<f64>();
    let communication = entries.iter().map(|entry| entry.outside_s / entry.active_s()).fold(0.0, f64::max);
    // Workers do not begin and end exactly together, and a main thread waits for the other one at the end.
    for (figure, expected) in [("parallel", parallel), ("communication", communication), ("load_balance", parallel / communication)] {
        let found = number(&report["efficiency"][figure]);
        check((found - expected).abs() < EFFICIENCY_TOLERANCE, || format!("{}: {name}: {figure} {found}, not {expected}", mpi.name))?;
    }
    Ok(())
}

#[test]
fn c270_threads_have_the_times_and_efficiencies_of_their_ledger() {
    for_every_mpi(|mpi| retry_until_ok(|| check_ledger(mpi, "c/270_thread_ledger")));
}

#[test]
fn c271_ranks_that_do_the_same_have_them_by_the_same_formula() {
    for_every_mpi(|mpi| retry_until_ok(|| check_ledger(mpi, "c/271_rank_ledger")));
}

#[test]
fn c272_helpers_that_only_communicate_are_reported() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let Some(recording) = record(mpi, "c/272_helper_threads") else { return Ok(()) };
            let report = recording.report();
            let threads = &report["threads"];
            // On a busy machine the thread that polls loses its core between two polls, for longer than polling explains.
            let [polls, receives] = [0, 1].map(|rank| mpi_share(threads, rank));
            let expected = 1 + u64::from(polls >= 0.95);
            check(receives > 0.95 && threads["communication_threads"] == expected, || format!("{}: {threads}", mpi.name))?;
            let (with, without) = (number(&report["efficiency"]["parallel"]), number(&threads["efficiency_without"]["parallel"]));
            check(with < without && without <= 1.0, || format!("{}: {with}, {without} without", mpi.name))?;
            let screen = recording.sintonia("report", &[]).stdout;
            let says = screen.contains("of 4 threads (2 per rank)") && screen.contains("nothing but communicate");
            check(says, || screen.clone())
        });
    });
}

#[test]
fn c273_between_two_threads_with_one_number_nobody_computes() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let program = Program::find("c/273_thread_lives");
            program.build(mpi)?;
            let recording = Recording::record(mpi, &program, &[]);
            let (report, entries) = (recording.report(), ledger(&recording));
            check(entries.len() == 2, || format!("{}: {entries:?}", mpi.name))?;
            for entry in &entries {
                let threads = report["threads"]["per_thread"].as_array().ok_or("threads are listed")?;
                let time = threads.iter().find(|time| time["rank"] == entry.rank && time["thread"] == entry.thread).ok_or("a helper")?;
                let active_s = number(&time["active_s"]);
                let outside_s = number(&time["outside_s"]) + number(&time["blocked_s"]);
                let most = TIME_TOLERANCE * entry.active_s();
                let is_close = (active_s - entry.active_s()).abs() < most && (outside_s - entry.outside_s).abs() < most;
                check(is_close, || format!("{}: {entry:?}, but {time}", mpi.name))?;
            }
            Ok(())
        });
    });
}

/// The share of MPI in the active time of the helper of a rank.
fn mpi_share(threads: &Value, rank: u64) -> f64 {
    let all = threads["per_thread"].as_array().map_or(&[][..], Vec::as_slice);
    let helper = all.iter().find(|time| time["rank"] == rank && time["main"] == false);
    helper.map_or(0.0, |time| number(&time["mpi_s"]) / number(&time["active_s"]))
}
