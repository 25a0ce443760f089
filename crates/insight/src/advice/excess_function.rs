//! The function in which some ranks compute longer than the others, from samples.

use std::collections::BTreeMap;

use sintonia_program::samples::{CallTree, SampleActivity};

use super::rule_context::RuleContext;
use crate::segment::Segment;

/// The function that explains most of what these ranks compute more than the mean rank in a segment; `None` without samples, or if no
/// single function does.
pub(super) fn describe(context: &RuleContext, segment: Segment, ranks: &[u32]) -> Option<String> {
    let tree = CallTree::of(context.recording).ok()?;
    let mut functions: BTreeMap<u32, BTreeMap<u32, u64>> = BTreeMap::new();
    for (stack, ns) in &context.findings.samples {
        let here = stack.segment.map(|segment| context.inputs.sites.representative_segment(segment)) == Some(segment);
        if here && stack.activity != SampleActivity::Mpi {
            *functions.entry(tree.function_of_frame(stack.frame)).or_default().entry(stack.rank).or_default() += ns;
        }
    }
    let size = context.size().max(1) as f64;
    let excess = |times: &BTreeMap<u32, u64>| {
        let of_ranks: u64 = ranks.iter().filter_map(|rank| times.get(rank)).sum();
        of_ranks as f64 / ranks.len().max(1) as f64 - times.values().sum::<u64>() as f64 / size
    };
    let all: f64 = functions.values().map(&excess).sum();
    let (function, most) = functions.iter().map(|(function, times)| (*function, excess(times))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_main = all > 0.0 && most > all / 2.0;
    is_main.then(|| tree.functions[function as usize].short_name())
}
