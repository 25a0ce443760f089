//! Speeds of Java workers on the cores of a machine.

use std::collections::BTreeMap;

use crate::{ArithmeticCosts, ArithmeticOp, Machine, NumberType};

impl Machine {
    /// The relative speed of one worker per core of the machine (1 is the fastest); none if the file lacks Java costs.
    pub fn java_worker_speeds(&self) -> Option<Vec<f64>> {
        let times =
            self.nodes.iter().map(|node| Some((node.count * node.cores, operation_costs(&node.java)?))).collect::<Option<Vec<_>>>()?;
        let (_, first) = times.first()?;
        // Only ratios matter, so every kind of node is compared with the first.
        let ratios = times.iter().map(|(_, costs)| mean_cost_ratio(costs, first)).collect::<Option<Vec<f64>>>()?;
        let fastest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let cores =
            times.iter().zip(ratios).flat_map(|((cores, _), ratio)| std::iter::repeat_n(fastest / ratio, (*cores).min(4096) as usize));
        Some(cores.collect())
    }
}

type OperationCosts = BTreeMap<(NumberType, ArithmeticOp), f64>;

fn operation_costs(costs: &ArithmeticCosts) -> Option<OperationCosts> {
    let each = costs.iter().flat_map(|(of, costs)| costs.iter().map(move |(what, cost)| ((*of, *what), cost.latency.middle())));
    let some: OperationCosts = each.filter(|(_, seconds)| *seconds > 0.0).collect();
    (!some.is_empty()).then_some(some)
}

/// The geometric mean of cost ratios, over operations that both have.
fn mean_cost_ratio(one: &OperationCosts, other: &OperationCosts) -> Option<f64> {
    let logarithms: Vec<f64> = one.iter().filter_map(|(name, seconds)| Some((seconds / other.get(name)?).ln())).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_takes_twice_as_long_has_half_the_factor() {
        let node = |kind: &str, cores: u64, seconds: &str| {
            format!(
                "[[node]]\nkind = \"{kind}\"\ncount = 1\ncores = {cores}\n[node.java.int32]\nadd = {{ latency_s = {seconds}, throughput_s = 1e-10 }}\n"
            )
        };
        let text = format!("format = 1\n[machine]\nname = \"two\"\n{}{}", node("slow", 2, "2e-9"), node("fast", 1, "1e-9"));
        let machine = Machine::parse(&text, "two".as_ref()).unwrap();
        assert_eq!(machine.java_worker_speeds(), Some(vec![0.5, 0.5, 1.0]));
        let without = Machine::parse("format = 1\n[machine]\nname = \"none\"\n", "none".as_ref()).unwrap();
        assert_eq!(without.java_worker_speeds(), None);
    }
}
