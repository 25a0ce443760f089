//! When a rank was off the processor: the recording agrees with the ledger that the program keeps itself, call by call and segment by
//! segment, on free cores, beside a rival on the same core, with four ranks on one core, with very many switches, and where
//! the kernel tells less.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{
    Mpi, NormalizedRun, Program, Recording, for_every_mpi, fresh_dir, record_command, retry_until_ok, target_dir, tests_dir,
};

/// Time in a segment or call, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    waiting: f64,
    blocked: f64,
    elapsed: f64,
}

impl Times {
    fn off(&self) -> f64 {
        self.waiting + self.blocked
    }

    fn sum<'a>(all: impl Iterator<Item = &'a Times>) -> Times {
        all.fold(Times::default(), |sum, one| Times {
            waiting: sum.waiting + one.waiting,
            blocked: sum.blocked + one.blocked,
            elapsed: sum.elapsed + one.elapsed,
        })
    }
}

/// One entry of the ledger beside what was recorded. The rank can lose its processor while it reads: then the ledger has two bounds.
struct Entry {
    what: String,
    least: Times,
    most: Times,
    recorded: Times,
}

/// Whether a time lies between its bounds, or near them.
fn is_between(time: f64, least: f64, most: f64, slack: f64) -> bool {
    (0.9 * least - slack..=1.1 * most + slack).contains(&time)
}

#[test]
fn c070_on_free_cores() {
    check("keep", 2, &[], |entries| {
        same(entries)?;
        let computing = sums(entries, "compute");
        // Another program may be running beside the test, but the ledger knows.
        let spurious = computing.recorded.waiting - computing.most.waiting;
        if spurious > 0.01 * computing.most.elapsed {
            return Err(format!("{spurious} ns of waiting that nobody had"));
        }
        Ok(())
    });
}

#[test]
fn c070_beside_a_rival_on_the_same_core() {
    check("rival", 2, &[], |entries| {
        same(entries)?;
        let computing = sums(entries, "compute");
        if computing.least.waiting < 0.2 * computing.least.elapsed {
            return Err(format!("the rival took only {:?}", computing.least));
        }
        Ok(())
    });
}

#[test]
fn c070_four_ranks_on_one_core() {
    check("keep", 4, &["taskset", "-c", "0"], |entries| {
        same(entries)?;
        let all = Times::sum(entries.iter().map(|entry| &entry.least));
        if all.waiting < 0.2 * all.elapsed { Err(format!("the ranks hardly waited: {all:?}")) } else { Ok(()) }
    });
}

#[test]
fn c070_where_the_kernel_does_not_report_context_switches() {
    let forbid = helper("forbid", &[]);
    check("keep", 2, &[&forbid, "perf_event_open=EPERM", "--"], same);
}

#[test]
fn c070_without_restartable_sequences() {
    check("keep", 2, &["env", NO_RSEQ], same);
}

/// Makes the C library register no restartable sequences.
const NO_RSEQ: &str = "GLIBC_TUNABLES=glibc.pthread.rseq=0";

#[test]
fn c072_what_the_kernel_does_not_allow_changes_nothing_and_is_noted() {
    let (forbid, hide) = (helper("forbid", &[]), helper("hide_schedstat", &["-shared", "-fPIC"]));
    let forbidden = |error: &str| vec![forbid.clone(), format!("perf_event_open={error}"), "--".to_string()];
    let without_rseq = || vec!["env".to_string(), NO_RSEQ.to_string()];
    let hidden = vec![("LD_PRELOAD".to_string(), hide.clone())];
    for_every_mpi(|mpi| {
        restricted(mpi, "file-limit", &[], &[], None);
        restricted(mpi, "plain", &forbidden("EPERM"), &[], None);
        restricted(mpi, "plain", &forbidden("EACCES"), &hidden, Some(UNCOUNTED));
        restricted(mpi, "plain", &[without_rseq(), forbidden("ENOSYS")].concat(), &[], None);
        restricted(mpi, "own-rseq", &without_rseq(), &[], None);
        restricted(mpi, "own-rseq", &[], &[], Some(OWN_RSEQ));
    });
}

const UNCOUNTED: &str = "the kernel does not tell when threads were off the processor";
const OWN_RSEQ: &str = "the program's own rseq hides when threads were off the processor";

/// Runs `072_restricted` with an argument, behind a command, with variables: it does the same as without Sintonia, all its calls are
/// recorded, and the report has this note, once.
fn restricted(mpi: &Mpi, argument: &str, before: &[String], variables: &[(String, String)], note: Option<&str>) {
    let program = Program::find("c/072_restricted");
    let (bare, folder) = (fresh_dir(), fresh_dir());
    let output = folder.path().join("run.sin");
    let mut command = before.to_vec();
    command.extend(program.build(mpi).expect("a C program"));
    command.push(argument.into());
    let launch = mpi.launch(2, &command);
    let expected = program.process(mpi, launch.clone()).env(variables).run_in(bare.path());
    expected.expect_status(0);
    let run = program.process(mpi, record_command(&output, &[], launch)).env(variables).run_in(folder.path());
    let what = format!("{argument} behind {before:?} with {}", mpi.name);
    let difference = NormalizedRun::new(&expected, bare.path()).difference(&NormalizedRun::new(&run, folder.path()));
    assert_eq!(difference, None, "{what}");
    let written = |folder: &Path| std::fs::metadata(folder.join("output.0")).map(|file| file.len()).ok();
    assert_eq!(written(folder.path()), written(bare.path()), "{what}");
    let recording = Recording::at(run, output, folder);
    assert_eq!(recording.count("MPI_Allreduce"), 2 * 250, "{what}");
    let notes = recording.report()["not_recorded"].to_string();
    for known in [UNCOUNTED, OWN_RSEQ] {
        assert_eq!(notes.matches(known).count(), usize::from(note == Some(known)), "{what}: {notes}");
    }
}

/// The path of a helper in `programs/c`, built without MPI.
fn helper(name: &str, flags: &[&str]) -> String {
    let source = tests_dir().join(format!("programs/c/{name}.c"));
    let folder = target_dir().join("test-programs");
    std::fs::create_dir_all(&folder).expect("a folder for helpers");
    let built = folder.join(name).display().to_string();
    let making = format!("{built}.{}-{:?}", std::process::id(), std::thread::current().id());
    let status = Command::new("gcc").args(["-O1", "-o", &making]).args(flags).arg(source).arg("-ldl").status();
    assert!(status.expect("gcc runs").success(), "{name} can be built");
    std::fs::rename(making, &built).expect("it takes its place");
    built
}

#[test]
fn c071_a_segment_with_more_switches_than_are_kept() {
    let program = Program::find("c/071_many_switches");
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let recording = record(mpi, &program, "keep", 2, &[]);
            let ledger = std::fs::read_to_string(recording.folder().join("ledger.0")).expect("the program keeps a ledger");
            let ledger: f64 = ledger.trim().parse().expect("a number");
            let calls = calls(&recording, 0);
            let at = |site: &str| calls.iter().find(|call| call["line"] == program.line(site)).expect("a Barrier");
            let recorded: f64 = ["passed", "again"].into_iter().map(|site| segment(at(site)).off()).sum();
            let switches = calls.iter().filter(|call| call["operation"] == "MPI_Pcontrol");
            let unrecorded: f64 = switches.map(|call| segment(call).off()).sum();
            if (recorded - ledger).abs() > 0.1 * ledger || unrecorded > 0.1 * ledger {
                return Err(format!("recorded {recorded} ns, and {unrecorded} while it was switched off, ledger {ledger}"));
            }
            Ok(())
        })
    });
}

/// Sums of one kind of entries.
fn sums(entries: &[Entry], what: &str) -> Entry {
    let sum = |times: fn(&Entry) -> &Times| Times::sum(entries.iter().filter(|entry| entry.what == what).map(times));
    Entry { what: what.into(), least: sum(|entry| &entry.least), most: sum(|entry| &entry.most), recorded: sum(|entry| &entry.recorded) }
}

/// Whether the recording agrees with the ledger: in sum, and for nearly every entry.
fn same(entries: &[Entry]) -> Result<(), String> {
    for what in ["compute", "sleep", "call"] {
        let Entry { least, most, recorded, .. } = sums(entries, what);
        let slack = 0.02 * most.elapsed;
        let agrees = is_between(recorded.waiting, least.waiting, most.waiting, slack)
            && is_between(recorded.blocked, least.blocked, most.blocked, slack);
        if !agrees {
            return Err(format!("{what}: recorded {recorded:?}, ledger from {least:?} to {most:?}"));
        }
        let of = || entries.iter().filter(|entry| entry.what == what);
        let differ = of().filter(|entry| !is_between(entry.recorded.off(), entry.least.off(), entry.most.off(), 2e5)).count();
        if differ * 10 > of().count() {
            return Err(format!("{what}: {differ} of {} entries differ", of().count()));
        }
    }
    let slept = sums(entries, "sleep");
    let awake = slept.least.elapsed - slept.recorded.off();
    if awake > 0.2 * slept.least.elapsed { Err(format!("asleep is not blocked: {:?}", slept.recorded)) } else { Ok(()) }
}

fn check(argument: &str, ranks: usize, before: &[&str], agrees: impl Fn(&[Entry]) -> Result<(), String>) {
    let program = Program::find("c/070_off_cpu");
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
    let calls = calls(recording, rank);
    let reductions = calls.iter().filter(|call| call["operation"] == "MPI_Allreduce");
    let recorded: Vec<Times> = reductions.flat_map(|call| [segment(call), inside(call)]).collect();
    assert_eq!(recorded.len(), ledger.lines().count(), "{calls:?}");
    let entry = |(line, recorded): (&str, Times)| {
        let mut words = line.split(' ');
        let what = words.next().expect("a name").to_string();
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).expect("a number");
        let [least, most, blocked, elapsed] = [number(), number(), number(), number()];
        let times = |waiting| Times { waiting, blocked, elapsed };
        Entry { what, least: times(least), most: times(most), recorded }
    };
    ledger.lines().zip(recorded).map(entry).collect()
}

/// The calls of a rank as they are printed.
fn calls(recording: &Recording, rank: usize) -> Vec<Value> {
    let printed = recording.sintonia("calls", &["--rank", &rank.to_string(), "--json"]);
    printed.expect_status(0);
    printed.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Times in a call; the elapsed time is not needed.
fn inside(call: &Value) -> Times {
    Times { waiting: nanoseconds(call, "waiting_for_core_s"), blocked: nanoseconds(call, "blocked_s"), elapsed: 0.0 }
}

/// Times in the segment before a call.
fn segment(call: &Value) -> Times {
    Times { waiting: nanoseconds(call, "segment_waiting_for_core_s"), blocked: nanoseconds(call, "segment_blocked_s"), elapsed: 0.0 }
}

fn nanoseconds(call: &Value, key: &str) -> f64 {
    1e9 * call[key].as_f64().unwrap_or(0.0)
}
