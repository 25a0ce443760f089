//! The time of any work-conserving schedule lies between the two bounds.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use sintonia_formula::{Formula, SymbolValues};
use sintonia_machine::Machine;
use sintonia_pamela::compile::BranchShares;
use sintonia_pamela::estimate::{AllocationPolicy, EstimateRequest, ModelEstimator};
use sintonia_pamela::model::{LoopOrder, ModelTerm, PamelaModel, ProcedureDecl, ResourceDecl};

const RESOURCES: [(&str, usize); 3] = [("a", 1), ("b", 2), ("c", 1)];

/// A random term; inside a held resource only later ones are requested, so that there is no deadlock.
fn part(first: usize, depth: u32) -> BoxedStrategy<ModelTerm> {
    let delay = (1_i64..10).prop_map(|seconds| ModelTerm::Delay(Formula::integer(seconds)));
    if depth == 0 {
        return delay.boxed();
    }
    let list = move || prop::collection::vec(part(first, depth - 1), 1..4);
    let looped = (part(first, depth - 1), 1_i64..4, any::<bool>()).prop_map(|(body, rounds, parallel)| ModelTerm::Loop {
        order: if parallel { LoopOrder::Parallel } else { LoopOrder::Sequential },
        index: "i".to_owned(),
        from: Formula::one(),
        to: Formula::integer(rounds),
        body: Box::new(ModelTerm::Sequence(vec![body, ModelTerm::Delay(Formula::symbol("i"))])),
    });
    let held = (first..RESOURCES.len()).prop_flat_map(move |resource| {
        part(resource + 1, depth - 1)
            .prop_map(move |body| ModelTerm::Use { resource: RESOURCES[resource].0.to_owned(), body: Box::new(body) })
    });
    let held = if first < RESOURCES.len() { held.boxed() } else { delay.clone().boxed() };
    prop_oneof![1 => delay, 2 => list().prop_map(ModelTerm::Sequence), 3 => list().prop_map(ModelTerm::Parallel), 2 => looped, 4 => held]
        .boxed()
}

fn model(body: ModelTerm) -> PamelaModel {
    let resource = |(name, many): (&str, usize)| ResourceDecl { name: name.to_owned(), multiplicity: Formula::integer(many as i64) };
    let main = ProcedureDecl { name: "main".to_owned(), parameters: Vec::new(), body, comment: None };
    PamelaModel { resources: RESOURCES.map(resource).into(), procedures: vec![main], ..PamelaModel::default() }
}

fn bounds(model: &PamelaModel) -> [f64; 2] {
    let text = "format = 1\n[machine]\nname = \"test\"\n[[node]]\nkind = \"pc\"\ncount = 1\ncores = 1\n";
    let machine = Machine::parse(text, Path::new("test")).unwrap();
    let mut estimator = ModelEstimator::new(model, &machine, &BranchShares::new()).unwrap();
    let setting = EstimateRequest { workers: 1, parameters: SymbolValues::new(), allocation: AllocationPolicy::Static };
    estimator.estimate(&setting).unwrap().bounds
}

/// A step of the program, after all of its predecessors.
enum Step {
    Nothing,
    Work(f64),
    Ask(usize),
    GiveBack(usize),
}

#[derive(Default)]
struct Program {
    steps: Vec<(Step, Vec<usize>)>,
}

impl Program {
    fn push(&mut self, step: Step, after: Vec<usize>) -> usize {
        self.steps.push((step, after));
        self.steps.len() - 1
    }

    /// Adds a term after a step; returns its last step.
    fn add(&mut self, term: &ModelTerm, after: usize, index: f64) -> usize {
        match term {
            ModelTerm::Delay(seconds) => {
                let seconds = seconds.evaluate(&SymbolValues::from([("i", index)])).unwrap();
                self.push(Step::Work(seconds), vec![after])
            }
            ModelTerm::Sequence(parts) => parts.iter().fold(after, |after, part| self.add(part, after, index)),
            ModelTerm::Parallel(parts) => {
                let ends = parts.iter().map(|part| self.add(part, after, index)).collect();
                self.push(Step::Nothing, ends)
            }
            ModelTerm::Loop { order, to, body, .. } => {
                let rounds = to.evaluate(&SymbolValues::new()).unwrap() as i64;
                match order {
                    LoopOrder::Sequential => (1..=rounds).fold(after, |after, round| self.add(body, after, round as f64)),
                    LoopOrder::Parallel => {
                        let ends = (1..=rounds).map(|round| self.add(body, after, round as f64)).collect();
                        self.push(Step::Nothing, ends)
                    }
                }
            }
            ModelTerm::Use { resource, body } => {
                let resource = RESOURCES.iter().position(|(name, _)| name == resource).unwrap();
                let asked = self.push(Step::Ask(resource), vec![after]);
                let end = self.add(body, asked, index);
                self.push(Step::GiveBack(resource), vec![end])
            }
            other => panic!("{other:?} is not drawn"),
        }
    }

    /// The makespan if waiting requests are served in an order given by `choose` and free resources are never left idle.
    fn run(&self, mut choose: impl FnMut(usize) -> usize) -> f64 {
        let mut missing: Vec<usize> = self.steps.iter().map(|(_, after)| after.len()).collect();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.steps.len()];
        for (step, (_, after)) in self.steps.iter().enumerate() {
            after.iter().for_each(|before| next[*before].push(step));
        }
        let mut free: Vec<usize> = RESOURCES.iter().map(|(_, many)| *many).collect();
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); free.len()];
        let mut working: BTreeMap<(u64, usize), f64> = BTreeMap::new();
        let (mut now, mut done) = (0.0, 0);
        let mut ready: Vec<usize> = (0..self.steps.len()).filter(|step| missing[*step] == 0).collect();
        loop {
            let mut ended = Vec::new();
            for step in ready.drain(..) {
                match self.steps[step].0 {
                    Step::Nothing => ended.push(step),
                    Step::Work(seconds) => {
                        let end: f64 = now + seconds;
                        working.insert((end.to_bits(), step), end);
                    }
                    Step::Ask(resource) => waiting[resource].push(step),
                    Step::GiveBack(resource) => {
                        free[resource] += 1;
                        ended.push(step);
                    }
                }
            }
            for resource in 0..free.len() {
                while free[resource] > 0 && !waiting[resource].is_empty() {
                    let chosen = choose(waiting[resource].len());
                    ended.push(waiting[resource].remove(chosen));
                    free[resource] -= 1;
                }
            }
            if ended.is_empty() {
                let Some(((_, step), end)) = working.pop_first() else { break };
                now = end;
                ended.push(step);
            }
            for step in ended {
                done += 1;
                for after in &next[step] {
                    missing[*after] -= 1;
                    if missing[*after] == 0 {
                        ready.push(*after);
                    }
                }
            }
        }
        assert_eq!(done, self.steps.len(), "somebody waits for ever");
        now
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_lies_between_the_bounds(body in part(0, 4), seed in any::<u64>()) {
        let [lower, upper] = bounds(&model(body.clone()));
        let mut program = Program::default();
        let begin = program.push(Step::Nothing, Vec::new());
        program.add(&body, begin, 0.0);
        let mut state = seed;
        let mut random = move |among: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % among
        };
        let orders: [&mut dyn FnMut(usize) -> usize; 3] = [&mut |_| 0, &mut |among| among - 1, &mut random];
        for order in orders {
            let seconds = program.run(order);
            prop_assert!(lower <= seconds * (1.0 + 1e-12), "{lower} is no lower bound of {seconds}");
            prop_assert!(seconds <= upper * (1.0 + 1e-12), "{upper} is no upper bound of {seconds}");
        }
    }
}

fn part_of(text: &str) -> [f64; 2] {
    let model = PamelaModel::parse(text, "test.pam").unwrap();
    bounds(&model)
}

#[test]
fn contention_inside_blocks_is_more_than_over_the_whole_program() {
    // Over the whole program, T0 is 20 and each resource is busy for 20; but the first block alone keeps `a` busy for 20.
    let blocks = "resource a; resource b; main { par(i=1,2) use(a, delay(10)); par(i=1,2) use(b, delay(10)) }";
    assert_eq!(part_of(blocks), [40.0, 40.0]);
}

#[test]
fn without_contention_both_bounds_are_one() {
    assert_eq!(part_of("main { delay(1); { delay(2) || delay(3) }; par(i=1,4) delay(i) }"), [8.0, 8.0]);
}

#[test]
fn what_is_done_besides_a_resource_may_overlap_or_not() {
    assert_eq!(part_of("resource a; main { par(i=1,10) { delay(5); use(a, delay(1)) } }"), [10.0, 16.0]);
}
