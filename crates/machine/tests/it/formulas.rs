//! Costs of a machine as formulas.

use std::path::Path;

use sintonia_formula::{Formula, Interval, SymbolValues};
use sintonia_machine::{CollectiveKind, Machine, MessageMetric, PairClass};

const MACHINE: &str = r#"
format = 1
machine = { name = "two lines" }
[network.other_node.send]
pieces = [
    { up_to_bytes = 1000, intercept_s = [1, 2, 4], slope_s_per_byte = 0.5 },
    { intercept_s = 10, slope_s_per_byte = 0.25 },
]
[group.allreduce]
growth = "log2(p)/2"
at = [
    { processes = 2, pieces = [{ intercept_s = 1, slope_s_per_byte = 0 }] },
    { processes = 4, pieces = [{ intercept_s = 3, slope_s_per_byte = 1 }] },
]
"#;

fn machine() -> Machine {
    Machine::parse(MACHINE, Path::new("two.toml")).unwrap()
}

fn at(formula: &Formula, n: f64, p: f64) -> f64 {
    formula.evaluate(&SymbolValues::new().with_value("n", n).with_value("p", p)).unwrap()
}

#[test]
fn a_message_is_a_formula_in_its_bytes() {
    let machine = machine();
    let send = &machine.network(PairClass::OtherNode).unwrap().messages[&MessageMetric::Send];
    let formula = send.middle_formula();
    assert_eq!(formula.to_string(), "pieces(n, up to 1000: 0.5*n + 2, beyond: 0.25*n + 10)");
    assert_eq!([0.0, 1000.0, 1001.0].map(|n| at(&formula, n, 1.0)), [2.0, 502.0, 260.25]);
}

#[test]
fn its_intervals_are_in_the_formula() {
    let machine = machine();
    let send = &machine.network(PairClass::OtherNode).unwrap().messages[&MessageMetric::Send];
    let time = send.formula().enclose(&SymbolValues::new().with_value("n", Interval::point(100.0))).unwrap();
    assert_eq!((time.low(), time.high()), (51.0, 54.0));
}

#[test]
fn a_group_is_a_formula_in_bytes_and_processes() {
    let allreduce = machine().collective_cost(CollectiveKind::Allreduce).unwrap().formula();
    assert_eq!(at(&allreduce, 7.0, 2.0), 1.0);
    assert_eq!(at(&allreduce, 7.0, 3.0), 10.0, "between measured numbers the next greater one holds");
    assert_eq!(at(&allreduce, 7.0, 16.0), 20.0, "beyond them it grows");
}
