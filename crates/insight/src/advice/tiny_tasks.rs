//! Tasks of a task farm that are too small: requesting one takes a large part of the time of computing it, or longer.

use super::phrases::{choose_verb, format_ns, format_ranks, format_ratio, format_share};
use super::rule_context::RuleContext;
use super::task_farm::TaskFarm;
use super::what_if::WhatIfChange;
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "tiny_tasks",
    name: "tasks that are too small",
    help: "Workers ask a master for one task after another, and asking takes a large part of the time of computing, or longer. Several \
           tasks in a message pay for the messages once.",
    basis: "the run replayed with a hundred tasks in each message: requests and answers take a hundredth of their time",
    find,
    describe,
};

/// Fewer tasks for each worker are not worth merging.
const MIN_TASKS_PER_WORKER: u64 = 200;

/// Asking that takes less than one part in this many of computing is not worth avoiding.
const MIN_EXCHANGE_SHARE: i64 = 4;

/// A message that takes longer waits for something else than the message itself.
const MAX_EXCHANGE_NS: i64 = 1_000_000;

/// How many tasks are put into a message.
const TASKS_PER_MESSAGE: f64 = 100.0;

/// The mean time of a worker's calls for a task, in nanoseconds, with its waiting for the master.
fn exchange_ns(context: &RuleContext, farm: &TaskFarm) -> i64 {
    let waits = context.waits(&["late_sender", "late_sender_wrong_order", "late_receiver"]);
    let at = |site: u32, rank: &u32| {
        let own = context.inputs.calls.get(&site).and_then(|calls| calls.ranks.get(rank)).map_or(0, |totals| totals.own_ns);
        own + waits.get(&site).and_then(|waiting| waiting.ranks.get(rank)).copied().unwrap_or(0)
    };
    let sites = [farm.receive_site, farm.send_site];
    let sites = if sites[0] == sites[1] { &sites[..1] } else { &sites[..] };
    let all: i64 = farm.workers.keys().flat_map(|rank| sites.iter().map(move |site| at(*site, rank))).sum();
    all / farm.tasks().max(1) as i64
}

/// The mean computation of a worker for a task, in nanoseconds.
fn task_ns(farm: &TaskFarm) -> i64 {
    farm.workers.values().map(|work| work.between_ns).sum::<i64>() / farm.tasks().max(1) as i64
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    candidate(context).into_iter().collect()
}

fn candidate(context: &RuleContext) -> Option<AdviceCandidate> {
    let farm = TaskFarm::find(context)?;
    let exchange_ns = exchange_ns(context, &farm);
    let many = farm.tasks() >= MIN_TASKS_PER_WORKER * farm.workers.len() as u64;
    if !many || MIN_EXCHANGE_SHARE * exchange_ns < task_ns(&farm) || exchange_ns > MAX_EXCHANGE_NS {
        return None;
    }
    let mut sites = farm.master_sites.clone();
    sites.extend([farm.receive_site, farm.send_site]);
    sites.sort_unstable();
    sites.dedup();
    let most = exchange_ns * farm.workers.values().map(|work| work.count).max()? as i64;
    Some(AdviceCandidate::at_call(farm.receive_site, farm.worker_ranks(), WhatIfChange::CallTimes(sites, 1.0 / TASKS_PER_MESSAGE), most))
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let farm = TaskFarm::find(context);
    let (master, tasks) = farm.as_ref().map_or((0, 0), |farm| (farm.master, farm.tasks()));
    let (exchange, task) = farm.as_ref().map_or((0, 0), |farm| (exchange_ns(context, farm), task_ns(farm)));
    let who = format_ranks(&candidate.ranks);
    AdviceText {
        what: format!(
            "The tasks that {who} {} from {} at {} are tiny: asking for one takes {} as long as computing it.",
            choose_verb(candidate.ranks.len(), "receives", "receive"),
            format_ranks(&[master]),
            context.source_location(candidate.site()),
            format_ratio(exchange, task)
        ),
        evidence: format!(
            "{tasks} tasks of {} on average; request and answer take a worker {} each time ({}).",
            format_ns(task),
            format_ns(exchange),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this:
            "Hand out many tasks in one message (a range of them), so that computing takes at least a hundred times as long as asking."
                .into(),
    }
}
