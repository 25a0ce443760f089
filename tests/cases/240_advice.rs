//! Advice, in programs that each need exactly one: it names the problem, the place and what it would save, and none is given that
//! the program does not need.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;
use sintonia_tests::{Mpi, Process, Program, Recording, for_every_mpi, fresh_dir, record, tests_dir};

/// What following an advice is expected to save.
enum Saves {
    /// The seconds that the program says, half of them more or less.
    About,
    /// Something, and no more than the seconds that the program says.
    AtMost,
    /// Something.
    Some,
}

#[test]
fn c240_one_rank_always_has_more_to_do() {
    let advice = Advice { kind: "load_imbalance", sites: &["even", "uneven"], saves: Saves::About };
    advice.is_given("c/240_load_imbalance", &["moving_imbalance", "slow_rank"]);
}

#[test]
fn c241_another_rank_has_more_to_do_each_time() {
    let advice = Advice { kind: "moving_imbalance", sites: &["allreduce"], saves: Saves::About };
    advice.is_given("c/241_moving_imbalance", &["load_imbalance", "slow_rank"]);
}

#[test]
fn c242_workers_wait_for_a_busy_master() {
    let advice = Advice { kind: "serialised_master", sites: &["asked", "give", "ask", "take"], saves: Saves::Some };
    advice.is_given("c/242_serialised_master", &["moving_imbalance", "message_order", "slow_rank"]);
}

#[test]
fn c243_work_stands_before_a_send_that_the_other_rank_waits_for() {
    let advice = Advice { kind: "late_sender_compute", sites: &["send", "answer", "recv", "back"], saves: Saves::Some };
    advice.is_given("c/243_late_sender_compute", &["load_imbalance", "moving_imbalance", "message_order", "slow_rank"]);
}

#[test]
fn c244_messages_are_received_in_the_wrong_order() {
    let advice = Advice { kind: "message_order", sites: &["first", "second"], saves: Saves::About };
    advice.is_given("c/244_message_order", &["load_imbalance", "moving_imbalance", "slow_rank"]);
}

#[test]
fn c245_blocking_sends_keep_ranks_from_their_work() {
    let advice = Advice { kind: "blocking_exchange", sites: &["there", "back"], saves: Saves::About };
    advice.is_given("c/245_blocking_exchange", &["load_imbalance", "moving_imbalance", "small_messages", "slow_rank"]);
}

#[test]
fn c246_many_messages_could_be_one() {
    let advice = Advice { kind: "small_messages", sites: &["send", "recv"], saves: Saves::AtMost };
    advice.is_given("c/246_small_messages", &["load_imbalance", "message_order", "slow_rank"]);
}

#[test]
fn c247_all_ranks_exchange_with_all() {
    let advice = Advice { kind: "all_to_all_growth", sites: &["alltoall"], saves: Saves::AtMost };
    advice.is_given("c/247_all_to_all_growth", &["small_messages", "collective_as_barrier"]);
}

#[test]
fn c248_a_barrier_orders_what_needs_no_order() {
    let advice = Advice { kind: "collective_as_barrier", sites: &["barrier"], saves: Saves::About };
    advice.is_given("c/248_collective_as_barrier", &["load_imbalance", "slow_rank"]);
}

/// The hosts are network namespaces; where none may be made, this says so and passes.
#[test]
fn c249_ranks_are_spread_unevenly_over_hosts() {
    // Other work on the machine makes ranks late at random: a few runs show what is there.
    let mut complaint = String::new();
    for _ in 0..3 {
        let Some(recording) = on_two_hosts("c/249_unbalanced_placement", 3) else { return };
        let given = given(&recording);
        let kinds: Vec<&str> = given.iter().filter_map(|item| item["kind"].as_str()).collect();
        let advice = given.iter().find(|item| item["kind"] == "unbalanced_placement");
        if advice.is_some_and(|advice| saves(advice) > 0.0) && !kinds.contains(&"slow_rank") {
            return;
        }
        complaint = format!("three ranks are slow because they share a host: {given:#?}");
    }
    panic!("{complaint}");
}

#[test]
fn c250_one_rank_is_slow_whatever_it_does() {
    settles("c/250_slow_rank", |program, recording| {
        let advice = Advice { kind: "slow_rank", sites: &[], saves: Saves::About };
        let item = advice.among(program, recording, &["load_imbalance", "moving_imbalance", "collective_as_barrier"])?;
        let what = item["what"].as_str().expect("what is a sentence");
        if what.to_lowercase().contains("rank 1") { Ok(()) } else { Err(format!("which rank? {item:#}")) }
    });
}

#[test]
fn c251_one_rank_writes_for_all() {
    let advice = Advice { kind: "io_by_one_rank", sites: &["write", "go_on"], saves: Saves::AtMost };
    advice.is_given("c/251_io_by_one_rank", &["moving_imbalance", "slow_rank"]);
}

/// An advice that a program needs.
struct Advice {
    kind: &'static str,
    /// Markers of the lines at which it may be; none where it is about ranks rather than lines.
    sites: &'static [&'static str],
    saves: Saves,
}

impl Advice {
    fn is_given(&self, name: &str, never: &[&str]) {
        settles(name, |program, recording| self.among(program, recording, never).map(drop));
    }

    /// The item of the report that is this advice, given that none of the kinds `never` is there.
    fn among(&self, program: &Program, recording: &Recording, never: &[&str]) -> Result<Value, String> {
        let given = given(recording);
        if let Some(wrong) = given.iter().find(|item| never.iter().any(|kind| item["kind"] == *kind)) {
            return Err(format!("the program does not need {wrong:#}"));
        }
        let at = |item: &Value| self.sites.is_empty() || self.sites.iter().any(|site| is_at(item, program, site));
        let item = given.iter().find(|item| item["kind"] == self.kind && at(item));
        let Some(item) = item else { return Err(format!("no {} at {:?} among {given:#?}", self.kind, self.sites)) };
        let possible = match self.saves {
            Saves::Some => 0.0..=f64::INFINITY,
            Saves::AtMost => 0.0..=1.1 * injected(recording, self.kind),
            Saves::About => 0.5 * injected(recording, self.kind)..=1.5 * injected(recording, self.kind),
        };
        if possible.contains(&saves(item)) { Ok(item.clone()) } else { Err(format!("not in {possible:?} s: {item:#}")) }
    }
}

/// Runs of different tests would make each other's ranks late.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// `check` holds in one of three runs on every library: a busy machine adds waits of its own to a run, but takes none away.
///
/// One run at a time, since each would be noise in the other; the tries end with the first that has no complaint.
fn settles(name: &str, check: impl Fn(&Program, &Recording) -> Result<(), String>) {
    let program = Program::named(name);
    for_every_mpi(|mpi| {
        if let Err(reason) = program.build(mpi) {
            println!("{}: {name} skipped: {reason}", mpi.name);
            return;
        }
        let complaint = {
            let _alone = alone();
            (0..3).try_fold(String::new(), |_, _| check(&program, &Recording::of(mpi, &program, &[])).err())
        };
        if let Some(complaint) = complaint {
            panic!("{name}: {complaint}");
        }
    });
}

/// The advice of a report: the most worth first, and nothing that is worth nothing or more than the run.
fn given(recording: &Recording) -> Vec<Value> {
    let report = recording.report();
    let given = report["advice"].as_array().expect("advice is a list").clone();
    let elapsed = report["elapsed_s"].as_f64().expect("elapsed_s is a number");
    assert!(given.iter().all(|item| saves(item) > 0.0 && saves(item) < elapsed), "in {elapsed} s: {given:#?}");
    assert!(given.is_sorted_by(|a, b| saves(a) >= saves(b)), "the most worth comes first: {given:#?}");
    given
}

/// The seconds in the line `injected KIND at SITE SECONDS` of a run.
fn injected(recording: &Recording, kind: &str) -> f64 {
    let start = format!("injected {kind} at ");
    let line = recording.run.stderr.lines().find(|line| line.starts_with(&start));
    let seconds = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    seconds.unwrap_or_else(|| panic!("the program says what it injected\n{}", recording.run.text()))
}

fn is_at(item: &Value, program: &Program, site: &str) -> bool {
    let name = program.source.file_name().and_then(|name| name.to_str()).expect("a program has a name");
    let file = item["file"].as_str().unwrap_or_default();
    file.rsplit('/').next() == Some(name) && item["line"] == program.line(site)
}

fn saves(item: &Value) -> f64 {
    item["saves_s"].as_f64().unwrap_or_else(|| panic!("saves_s is not a number: {item}"))
}

/// Two hosts, which go away with their owner.
struct Hosts;

impl Hosts {
    const NAME: &str = "snta";

    fn script(name: &str) -> sintonia_tests::Outcome {
        let path = tests_dir().join("hosts").join(name).display().to_string();
        Process::new([path.as_str(), Hosts::NAME, "2"]).run_in(Path::new("/"))
    }

    fn up() -> Option<Hosts> {
        Hosts::script("down");
        let up = Hosts::script("up");
        if up.status != 0 {
            println!("skipped: network namespaces cannot be made here: {}", up.text());
            Hosts::script("down");
            return None;
        }
        Some(Hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        Hosts::script("down");
    }
}

/// Records a program on two hosts, so many of its ranks on the first.
fn on_two_hosts(name: &str, first: usize) -> Option<Recording> {
    let _alone = alone();
    let _hosts = Hosts::up()?;
    let mpi = Mpi::named("openmpi");
    let program = Program::named(name);
    let folder = fresh_dir();
    let output = folder.path().join("run.sin");
    let agent = tests_dir().join("hosts/agent").display().to_string();
    let hosts = format!("{0}1:{first},{0}2:{1}", Hosts::NAME, program.ranks - first);
    let mut launch = mpi.launch(program.ranks, &program.build(&mpi).expect("builds"));
    let options = ["--mca", "plm_rsh_agent", &agent, "--mca", "btl_tcp_if_include", "10.78.0.0/24", "--host", &hosts];
    launch.splice(1..1, options.map(String::from));
    let run = Process::new(record(&output, &[], launch)).env(&mpi.env).run_in(folder.path());
    run.expect_status(0);
    Some(Recording::at(run, output, folder))
}
