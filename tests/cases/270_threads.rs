//! Every thread that calls MPI counts: times of threads are those of the program's own ledger, efficiencies follow from them and are
//! those of the same work done by ranks, and helpers that only communicate are reported.

use std::cell::Cell;

use serde_json::Value;
use sintonia_tests::{Mpi, Program, Recording, for_every_mpi, retry_until_ok};

/// How far times may be from the ledger, as a share of the longer side. (The ledger has the cost of recording in its calls.)
const TOLERANCE: f64 = 0.03;
/// How far the efficiencies of two runs of the same work may be apart.
const TWIN_TOLERANCE: f64 = 0.15;

/// One line of a ledger, in seconds.
#[derive(Debug)]
struct LedgerEntry {
    rank: u64,
    thread: u64,
    mpi_s: f64,
    outside_s: f64,
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
    let is_thread = |time: &&Value| time["rank"] == rank && time["thread"] == thread;
    let time = report["threads"]["per_thread"].as_array()?.iter().find(is_thread)?;
    let of_rank = report["per_rank"].as_array()?.iter().find(|time| time["rank"] == rank)?;
    let edges = if thread == 0 { number(&of_rank["init_s"]) + number(&of_rank["finalize_s"]) } else { 0.0 };
    Some((number(&time["mpi_s"]) - edges, number(&time["outside_s"]) + number(&time["blocked_s"])))
}

fn record(mpi: &Mpi, name: &str) -> Option<Recording> {
    let program = Program::find(name);
    program.build(mpi).ok().map(|_| Recording::record(mpi, &program, &[]))
}

fn check(holds: bool, complaint: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(complaint()) }
}

#[test]
fn c270_threads_have_the_times_of_their_ledger_and_the_efficiencies_of_ranks() {
    for_every_mpi(|mpi| {
        let compared = Cell::new(0);
        retry_until_ok(|| {
            let Some(recording) = record(mpi, "c/270_thread_ledger") else { return Ok(()) };
            let report = recording.report();
            let entries = ledger(&recording);
            check(entries.len() == 4, || format!("{}: {entries:?}", mpi.name))?;
            for entry in &entries {
                let (mpi_s, outside_s) =
                    thread_times(&report, entry.rank, entry.thread).ok_or(format!("{entry:?} is not in the report"))?;
                let most = TOLERANCE * (entry.mpi_s + entry.outside_s);
                let is_close = (mpi_s - entry.mpi_s).abs() < most && (outside_s - entry.outside_s).abs() < most;
                check(is_close, || format!("{}: {entry:?}, reported {mpi_s} and {outside_s}", mpi.name))?;
            }
            let computed: f64 = entries.iter().map(|entry| entry.outside_s).sum();
            let expected = computed / entries.iter().map(|entry| entry.mpi_s + entry.outside_s).sum::<f64>();
            let parallel = number(&report["efficiency"]["parallel"]);
            // The main thread waits for the other at the end, which is a small part of the run.
            check((parallel - expected).abs() < 2.0 * TOLERANCE, || format!("{}: {parallel}, not {expected}", mpi.name))?;
            let Some(twin) = record(mpi, "c/271_rank_ledger") else { return Ok(()) };
            let twin = twin.report();
            check(twin.get("threads").is_none(), || "one thread per rank".into())?;
            for figure in ["parallel", "load_balance", "communication"] {
                let (threads, ranks) = (number(&report["efficiency"][figure]), number(&twin["efficiency"][figure]));
                check((threads - ranks).abs() < TWIN_TOLERANCE, || format!("{}: {figure} {threads}, of ranks {ranks}", mpi.name))?;
            }
            compared.set(compared.get() + 1);
            Ok(())
        });
        assert!(compared.get() == 1 || Program::find("c/270_thread_ledger").build(mpi).is_err(), "{}", mpi.name);
    });
}

#[test]
fn c272_helpers_that_only_communicate_are_reported() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let Some(recording) = record(mpi, "c/272_helper_threads") else { return Ok(()) };
            let report = recording.report();
            let (threads, efficiency) = (&report["threads"], number(&report["efficiency"]["parallel"]));
            let without = number(&threads["efficiency_without"]["parallel"]);
            check(threads["communication_threads"] == 2, || format!("{}: {threads}", mpi.name))?;
            check((0.35..0.65).contains(&efficiency) && without > 0.8 && without <= 1.0, || format!("{efficiency} {without}"))?;
            let screen = recording.sintonia("report", &[]).stdout;
            let says = screen.contains("of 4 threads (2 per rank)") && screen.contains("2 threads do nothing but communicate");
            check(says, || screen.clone())
        });
    });
}
