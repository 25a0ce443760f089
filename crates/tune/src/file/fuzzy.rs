//! The fuzzy rules of a tunlet's file.

use super::error::{Error, Problem};
use super::expression::{Expression, Scope};
use super::measure::{name, twice};
use super::table::{Table, Value};
use super::{each, formula};
use crate::tunlets::fuzzy::{Fuzzy, Rule, RuleFault, Shape, Words};

/// Reads a table `[fuzzy]`; the rules, and the names of their outputs.
pub fn read(value: &Value, scope: &dyn Scope) -> Result<(Fuzzy, Vec<String>), Error> {
    let mut table = value.table("in [fuzzy]")?;
    let sensors = each(Some(table.require("sensor")?), |value| sensor(&value, scope))?;
    let outputs = each(Some(table.require("output")?), |value| output(&value))?;
    if let Some(name) = twice(sensors.iter().map(|(_, words)| words.name.as_str())) {
        return Err(table.error(Problem::Twice(name.into())));
    }
    let known: Vec<&Words> = sensors.iter().map(|(_, words)| words).collect();
    let rules = each(Some(table.require("rule")?), |value| rule(&value, &known, &outputs.iter().collect::<Vec<_>>()))?;
    table.finish()?;
    let names = outputs.iter().map(|words| words.name.clone()).collect();
    Ok((Fuzzy::new(sensors, outputs, rules), names))
}

fn sensor(value: &Value, scope: &dyn Scope) -> Result<(Expression, Words), Error> {
    let mut table = value.table("in [[fuzzy.sensor]]")?;
    let formula = formula(&table.require("value")?, scope)?;
    let words = words(&mut table)?;
    table.finish().map(|()| (formula, words))
}

fn output(value: &Value) -> Result<Words, Error> {
    let mut table = value.table("in [[fuzzy.output]]")?;
    let words = words(&mut table)?;
    let numbers = words.words.iter().filter(|(_, shape)| shape.is_number()).count();
    if numbers != 0 && numbers != words.words.len() {
        return Err(table.error(Problem::Unfit("words of one output are all numbers or all shapes".into())));
    }
    table.finish().map(|()| words)
}

fn words(table: &mut Table) -> Result<Words, Error> {
    let name = name(&table.require("name")?)?;
    let mut words = Vec::new();
    for value in table.require("words")?.table("in `words`")?.take_all() {
        let corners = value.one_or_more()?.iter().map(Value::number).collect::<Result<Vec<_>, _>>()?;
        let wrong =
            || value.unexpected("one number, the three corners of a triangle or the four of a trapezium, none below the one before");
        words.push((super::measure::name(&value)?, Shape::new(&corners).ok_or_else(wrong)?));
    }
    Ok(Words { name, words })
}

fn rule(value: &Value, sensors: &[&Words], outputs: &[&Words]) -> Result<Rule, Error> {
    let mut table = value.table("in [[fuzzy.rule]]")?;
    let (premise, then) = (table.require("if")?, table.require("then")?);
    let weight = table.take("weight").map_or(Ok(1.0), |value| match value.number()? {
        weight if (0.0..=1.0).contains(&weight) => Ok(weight),
        _ => Err(value.unexpected("a number from 0 to 1")),
    })?;
    let rule = Rule::read(&premise.text()?, &then.text()?, weight, sensors, outputs);
    let rule = rule.map_err(|(in_premise, fault)| located(if in_premise { &premise } else { &then }, fault))?;
    table.finish().map(|()| rule)
}

fn located(value: &Value, fault: RuleFault) -> Error {
    match fault {
        RuleFault::Unknown(bytes, what, known) => {
            let text = value.text().unwrap_or_default();
            let problem = Problem::unknown(what, &text[bytes.clone()], "here", known.iter().map(String::as_str));
            value.error_within(bytes, problem)
        }
        RuleFault::Form(bytes) => {
            let reason = "it is made of `NAME is WORD`, joined by `and`, `or` and `not`".into();
            value.error_within(bytes, Problem::Formula { key: value.key.into(), what: "rule", reason })
        }
    }
}
