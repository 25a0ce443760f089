//! What no launch had time for, as notes: figures beyond it are extrapolated or missing.

use std::collections::{BTreeMap, BTreeSet};

use super::LaunchMeasurements;
use crate::bench::BenchQuantity;
use crate::{MemoryAccess, Named};

/// One note for each kind of measurement that is incomplete.
pub(super) fn notes(launches: &[LaunchMeasurements]) -> Vec<String> {
    let measured: BTreeSet<(BenchQuantity, u64)> = launches.iter().flat_map(|launch| launch.samples.keys().copied()).collect();
    let left_out: BTreeSet<(BenchQuantity, u64)> =
        launches.iter().flat_map(|launch| &launch.left_out).filter(|point| !measured.contains(point)).copied().collect();
    let mut groups: BTreeMap<String, Vec<(BenchQuantity, u64)>> = BTreeMap::new();
    left_out.iter().for_each(|point| groups.entry(group_name(point.0)).or_default().push(*point));
    groups.iter().map(|(name, points)| note(name, points, &measured)).collect()
}

fn group_name(quantity: BenchQuantity) -> String {
    match quantity {
        BenchQuantity::Compute { .. } => "computation".into(),
        BenchQuantity::Memory { .. } => "memory".into(),
        BenchQuantity::Message { class, .. } | BenchQuantity::Overlap { class } => format!("messages, {}", class.name()),
        BenchQuantity::SharedLink { .. } => "links".into(),
        BenchQuantity::Group { processes, .. } => format!("collectives of {processes} processes"),
    }
}

/// What a quantity is called within its group.
fn quantity_name(quantity: BenchQuantity) -> &'static str {
    match quantity {
        BenchQuantity::Compute { of, .. } => of.name(),
        BenchQuantity::Memory { .. } => "working sets",
        BenchQuantity::Message { what, .. } => what.name(),
        BenchQuantity::Overlap { .. } => "overlap",
        BenchQuantity::SharedLink { .. } => "pairs of processes at once",
        BenchQuantity::Group { what, .. } => what.name(),
    }
}

fn note(group: &str, points: &[(BenchQuantity, u64)], measured: &BTreeSet<(BenchQuantity, u64)>) -> String {
    let mut by_name: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    points.iter().for_each(|(quantity, bytes)| by_name.entry(quantity_name(*quantity)).or_default().push(*bytes));
    // Of memory only one kind of access is recorded as left out, so only that counts.
    let counts = |quantity: &BenchQuantity| !matches!(quantity, BenchQuantity::Memory { access, .. } if *access != MemoryAccess::Latency);
    let sizes_of = |name: &str| {
        let same = |(quantity, _): &&(BenchQuantity, u64)| {
            group_name(*quantity) == group && quantity_name(*quantity) == name && counts(quantity)
        };
        measured.iter().filter(same).map(|(_, bytes)| *bytes).collect::<Vec<u64>>()
    };
    let parts = by_name.iter().map(|(name, left_out)| {
        let done = sizes_of(name);
        let Some(largest) = done.iter().max() else { return format!("{name} was not measured") };
        let all = done.len() + left_out.len();
        let beyond = if left_out.iter().any(|bytes| bytes > largest) { format!(" and all above {largest} bytes") } else { String::new() };
        format!("{name} lacks {} of {all} sizes{beyond}", left_out.len())
    });
    format!("no time for all measurements; {group}: {}", parts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{BenchRecord, BenchSample};
    use crate::{MessageMetric, PairClass};

    #[test]
    fn what_is_missing_is_said_once_for_each_group() {
        let quantity = |what: MessageMetric| BenchQuantity::Message { class: PairClass::OtherNode, what };
        let mut launch = LaunchMeasurements::default();
        for bytes in [1, 2, 1024] {
            let sample = BenchSample::from_values(quantity(MessageMetric::Send), bytes, &[1.0]).unwrap();
            launch.add_record(BenchRecord::Sample(sample));
        }
        assert_eq!(notes(&[launch.clone()]), <[String; 0]>::default());
        for (what, bytes) in [(MessageMetric::Send, 2), (MessageMetric::Send, 1 << 20), (MessageMetric::Receive, 1)] {
            launch.add_record(BenchRecord::LeftOut(quantity(what), bytes));
        }
        let expected = "no time for all measurements; messages, other_node: receive was not measured, send lacks 1 of 4 sizes and all above 1024 bytes";
        assert_eq!(notes(&[launch]), [expected]);
    }
}
