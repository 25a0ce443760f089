//! What no launch had time for, as notes: figures beyond it are extrapolated or missing.

use std::collections::{BTreeMap, BTreeSet};

use super::LaunchMeasurements;
use crate::bench::{BenchQuantity, CostMode};
use crate::{ArithmeticOp, MemoryAccess, Named};

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
        BenchQuantity::Message { class, .. } | BenchQuantity::Overlap { class } => format!("messages of {}", class.name()),
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

/// Memory and computation record one kind of access or operation as left out for all, so only that counts.
fn is_counted(quantity: BenchQuantity) -> bool {
    match quantity {
        BenchQuantity::Compute { what, manner, .. } => (what, manner) == (ArithmeticOp::Add, CostMode::Latency),
        BenchQuantity::Memory { access, .. } => access == MemoryAccess::Latency,
        BenchQuantity::Message { .. } | BenchQuantity::Overlap { .. } | BenchQuantity::SharedLink { .. } | BenchQuantity::Group { .. } => {
            true
        }
    }
}

fn note(group: &str, left_out: &[(BenchQuantity, u64)], measured: &BTreeSet<(BenchQuantity, u64)>) -> String {
    let done: Vec<&(BenchQuantity, u64)> =
        measured.iter().filter(|(quantity, _)| group_name(*quantity) == group && is_counted(*quantity)).collect();
    let mut largest_left_out: BTreeMap<&str, u64> = BTreeMap::new();
    for (quantity, bytes) in left_out {
        let largest = largest_left_out.entry(quantity_name(*quantity)).or_default();
        *largest = (*largest).max(*bytes);
    }
    let (mut none, mut up_to) = (Vec::new(), BTreeMap::<u64, Vec<&str>>::new());
    for (name, bytes) in largest_left_out {
        let sizes = done.iter().filter(|(quantity, _)| quantity_name(*quantity) == name).map(|(_, bytes)| *bytes);
        match sizes.max() {
            None => none.push(name),
            Some(largest) if largest < bytes => up_to.entry(largest).or_default().push(name),
            Some(_) => {}
        }
    }
    let none = (!none.is_empty()).then(|| format!("; nothing of {}", none.join(", ")));
    let up_to = up_to.iter().map(|(bytes, names)| format!("; nothing above {bytes} bytes of {}", names.join(", ")));
    let rest: String = none.into_iter().chain(up_to).collect();
    format!("no time for {} of {} points of {group}{rest}", left_out.len(), left_out.len() + done.len())
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
        let expected = "no time for 2 of 5 points of messages of other_node; nothing of receive; nothing above 1024 bytes of send";
        assert_eq!(notes(&[launch]), [expected]);
    }
}
