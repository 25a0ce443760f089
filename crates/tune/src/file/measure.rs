//! The measures of a tunlet's file: where something is measured, and what an event there is worth.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use sintonia_link::order::Side;

use super::error::{Error, Problem};
use super::expression::{Expression, Meaning, Scope};
use super::formula;
use super::table::{Table, Value};
use crate::point::{Actor, Join, MeasurePoint};
use crate::role::Roles;
use crate::tunlet::Happening;

/// What every event has without being asked for, behind what is read.
const ALWAYS: [&str; 3] = ["interval", "time", "rank"];

/// Calls under way in a process that are remembered; what was thrown out of, never to end, is forgotten so.
const MOST_UNDER_WAY: usize = 16;

/// When in a call a measure is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Entry,
    Exit,
    /// Both: what is read at entry belongs to the time that it took.
    Call,
}

/// A place at which something is measured.
#[derive(Debug)]
pub struct Measure {
    /// Its name in formulas.
    pub name: String,
    actor: Actor,
    function: String,
    part: Part,
    /// What is read at entry and what at exit, by the names of the program.
    reads: [Vec<String>; 2],
    /// What an event's values are called: those read at entry, those at exit, [`ALWAYS`], those computed.
    pub values: Vec<String>,
    computed: Vec<Expression>,
    weight: Option<Expression>,
    /// Over how many seconds events are joined on the way.
    pub joined: Option<f64>,
    /// How often it has happened.
    pub count: u64,
    /// When it happened last, in each process.
    last: HashMap<u32, f64>,
    /// Calls under way, in each process: when they began, and what was read then.
    under_way: HashMap<u32, VecDeque<(f64, Vec<f64>)>>,
}

/// Something that happened, with all its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub rank: u32,
    pub time: f64,
    /// In the order of [`Measure::values`].
    pub values: Vec<f64>,
    /// How many equal ones it stands for.
    pub weight: u64,
}

/// The names of an event's own values.
struct Own<'a>(&'a [String]);

impl Scope for Own<'_> {
    fn meaning(&self, name: &str) -> Option<Meaning> {
        self.0.iter().position(|known| known == name).map(Meaning::Own)
    }

    fn names(&self) -> Vec<String> {
        self.0.to_vec()
    }
}

impl Measure {
    /// Reads a table `[[measure]]`.
    pub fn read(value: &Value) -> Result<Measure, Error> {
        let mut table = value.table("in [[measure]]")?;
        let name = name(&table.require("name")?)?;
        let function = table.require("function")?.text()?;
        let actor = actor(&mut table)?;
        let part = match table.take("side").map(|side| Ok((side, side.text()?))).transpose()? {
            None => Part::Entry,
            Some((side, text)) => match text.as_str() {
                "entry" => Part::Entry,
                "exit" => Part::Exit,
                "call" => Part::Call,
                _ => return Err(side.unexpected("\"entry\", \"exit\" or \"call\" (parameters at entry, time and result at exit)")),
            },
        };
        let asked = table.take("values").map(|values| asked(&values)).transpose()?.unwrap_or_default();
        let joined = table.take("join").map(|seconds| seconds.positive()).transpose()?;
        let (reads, mut values) = split(part, asked);
        values.extend(ALWAYS.map(String::from));
        let mut measure = Measure {
            name,
            actor,
            function,
            part,
            reads,
            values,
            computed: Vec::new(),
            weight: None,
            joined,
            count: 0,
            last: HashMap::new(),
            under_way: HashMap::new(),
        };
        measure.read_formulas(&mut table)?;
        if let Some(twice) = twice(measure.values.iter().map(String::as_str).chain(["count"])) {
            return Err(table.error(Problem::Twice(twice.into())));
        }
        if measure.joined.is_some() && (measure.part == Part::Call || !measure.computed.is_empty() || measure.weight.is_some()) {
            let text = "where events are joined on the way each is not seen: `side = \"call\"`, `compute` and `weight` cannot be";
            return Err(table.error(Problem::Unfit(text.into())));
        }
        table.finish().map(|()| measure)
    }

    fn read_formulas(&mut self, table: &mut Table) -> Result<(), Error> {
        if let Some(compute) = table.take("compute") {
            for value in compute.table("in `compute`")?.take_all() {
                self.computed.push(formula(&value, &Own(&self.values))?);
                self.values.push(name(&value)?);
            }
        }
        self.weight = table.take("weight").map(|value| formula(&value, &Own(&self.values))).transpose()?;
        Ok(())
    }

    /// What is to be measured in the program: one point, or entry and exit.
    pub fn points(&self) -> Vec<MeasurePoint> {
        let point = |side, values: &[String]| MeasurePoint {
            actor: self.actor.clone(),
            function: self.function.clone(),
            side,
            values: values.to_vec(),
            join: self.joined.map_or(Join::Each, Join::Over),
        };
        match self.part {
            Part::Entry => vec![point(Side::Entry, &self.reads[0])],
            Part::Exit => vec![point(Side::Exit, &self.reads[1])],
            Part::Call => vec![point(Side::Entry, &self.reads[0]), point(Side::Exit, &self.reads[1])],
        }
    }

    /// Something happened at one of the points; an event, if it is complete.
    pub fn happened(&mut self, happening: &Happening) -> Option<Event> {
        let mut values = match (self.part, happening.side) {
            (Part::Call, Side::Entry) => {
                let calls = self.under_way.entry(happening.rank).or_default();
                if calls.len() == MOST_UNDER_WAY {
                    calls.pop_front();
                }
                calls.push_back((happening.time, happening.values.clone()));
                return None;
            }
            (Part::Call, Side::Exit) => {
                let seconds = happening.values.first().copied()?;
                self.begun(happening.rank, happening.time - seconds)?.into_iter().chain(happening.values.iter().copied()).collect()
            }
            _ => happening.values.clone(),
        };
        values.resize(self.reads.iter().map(Vec::len).sum(), f64::NAN);
        let before = self.last.insert(happening.rank, happening.time);
        values.extend([before.map_or(f64::NAN, |before| happening.time - before), happening.time, f64::from(happening.rank)]);
        self.count += 1;
        Some(self.completed(happening, values))
    }

    fn completed(&self, happening: &Happening, mut values: Vec<f64>) -> Event {
        for formula in &self.computed {
            values.push(of_own(formula, &values).unwrap_or(f64::NAN));
        }
        let weight = self.weight.as_ref().map_or(1, |weight| of_own(weight, &values).map_or(0, |weight| weight.max(0.0).round() as u64));
        Event { rank: happening.rank, time: happening.time, values, weight }
    }

    /// What was read when the call began that began at this time: of several under way, the nearest.
    fn begun(&mut self, rank: u32, time: f64) -> Option<Vec<f64>> {
        let calls = self.under_way.get_mut(&rank)?;
        let distance = |call: &(f64, Vec<f64>)| (call.0 - time).abs();
        let nearest = (0..calls.len()).min_by(|a, b| distance(&calls[*a]).total_cmp(&distance(&calls[*b])))?;
        calls.remove(nearest).map(|(_, values)| values)
    }

    /// How many values of an event are read in the program.
    pub fn read_values(&self) -> usize {
        self.reads.iter().map(Vec::len).sum()
    }
}

fn of_own(formula: &Expression, values: &[f64]) -> Option<f64> {
    formula.value(&|meaning| match meaning {
        Meaning::Own(value) => values.get(*value).copied(),
        _ => None,
    })
}

/// What is asked for, by name: a list, in which names are those of the program, or a table of other names for them.
fn asked(values: &Value) -> Result<Vec<(String, String)>, Error> {
    if values.is_table() {
        return values.table("in `values`")?.take_all().iter().map(|value| Ok((name(value)?, value.text()?))).collect();
    }
    values.list()?.iter().map(|value| value.text().map(|text| (text.clone(), text))).collect()
}

/// What is read at entry and what at exit, and the names of all in this order.
fn split(part: Part, asked: Vec<(String, String)>) -> ([Vec<String>; 2], Vec<String>) {
    let at_exit = |path: &str| part == Part::Exit || (part == Part::Call && path == "result");
    let (exit, entry): (Vec<_>, Vec<_>) =
        asked.into_iter().filter(|(_, path)| part != Part::Call || path != "seconds").partition(|(_, path)| at_exit(path));
    let seconds = (part == Part::Call).then(|| ("seconds".to_owned(), "seconds".to_owned()));
    let exit: Vec<(String, String)> = seconds.into_iter().chain(exit).collect();
    let names = entry.iter().chain(&exit).map(|(name, _)| name.clone()).collect();
    let paths = |list: Vec<(String, String)>| list.into_iter().map(|(_, path)| path).collect();
    ([paths(entry), paths(exit)], names)
}

/// Takes `actor`.
pub fn actor(table: &mut Table) -> Result<Actor, Error> {
    let Some(value) = table.take("actor") else { return Ok(Actor::All) };
    let expected = "\"all\", \"master\", \"workers\", ranks as in \"3\" or \"0,4-7\", \"calls FUNCTION\", or \"masters of NAME.sin\"";
    let text = value.text()?;
    match text.split_once(" of ") {
        Some((role @ ("masters" | "workers"), recording)) => {
            let roles = Roles::of(Path::new(recording.trim())).map_err(|why| value.error(Problem::Unfit(why)))?;
            let ranks = if role == "masters" { roles.masters } else { roles.workers };
            let nobody = || value.error(Problem::Unfit(format!("nobody hands out work in {}, as far as messages show", recording.trim())));
            if ranks.is_empty() { Err(nobody()) } else { Ok(Actor::Ranks(ranks)) }
        }
        _ => Actor::named(&text).ok_or_else(|| value.unexpected(expected)),
    }
}

/// A name that formulas can have: the value of `name`, or the key of anything else.
pub fn name(value: &Value) -> Result<String, Error> {
    let name = if value.key == "name" { value.text()? } else { value.key.to_owned() };
    let is_plain = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if is_plain { Ok(name) } else { Err(value.error(Problem::Unfit(format!("`{name}` is no name: letters, digits and `_`")))) }
}

/// A name that is there twice.
pub fn twice<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}
