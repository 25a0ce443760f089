//! Rules in words: `load is high and not trend is rising`.

use std::ops::Range;

use super::Words;

/// A rule: how far something holds, and what then.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What must hold.
    pub premise: Premise,
    /// Outputs and their words, by place.
    pub conclusions: Vec<(usize, usize)>,
    /// How much the rule counts, from 0 to 1.
    pub weight: f64,
}

/// What must hold for a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Premise {
    /// A sensor is so, by place.
    Is(usize, usize),
    /// It is not so.
    Not(Box<Premise>),
    /// All are so.
    All(Vec<Premise>),
    /// One is so.
    Any(Vec<Premise>),
}

impl Premise {
    /// How far it holds, with these degrees of sensors' words.
    pub fn degree(&self, holds: &dyn Fn(usize, usize) -> f64) -> f64 {
        match self {
            Premise::Is(sensor, word) => holds(*sensor, *word),
            Premise::Not(part) => 1.0 - part.degree(holds),
            Premise::All(parts) => parts.iter().map(|part| part.degree(holds)).fold(1.0, f64::min),
            Premise::Any(parts) => parts.iter().map(|part| part.degree(holds)).fold(0.0, f64::max),
        }
    }
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleFault {
    /// A name that is none of those known, in these bytes.
    Unknown(Range<usize>, &'static str, Vec<String>),
    /// It is not of the form that rules have.
    Form(Range<usize>),
}

impl Rule {
    /// Reads both parts of a rule; a fault says whether it is in the first.
    pub fn read(premise: &str, then: &str, weight: f64, sensors: &[&Words], outputs: &[&Words]) -> Result<Rule, (bool, RuleFault)> {
        let premise = any(premise, 0..premise.len(), sensors).map_err(|fault| (true, fault))?;
        let conclusions = parts(then, 0..then.len(), "and").into_iter().map(|range| is(then, range, "the output", outputs));
        let conclusions = conclusions.collect::<Result<_, _>>().map_err(|fault| (false, fault))?;
        Ok(Rule { premise, conclusions, weight })
    }
}

fn any(text: &str, range: Range<usize>, sensors: &[&Words]) -> Result<Premise, RuleFault> {
    let mut list = parts(text, range, "or").into_iter().map(|part| all(text, part, sensors)).collect::<Result<Vec<_>, _>>()?;
    Ok(if list.len() == 1 { list.remove(0) } else { Premise::Any(list) })
}

fn all(text: &str, range: Range<usize>, sensors: &[&Words]) -> Result<Premise, RuleFault> {
    let mut list = parts(text, range, "and").into_iter().map(|part| one(text, part, sensors)).collect::<Result<Vec<_>, _>>()?;
    Ok(if list.len() == 1 { list.remove(0) } else { Premise::All(list) })
}

fn one(text: &str, range: Range<usize>, sensors: &[&Words]) -> Result<Premise, RuleFault> {
    match words(text, range.clone()).first() {
        Some(not) if &text[not.clone()] == "not" => {
            Ok(Premise::Not(Box::new(is(text, not.end..range.end, "the sensor", sensors).map(|(sensor, word)| Premise::Is(sensor, word))?)))
        }
        _ => is(text, range, "the sensor", sensors).map(|(sensor, word)| Premise::Is(sensor, word)),
    }
}

/// The places of a name and its word in `name is word`.
fn is(text: &str, range: Range<usize>, what: &'static str, known: &[&Words]) -> Result<(usize, usize), RuleFault> {
    let list = words(text, range.clone());
    let [name, verb, word] = &list[..] else { return Err(RuleFault::Form(range)) };
    if &text[verb.clone()] != "is" {
        return Err(RuleFault::Form(range));
    }
    let place = known.iter().position(|known| known.name == text[name.clone()]);
    let names = || known.iter().map(|known| known.name.clone()).collect();
    let place = place.ok_or_else(|| RuleFault::Unknown(name.clone(), what, names()))?;
    let words = || known[place].words.iter().map(|(word, _)| word.clone()).collect();
    let word = known[place].place(&text[word.clone()]).ok_or_else(|| RuleFault::Unknown(word.clone(), "the word", words()))?;
    Ok((place, word))
}

/// The parts of a text between the words `joint`.
fn parts(text: &str, range: Range<usize>, joint: &str) -> Vec<Range<usize>> {
    let joints: Vec<Range<usize>> = words(text, range.clone()).into_iter().filter(|word| &text[word.clone()] == joint).collect();
    let begins = [range.start].into_iter().chain(joints.iter().map(|joint| joint.end));
    begins.zip(joints.iter().map(|joint| joint.start).chain([range.end])).map(|(begin, end)| begin..end).collect()
}

fn words(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut list, mut begin) = (Vec::new(), None);
    for (at, letter) in text[range.clone()].char_indices().map(|(at, letter)| (range.start + at, letter)) {
        match (letter.is_whitespace(), begin) {
            (false, None) => begin = Some(at),
            (true, Some(start)) => {
                list.push(start..at);
                begin = None;
            }
            _ => {}
        }
    }
    list.extend(begin.map(|start| start..range.end));
    list
}
