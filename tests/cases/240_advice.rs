//! Advice, in programs that each need exactly one: it names the problem, the place and what it would save, and none is given that
//! the program does not need.

use serde_json::Value;
use sintonia_tests::{Hosts, Injected, Mpi, Program, Recording, check_with_retries, fresh_dir, is_at, record_command, retry_until_ok};

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
    let advice = Advice { kind: "load_imbalance", sites: &["uneven"], saves: Saves::About };
    advice.is_given("c/240_load_imbalance", &["moving_imbalance", "slow_rank"]);
}

#[test]
fn c241_another_rank_has_more_to_do_each_time() {
    let advice = Advice { kind: "moving_imbalance", sites: &["allreduce"], saves: Saves::About };
    advice.is_given("c/241_moving_imbalance", &["load_imbalance", "slow_rank"]);
}

#[test]
fn c242_workers_wait_for_a_busy_master() {
    let advice = Advice { kind: "serialised_master", sites: &["give"], saves: Saves::Some };
    advice.is_given("c/242_serialised_master", &["moving_imbalance", "message_order", "slow_rank"]);
}

#[test]
fn c243_work_stands_before_a_send_that_the_other_rank_waits_for() {
    let advice = Advice { kind: "late_sender_compute", sites: &["send", "answer"], saves: Saves::Some };
    advice.is_given("c/243_late_sender_compute", &["load_imbalance", "moving_imbalance", "message_order", "slow_rank"]);
}

#[test]
fn c244_messages_are_received_in_the_wrong_order() {
    let advice = Advice { kind: "message_order", sites: &["first"], saves: Saves::About };
    advice.is_given("c/244_message_order", &["load_imbalance", "moving_imbalance", "slow_rank"]);
}

#[test]
fn c245_receivers_work_while_blocking_sends_wait_for_them() {
    let advice = Advice { kind: "late_receiver_compute", sites: &["there", "back"], saves: Saves::About };
    advice.is_given("c/245_late_receiver_compute", &["load_imbalance", "moving_imbalance", "small_messages", "slow_rank"]);
}

#[test]
fn c246_many_messages_could_be_one() {
    let advice = Advice { kind: "small_messages", sites: &["send"], saves: Saves::AtMost };
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
    let program = Program::find("c/249_unbalanced_placement");
    retry_until_ok(|| {
        let Some(recording) = on_two_hosts(&program, 3) else { return Ok(()) };
        let given = given(&recording);
        let of = |kind: &str| given.iter().find(|item| item["kind"] == kind);
        let found = of("unbalanced_placement").is_some() && of("slow_rank").is_none();
        if found { Ok(()) } else { Err(format!("three ranks are slow because they share a host: {given:#?}")) }
    });
}

#[test]
fn c250_one_rank_is_slow_whatever_it_does() {
    check_with_retries("c/250_slow_rank", |program, recording| {
        let advice = Advice { kind: "load_imbalance", sites: &[], saves: Saves::About };
        let item = advice.among(program, recording, &["slow_rank", "moving_imbalance", "collective_as_barrier"])?;
        names(&item, "Rank 1")
    });
}

#[test]
fn c251_one_rank_writes_for_all() {
    let advice = Advice { kind: "io_by_one_rank", sites: &["write"], saves: Saves::AtMost };
    advice.is_given("c/251_io_by_one_rank", &["moving_imbalance", "slow_rank"]);
}

#[test]
fn c261_a_rank_is_late_for_a_single_reduction() {
    let advice = Advice { kind: "load_imbalance", sites: &["reduce"], saves: Saves::About };
    advice.is_given("c/261_reduce_at_end", &["moving_imbalance", "slow_rank", "role_imbalance"]);
}

#[test]
fn c262_a_rank_is_late_for_each_reduction() {
    let advice = Advice { kind: "load_imbalance", sites: &["reduce"], saves: Saves::About };
    advice.is_given("c/262_reduce_each_step", &["moving_imbalance", "slow_rank", "role_imbalance"]);
}

#[test]
fn c263_one_of_two_coupled_components_has_more_to_do() {
    check_with_retries("c/263_coupled", |program, recording| {
        let advice = Advice { kind: "role_imbalance", sites: &["exchange"], saves: Saves::About };
        let item = advice.among(program, recording, &["load_imbalance", "moving_imbalance", "slow_rank"])?;
        names(&item, "Ranks 0-1")
    });
}

#[test]
fn c264_a_rank_is_late_now_and_then() {
    check_with_retries("c/264_rare_work", |program, recording| {
        let advice = Advice { kind: "load_imbalance", sites: &["allreduce"], saves: Saves::About };
        let item = advice.among(program, recording, &["moving_imbalance", "slow_rank"])?;
        names(&item, "Rank 0").and_then(|()| names(&item, "executions (12th and 27th)"))
    });
}

#[test]
fn c265_a_rank_with_more_to_do_before_fences_is_not_called_slow() {
    check_with_retries("c/265_uneven_fences", |program, recording| {
        let advice = Advice { kind: "load_imbalance", sites: &["put"], saves: Saves::About };
        let item = advice.among(program, recording, &["moving_imbalance", "slow_rank"])?;
        names(&item, "Rank 1")
    });
}

#[test]
fn c266_a_halo_that_touches_all_ranks_is_no_all_to_all() {
    check_with_retries("c/266_clean_halo", |_, recording| {
        let given = given(recording);
        let wrong = given.iter().find(|item| item["kind"] == "all_to_all_growth");
        wrong.map_or(Ok(()), |wrong| Err(format!("the program does not need {wrong:#}")))
    });
}

/// Whether an advice says this.
fn names(item: &Value, text: &str) -> Result<(), String> {
    let what = item["what"].as_str().expect("what is a sentence");
    if what.contains(text) { Ok(()) } else { Err(format!("no {text:?}: {item:#}")) }
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
        check_with_retries(name, |program, recording| self.among(program, recording, never).map(drop));
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

/// The advice of a report: the most worth first, and nothing that is worth nothing or more than the run. That ranks share cores here is
/// true of the test, not of the program.
fn given(recording: &Recording) -> Vec<Value> {
    let report = recording.report();
    let all = report["advice"].as_array().expect("advice is a list").iter();
    let given: Vec<Value> = all.filter(|item| item["kind"] != "core_shortage").cloned().collect();
    let elapsed = report["elapsed_s"].as_f64().expect("elapsed_s is a number");
    assert!(given.iter().all(|item| saves(item) > 0.0 && saves(item) < elapsed), "in {elapsed} s: {given:#?}");
    assert!(given.is_sorted_by(|a, b| saves(a) >= saves(b)), "the most worth comes first: {given:#?}");
    given
}

/// The seconds that a run says it had of its problem.
fn injected(recording: &Recording, kind: &str) -> f64 {
    let injected = Injected::all(recording).into_iter().find(|injected| injected.kind == kind);
    injected.unwrap_or_else(|| panic!("the program says what it injected\n{}", recording.run.text())).seconds
}

fn saves(item: &Value) -> f64 {
    item["saves_s"].as_f64().unwrap_or_else(|| panic!("saves_s is not a number: {item}"))
}

/// Records a program on two hosts, `first` of its ranks on the first.
fn on_two_hosts(program: &Program, first: usize) -> Option<Recording> {
    let hosts = Hosts::create()?;
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let output = folder.path().join("run.sin");
    let launch = hosts.launch(&mpi, program.ranks, first, &program.build(&mpi).expect("builds"));
    let run = program.process(&mpi, record_command(&output, &[], launch)).run_in(folder.path());
    run.expect_status(0);
    Some(Recording::at(run, output, folder))
}
