//! Parser of fuzzy rules: `load is high and not trend is rising`.

use std::ops::Range;

use super::LinguisticVariable;

/// A fuzzy rule.
#[derive(Debug, Clone, PartialEq)]
pub struct FuzzyRule {
    /// Its condition.
    pub premise: FuzzyPremise,
    /// Outputs and their terms, by index.
    pub conclusions: Vec<(usize, usize)>,
    /// Weight, from 0 to 1.
    pub weight: f64,
}

/// The condition of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum FuzzyPremise {
    /// A sensor has a term, by index.
    Is(usize, usize),
    /// Complement.
    Not(Box<FuzzyPremise>),
    /// Minimum.
    All(Vec<FuzzyPremise>),
    /// Maximum.
    Any(Vec<FuzzyPremise>),
}

impl FuzzyPremise {
    /// Its degree, for these degrees of the sensors' terms.
    pub fn degree(&self, holds: &dyn Fn(usize, usize) -> f64) -> f64 {
        match self {
            FuzzyPremise::Is(sensor, word) => holds(*sensor, *word),
            FuzzyPremise::Not(part) => 1.0 - part.degree(holds),
            FuzzyPremise::All(parts) => parts.iter().map(|part| part.degree(holds)).fold(1.0, f64::min),
            FuzzyPremise::Any(parts) => parts.iter().map(|part| part.degree(holds)).fold(0.0, f64::max),
        }
    }
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FuzzyRuleError {
    /// An unknown name, at these bytes.
    Unknown(Range<usize>, &'static str, Vec<String>),
    /// A syntax error.
    Form(Range<usize>),
}

impl FuzzyRule {
    /// Parses both parts of a rule; an error says whether it is in the first.
    pub fn parse(
        premise: &str,
        then: &str,
        weight: f64,
        sensors: &[&LinguisticVariable],
        outputs: &[&LinguisticVariable],
    ) -> Result<FuzzyRule, (bool, FuzzyRuleError)> {
        let premise = parse_any(premise, 0..premise.len(), sensors).map_err(|fault| (true, fault))?;
        let conclusions = split_at_word(then, 0..then.len(), "and").into_iter().map(|range| parse_is(then, range, "the output", outputs));
        let conclusions = conclusions.collect::<Result<_, _>>().map_err(|fault| (false, fault))?;
        Ok(FuzzyRule { premise, conclusions, weight })
    }
}

fn parse_any(text: &str, range: Range<usize>, sensors: &[&LinguisticVariable]) -> Result<FuzzyPremise, FuzzyRuleError> {
    let mut list =
        split_at_word(text, range, "or").into_iter().map(|part| parse_all(text, part, sensors)).collect::<Result<Vec<_>, _>>()?;
    Ok(if list.len() == 1 { list.remove(0) } else { FuzzyPremise::Any(list) })
}

fn parse_all(text: &str, range: Range<usize>, sensors: &[&LinguisticVariable]) -> Result<FuzzyPremise, FuzzyRuleError> {
    let mut list =
        split_at_word(text, range, "and").into_iter().map(|part| parse_one(text, part, sensors)).collect::<Result<Vec<_>, _>>()?;
    Ok(if list.len() == 1 { list.remove(0) } else { FuzzyPremise::All(list) })
}

fn parse_one(text: &str, range: Range<usize>, sensors: &[&LinguisticVariable]) -> Result<FuzzyPremise, FuzzyRuleError> {
    match word_ranges(text, range.clone()).first() {
        Some(not) if &text[not.clone()] == "not" => Ok(FuzzyPremise::Not(Box::new(
            parse_is(text, not.end..range.end, "the sensor", sensors).map(|(sensor, word)| FuzzyPremise::Is(sensor, word))?,
        ))),
        _ => parse_is(text, range, "the sensor", sensors).map(|(sensor, word)| FuzzyPremise::Is(sensor, word)),
    }
}

/// The indices of name and term in `name is term`.
fn parse_is(text: &str, range: Range<usize>, what: &'static str, known: &[&LinguisticVariable]) -> Result<(usize, usize), FuzzyRuleError> {
    let list = word_ranges(text, range.clone());
    let [name, verb, word] = &list[..] else { return Err(FuzzyRuleError::Form(range)) };
    if &text[verb.clone()] != "is" {
        return Err(FuzzyRuleError::Form(range));
    }
    let index = known.iter().position(|known| known.name == text[name.clone()]);
    let names = || known.iter().map(|known| known.name.clone()).collect();
    let index = index.ok_or_else(|| FuzzyRuleError::Unknown(name.clone(), what, names()))?;
    let words = || known[index].terms.iter().map(|(word, _)| word.clone()).collect();
    let word = known[index].term_index(&text[word.clone()]).ok_or_else(|| FuzzyRuleError::Unknown(word.clone(), "the word", words()))?;
    Ok((index, word))
}

/// Splits a text at a word.
fn split_at_word(text: &str, range: Range<usize>, joint: &str) -> Vec<Range<usize>> {
    let joints: Vec<Range<usize>> = word_ranges(text, range.clone()).into_iter().filter(|word| &text[word.clone()] == joint).collect();
    let begins = [range.start].into_iter().chain(joints.iter().map(|joint| joint.end));
    begins.zip(joints.iter().map(|joint| joint.start).chain([range.end])).map(|(begin, end)| begin..end).collect()
}

fn word_ranges(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
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
