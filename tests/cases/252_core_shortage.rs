//! Ranks without a core: the report says for which share of the time, as the program's own ledger has it, and why; advice that would follow
//! from it is held back. Ranks with enough cores get none of this, and an imbalance of the program keeps its advice.

use std::path::PathBuf;

use serde_json::Value;
use sintonia_tests::{Family, Mpi, Program, Recording, for_every_mpi, fresh_dir, not_applicable, record_command, retry_until_ok};

/// How a run is started.
#[derive(Default)]
struct Launch<'a> {
    ranks: usize,
    /// Options of the launcher.
    options: Vec<String>,
    /// Words before the program.
    before: &'a [&'a str],
    /// The argument of the program.
    mode: &'a str,
}

/// A run with its ledger.
struct Shortage {
    recording: Recording,
    report: Value,
    /// Share of the ranks' time without a processor, as the kernel told the ranks.
    ledger: f64,
    /// Seconds of each rank without a processor.
    waited_s: Vec<f64>,
}

impl Shortage {
    fn record(mpi: &Mpi, launch: &Launch) -> Shortage {
        let program = Program::find("c/252_core_shortage");
        let folder = fresh_dir();
        let output = folder.path().join("run.sin");
        let mut words: Vec<String> = launch.before.iter().map(ToString::to_string).collect();
        words.extend(program.build(mpi).expect("a C program"));
        words.push(launch.mode.into());
        let mut command = mpi.launch(launch.ranks, &words);
        command.splice(1..1, launch.options.iter().cloned());
        let run = program.process(mpi, record_command(&output, &[], command)).run_in(folder.path());
        run.expect_status(0);
        let ledger: Vec<(f64, f64)> = (0..launch.ranks).map(|rank| read_ledger(folder.path().join(format!("ledger.{rank}")))).collect();
        let (waiting, elapsed) = ledger.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        let waited_s = ledger.iter().map(|(waiting, _)| waiting / 1e9).collect();
        let recording = Recording::at(run, output, folder);
        Shortage { report: recording.report(), recording, ledger: waiting / elapsed, waited_s }
    }

    fn statement(&self) -> Option<&str> {
        self.report["cores"]["statement"].as_str()
    }

    fn kinds(&self) -> Vec<&str> {
        self.report["advice"].as_array().expect("a list").iter().filter_map(|advice| advice["kind"].as_str()).collect()
    }

    /// The share of the report is that of the ledger.
    fn agrees(&self) -> Result<(), String> {
        let found = self.report["cores"]["share"].as_f64().ok_or_else(|| format!("no share: {:#}", self.report["cores"]))?;
        let close = (found - self.ledger).abs() <= 0.05 + 0.1 * self.ledger;
        if close { Ok(()) } else { Err(format!("{found} in the report, {} in the ledger", self.ledger)) }
    }

    /// The cause is this one, the first line says so, and the advice is about nothing else.
    fn is(&self, cause: &str, words: &str, advice: &str) -> Result<(), String> {
        self.agrees()?;
        let causes: Vec<&str> =
            self.report["cores"]["causes"].as_array().expect("a list").iter().filter_map(|cause| cause["kind"].as_str()).collect();
        let first = self.recording.sintonia("report", &[]).stdout.lines().next().unwrap_or_default().to_string();
        let try_this = self.report["advice"][0]["try_this"].as_str().unwrap_or_default();
        let right = causes.contains(&cause)
            && first.contains(words)
            && self.kinds().iter().all(|kind| *kind == "core_shortage")
            && try_this.contains(advice);
        if right { Ok(()) } else { Err(format!("{cause}: {first}\n{:#}\n{:#}", self.report["cores"], self.report["advice"])) }
    }
}

fn read_ledger(path: PathBuf) -> (f64, f64) {
    let text = std::fs::read_to_string(path).expect("the program keeps a ledger");
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    (numbers[0], numbers[1])
}

fn own_processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Judges a run of every MPI library, where there are two processors.
fn check(launch: &Launch, judge: impl Fn(&Shortage) -> Result<(), String>) {
    if own_processors() < 2 {
        return not_applicable("there are no two processors");
    }
    for_every_mpi(|mpi| retry_until_ok(|| judge(&Shortage::record(mpi, launch))));
}

#[test]
fn c252_eight_ranks_share_two_cores() {
    let launch = Launch { ranks: 8, before: &["taskset", "-c", "0,1"], mode: "even", ..Launch::default() };
    check(&launch, |run| run.is("oversubscribed", "8 ranks shared 2", "mpirun -n 2"));
}

#[test]
fn c252_two_ranks_are_bound_to_one_core() {
    if own_processors() < 2 {
        return not_applicable("there is only one processor");
    }
    for_every_mpi(|mpi| {
        let options: &[&str] = match mpi.family {
            Family::OpenMpi => &["--bind-to", "core:overload-allowed", "--cpu-set", "0"],
            _ => &["-bind-to", "user:0,0"],
        };
        let launch = Launch { ranks: 2, options: options.iter().map(ToString::to_string).collect(), mode: "even", ..Launch::default() };
        let words = "Ranks 0 and 1 were bound to the same";
        retry_until_ok(|| Shortage::record(mpi, &launch).is("same_cores", words, "-bind-to core"));
    });
}

#[test]
fn c252_another_job_is_on_the_host() {
    let launch = Launch { ranks: 2, before: &["taskset", "-c", "0,1"], mode: "rival", ..Launch::default() };
    check(&launch, |run| run.is("other_work", "Other work ran", "--exclusive"));
}

/// Rank 1 shares its processor, so rank 0 waits for it in every turn: as long as rank 1 had no processor, by its ledger.
#[test]
fn c252_a_delay_is_attributed_to_the_missing_core() {
    let launch = Launch { ranks: 2, mode: "rival_of_1", ..Launch::default() };
    check(&launch, |run| {
        let sum = |list: &str, rank: Option<u64>| -> f64 {
            let rows = run.report[list].as_array().into_iter().flatten().filter(|row| rank.is_none_or(|rank| row["rank"] == rank));
            rows.filter_map(|row| row["seconds"].as_f64()).sum()
        };
        let (by_rank_1, all) = (sum("core_delays", Some(1)), sum("core_delays", None) + sum("root_causes", None));
        let path = run.report["critical_path"]["no_core_s"].as_f64().unwrap_or(0.0);
        let [free, rival] = run.waited_s[..] else { return Err("two ranks".into()) };
        // What rank 0 had to wait for a core itself, it did not wait for rank 1.
        let close = |found: f64, least: f64, most: f64| (0.8 * least..=1.2 * most).contains(&found);
        let right = close(by_rank_1, rival - free, rival) && by_rank_1 > 0.8 * all && close(path, rival - free, rival + free);
        let found = || format!("{by_rank_1} s of {all} s, {path} s on the critical path; ledger {:?}", run.waited_s);
        if right { Ok(()) } else { Err(found()) }
    });
}

/// A control group with a fifth of a processor, of version 1 or 2: little enough to be used up on a busy host.
struct QuotaGroup(PathBuf);

impl QuotaGroup {
    fn create() -> Option<QuotaGroup> {
        let v1 = PathBuf::from("/sys/fs/cgroup/cpu");
        let is_v1 = v1.join("cpu.cfs_quota_us").exists();
        let root = if is_v1 { v1 } else { PathBuf::from("/sys/fs/cgroup") };
        let group = QuotaGroup(root.join(format!("sintonia-cores-{}", std::process::id())));
        std::fs::create_dir(&group.0).ok()?;
        let (file, quota) = if is_v1 { ("cpu.cfs_quota_us", "20000") } else { ("cpu.max", "20000 100000") };
        std::fs::write(group.0.join(file), quota).ok()?;
        Some(group)
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn c252_a_quota_stops_the_ranks() {
    let Some(group) = QuotaGroup::create() else { return not_applicable("the test may not make a control group with a quota") };
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
    let launch = Launch { ranks: 2, before: &["sh", "-c", &enter, "sh"], mode: "even", ..Launch::default() };
    for_every_mpi(|mpi| retry_until_ok(|| Shortage::record(mpi, &launch).is("quota", "A CPU quota of 0.2", "Raise the quota")));
}

/// Whether the host is busy with something else the ledger knows; the report must say the same.
#[test]
fn c252_enough_cores_are_nothing_to_report() {
    let launch = Launch { ranks: 2, mode: "even", ..Launch::default() };
    check(&launch, |run| {
        run.agrees()?;
        match (run.ledger, run.statement()) {
            (..0.02, Some(statement)) => Err(format!("{statement}, but the ledger has {}", run.ledger)),
            (0.15.., None) => Err(format!("nothing is said, but the ledger has {}", run.ledger)),
            _ => Ok(()),
        }
    });
}

#[test]
fn c252_an_imbalance_of_the_program_keeps_its_advice() {
    let launch = Launch { ranks: 2, mode: "uneven", ..Launch::default() };
    check(&launch, |run| {
        // Rank 1 could save a third of the run: more than a host explains that is busy for a tenth of it.
        let told = run.kinds().contains(&"load_imbalance");
        if told || run.ledger > 0.1 { Ok(()) } else { Err(format!("{}: {:#}", run.ledger, run.report["advice"])) }
    });
}
