//! Measures of a tunlet file: where to measure, and how to evaluate an event.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use sintonia_link::probe_protocol::HookSide;

use super::error::{Error, TunletFileProblem};
use super::expression::{FormulaInput, MetricFormula, NameScope};
use super::parse_formula;
use super::{TunletTable, TunletValue};
use crate::process_roles::ProcessRoles;
use crate::tuning_points::{Actor, EventJoin, MeasurePoint};
use crate::tunlet::{GuardMeasure, PointEvent};

/// Values that every event has besides those read.
const IMPLICIT_VALUES: [&str; 3] = ["interval", "time", "rank"];

/// Open calls kept per process; calls left by an exception never end, and are dropped this way.
const MAX_OPEN_CALLS: usize = 16;

/// When in a call a measure is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MeasureSide {
    Entry,
    Exit,
    /// Both: values read at entry belong to the duration at exit.
    Call,
}

/// A measure declared in a file.
#[derive(Debug)]
pub(super) struct MeasureDeclaration {
    /// Its name in formulas.
    pub name: String,
    actor: Actor,
    function: String,
    side: MeasureSide,
    /// Values read at entry and at exit, by their names in the program.
    reads: [Vec<String>; 2],
    /// Names of an event's values: read at entry, read at exit, [`IMPLICIT_VALUES`], computed.
    pub values: Vec<String>,
    computed: Vec<MetricFormula>,
    weight: Option<MetricFormula>,
    /// Interval in seconds over which events are aggregated on the hosts.
    pub join_interval: Option<f64>,
    /// Number of events.
    pub count: u64,
    /// Time of the last event, by rank.
    last_time: HashMap<u32, f64>,
    /// Open calls by rank: their time, and the values read at entry.
    open_calls: HashMap<u32, VecDeque<(f64, Vec<f64>)>>,
}

/// A complete event with all its values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MeasuredEvent {
    pub rank: u32,
    pub time: f64,
    /// In the order of [`MeasureDeclaration::values`].
    pub values: Vec<f64>,
    /// Number of equal events it stands for.
    pub weight: u64,
}

/// Scope of an event's own values.
struct EventNames<'a>(&'a [String]);

impl NameScope for EventNames<'_> {
    fn resolve(&self, name: &str) -> Option<FormulaInput> {
        self.0.iter().position(|known| known == name).map(FormulaInput::EventValue)
    }

    fn names(&self) -> Vec<String> {
        self.0.to_vec()
    }
}

impl MeasureDeclaration {
    /// Parses a table `[[measure]]`.
    pub(super) fn parse(value: &TunletValue) -> Result<MeasureDeclaration, Error> {
        let mut table = value.table("in [[measure]]")?;
        let name = parse_name(&table.require("name")?)?;
        let function = table.require("function")?.nonblank_text()?;
        let actor = parse_actor(&mut table)?;
        let part = match table.take("side").map(|side| Ok((side, side.nonblank_text()?))).transpose()? {
            None => MeasureSide::Entry,
            Some((side, text)) => match text.as_str() {
                "entry" => MeasureSide::Entry,
                "exit" => MeasureSide::Exit,
                "call" => MeasureSide::Call,
                _ => return Err(side.unexpected("\"entry\", \"exit\" or \"call\" (parameters at entry, time and result at exit)")),
            },
        };
        let asked = table.take("values").map(|values| parse_values(&values)).transpose()?.unwrap_or_default();
        let joined = table.take("join").map(|seconds| seconds.positive_number()).transpose()?;
        let (reads, mut values) = split_by_side(part, asked);
        values.extend(IMPLICIT_VALUES.map(String::from));
        let mut measure = MeasureDeclaration {
            name,
            actor,
            function,
            side: part,
            reads,
            values,
            computed: Vec::new(),
            weight: None,
            join_interval: joined,
            count: 0,
            last_time: HashMap::new(),
            open_calls: HashMap::new(),
        };
        measure.parse_formulas(&mut table)?;
        if let Some(twice) = find_duplicate(measure.values.iter().map(String::as_str).chain(["count"])) {
            return Err(table.error(TunletFileProblem::Duplicate(twice.into())));
        }
        if measure.join_interval.is_some()
            && (measure.side == MeasureSide::Call || !measure.computed.is_empty() || measure.weight.is_some())
        {
            let text = "where events are joined, single events are not seen: `side = \"call\"`, `compute` and `weight` are not available";
            return Err(table.error(TunletFileProblem::Incompatible(text.into())));
        }
        table.finish().map(|()| measure)
    }

    fn parse_formulas(&mut self, table: &mut TunletTable) -> Result<(), Error> {
        if let Some(compute) = table.take("compute") {
            for value in compute.table("in `compute`")?.take_all() {
                self.computed.push(parse_formula(&value, &EventNames(&self.values))?);
                self.values.push(parse_name(&value)?);
            }
        }
        self.weight = table.take("weight").map(|value| parse_formula(&value, &EventNames(&self.values))).transpose()?;
        Ok(())
    }

    /// Its measure points: one, or entry and exit.
    pub(super) fn points(&self) -> Vec<MeasurePoint> {
        let point = |side, values: &[String]| MeasurePoint {
            actor: self.actor.clone(),
            function: self.function.clone(),
            side,
            values: values.to_vec(),
            join: self.join_interval.map_or(EventJoin::Each, EventJoin::Over),
        };
        match self.side {
            MeasureSide::Entry => vec![point(HookSide::Entry, &self.reads[0])],
            MeasureSide::Exit => vec![point(HookSide::Exit, &self.reads[1])],
            MeasureSide::Call => vec![point(HookSide::Entry, &self.reads[0]), point(HookSide::Exit, &self.reads[1])],
        }
    }

    /// Handles an event of one of its points; returns the complete event, if it is.
    pub(super) fn handle_event(&mut self, event: &PointEvent) -> Option<MeasuredEvent> {
        let mut values = match (self.side, event.side) {
            (MeasureSide::Call, HookSide::Entry) => {
                let calls = self.open_calls.entry(event.rank).or_default();
                if calls.len() == MAX_OPEN_CALLS {
                    calls.pop_front();
                }
                calls.push_back((event.time, event.values.clone()));
                return None;
            }
            (MeasureSide::Call, HookSide::Exit) => {
                let seconds = event.values.first().copied()?;
                self.take_entry(event.rank, event.time - seconds)?.into_iter().chain(event.values.iter().copied()).collect()
            }
            _ => event.values.clone(),
        };
        values.resize(self.reads.iter().map(Vec::len).sum(), f64::NAN);
        let before = self.last_time.insert(event.rank, event.time);
        values.extend([before.map_or(f64::NAN, |before| event.time - before), event.time, f64::from(event.rank)]);
        self.count += 1;
        Some(self.complete_event(event, values))
    }

    fn complete_event(&self, event: &PointEvent, mut values: Vec<f64>) -> MeasuredEvent {
        for formula in &self.computed {
            values.push(evaluate_own(formula, &values).unwrap_or(f64::NAN));
        }
        let weight =
            self.weight.as_ref().map_or(1, |weight| evaluate_own(weight, &values).map_or(0, |weight| weight.max(0.0).round() as u64));
        MeasuredEvent { rank: event.rank, time: event.time, values, weight }
    }

    /// Events were left out: the next one does not follow the latest one.
    pub(super) fn interrupt(&mut self) {
        self.last_time.clear();
        self.open_calls.clear();
    }

    /// What a guard measures by it: its point after the first `points`, and the duration of a call if `value` says so.
    pub(super) fn guard_measure(&self, points: usize, value: Option<&str>) -> Option<GuardMeasure> {
        let at_exit = self.values.iter().position(|name| Some(name.as_str()) == value);
        let duration = at_exit.and_then(|index| index.checked_sub(self.reads[0].len())).filter(|index| *index < self.reads[1].len());
        let point = points + usize::from(self.side == MeasureSide::Call);
        self.join_interval.is_none().then_some(GuardMeasure { point, duration })
    }

    /// The values read at the entry nearest to `time`.
    fn take_entry(&mut self, rank: u32, time: f64) -> Option<Vec<f64>> {
        let calls = self.open_calls.get_mut(&rank)?;
        let distance = |call: &(f64, Vec<f64>)| (call.0 - time).abs();
        let nearest = (0..calls.len()).min_by(|a, b| distance(&calls[*a]).total_cmp(&distance(&calls[*b])))?;
        calls.remove(nearest).map(|(_, values)| values)
    }

    /// Number of values read in the program.
    pub(super) fn read_value_count(&self) -> usize {
        self.reads.iter().map(Vec::len).sum()
    }
}

fn evaluate_own(formula: &MetricFormula, values: &[f64]) -> Option<f64> {
    formula.value(&|meaning| match meaning {
        FormulaInput::EventValue(value) => values.get(*value).copied(),
        _ => None,
    })
}

/// Requested values: a list of names of the program, or a table of aliases for them.
fn parse_values(values: &TunletValue) -> Result<Vec<(String, String)>, Error> {
    if values.is_table() {
        return values.table("in `values`")?.take_all().iter().map(|value| Ok((parse_name(value)?, value.nonblank_text()?))).collect();
    }
    values.list()?.iter().map(|value| value.nonblank_text().map(|text| (text.clone(), text))).collect()
}

/// Values read at entry and at exit, and the names of all in this order.
fn split_by_side(part: MeasureSide, asked: Vec<(String, String)>) -> ([Vec<String>; 2], Vec<String>) {
    let at_exit = |path: &str| part == MeasureSide::Exit || (part == MeasureSide::Call && path == "result");
    let (exit, entry): (Vec<_>, Vec<_>) =
        asked.into_iter().filter(|(_, path)| part != MeasureSide::Call || path != "seconds").partition(|(_, path)| at_exit(path));
    let seconds = (part == MeasureSide::Call).then(|| ("seconds".to_owned(), "seconds".to_owned()));
    let exit: Vec<(String, String)> = seconds.into_iter().chain(exit).collect();
    let names = entry.iter().chain(&exit).map(|(name, _)| name.clone()).collect();
    let paths = |list: Vec<(String, String)>| list.into_iter().map(|(_, path)| path).collect();
    ([paths(entry), paths(exit)], names)
}

/// Parses `actor`.
pub(super) fn parse_actor(table: &mut TunletTable) -> Result<Actor, Error> {
    let Some(value) = table.take("actor") else { return Ok(Actor::All) };
    let expected = "\"all\", \"master\", \"workers\", ranks as in \"3\" or \"0,4-7\", \"calls FUNCTION\", or \"masters of NAME.sin\"";
    let text = value.nonblank_text()?;
    match text.split_once(" of ") {
        Some((role @ ("masters" | "workers"), recording)) => {
            let roles = ProcessRoles::from_recording(Path::new(recording.trim()))
                .map_err(|why| value.error(TunletFileProblem::Incompatible(why)))?;
            let ranks = if role == "masters" { roles.masters } else { roles.workers };
            let no_master =
                || value.error(TunletFileProblem::Incompatible(format!("{} has no master, judging by its messages", recording.trim())));
            if ranks.is_empty() { Err(no_master()) } else { Ok(Actor::Ranks(ranks)) }
        }
        _ => Actor::from_name(&text).ok_or_else(|| value.unexpected(expected)),
    }
}

/// A name usable in formulas: the value of `name`, or the key of anything else.
pub(super) fn parse_name(value: &TunletValue) -> Result<String, Error> {
    let name = if value.key() == "name" { value.nonblank_text()? } else { value.key().to_owned() };
    let is_plain = name.starts_with(|character: char| character.is_alphabetic() || character == '_')
        && name.chars().all(|character| character.is_alphanumeric() || character == '_');
    if is_plain {
        Ok(name)
    } else {
        Err(value.error(TunletFileProblem::Incompatible(format!("`{name}` is not a name: letters, digits and `_`"))))
    }
}

/// The first name that occurs twice.
pub(super) fn find_duplicate<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}
