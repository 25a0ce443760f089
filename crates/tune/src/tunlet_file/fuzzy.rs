//! Fuzzy rules of a tunlet file.

use super::error::{Error, TunletFileProblem};
use super::expression::{MetricFormula, NameScope};
use super::measure::{find_duplicate, parse_name};
use super::{TunletTable, TunletValue};
use super::{parse_formula, parse_list};
use crate::tunlets::fuzzy::{FuzzyController, FuzzyRule, FuzzyRuleError, LinguisticVariable, MembershipFunction};

/// Parses a table `[fuzzy]`; returns the controller and the names of its outputs.
pub(super) fn parse(value: &TunletValue, scope: &dyn NameScope) -> Result<(FuzzyController, Vec<String>), Error> {
    let mut table = value.table("in [fuzzy]")?;
    let sensors = parse_list(Some(table.require("sensor")?), |value| parse_sensor(&value, scope))?;
    let outputs = parse_list(Some(table.require("output")?), |value| parse_output(&value))?;
    if let Some(name) = find_duplicate(sensors.iter().map(|(_, words)| words.name.as_str())) {
        return Err(table.error(TunletFileProblem::Duplicate(name.into())));
    }
    let known: Vec<&LinguisticVariable> = sensors.iter().map(|(_, words)| words).collect();
    let rules = parse_list(Some(table.require("rule")?), |value| parse_rule(&value, &known, &outputs.iter().collect::<Vec<_>>()))?;
    table.finish()?;
    let names = outputs.iter().map(|words| words.name.clone()).collect();
    Ok((FuzzyController::new(sensors, outputs, rules), names))
}

fn parse_sensor(value: &TunletValue, scope: &dyn NameScope) -> Result<(MetricFormula, LinguisticVariable), Error> {
    let mut table = value.table("in [[fuzzy.sensor]]")?;
    let formula = parse_formula(&table.require("value")?, scope)?;
    let words = parse_variable(&mut table)?;
    table.finish().map(|()| (formula, words))
}

fn parse_output(value: &TunletValue) -> Result<LinguisticVariable, Error> {
    let mut table = value.table("in [[fuzzy.output]]")?;
    let words = parse_variable(&mut table)?;
    let numbers = words.terms.iter().filter(|(_, shape)| shape.is_singleton()).count();
    if numbers != 0 && numbers != words.terms.len() {
        return Err(table.error(TunletFileProblem::Incompatible("the words of an output are either all numbers or all shapes".into())));
    }
    table.finish().map(|()| words)
}

fn parse_variable(table: &mut TunletTable) -> Result<LinguisticVariable, Error> {
    let name = parse_name(&table.require("name")?)?;
    let mut words = Vec::new();
    for value in table.require("words")?.table("in `words`")?.take_all() {
        let corners = value.one_or_more()?.iter().map(TunletValue::finite_number).collect::<Result<Vec<_>, _>>()?;
        let wrong = || value.unexpected("one number, the three corners of a triangle or the four of a trapezium, in ascending order");
        words.push((super::measure::parse_name(&value)?, MembershipFunction::new(&corners).ok_or_else(wrong)?));
    }
    Ok(LinguisticVariable { name, terms: words })
}

fn parse_rule(value: &TunletValue, sensors: &[&LinguisticVariable], outputs: &[&LinguisticVariable]) -> Result<FuzzyRule, Error> {
    let mut table = value.table("in [[fuzzy.rule]]")?;
    let (premise, then) = (table.require("if")?, table.require("then")?);
    let weight = table.take("weight").map_or(Ok(1.0), |value| match value.finite_number()? {
        weight if (0.0..=1.0).contains(&weight) => Ok(weight),
        _ => Err(value.unexpected("a number from 0 to 1")),
    })?;
    let rule = FuzzyRule::parse(&premise.nonblank_text()?, &then.nonblank_text()?, weight, sensors, outputs);
    let rule = rule.map_err(|(in_premise, fault)| locate(if in_premise { &premise } else { &then }, fault))?;
    table.finish().map(|()| rule)
}

fn locate(value: &TunletValue, fault: FuzzyRuleError) -> Error {
    match fault {
        FuzzyRuleError::Unknown(bytes, what, known) => {
            let text = value.nonblank_text().unwrap_or_default();
            let problem = TunletFileProblem::unknown(what, &text[bytes.clone()], "here", known.iter().map(String::as_str));
            value.error_within(bytes, problem)
        }
        FuzzyRuleError::Form(bytes) => {
            let reason = "it consists of `NAME is WORD`, combined with `and`, `or` and `not`".into();
            value.error_within(bytes, TunletFileProblem::Formula { key: value.key().into(), what: "rule", reason })
        }
    }
}
