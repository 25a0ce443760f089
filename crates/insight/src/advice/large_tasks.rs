//! Tasks of a task farm that are too large: at the end, workers wait for those that still have one.

use std::collections::BTreeMap;

use super::phrases::{format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::task_farm::TaskFarm;
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "large_tasks",
    name: "tasks that are too large",
    help: "Workers ask a master for tasks, and at the end some of them wait while others compute their last one: the smaller the tasks, the \
           shorter that is.",
    basis: "the run replayed with tasks an eighth as large: all workers compute equally long, but for half of such a task",
    find,
    describe,
};

/// Into how many parts a task is divided.
const PARTS: i64 = 8;

/// With more tasks for each worker, their size hardly matters.
const MAX_TASKS_PER_WORKER: u64 = 20;

/// The computation of each worker in the farm's tasks.
struct FarmLoad {
    segment: Segment,
    loads: BTreeMap<u32, i64>,
    mean_ns: i64,
    most_ns: i64,
    /// The longest task.
    task_ns: i64,
}

fn farm_load(context: &RuleContext, farm: &TaskFarm) -> Option<FarmLoad> {
    let segment = Segment { from: farm.receive_site, to: farm.send_site };
    let all = context.loads(segment);
    let loads: BTreeMap<u32, i64> =
        all.iter().filter(|(rank, _)| farm.workers.contains_key(rank)).map(|(rank, load)| (*rank, load.ns())).collect();
    let tasks = all.iter().filter(|(rank, _)| loads.contains_key(rank));
    let task_ns = tasks.map(|(_, load)| load.ns() / load.visits.max(1) as i64).max()?;
    let mean_ns = loads.values().sum::<i64>() / loads.len().max(1) as i64;
    Some(FarmLoad { segment, mean_ns, most_ns: loads.values().copied().max()?, loads, task_ns })
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    candidate(context).into_iter().collect()
}

fn candidate(context: &RuleContext) -> Option<AdviceCandidate> {
    let farm = TaskFarm::find(context).filter(|farm| farm.workers.len() > 1)?;
    let FarmLoad { segment, loads, mean_ns, most_ns, task_ns } = farm_load(context, &farm)?;
    let excess = most_ns - mean_ns;
    // One worker with more than one task more than the others is no matter of the size of the tasks.
    let is_last_task = 4 * excess < 5 * task_ns && farm.tasks() <= MAX_TASKS_PER_WORKER * farm.workers.len() as u64;
    if !is_last_task || excess < context.run_ns() / NOISE_SHARE {
        return None;
    }
    let target = (mean_ns + task_ns / (2 * PARTS)) as f64;
    let scale = |(rank, ns): (&u32, &i64)| ((segment, *rank), DurationChange::Scale(target / (*ns).max(1) as f64));
    let change = WhatIfChange::Computation(loads.iter().map(scale).collect());
    Some(AdviceCandidate::in_segment(segment, farm.worker_ranks(), change, excess))
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let farm = TaskFarm::find(context);
    let tasks = farm.as_ref().map_or(0, TaskFarm::tasks);
    let load = farm.and_then(|farm| farm_load(context, &farm));
    let (most, mean, task) = load.map_or((0, 0, 0), |load| (load.most_ns, load.mean_ns, load.task_ns));
    let who = format_ranks(&candidate.ranks);
    AdviceText {
        what: format!(
            "{tasks} tasks are too few for {} workers ({who}): some wait while others compute their last one {}.",
            candidate.ranks.len(),
            context.describe_segment(candidate.segment)
        ),
        evidence: format!(
            "a task takes up to {}; the busiest worker computes {}, the average one {}, and the others wait {}.",
            format_ns(task),
            format_ns(most),
            format_ns(mean),
            format_share(most - mean, context.run_ns())
        ),
        try_this: "Divide the work into more and smaller tasks (several dozen for each worker), or begin with large tasks and make them \
                   smaller towards the end."
            .into(),
    }
}
