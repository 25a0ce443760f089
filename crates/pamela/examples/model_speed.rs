//! Benchmark of compiling models and estimating times: `cargo run --release -p sintonia-pamela --example model_speed`.

#[path = "../tests/large/mod.rs"]
mod large;

use std::path::Path;
use std::time::{Duration, Instant};

use sintonia_formula::{Interval, SymbolValues};
use sintonia_machine::Machine;
use sintonia_pamela::compile::{BranchShares, compile};
use sintonia_pamela::estimate::{AllocationPolicy, ClosedForms, EstimateRequest, ModelEstimator};
use sintonia_pamela::model::PamelaModel;

const PI: &str = "language java; parameter points = 1e9; parameter tasks = 100; resource coordinator;
    main { tasks(i=1,tasks) on w { use(coordinator, send_0_w(64)); search(points/tasks, w); use(coordinator, send_w_0(64)) } }
    search(n, w) {
        assign_long_w; assign_long_w;
        seq(k=1,n) {
            compare_int_w; random_double_w(2); mpy_double_w(2); sum_double_w; compare_double_w;
            if \"Pi.java:9\" { sum_long_w; assign_long_w }
            sum_int_w; assign_int_w; access_int_w
        }
    }";

/// A search for primes with a sieve, compiled from its Java source.
const PRIMES: &str = include_str!("primes.pam");

const DIVISION: &str = "language java; parameter upto = 1000000; parameter tasks = 100; resource coordinator;
    main { tasks(i=1,tasks) on w { use(coordinator, send_0_w(64)); search((i-1)*upto/tasks + 2, i*upto/tasks, w); use(coordinator, send_w_0(64)) } }
    search(a, b, w) {
        seq(x=a,b) {
            assign_int_w; compare_int_w;
            seq(d=2,sqrt(b)) { mod_int_w; compare_int_w; sum_int_w; assign_int_w }
            if \"Primes.java:14\" { sum_long_w; store_int_w; load_int_w }
        }
    }";

const SIEVE: &str =
    "language java; parameter n = 1000000; main { seq(d=2,sqrt(n)) { seq(k=1,n/d) { store_int_1; sum_int_1; compare_int_1 } } }";

const OPERATIONS: [&str; 16] = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "remainder",
    "compare",
    "assign",
    "access",
    "load",
    "store",
    "random",
    "sqrt",
    "bits",
    "shift",
    "convert",
    "new",
];

fn machine() -> Machine {
    let mut text = "format = 1\n[machine]\nname = \"lab\"\n".to_owned();
    for (kind, count, factor) in [("slow", 9, 2.0), ("middle", 12, 1.2), ("fast", 11, 1.0)] {
        text += &format!("[[node]]\nkind = \"{kind}\"\ncount = {count}\ncores = 1\n");
        for of in ["int32", "int64", "float32", "float64"] {
            for operation in OPERATIONS {
                let (fast, slow) = (1e-9 * factor, 4e-9 * factor);
                text += &format!("java.{of}.{operation} = {{ latency_s = {slow:e}, throughput_s = {fast:e} }}\n");
            }
        }
    }
    text += "[network.other_node.transfer]\npieces = [{ up_to_bytes = 1000, intercept_s = 1e-4, slope_s_per_byte = 1e-7 }, \
             { intercept_s = 2e-4, slope_s_per_byte = 9e-8 }]\n";
    Machine::parse(&text, Path::new("lab")).expect("the machine is well formed")
}

fn timed<T>(name: &str, work: impl Fn() -> T) -> T {
    let once = || {
        let begin = Instant::now();
        let result = work();
        (begin.elapsed(), result)
    };
    let mut runs: Vec<(Duration, T)> = (0..5).map(|_| once()).collect();
    runs.sort_by_key(|(elapsed, _)| *elapsed);
    let (elapsed, result) = runs.swap_remove(0);
    println!("{:>10.3} ms  {name}", elapsed.as_secs_f64() * 1e3);
    result
}

fn sweep(name: &str, text: &str, parameter: (&str, f64)) {
    let machine = machine();
    let model = timed(&format!("{name}: read"), || PamelaModel::parse(text, "speed.pam").expect("the model is well formed"));
    timed(&format!("{name}: compiled, with closed forms"), || {
        ClosedForms::from_analysis(&compile(&model, &BranchShares::new()).expect("it compiles"))
    });
    let parameters: SymbolValues<Interval> = [(parameter.0, Interval::point(parameter.1))].into_iter().collect();
    timed(&format!("{name}: 32 machine sizes"), || {
        let mut estimator = ModelEstimator::new(&model, &machine, &BranchShares::new()).expect("it compiles");
        let at = |workers| EstimateRequest { workers, parameters: parameters.clone(), allocation: AllocationPolicy::Static };
        (1..=32).map(|workers| estimator.estimate(&at(workers)).expect("it has a value").seconds[1]).sum::<f64>()
    });
}

fn main() {
    sweep("pi", PI, ("points", 1e9));
    sweep("pi to 1e12", PI, ("points", 1e12));
    sweep("primes", PRIMES, ("upto", 1e6));
    sweep("primes to 1e8", PRIMES, ("upto", 1e8));
    sweep("primes by division", DIVISION, ("upto", 1e6));
    sweep("sieve", SIEVE, ("n", 1e6));
    sweep("sieve to 1e12", SIEVE, ("n", 1e12));
    for nodes in [25_000, 50_000, 100_000] {
        let model = large::large(nodes);
        let analysis = timed(&format!("{nodes} nodes: compiled"), || compile(&model, &BranchShares::new()).expect("it compiles"));
        timed(&format!("{nodes} nodes: closed forms"), || ClosedForms::from_analysis(&analysis));
    }
}
