//! How fast the workers of a machine are, by its file.

use std::collections::BTreeMap;

use sintonia_machine::{Arithmetic, Costs, Machine, NumberType};

/// The speed of one worker for each core of the machine, as a share of the fastest; none if the file does not tell.
pub fn of(machine: &Machine) -> Option<Vec<f64>> {
    let times = machine.nodes.iter().map(|node| Some((node.count * node.cores, flat(&node.java)?))).collect::<Option<Vec<_>>>()?;
    let (_, first) = times.first()?;
    // Only ratios count, so it is enough to compare every kind of node with the first.
    let ratios = times.iter().map(|(_, costs)| ratio(costs, first)).collect::<Option<Vec<f64>>>()?;
    let fastest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let cores = times.iter().zip(ratios).flat_map(|((cores, _), ratio)| std::iter::repeat_n(fastest / ratio, (*cores).min(4096) as usize));
    Some(cores.collect())
}

type Flat = BTreeMap<(NumberType, Arithmetic), f64>;

fn flat(costs: &Costs) -> Option<Flat> {
    let each = costs.iter().flat_map(|(of, costs)| costs.iter().map(move |(what, cost)| ((*of, *what), cost.latency.middle())));
    let some: Flat = each.filter(|(_, seconds)| *seconds > 0.0).collect();
    (!some.is_empty()).then_some(some)
}

/// How many times as long operations take: the geometric mean over those that both have.
fn ratio(one: &Flat, other: &Flat) -> Option<f64> {
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
        assert_eq!(of(&machine), Some(vec![0.5, 0.5, 1.0]));
        let without = Machine::parse("format = 1\n[machine]\nname = \"none\"\n", "none".as_ref()).unwrap();
        assert_eq!(of(&without), None);
    }
}
