//! Tunlets of the user's own, from files: measure points, performance functions and tuning actions, declared in TOML.
//!
//! What is measured goes to a [`Board`](board::Board), which keeps the latest periods and knows what formulas come to. Four kinds of deciders
//! ask it: rules (`value = FORMULA`), a search, fuzzy rules (whose outputs are names in formulas) and a script. `docs/tunlets.md` is the reference.

mod board;
pub mod error;
pub(crate) mod expression;
mod fuzzy;
mod history;
mod measure;
mod script;
mod table;
mod tune;

use std::collections::HashMap;
use std::path::Path;

use toml::de::DeTable;

use crate::point::{Needs, TuningPoint};
use crate::tunlet::{Figure, Happening, Joined, Tunlet, Wish};
use crate::tunlets::search::{Axis, Counts, Manner, Search, Space};
use board::{Board, Names, Performance};
use error::{Error, Problem};
use expression::{Condition, Expression, Fault, Meaning, Scope, Template};
use measure::{Event, Measure, name, twice};
use script::Script;
use table::{Source, Table, Value};
use tune::Tune;

/// How many periods a window can have.
pub(crate) const MOST_PERIODS: usize = 1000;

/// A tunlet that was read from a file.
#[derive(Debug)]
pub struct Declared {
    name: String,
    board: Board,
    /// The measure that each point belongs to.
    points: Vec<usize>,
    tunes: Vec<Tune>,
    /// What may be changed, each once, and the place of each tune in it.
    targets: Vec<TuningPoint>,
    places: Vec<usize>,
    searching: Option<Searching>,
    script: Option<Script>,
    /// What was wished for last, of each target, everywhere or in a process.
    wished: HashMap<(usize, Option<u32>), f64>,
    /// Whether its script has failed.
    off: bool,
}

/// A search, and what it needs of the rest.
#[derive(Debug)]
struct Searching {
    search: Search,
    objective: Expression,
    when: usize,
    /// The tunes that it tries values of.
    tunes: Vec<usize>,
}

/// Reads a tunlet's file.
pub fn read(path: &Path) -> Result<Declared, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
    parse(&text, path)
}

/// Reads the text of a tunlet's file.
pub fn parse(text: &str, path: &Path) -> Result<Declared, Error> {
    let source = Source { text, path };
    let document = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
    let mut file = Table::new(source, "at the top", 0..0, document.get_ref());
    let used = file.take("use").map(|value| Ok((value, value.text()?))).transpose()?;
    let stem = path.file_stem().map_or_else(|| "file".into(), |stem| stem.to_string_lossy().into_owned());
    let own_name = file.take("name").map_or(Ok(stem), |value| value.text())?;
    let mut board = board(&mut file)?;
    let outputs = fuzzy_names(&mut file, &mut board)?;
    let names = board.performance.iter().map(|performance| performance.name.clone()).collect::<Vec<_>>();
    if let Some(name) = twice(names.iter().chain(&outputs).map(String::as_str)) {
        return Err(file.error(Problem::Twice(name.into())));
    }
    let scope = Names { measures: &board.measures, performance: &names, fuzzy: &outputs };
    let tunes = each(file.take("tune"), |value| Ok((value, Tune::read(&value, &scope, &board)?)))?;
    let searching = file.take("search").map(|value| searching(&value, &scope, &board, &tunes)).transpose()?;
    let script = file.take("script").map(|value| Script::read(&value, path)).transpose()?;
    if let Some((value, used)) = used {
        check_use(&value, &used, searching.is_some(), !outputs.is_empty())?;
    }
    file.finish()?;
    for (value, tune) in &tunes {
        let searched = searching.as_ref().is_some_and(|one| one.tunes.iter().any(|place| std::ptr::eq(&tunes[*place].1, tune)));
        if tune.rule.is_none() && !searched && script.is_none() {
            return Err(
                value.error(Problem::Missing { key: "value".into(), table: "in [[tune]], and no search or script changes it".into() })
            );
        }
        if let Some(problem) = tune.rule.as_ref().and_then(|rule| board.refused(&rule.inputs())) {
            return Err(value.error(problem));
        }
    }
    let tunes = tunes.into_iter().map(|(_, tune)| tune).collect();
    Ok(Declared::new(own_name, board, tunes, searching, script))
}

/// The measures and performance functions of a file.
fn board(file: &mut Table) -> Result<Board, Error> {
    let measures = each(file.take("measure"), |value| Ok((value, Measure::read(&value)?)))?;
    if let Some(name) = twice(measures.iter().map(|(_, measure)| measure.name.as_str())) {
        let second = measures.iter().rev().find(|(_, measure)| measure.name == name);
        return Err(second.map_or_else(|| file.error(Problem::Twice(name.into())), |(value, _)| value.error(Problem::Twice(name.into()))));
    }
    if measures.is_empty() {
        let _ = file.require("measure")?;
    }
    let history = file.take("history").map_or(Ok(3), |value| value.count(1, MOST_PERIODS))?;
    let mut board = Board::new(measures.into_iter().map(|(_, measure)| measure).collect(), None, history);
    board.period = file.take("period").map(|value| measure_named(&value, &board)).transpose()?;
    let mut known: Vec<String> = Vec::new();
    for (name, unit, value) in performance(file)? {
        let scope = Names { measures: &board.measures, performance: &known, fuzzy: &[] };
        let formula = formula(&value, &scope)?;
        if let Some(problem) = board.refused(formula.inputs()) {
            return Err(value.error(problem));
        }
        known.push(name.clone());
        board.performance.push(Performance { name, unit, formula });
    }
    Ok(board)
}

/// Names, units and formulas: `[performance]` with a formula for each name, or a `[[performance]]` for each.
fn performance<'a>(file: &mut Table<'a>) -> Result<Vec<(String, String, Value<'a>)>, Error> {
    let Some(value) = file.take("performance") else { return Ok(Vec::new()) };
    if value.is_table() {
        return value.table("in [performance]")?.take_all().into_iter().map(|value| Ok((name(&value)?, String::new(), value))).collect();
    }
    let one = |value: Value<'a>| {
        let mut table = value.table("in [[performance]]")?;
        let name = name(&table.require("name")?)?;
        let unit = table.take("unit").map_or(Ok(String::new()), |value| value.text())?;
        let formula = table.require("value")?;
        table.finish().map(|()| (name, unit, formula))
    };
    value.list()?.into_iter().map(one).collect()
}

/// Puts the fuzzy rules of a file on the board; the names of their outputs.
fn fuzzy_names(file: &mut Table, board: &mut Board) -> Result<Vec<String>, Error> {
    let Some(value) = file.take("fuzzy") else { return Ok(Vec::new()) };
    let names = board.performance.iter().map(|performance| performance.name.clone()).collect::<Vec<_>>();
    let scope = Names { measures: &board.measures, performance: &names, fuzzy: &[] };
    let (fuzzy, outputs) = fuzzy::read(&value, &scope)?;
    board.fuzzy = Some(fuzzy);
    Ok(outputs)
}

fn searching(value: &Value, scope: &dyn Scope, board: &Board, tunes: &[(Value, Tune)]) -> Result<Searching, Error> {
    let mut table = value.table("in [search]")?;
    let objective = table.require("objective")?;
    let objective = formula(&objective, scope)?;
    let when = match (table.take("when"), board.period, board.measures.len()) {
        (Some(when), ..) => measure_named(&when, board)?,
        (None, Some(period), _) => period,
        (None, None, 1) => 0,
        _ => return Err(table.error(Problem::Missing { key: "when".into(), table: table.name.clone() })),
    };
    let usual = Manner::default();
    let manner = Manner {
        samples: table.take("samples").map_or(Ok(usual.samples), |value| value.count(1, 99))?,
        counts: table.take("counts").map_or(Ok(usual.counts), |value| counts(&value))?,
        settle: table.take("settle").map_or(Ok(usual.settle), |value| value.count(0, 99))?,
        drift: table.take("drift").map_or(Ok(usual.drift), |value| value.positive())?,
        most: table.take("most").map_or(Ok(usual.most), |value| value.count(1, 100_000))?,
    };
    let places: Vec<usize> = (0..tunes.len()).filter(|place| tunes[*place].1.rule.is_none()).collect();
    if places.is_empty() {
        return Err(table.error(Problem::Unfit("a search needs a [[tune]] without `value` to try values of".into())));
    }
    table.finish()?;
    let chosen = || places.iter().map(|place| &tunes[*place].1);
    let space = Space { axes: chosen().map(|tune| Axis::new(tune.spread)).collect() };
    let start = chosen().map(|tune| tune.start).collect::<Option<Vec<f64>>>();
    let search = Search::new(chosen().map(|tune| tune.name.clone()).collect(), space, start, manner);
    Ok(Searching { search, objective, when, tunes: places })
}

fn counts(value: &Value) -> Result<Counts, Error> {
    match value.text()?.as_str() {
        "median" => Ok(Counts::Median),
        "least" => Ok(Counts::Least),
        _ => Err(value.unexpected("\"median\" or \"least\"")),
    }
}

/// A file that says what it is must be that.
fn check_use(value: &Value, used: &str, searches: bool, fuzzy: bool) -> Result<(), Error> {
    match used {
        "search" if searches => Ok(()),
        "fuzzy" if fuzzy => Ok(()),
        "search" | "fuzzy" => Err(value.error(Problem::Missing { key: format!("[{used}]"), table: "in this file".into() })),
        _ => Err(value.error(Problem::unknown("the tunlet", used, "here", crate::tunlets::LIST.iter().map(|(name, _)| *name)))),
    }
}

fn each<'a, T>(list: Option<Value<'a>>, read: impl Fn(Value<'a>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    list.map_or(Ok(Vec::new()), |list| list.list()?.into_iter().map(read).collect())
}

/// The place of a measure that is named.
fn measure_named(value: &Value, board: &Board) -> Result<usize, Error> {
    let text = value.text()?;
    let place = board.measures.iter().position(|measure| measure.name == text);
    place.ok_or_else(|| {
        value.error(Problem::unknown("the measure", &text, "here", board.measures.iter().map(|measure| measure.name.as_str())))
    })
}

fn formula(value: &Value, scope: &dyn Scope) -> Result<Expression, Error> {
    Expression::parse(&value.formula()?, value.key, scope).map_err(|fault| located(value, fault))
}

fn condition(value: &Value, scope: &dyn Scope) -> Result<Condition, Error> {
    Condition::parse(&value.text()?, value.key, scope).map_err(|fault| located(value, fault))
}

fn template(value: &Value, scope: &dyn Scope) -> Result<Template, Error> {
    Template::parse(&value.text()?, value.key, scope).map_err(|fault| located(value, fault))
}

fn located(value: &Value, fault: Fault) -> Error {
    value.error_within(fault.bytes, *fault.problem)
}

impl Declared {
    fn new(name: String, mut board: Board, tunes: Vec<Tune>, searching: Option<Searching>, script: Option<Script>) -> Declared {
        let points = board.measures.iter().enumerate().flat_map(|(place, measure)| vec![place; measure.points().len()]).collect();
        let mut inputs: Vec<Meaning> = board.performance.iter().flat_map(|one| one.formula.inputs().to_vec()).collect();
        inputs.extend(board.fuzzy.iter().flat_map(|fuzzy| fuzzy.formulas().flat_map(Expression::inputs)));
        inputs.extend(tunes.iter().filter_map(|tune| tune.rule.as_ref()).flat_map(tune::Rule::inputs));
        inputs.extend(searching.iter().flat_map(|searching| searching.objective.inputs()));
        board.remember(inputs.iter());
        let (mut targets, mut places): (Vec<TuningPoint>, Vec<usize>) = Default::default();
        for tune in &tunes {
            let place = targets.iter().position(|known| *known == tune.point).unwrap_or_else(|| {
                targets.push(tune.point.clone());
                targets.len() - 1
            });
            places.push(place);
        }
        let wished = HashMap::new();
        Declared { name, board, points, tunes, targets, places, searching, script, wished, off: false }
    }

    /// An event, or a while of joined ones, is on the board; what is wanted now.
    fn decide(&mut self, measure: usize, event: Option<&Event>) -> Vec<Wish> {
        let mut wishes = Vec::new();
        let rank = event.map(|event| event.rank);
        for place in 0..self.tunes.len() {
            let rule = self.tunes[place].rule.as_ref().filter(|rule| rule.when.contains(&measure));
            if let Some((value, why)) = rule.and_then(|rule| rule.wish(&self.board)) {
                wishes.extend(self.wish(place, value, rank, why));
            }
        }
        wishes.extend(self.search(measure));
        if let (Some(script), Some(event)) = (&mut self.script, event) {
            let outcome = script.happened(&self.board, measure, event);
            wishes.extend(self.follow(outcome));
        }
        self.board.over(measure);
        wishes
    }

    fn search(&mut self, measure: usize) -> Vec<Wish> {
        let Some(searching) = self.searching.as_mut().filter(|searching| searching.when == measure) else { return Vec::new() };
        let Some(time) = self.board.value(&searching.objective) else { return Vec::new() };
        let step = searching.search.sample(time);
        let places = searching.tunes.clone();
        let tell = step.tell.map(Wish::Tell);
        let changes = places.into_iter().zip(step.to.unwrap_or_default());
        tell.into_iter()
            .chain(changes.filter_map(|(place, value)| self.wish(place, value, None, step.why.clone())).collect::<Vec<_>>())
            .collect()
    }

    /// Does what a script wants; one that has failed wants nothing any more.
    fn follow(&mut self, outcome: Result<Vec<script::Want>, String>) -> Vec<Wish> {
        let wants = match outcome {
            Ok(wants) => wants,
            Err(reason) => {
                self.off = true;
                return vec![Wish::Tell(format!("the script is switched off: {reason}"))];
            }
        };
        let mut wishes = Vec::new();
        for want in wants {
            match want {
                script::Want::Tell(text) => wishes.push(Wish::Tell(text)),
                script::Want::Change { name, value, rank, why } => match self.tunes.iter().position(|tune| tune.name == name) {
                    Some(place) => wishes.extend(self.wish_in(place, value, rank, why)),
                    None => {
                        self.off = true;
                        let known = self.tunes.iter().map(|tune| tune.name.as_str());
                        let problem = Problem::unknown("the [[tune]]", &name, "in `change`", known);
                        wishes.push(Wish::Tell(format!("the script is switched off: {problem}")));
                    }
                },
            }
        }
        wishes
    }

    fn wish(&mut self, place: usize, value: f64, rank: Option<u32>, why: String) -> Option<Wish> {
        self.wish_in(place, value, rank.filter(|_| self.tunes[place].there), why)
    }

    /// Wishes a change, if it is one.
    fn wish_in(&mut self, place: usize, value: f64, rank: Option<u32>, why: String) -> Option<Wish> {
        let point = self.places[place];
        let value = self.tunes[place].worth(value, self.wished.get(&(point, rank)).copied())?;
        if !value.is_finite() {
            return None;
        }
        self.wished.insert((point, rank), value);
        Some(Wish::Change { point, value, rank, why })
    }
}

impl Tunlet for Declared {
    fn name(&self) -> &str {
        &self.name
    }

    fn needs(&mut self, processes: u32) -> Needs {
        self.board.processes = processes;
        Needs { measures: self.board.measures.iter().flat_map(Measure::points).collect(), tunes: self.targets.clone() }
    }

    fn begins(&mut self, _processes: u32) -> Vec<Wish> {
        let searched = self.searching.as_ref().map_or(Vec::new(), |searching| searching.tunes.clone());
        let starts: Vec<(usize, f64)> = (0..self.tunes.len()).filter_map(|place| Some((place, self.tunes[place].start?))).collect();
        let unknown = "nothing is known yet";
        starts
            .into_iter()
            .filter(|(place, _)| !searched.contains(place))
            .filter_map(|(place, value)| self.wish(place, value, None, unknown.into()))
            .collect()
    }

    fn happened(&mut self, happening: &Happening) -> Vec<Wish> {
        let Some(measure) = self.points.get(happening.point).copied().filter(|_| !self.off) else { return Vec::new() };
        match self.board.happened(measure, happening) {
            Some(event) => self.decide(measure, Some(&event)),
            None => Vec::new(),
        }
    }

    fn joined(&mut self, joined: &Joined) -> Vec<Wish> {
        let Some(measure) = self.points.get(joined.point).copied().filter(|_| !self.off) else { return Vec::new() };
        self.board.joined(measure, joined);
        self.decide(measure, None)
    }

    fn passed(&mut self, time: f64) -> Vec<Wish> {
        let Some(script) = self.script.as_mut().filter(|_| !self.off) else { return Vec::new() };
        let outcome = script.passed(&self.board, time);
        self.follow(outcome)
    }

    fn changed(&mut self, point: usize, _rank: u32, before: Option<f64>) {
        let (Some(searching), Some(before)) = (&mut self.searching, before) else { return };
        if let Some(variable) = searching.tunes.iter().position(|place| self.places[*place] == point) {
            searching.search.was(variable, before);
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |one: &Performance| Some(Figure::new(&one.name, self.board.value(&one.formula)?, &one.unit));
        let mut figures: Vec<Figure> = self.board.performance.iter().filter_map(figure).collect();
        if let Some(Searching { search, .. }) = &self.searching {
            figures.extend(search.best().map(|time| Figure::new("best time", time, "s")));
            figures.push(Figure::new("points tried", search.measured() as f64, ""));
        }
        figures
    }
}

#[cfg(test)]
mod tests;
