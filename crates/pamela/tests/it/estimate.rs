//! Estimated times of models on machines.

use std::path::Path;

use sintonia_formula::{Interval, SymbolValues};
use sintonia_machine::Machine;
use sintonia_pamela::compile::{BranchShares, ShareError};
use sintonia_pamela::estimate::{AllocationPolicy, EstimateError, EstimateRequest, ModelEstimator, TimeEstimate, TimeTerm};
use sintonia_pamela::model::PamelaModel;

const MACHINE: &str = r#"
format = 1
[machine]
name = "lab"
[[node]]
kind = "fast"
count = 2
cores = 2
[node.java.float64]
add = { latency_s = 3e-9, throughput_s = 1e-9 }
multiply = { latency_s = 2e-9, throughput_s = 2e-9 }
[node.java.int32]
add = { latency_s = 1e-9, throughput_s = 1e-9 }
compare = { latency_s = 1e-9, throughput_s = 1e-9 }
[node.compute.float64]
add = { latency_s = 1e-9, throughput_s = 1e-9 }
[[node]]
kind = "slow"
count = 4
cores = 1
[node.java.float64]
add = { latency_s = 6e-9, throughput_s = 2e-9 }
multiply = { latency_s = 4e-9, throughput_s = 4e-9 }
[node.java.int32]
add = { latency_s = 2e-9, throughput_s = 2e-9 }
compare = { latency_s = 2e-9, throughput_s = 2e-9 }
[node.compute.float64]
add = { latency_s = 2e-9, throughput_s = 2e-9 }
[network.other_node.transfer]
pieces = [
    { up_to_bytes = 1000, intercept_s = [9e-4, 1e-3, 2e-3], slope_s_per_byte = 0 },
    { intercept_s = 0, slope_s_per_byte = 1e-6 },
]
[group.bcast]
growth = "log2(p)/2"
[[group.bcast.at]]
processes = 2
pieces = [{ intercept_s = 1e-3, slope_s_per_byte = 1e-9 }]
[[group.bcast.at]]
processes = 4
pieces = [{ intercept_s = 2e-3, slope_s_per_byte = 2e-9 }]
"#;

fn machine() -> Machine {
    Machine::parse(MACHINE, Path::new("lab")).unwrap()
}

fn setting(workers: u64, parameters: &[(&str, f64)]) -> EstimateRequest {
    let parameters: SymbolValues<Interval> = parameters.iter().map(|(name, value)| (*name, Interval::point(*value))).collect();
    EstimateRequest { workers, parameters, allocation: AllocationPolicy::Static }
}

fn asked(text: &str, shares: &BranchShares, setting: &EstimateRequest) -> Result<TimeEstimate, EstimateError> {
    let (model, machine) = (PamelaModel::parse(text, "test.pam").unwrap(), machine());
    ModelEstimator::new(&model, &machine, shares)?.estimate(setting)
}

fn estimate(text: &str, workers: u64, parameters: &[(&str, f64)]) -> TimeEstimate {
    asked(text, &BranchShares::new(), &setting(workers, parameters)).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-300)
}

const TASKS: &str = "language java; parameter n = 1e6; parameter tasks = 100;
    main { tasks(i=1,tasks) on w { seq(k=1,n) sum_double_w } }";

#[test]
fn an_operation_costs_between_its_throughput_and_its_latency() {
    let seconds = estimate("language java; main { sum_double_1(1000) }", 1, &[]).seconds;
    assert_eq!(seconds.map(|seconds| (seconds * 1e9).round()), [1000.0, 2000.0, 3000.0]);
}

#[test]
fn tasks_go_to_workers_in_proportion_to_their_speed() {
    // Four fast workers and two of half the speed: 20 tasks for a fast one, 10 for a slow one, of 2 ms or 4 ms each.
    let estimate = estimate(TASKS, 6, &[]);
    assert!(close(estimate.seconds[1], 20.0 * 2e-3), "{:?}", estimate.seconds);
    assert_eq!(estimate.team.0.iter().map(|crew| (crew.workers, crew.relative_speed)).collect::<Vec<_>>(), [(4, 1.0), (2, 0.5)]);
    assert_eq!(estimate.limiting_term, TimeTerm::ContentionFree);
}

#[test]
fn the_slowest_are_removed_first() {
    assert!(close(estimate(TASKS, 4, &[]).seconds[1], 25.0 * 2e-3));
    assert!(close(estimate(TASKS, 3, &[]).seconds[1], 34.0 * 2e-3), "100 tasks are 34, 33 and 33");
    assert!(close(estimate(TASKS, 1, &[]).seconds[1], 100.0 * 2e-3));
}

#[test]
fn more_workers_than_cores_share_them() {
    let (alone, crowd) = (estimate(TASKS, 8, &[("tasks", 1600.0)]), estimate(TASKS, 16, &[("tasks", 1600.0)]));
    assert!(crowd.team.shares_cores() && !alone.team.shares_cores());
    assert_eq!((crowd.limiting_term, alone.limiting_term), (TimeTerm::SharedCores, TimeTerm::ContentionFree));
    assert!((crowd.seconds[1] / alone.seconds[1] - 1.0).abs() < 0.02, "{:?} {:?}", alone.seconds, crowd.seconds);
}

#[test]
fn what_the_coordinator_sends_is_one_after_the_other() {
    let text = "resource coordinator; main { tasks(i=1,100) on w { use(coordinator, send_0_w(100)) ; delay(1e-3) } }";
    let estimate = estimate(text, 8, &[]);
    assert!(close(estimate.seconds[1], 100.0 * 1e-3), "{:?}", estimate.seconds);
    assert_eq!(estimate.limiting_term.to_string(), "coordinator");
    assert!(estimate.bounds[1] > estimate.bounds[0]);
}

#[test]
fn a_message_costs_what_its_size_costs() {
    let of = |bytes: &str| estimate(&format!("main {{ send_0_1({bytes}) }}"), 8, &[]).seconds;
    assert_eq!(of("1000"), [9e-4, 1e-3, 2e-3]);
    assert!(close(of("2000")[1], 2e-3));
    // Messages that grow over the bound: 500 of a millisecond, then 1002, 1004, … microseconds.
    let grown = estimate("main { seq(i=1,1000) send_0_1(2*i) }", 8, &[]).seconds[1];
    assert!(close(grown, 0.5 + (501..=1000).map(|i| 2e-6 * f64::from(i)).sum::<f64>()), "{grown}");
}

#[test]
fn a_group_costs_what_its_processes_cost() {
    let of = |p: u64| estimate("main { bcast(1000000, p) }", p, &[]).seconds[1];
    assert!(close(of(2), 2e-3) && close(of(3), 4e-3) && close(of(4), 4e-3));
    assert!(close(of(8), 4e-3 * 1.5), "beyond what was measured it grows");
}

#[test]
fn ranks_are_workers_counted_from_zero() {
    let text = "parameter n = 8e9; main { par(r=0,p-1) { sum_double_r(n/p) } }";
    let estimate = |p: u64| estimate(text, p, &[]).seconds[1];
    assert!(close(estimate(4), 2.0), "the fast ones");
    assert!(close(estimate(8), 2.0), "the slow ones, with half as much");
    assert!(close(estimate(5), 1.6e9 * 2e-9), "one slow rank rules");
}

#[test]
fn what_does_not_say_where_it_runs_runs_where_its_part_runs() {
    let par = "main { par(r=0,p-1) { f() } } f() { sum_double(1e9) }";
    assert!(close(estimate(par, 4, &[]).seconds[1], 1.0) && close(estimate(par, 5, &[]).seconds[1], 2.0), "the fifth is a slow one");
    let tasks = "main { tasks(i=1,5) on w { f() } } f() { sum_double(1e9) }";
    assert!(close(estimate(tasks, 5, &[]).seconds[1], 2.0));
}

#[test]
fn a_branch_without_anybody_in_it_is_nothing() {
    let text = "main { delay(1) ; par(r=1,p-1) { sum_double_r(1e9) } }";
    assert!(close(estimate(text, 1, &[]).seconds[1], 1.0));
    assert!(close(estimate(text, 2, &[]).seconds[1], 2.0));
}

#[test]
fn ranks_that_differ_are_as_long_as_the_longest() {
    let text = "main { par(r=0,p-1) { seq(i=r,p-1) sum_double_r(1e9) } }";
    assert!(close(estimate(text, 4, &[]).seconds[1], 4.0));
}

#[test]
fn shares_of_operations_add_up_to_one() {
    let text = "language java; resource net; parameter n = 1000;
        main { delay(1e-6); tasks(i=1,10) on w { use(net, send_0_w(8*n)); seq(k=1,n) { sum_double_w; mpy_double_w; compare_int_w } } }";
    for workers in [1, 2, 3, 8] {
        let shares = estimate(text, workers, &[]).shares;
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        assert!((all - 1.0).abs() < 1e-12, "{shares:?}");
        assert!(shares.iter().any(|(name, _)| name == "sum_double") || shares[0].0 == "send", "{shares:?}");
    }
    let one = estimate("language java; main { sum_double_1 ; mpy_double_1(2) }", 1, &[]).shares;
    assert_eq!(one.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["mpy_double", "sum_double"]);
    assert!((one[0].1 - 4.0 / 6.0).abs() < 1e-12);
}

#[test]
fn growing_tasks_are_enclosed() {
    let text = "parameter n = 100; main { tasks(i=1,n) on w { delay(i) } }";
    for workers in [1_u64, 2, 3, 4] {
        let estimate = estimate(text, workers, &[]);
        // Distributed cyclically to identical workers, the last one gets the longest of each cycle.
        let count = |worker: u64| (1..=100).filter(|task| task % workers == worker % workers).sum::<u64>() as f64;
        let longest = (1..=workers).map(count).fold(0.0, f64::max);
        let [low, middle, high] = estimate.seconds;
        assert!(low <= longest && longest <= high, "{longest} is not in {:?}", estimate.seconds);
        assert!((middle / longest - 1.0).abs() < 0.03, "{middle} {longest}");
    }
}

#[test]
fn tasks_without_closed_forms_are_looked_at() {
    let text = "parameter n = 200; main { tasks(i=1,n) on w { seq(d=1,ceil(sqrt(100*i))) seq(k=1,ceil(100*i/d)) delay(1e-6) } }";
    let task = |i: f64| (1..=(100.0 * i).sqrt().ceil() as u64).map(|d| (100.0 * i / d as f64).ceil() * 1e-6).sum::<f64>();
    for (workers, tasks) in [(1_u64, 200_u64), (2, 200), (4, 200), (3, 10)] {
        let [low, middle, high] = estimate(text, workers, &[("n", tasks as f64)]).seconds;
        let of = |worker: u64| (1..=tasks).filter(|i| i % workers == worker % workers).map(|i| task(i as f64)).sum::<f64>();
        let longest = (1..=workers).map(of).fold(0.0, f64::max);
        assert!(low <= longest && longest <= high, "{longest} is not in {low} to {high}");
        assert!((middle / longest - 1.0).abs() < 0.08, "{middle} and {longest} with {workers} workers");
    }
}

#[test]
fn what_tasks_take_between_those_that_were_looked_at_is_enclosed() {
    // A kink and a jump: not monotonic, and some long tasks are between the samples.
    let text = "parameter n = 1000; parameter peak = 700.5;
        main { tasks(i=1,n) on w { delay(max(10, 400 - 3*max(i - peak, peak - i))); delay(pieces(i, up to 90: 1, beyond: 50)) } }";
    let task = |i: u64, peak: f64| (400.0 - 3.0 * (i as f64 - peak).abs()).max(10.0) + if i <= 90 { 1.0 } else { 50.0 };
    for (workers, peak) in [(1_u64, 700.5), (2, 700.5), (4, 191.0), (4, 3.0), (3, 64.0)] {
        let estimate = estimate(text, workers, &[("peak", peak)]);
        let of = |worker: u64| (1..=1000).filter(|i| i % workers == worker % workers).map(|i| task(i, peak)).sum::<f64>();
        let longest = (1..=workers).map(of).fold(0.0, f64::max);
        let [low, _, high] = estimate.seconds;
        assert!(!estimate.is_sampled, "the bounds are certain");
        assert!(low <= longest && longest <= high, "{longest} is not in {low} to {high}");
        assert!(high < 2.5 * low, "{low} to {high}");
    }
}

#[test]
fn it_is_told_when_tasks_were_only_sampled() {
    let text = "parameter n; main { tasks(i=1,n) on w { seq(d=1,100) seq(k=1,ceil(100*i/d)) delay(1e-6) } }";
    assert!(estimate(text, 2, &[("n", 1000.0)]).is_sampled);
    assert!(!estimate(text, 2, &[("n", 20.0)]).is_sampled, "all of few are looked at");
    assert!(!estimate(TASKS, 2, &[]).is_sampled, "they are alike");
    // An estimate that needs no sampling, after one that did.
    let (model, machine) = (PamelaModel::parse(text, "test.pam").unwrap(), machine());
    let mut estimator = ModelEstimator::new(&model, &machine, &BranchShares::new()).unwrap();
    let sampled = [1000.0, 20.0, 1000.0].map(|n| estimator.estimate(&setting(3, &[("n", n)])).unwrap().is_sampled);
    assert_eq!(sampled, [true, false, true]);
}

#[test]
fn tasks_of_which_there_may_be_none_have_a_time() {
    let text = "parameter n = [-10, 5]; main { tasks(i=1,n) on w { delay(max(i - 3, 3 - i)) } }";
    let [low, middle, high] = estimate(text, 1, &[]).seconds;
    assert_eq!([low, middle, high], [0.0, 0.0, 6.0]);
}

#[test]
fn messages_cost_what_they_cost_where_the_workers_are() {
    let text = MACHINE.to_owned() + "[network.same_node.transfer]\npieces = [{ intercept_s = 5e-6, slope_s_per_byte = 0 }]\n";
    let machine = Machine::parse(&text.replace("count = 4\ncores = 1", "count = 4\ncores = 2"), Path::new("lab")).unwrap();
    let model = PamelaModel::parse("main { send_0_1(100); sum_double_1(1e6); send_1_0(100) }", "test.pam").unwrap();
    let mut estimator = ModelEstimator::new(&model, &machine, &BranchShares::new()).unwrap();
    // Plans without messages are built once for both; one after the other, in both orders.
    let seconds = [2, 5, 2].map(|workers| estimator.estimate(&setting(workers, &[])).unwrap().seconds[1]);
    assert!(close(seconds[0], 1e-3 + 1e-5) && close(seconds[1], 1e-3 + 2e-3) && seconds[2] == seconds[0], "{seconds:?}");
}

#[test]
fn loops_without_closed_forms_are_added_up() {
    let text = "parameter n = 1000; main { seq(d=2,n) seq(k=1,floor(n/d)) delay(1) }";
    let seconds = estimate(text, 1, &[]).seconds;
    let all = (2..=1000).map(|d| f64::from(1000 / d)).sum::<f64>();
    assert_eq!(seconds, [all; 3]);
    let [low, middle, high] = estimate(text, 1, &[("n", 100_000.0)]).seconds;
    let all = (2..=100_000).map(|d| f64::from(100_000 / d)).sum::<f64>();
    assert!(low <= all && all <= high && (middle / all - 1.0).abs() < 0.05, "{low} {middle} {high} around {all}");
}

#[test]
fn tasks_on_completion_end_within_one_task_of_each_other() {
    let mixed = EstimateRequest { allocation: AllocationPolicy::Mixed, ..setting(6, &[("tasks", 7.0)]) };
    let mixed = asked(TASKS, &BranchShares::new(), &mixed).unwrap().seconds;
    let even = 7.0 / (4.0 / 2e-3 + 2.0 / 4e-3);
    assert!(mixed[0] <= even && even <= mixed[1] && mixed[2] >= even + 4e-3, "{mixed:?} around {even}");
}

#[test]
fn loops_to_anywhere_cost_the_same() {
    let text = "language java; parameter n; main { seq(i=1,n) seq(j=i,n) sum_double_1 }";
    let seconds = estimate(text, 1, &[("n", 1e12)]).seconds[1];
    assert!(close(seconds, 2e-9 * 0.5 * 1e12 * (1e12 + 1.0)), "{seconds}");
}

#[test]
fn a_condition_holds_half_of_the_time_unless_told() {
    let text = "parameter n = 1000; main { seq(x=1,n) { delay(1); if \"Primes.java:14\" delay(10) else delay(2) } }";
    let with = |share: &str| asked(text, &BranchShares::new().with_text(share).unwrap(), &setting(1, &[])).unwrap().seconds;
    assert!(close(estimate(text, 1, &[]).seconds[1], 1000.0 * (1.0 + 6.0)));
    assert!(close(with("Primes.java:14=0.25")[1], 1000.0 * (1.0 + 2.5 + 1.5)));
    for range in ["Primes.java:14=0..0.25", "Primes.java:14=[0,0.25]"] {
        let [low, middle, high] = with(range);
        assert!(low <= 3000.0 && middle == 4000.0 && high >= 5000.0, "{low} {middle} {high}");
    }
    let by_index = with("Primes.java:14=(x - 1)/n")[1];
    assert!(close(by_index, (0..1000).map(|x| 1.0 + 2.0 + 8.0 * f64::from(x) / 1000.0).sum()), "{by_index}");
}

#[test]
fn the_share_of_primes_is_that_of_the_paper() {
    // prim(x) = x/(ln x - 1), Q = (prim(b) - prim(a))/(b - a).
    let text = "main { search(2, 1e6) } search(a, b) { if \"Primes.java:14\" delay(1) }";
    let share = "Primes.java:14=(b/(ln(b) - 1) - a/(ln(a) - 1))/(b - a)";
    let share = asked(text, &BranchShares::new().with_text(share).unwrap(), &setting(1, &[])).unwrap().seconds[1];
    assert!((share / 0.078_498 - 1.0).abs() < 0.01, "{share} and 78,498 primes below a million");
}

#[test]
fn places_that_are_not_in_the_model_are_told() {
    let text = "main { if \"Pi.java:9\" delay(1) }";
    let error = asked(text, &BranchShares::new().with_text("Pi.java:8=0.5").unwrap(), &setting(1, &[])).unwrap_err();
    assert_eq!(error.to_string(), "the model has no condition at Pi.java:8; there are conditions at Pi.java:9");
    let doubled = BranchShares::new().with_text("Pi.java:9=n/10").unwrap();
    let error = |n: f64| asked("parameter n; main { if \"Pi.java:9\" delay(1) }", &doubled, &setting(1, &[("n", n)])).err();
    assert_eq!(error(9.0), None);
    assert_eq!(error(20.0).unwrap().to_string(), "Pi.java:9: a share is between 0 and 1, not 0.1*n");
    assert!(matches!(BranchShares::new().with_text("Pi.java:9=1.5"), Err(ShareError::NotAShare { .. })));
    assert!(matches!(BranchShares::new().with_text("Pi.java:9"), Err(ShareError::NoShare(_))));
    assert!(matches!(BranchShares::new().with_text("Pi.java:9=1+"), Err(ShareError::NoFormula { .. })));
}

#[test]
fn what_is_missing_is_named() {
    let error =
        |text: &str, parameters: &[(&str, f64)]| asked(text, &BranchShares::new(), &setting(2, parameters)).unwrap_err().to_string();
    let unknown = error("language java; main { sqrt_double_1 }", &[]);
    assert!(unknown.contains("`sqrt_double` has no cost on the nodes `fast`") && unknown.contains("mpy_double"), "{unknown}");
    let unbound = error("parameter trips; // how often\nmain { delay(trips) }", &[]);
    assert!(unbound.contains("`trips` has no value") && unbound.contains("-p trips="), "{unbound}");
    let stranger = error("parameter n = 1; main { delay(n) }", &[("m", 1.0)]);
    assert_eq!(stranger, "the model has no parameter `m`; it has n");
    let group = error("main { alltoall(8, p) }", &[]);
    assert!(group.contains("`alltoall`") && group.contains("bcast"), "{group}");
}

#[test]
fn division_by_a_range_that_holds_zero_is_told() {
    let text = "parameter load = [0, 1]; main { delay(1/load) }";
    let error = asked(text, &BranchShares::new(), &setting(1, &[])).unwrap_err().to_string();
    assert!(error.contains("division by an interval that contains zero") && error.contains("1/load"), "{error}");
}

#[test]
fn parameters_may_be_intervals() {
    let text = "parameter load = [2, 4]; parameter twice = 2*load; main { delay(twice) }";
    let [low, middle, high] = estimate(text, 1, &[]).seconds;
    assert_eq!([low, middle, high], [4.0, 6.0, 8.0]);
}
