//! Name resolution and topological order of batches.

use std::collections::{BTreeMap, BTreeSet};

use super::application::{ApplicationParameter, BatchArgument, BatchFlow, PaslApplication, TASK, TaskBatch};
use super::parser::{self, PaslDeclarations};
use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;
use sintonia_text::suggestion::nearest_name;

/// The application of these declarations.
pub(super) fn resolve_application(found: PaslDeclarations<'_>, text: &SourceFile) -> Result<PaslApplication, SourceDiagnostic> {
    let graph = BatchGraph::new(found, text)?;
    let levels = graph.levels()?;
    Ok(graph.application(&levels))
}

/// The dependencies between batches, by their indices in the file.
struct BatchGraph<'a> {
    text: &'a SourceFile,
    declarations: PaslDeclarations<'a>,
    /// The arguments of each batch: the index if the argument is a batch.
    arguments: Vec<Vec<Option<usize>>>,
    /// Declared flows first, then those implied by arguments.
    flows: Vec<(usize, usize, Option<usize>, usize)>,
    /// The predecessors of each batch, and the offsets where that is declared.
    predecessors: Vec<Vec<(usize, usize)>>,
}

impl<'a> BatchGraph<'a> {
    fn new(found: PaslDeclarations<'a>, text: &'a SourceFile) -> Result<BatchGraph<'a>, SourceDiagnostic> {
        let mut places = BTreeMap::new();
        let parameters: BTreeSet<&str> = found.parameters.iter().map(|(name, ..)| *name).collect();
        for (position, batch) in found.batches.iter().enumerate() {
            if parameters.contains(batch.name) {
                let problem = format!("there is already a parameter `{}`; a batch needs a name of its own", batch.name);
                return Err(error(text, batch.offset, problem));
            }
            if places.insert(batch.name, position).is_some() {
                return Err(error(text, batch.offset, format!("there is already a batch `{}`", batch.name)));
            }
        }
        let mut graph = BatchGraph {
            text,
            arguments: Vec::new(),
            flows: Vec::new(),
            predecessors: vec![Vec::new(); found.batches.len()],
            declarations: found,
        };
        let mut known = BTreeSet::new();
        graph.add_declared_flows(&places, &mut known)?;
        graph.add_implied_flows(&places, &parameters, known)?;
        Ok(graph)
    }

    fn add_declared_flows(&mut self, places: &BTreeMap<&str, usize>, known: &mut BTreeSet<(usize, usize)>) -> Result<(), SourceDiagnostic> {
        let position = |(name, at): (&str, usize)| {
            places.get(name).copied().ok_or_else(|| {
                let wrong = error(self.text, at, format!("there is no batch `{name}`"));
                match nearest_name(name, places.keys().copied()) {
                    Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
                    None => wrong.with_hint(format!("there are {}", places.keys().copied().collect::<Vec<_>>().join(", "))),
                }
            })
        };
        for (number, flow) in self.declarations.flows.iter().enumerate() {
            let (from, to) = (position(flow.from)?, position(flow.to)?);
            if !known.insert((from, to)) {
                return Err(error(self.text, flow.from.1, format!("there is already a flow `{} -> {}`", flow.from.0, flow.to.0)));
            }
            self.flows.push((from, to, Some(number), flow.from.1));
            self.predecessors[to].push((from, flow.from.1));
        }
        Ok(())
    }

    /// A batch used as an argument implies a flow.
    fn add_implied_flows(
        &mut self,
        places: &BTreeMap<&str, usize>,
        parameters: &BTreeSet<&str>,
        mut known: BTreeSet<(usize, usize)>,
    ) -> Result<(), SourceDiagnostic> {
        for (to, batch) in self.declarations.batches.iter().enumerate() {
            let mut arguments = Vec::new();
            for given in &batch.arguments {
                let name = given.name.as_deref().filter(|name| *name != TASK && !parameters.contains(name));
                let from = match name {
                    Some(name) => Some(*places.get(name).ok_or_else(|| {
                        let wrong = error(self.text, given.offset, format!("`{name}` is neither a parameter nor a batch"));
                        match nearest_name(name, parameters.iter().copied().chain(places.keys().copied()).chain([TASK])) {
                            Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
                            None => wrong,
                        }
                    })?),
                    None => None,
                };
                arguments.push(from);
                if let Some(from) = from
                    && known.insert((from, to))
                {
                    self.flows.push((from, to, None, given.offset));
                    self.predecessors[to].push((from, given.offset));
                }
            }
            self.arguments.push(arguments);
        }
        Ok(())
    }

    /// The level of each batch. Batches that never become ready are on a cycle or depend on one.
    fn levels(&self) -> Result<Vec<usize>, SourceDiagnostic> {
        let mut levels: Vec<Option<usize>> = vec![None; self.predecessors.len()];
        let mut followers = vec![Vec::new(); self.predecessors.len()];
        let mut missing: Vec<usize> = self.predecessors.iter().map(Vec::len).collect();
        for (to, waits) in self.predecessors.iter().enumerate() {
            waits.iter().for_each(|(from, _)| followers[*from].push(to));
        }
        let mut free: Vec<usize> = (0..missing.len()).filter(|batch| missing[*batch] == 0).collect();
        while let Some(batch) = free.pop() {
            let level = self.predecessors[batch].iter().filter_map(|(from, _)| levels[*from]).max().map_or(0, |level| level + 1);
            levels[batch] = Some(level);
            for &to in &followers[batch] {
                missing[to] -= 1;
                if missing[to] == 0 {
                    free.push(to);
                }
            }
        }
        levels
            .iter()
            .position(Option::is_none)
            .map_or_else(|| Ok(levels.iter().flatten().copied().collect()), |stuck| Err(self.cycle_error(stuck, &levels)))
    }

    /// The error for a cycle that is reached backwards from a batch.
    fn cycle_error(&self, stuck: usize, levels: &[Option<usize>]) -> SourceDiagnostic {
        let (mut way, mut batch, mut said) = (Vec::new(), stuck, 0);
        while !way.contains(&batch) {
            way.push(batch);
            if let Some((from, at)) = self.predecessors[batch].iter().find(|(from, _)| levels[*from].is_none()) {
                (batch, said) = (*from, *at);
            }
        }
        let begin = way.iter().position(|other| *other == batch).unwrap_or(0);
        let round: Vec<&str> = way[begin..].iter().chain([&batch]).rev().map(|batch| self.declarations.batches[*batch].name).collect();
        error(self.text, said, format!("cyclic dependency between batches: {}", round.join(" -> ")))
            .with_hint("no batch may depend on its own results, not even indirectly")
    }

    fn application(self, levels: &[usize]) -> PaslApplication {
        let BatchGraph { text, declarations: found, arguments, flows, .. } = self;
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by_key(|batch| levels[*batch]);
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, batch)| place_of[*batch] = place);
        let mut batches: Vec<(usize, TaskBatch)> = Vec::new();
        for ((position, batch), resolved) in found.batches.into_iter().enumerate().zip(arguments) {
            let parser::BatchDecl { name, tasks, routine, arguments, offset: at } = batch;
            let arguments = arguments.into_iter().zip(resolved).map(|(given, from)| {
                let place = text.pos_at(given.offset);
                match from {
                    Some(from) => BatchArgument::Results { batch: place_of[from], pos: place },
                    None => BatchArgument::Number { value: given.value, pos: place },
                }
            });
            let arguments = arguments.collect();
            let place = text.pos_at(at);
            batches.push((
                place_of[position],
                TaskBatch { name: name.to_owned(), tasks, routine, arguments, level: levels[position], pos: place },
            ));
        }
        batches.sort_by_key(|(place, _)| *place);
        PaslApplication {
            name: found.name.to_owned(),
            parameters: found
                .parameters
                .into_iter()
                .map(|(name, value, at)| ApplicationParameter { name: name.to_owned(), value, pos: text.pos_at(at) })
                .collect(),
            batches: batches.into_iter().map(|(_, batch)| batch).collect(),
            flows: flows
                .into_iter()
                .map(|(from, to, declared, at)| BatchFlow {
                    from: place_of[from],
                    to: place_of[to],
                    bytes: declared.and_then(|number| found.flows[number].bytes.clone()),
                    pos: text.pos_at(at),
                })
                .collect(),
        }
    }
}

fn error(text: &SourceFile, at: usize, problem: impl Into<String>) -> SourceDiagnostic {
    SourceDiagnostic::new(text.pos_at(at), problem).with_source_line(&text.text)
}
