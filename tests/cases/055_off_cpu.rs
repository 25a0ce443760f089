//! When a rank was off the processor: the recording agrees with the ledger that the program keeps itself, call by call and segment by
//! segment, on free cores, beside a rival on the same core, and with four ranks on one core.

use serde_json::Value;
use sintonia_tests::{Mpi, Program, Recording, for_every_mpi, fresh_dir, record_command, retry_until_ok};

/// Time in a segment or call, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    waiting: f64,
    blocked: f64,
    elapsed: f64,
}

impl Times {
    fn sum<'a>(all: impl Iterator<Item = &'a Times>) -> Times {
        all.fold(Times::default(), |sum, one| Times {
            waiting: sum.waiting + one.waiting,
            blocked: sum.blocked + one.blocked,
            elapsed: sum.elapsed + one.elapsed,
        })
    }
}

/// One entry of the ledger beside what was recorded.
struct Entry {
    what: String,
    ledger: Times,
    recorded: Times,
}

#[test]
fn c055_on_free_cores() {
    check("keep", 2, &[], |entries| {
        same(entries)?;
        let computing = sums(entries, "compute");
        // Another program may be running beside the test, but the ledger knows.
        let spurious = computing.recorded.waiting - computing.ledger.waiting;
        if spurious > 0.01 * computing.ledger.elapsed {
            return Err(format!("{spurious} ns of waiting that nobody had"));
        }
        Ok(())
    });
}

#[test]
fn c055_beside_a_rival_on_the_same_core() {
    check("rival", 2, &[], |entries| {
        same(entries)?;
        let computing = sums(entries, "compute");
        if computing.ledger.waiting < 0.2 * computing.ledger.elapsed {
            return Err(format!("the rival took only {:?}", computing.ledger));
        }
        Ok(())
    });
}

#[test]
fn c055_four_ranks_on_one_core() {
    check("keep", 4, &["taskset", "-c", "0"], |entries| {
        same(entries)?;
        let all = Times::sum(entries.iter().map(|entry| &entry.ledger));
        if all.waiting < 0.2 * all.elapsed { Err(format!("the ranks hardly waited: {all:?}")) } else { Ok(()) }
    });
}

/// Sums of one kind of entries.
fn sums(entries: &[Entry], what: &str) -> Entry {
    let of = || entries.iter().filter(|entry| entry.what == what);
    let (ledger, recorded) = (Times::sum(of().map(|entry| &entry.ledger)), Times::sum(of().map(|entry| &entry.recorded)));
    Entry { what: what.into(), ledger, recorded }
}

/// Whether the recording agrees with the ledger: in sum, and for nearly every entry.
fn same(entries: &[Entry]) -> Result<(), String> {
    for what in ["compute", "sleep", "call"] {
        let Entry { ledger, recorded, .. } = sums(entries, what);
        // The ledger's own readings are a part of the segments, not of the calls.
        let close = |a: f64, b: f64| (a - b).abs() <= 0.1 * b.abs() + 0.02 * ledger.elapsed;
        if !close(recorded.waiting, ledger.waiting) || !close(recorded.blocked, ledger.blocked) {
            return Err(format!("{what}: recorded {recorded:?}, ledger {ledger:?}"));
        }
        let of = || entries.iter().filter(|entry| entry.what == what);
        let off = |times: &Times| times.waiting + times.blocked;
        let differ = of().filter(|entry| (off(&entry.recorded) - off(&entry.ledger)).abs() > 0.1 * off(&entry.ledger) + 2e5).count();
        if differ * 10 > of().count() {
            return Err(format!("{what}: {differ} of {} entries differ", of().count()));
        }
    }
    let slept = sums(entries, "sleep").recorded;
    if slept.blocked < 0.5 * slept.elapsed - slept.waiting { Err(format!("asleep is not blocked: {slept:?}")) } else { Ok(()) }
}

fn check(argument: &str, ranks: usize, before: &[&str], agrees: impl Fn(&[Entry]) -> Result<(), String>) {
    let program = Program::find("c/055_off_cpu");
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let recording = record(mpi, &program, argument, ranks, before);
            let entries: Vec<Entry> = (0..ranks).flat_map(|rank| entries(&recording, rank)).collect();
            agrees(&entries)
        })
    });
}

fn record(mpi: &Mpi, program: &Program, argument: &str, ranks: usize, before: &[&str]) -> Recording {
    let folder = fresh_dir();
    let output = folder.path().join("run.sin");
    let mut command: Vec<String> = before.iter().map(ToString::to_string).collect();
    command.extend(program.build(mpi).expect("a C program"));
    command.push(argument.into());
    let run = program.process(mpi, record_command(&output, &[], mpi.launch(ranks, &command))).run_in(folder.path());
    run.expect_status(0);
    Recording::at(run, output, folder)
}

/// The ledger of a rank beside the recorded calls and segments: each `MPI_Allreduce`, and the segment before it.
fn entries(recording: &Recording, rank: usize) -> Vec<Entry> {
    let ledger = std::fs::read_to_string(recording.folder().join(format!("ledger.{rank}"))).expect("the program keeps a ledger");
    let printed = recording.sintonia("calls", &["--rank", &rank.to_string(), "--json"]);
    printed.expect_status(0);
    let calls = printed.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut recorded = Vec::new();
    let mut left = 0.0;
    for call in calls {
        let seconds = |key: &str| 1e9 * call[key].as_f64().unwrap_or(0.0);
        if call["operation"] == "MPI_Allreduce" {
            let segment = (seconds("segment_waiting_for_core_s"), seconds("segment_blocked_s"), seconds("enter_s") - left);
            let inside = (seconds("waiting_for_core_s"), seconds("blocked_s"), seconds("leave_s") - seconds("enter_s"));
            recorded.extend([segment, inside].map(|(waiting, blocked, elapsed)| Times { waiting, blocked, elapsed }));
        }
        left = seconds("leave_s");
    }
    assert_eq!(recorded.len(), ledger.lines().count(), "{}", printed.text());
    let entry = |(line, recorded): (&str, Times)| {
        let mut words = line.split(' ');
        let what = words.next().expect("a name").to_string();
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).expect("a number");
        Entry { what, ledger: Times { waiting: number(), blocked: number(), elapsed: number() }, recorded }
    };
    ledger.lines().zip(recorded).map(entry).collect()
}
