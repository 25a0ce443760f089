//! Declarations become an application: names are resolved, and batches ordered so that each comes after those it waits for.

use std::collections::{BTreeMap, BTreeSet};

use super::application::{Application, Argument, Batch, Flow, Parameter, TASK};
use super::parse::{self, Declarations};
use crate::error::Wrong;
use crate::file::Text;
use sintonia_text::near::nearest;

/// The application that these declarations describe.
pub(super) fn ordered(found: Declarations<'_>, text: &Text) -> Result<Application, Wrong> {
    let graph = Graph::of(found, text)?;
    let levels = graph.levels()?;
    Ok(graph.application(&levels))
}

/// Who waits for whom, by the positions of batches in the file.
struct Graph<'a> {
    text: &'a Text,
    found: Declarations<'a>,
    /// What each batch is given: a position where the argument is a batch.
    arguments: Vec<Vec<Option<usize>>>,
    /// Declared flows first, then those that arguments imply.
    flows: Vec<(usize, usize, Option<usize>, usize)>,
    /// For each batch those that it waits for, and where that is said.
    waits: Vec<Vec<(usize, usize)>>,
}

impl<'a> Graph<'a> {
    fn of(found: Declarations<'a>, text: &'a Text) -> Result<Graph<'a>, Wrong> {
        let mut places = BTreeMap::new();
        let parameters: BTreeSet<&str> = found.parameters.iter().map(|(name, ..)| *name).collect();
        for (position, batch) in found.batches.iter().enumerate() {
            if parameters.contains(batch.name) {
                let problem = format!("there is a parameter `{}` already, and the name of a batch must be its own", batch.name);
                return Err(wrong(text, batch.at, problem));
            }
            if places.insert(batch.name, position).is_some() {
                return Err(wrong(text, batch.at, format!("there is a batch `{}` already", batch.name)));
            }
        }
        let mut graph = Graph { text, arguments: Vec::new(), flows: Vec::new(), waits: vec![Vec::new(); found.batches.len()], found };
        let mut known = BTreeSet::new();
        graph.declared(&places, &mut known)?;
        graph.implied(&places, &parameters, known)?;
        Ok(graph)
    }

    fn declared(&mut self, places: &BTreeMap<&str, usize>, known: &mut BTreeSet<(usize, usize)>) -> Result<(), Wrong> {
        let position = |(name, at): (&str, usize)| {
            places.get(name).copied().ok_or_else(|| {
                let wrong = wrong(self.text, at, format!("there is no batch `{name}`"));
                match nearest(name, places.keys().copied()) {
                    Some(near) => wrong.hint(format!("did you mean `{near}`?")),
                    None => wrong.hint(format!("there are {}", places.keys().copied().collect::<Vec<_>>().join(", "))),
                }
            })
        };
        for (number, flow) in self.found.flows.iter().enumerate() {
            let (from, to) = (position(flow.from)?, position(flow.to)?);
            if !known.insert((from, to)) {
                return Err(wrong(self.text, flow.from.1, format!("there is a flow `{} -> {}` already", flow.from.0, flow.to.0)));
            }
            self.flows.push((from, to, Some(number), flow.from.1));
            self.waits[to].push((from, flow.from.1));
        }
        Ok(())
    }

    /// A batch that is an argument flows, even where nobody says so.
    fn implied(
        &mut self,
        places: &BTreeMap<&str, usize>,
        parameters: &BTreeSet<&str>,
        mut known: BTreeSet<(usize, usize)>,
    ) -> Result<(), Wrong> {
        for (to, batch) in self.found.batches.iter().enumerate() {
            let mut arguments = Vec::new();
            for given in &batch.arguments {
                let name = given.name.as_deref().filter(|name| *name != TASK && !parameters.contains(name));
                let from = match name {
                    Some(name) => Some(*places.get(name).ok_or_else(|| {
                        let wrong = wrong(self.text, given.at, format!("`{name}` is neither a parameter nor a batch"));
                        match nearest(name, parameters.iter().copied().chain(places.keys().copied()).chain([TASK])) {
                            Some(near) => wrong.hint(format!("did you mean `{near}`?")),
                            None => wrong,
                        }
                    })?),
                    None => None,
                };
                arguments.push(from);
                if let Some(from) = from
                    && known.insert((from, to))
                {
                    self.flows.push((from, to, None, given.at));
                    self.waits[to].push((from, given.at));
                }
            }
            self.arguments.push(arguments);
        }
        Ok(())
    }

    /// How many batches must have ended before each, one after the other. What is left when no more batch is free to go is on a cycle, or
    /// waits for one.
    fn levels(&self) -> Result<Vec<usize>, Wrong> {
        let mut levels: Vec<Option<usize>> = vec![None; self.waits.len()];
        let mut followers = vec![Vec::new(); self.waits.len()];
        let mut missing: Vec<usize> = self.waits.iter().map(Vec::len).collect();
        for (to, waits) in self.waits.iter().enumerate() {
            waits.iter().for_each(|(from, _)| followers[*from].push(to));
        }
        let mut free: Vec<usize> = (0..missing.len()).filter(|batch| missing[*batch] == 0).collect();
        while let Some(batch) = free.pop() {
            let level = self.waits[batch].iter().filter_map(|(from, _)| levels[*from]).max().map_or(0, |level| level + 1);
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
            .map_or_else(|| Ok(levels.iter().flatten().copied().collect()), |stuck| Err(self.cycle(stuck, &levels)))
    }

    /// The way round a cycle that can be reached backwards from a batch.
    fn cycle(&self, stuck: usize, levels: &[Option<usize>]) -> Wrong {
        let (mut way, mut batch, mut said) = (Vec::new(), stuck, 0);
        while !way.contains(&batch) {
            way.push(batch);
            if let Some((from, at)) = self.waits[batch].iter().find(|(from, _)| levels[*from].is_none()) {
                (batch, said) = (*from, *at);
            }
        }
        let begin = way.iter().position(|other| *other == batch).unwrap_or(0);
        let round: Vec<&str> = way[begin..].iter().chain([&batch]).rev().map(|batch| self.found.batches[*batch].name).collect();
        wrong(self.text, said, format!("batches wait for each other: {}", round.join(" -> ")))
            .hint("no batch may need, even indirectly, its own results")
    }

    fn application(self, levels: &[usize]) -> Application {
        let Graph { text, found, arguments, flows, .. } = self;
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by_key(|batch| levels[*batch]);
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, batch)| place_of[*batch] = place);
        let mut batches: Vec<(usize, Batch)> = Vec::new();
        for ((position, batch), resolved) in found.batches.into_iter().enumerate().zip(arguments) {
            let parse::Batch { name, tasks, routine, arguments, at } = batch;
            let arguments = arguments.into_iter().zip(resolved).map(|(given, from)| {
                let place = text.place(given.at);
                match from {
                    Some(from) => Argument::Results { batch: place_of[from], place },
                    None => Argument::Number { value: given.value, place },
                }
            });
            let arguments = arguments.collect();
            let place = text.place(at);
            batches.push((place_of[position], Batch { name: name.to_owned(), tasks, routine, arguments, level: levels[position], place }));
        }
        batches.sort_by_key(|(place, _)| *place);
        Application {
            name: found.name.to_owned(),
            parameters: found
                .parameters
                .into_iter()
                .map(|(name, value, at)| Parameter { name: name.to_owned(), value, place: text.place(at) })
                .collect(),
            batches: batches.into_iter().map(|(_, batch)| batch).collect(),
            flows: flows
                .into_iter()
                .map(|(from, to, declared, at)| Flow {
                    from: place_of[from],
                    to: place_of[to],
                    bytes: declared.and_then(|number| found.flows[number].bytes.clone()),
                    place: text.place(at),
                })
                .collect(),
        }
    }
}

fn wrong(text: &Text, at: usize, problem: impl Into<String>) -> Wrong {
    Wrong::at(text.place(at), problem).in_text(&text.text)
}
