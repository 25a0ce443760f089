//! Tunlets from files: measure points, performance functions and tuning actions, declared in TOML.
//!
//! Measurements go to a [`MetricStore`](metric_store::MetricStore), which keeps the latest periods and evaluates formulas. Four kinds of deciders
//! use it: rules (`value = FORMULA`), a search, fuzzy rules (whose outputs are names in formulas) and a script. `docs/tunlets.md` is the reference.

pub mod error;
pub(crate) mod expression;
mod fuzzy;
mod history;
mod measure;
mod metric_store;
mod script;
mod tuning_rule;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sintonia_toml_file::{TomlDocument, TomlProblem};

use crate::tuning_points::{TuningPoint, TunletRequirements};
use crate::tunlet::{ChangeGuard, EventSummary, GuardMeasure, PointEvent, TuningAction, Tunlet, TunletMetric};
use crate::tunlets::search::{ParameterSearch, SampleStatistic, SearchAxis, SearchOptions, SearchSpace, SearchStep};
use error::{Error, TunletFileProblem};
use expression::{FormulaInput, LocatedProblem, MetricFormula, NameScope, ReasonTemplate, TuningCondition};
use measure::{MeasureDeclaration, MeasuredEvent, find_duplicate, parse_name};
use metric_store::{MetricStore, PerformanceFunction, TunletNames};
use script::TunletScript;
use tuning_rule::TuneDeclaration;

type TunletTable<'a> = sintonia_toml_file::TomlTable<'a, Error>;
type TunletValue<'a> = sintonia_toml_file::TomlValue<'a, Error>;

/// Most periods of a window.
pub(crate) const MAX_PERIODS: usize = 1000;

/// A tunlet from a file.
#[derive(Debug)]
pub struct FileTunlet {
    name: String,
    metrics: MetricStore,
    /// The measure of each measure point.
    point_measures: Vec<usize>,
    tunes: Vec<TuneDeclaration>,
    /// Distinct tuning points, and the index of each tune's point among them.
    targets: Vec<TuningPoint>,
    target_indices: Vec<usize>,
    search: Option<FileSearch>,
    script: Option<TunletScript>,
    /// The value requested last for each target, in all processes or in one.
    requested: HashMap<(usize, Option<u32>), f64>,
    /// Whether its script has failed.
    disabled: bool,
    guard: FileGuard,
}

/// What a file says about the comparison of its changes with the initial values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FileGuard {
    /// Whether they are compared.
    is_on: bool,
    /// By this measure.
    measure: Option<GuardMeasure>,
}

#[derive(Debug)]
struct FileSearch {
    search: ParameterSearch,
    objective: MetricFormula,
    when: usize,
    /// The tunes whose values it searches.
    tunes: Vec<usize>,
    /// Targets whose change is not confirmed: nothing is counted meanwhile.
    unconfirmed: HashSet<usize>,
    /// Ranks that have made changes, and the change that their events must carry to count.
    changed_ranks: HashSet<u32>,
    counts_from: u64,
}

/// Reads a tunlet file.
pub fn read(path: &Path) -> Result<FileTunlet, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
    parse(&text, path)
}

/// Parses the text of a tunlet file.
pub fn parse(text: &str, path: &Path) -> Result<FileTunlet, Error> {
    let document = TomlDocument::<Error>::parse(text, path)?;
    let mut file = document.root();
    let used = file.take("use").map(|value| Ok((value, value.nonblank_text()?))).transpose()?;
    let stem = path.file_stem().map_or_else(|| "file".into(), |stem| stem.to_string_lossy().into_owned());
    let own_name = file.take("name").map_or(Ok(stem), |value| value.nonblank_text())?;
    let mut board = parse_metrics(&mut file)?;
    let outputs = parse_fuzzy(&mut file, &mut board)?;
    let names = board.performance.iter().map(|performance| performance.name.clone()).collect::<Vec<_>>();
    if let Some(name) = find_duplicate(names.iter().chain(&outputs).map(String::as_str)) {
        return Err(file.error(TunletFileProblem::Duplicate(name.into())));
    }
    let scope = TunletNames { measures: &board.measures, performance: &names, fuzzy: &outputs };
    let tunes = parse_list(file.take("tune"), |value| Ok((value, TuneDeclaration::parse(&value, &scope, &board)?)))?;
    let searching = file.take("search").map(|value| parse_search(&value, &scope, &board, &tunes)).transpose()?;
    let guard = parse_guard(&mut file, searching.as_ref(), &board)?;
    let script = file.take("script").map(|value| TunletScript::parse(&value, path)).transpose()?;
    if let Some((value, used)) = used {
        check_use(&value, &used, searching.is_some(), !outputs.is_empty())?;
    }
    file.finish()?;
    for (value, tune) in &tunes {
        let searched = searching.as_ref().is_some_and(|one| one.tunes.iter().any(|index| std::ptr::eq(&tunes[*index].1, tune)));
        if tune.rule.is_none() && !searched && script.is_none() {
            return Err(
                value.error(TomlProblem::Missing { key: "value".into(), table: "in [[tune]], and no search or script changes it".into() })
            );
        }
        if let Some(problem) = tune.rule.as_ref().and_then(|rule| board.unsupported_input(&rule.inputs())) {
            return Err(value.error(problem));
        }
    }
    let tunes = tunes.into_iter().map(|(_, tune)| tune).collect();
    let tunlet = FileTunlet::new(own_name, board, tunes, searching, script);
    Ok(FileTunlet { guard, ..tunlet })
}

/// Parses `guard`: whether changes are compared, or the measure by which they are. By default it is the objective of a search, or the measure
/// that begins periods.
fn parse_guard(file: &mut TunletTable, search: Option<&FileSearch>, board: &MetricStore) -> Result<FileGuard, Error> {
    let points_before = |measure: usize| board.measures[..measure].iter().map(|measure| measure.points().len()).sum::<usize>();
    let measured = |measure: usize, value: Option<&str>| board.measures[measure].guard_measure(points_before(measure), value);
    let by_default = || match search {
        Some(search) => match search.objective.inputs() {
            [FormulaInput::Latest((measure, value))] => {
                let is_duration = board.measures[*measure].values[*value] == "seconds";
                measured(*measure, is_duration.then_some("seconds"))
            }
            _ => measured(search.when, None),
        },
        None => board.period.and_then(|period| measured(period, None)),
    };
    let Some(value) = file.take("guard") else { return Ok(FileGuard { is_on: true, measure: by_default() }) };
    if let Ok(is_on) = value.boolean() {
        return Ok(FileGuard { is_on, measure: by_default() });
    }
    let text = value.nonblank_text().map_err(|_| value.unexpected("true, false, or a measure as in \"step\" or \"step.seconds\""))?;
    let (name, duration) = text.split_once('.').map_or((text.as_str(), None), |(name, duration)| (name, Some(duration)));
    let known = || board.measures.iter().map(|measure| measure.name.as_str());
    let Some(measure) = known().position(|known| known == name) else {
        return Err(value.error(TunletFileProblem::unknown("the measure", name, "here", known())));
    };
    let duration = duration.filter(|duration| *duration != "interval");
    let found = measured(measure, duration).filter(|found| duration.is_none() || found.duration.is_some());
    let needs = "a guard needs single events: the interval of a measure, or a duration that is read at exit";
    let found = found.ok_or_else(|| value.error(TunletFileProblem::Incompatible(needs.into())))?;
    Ok(FileGuard { is_on: true, measure: Some(found) })
}

/// Parses measures and performance functions.
fn parse_metrics(file: &mut TunletTable) -> Result<MetricStore, Error> {
    let measures = parse_list(file.take("measure"), |value| Ok((value, MeasureDeclaration::parse(&value)?)))?;
    if let Some(name) = find_duplicate(measures.iter().map(|(_, measure)| measure.name.as_str())) {
        let second = measures.iter().rev().find(|(_, measure)| measure.name == name);
        return Err(second.map_or_else(
            || file.error(TunletFileProblem::Duplicate(name.into())),
            |(value, _)| value.error(TunletFileProblem::Duplicate(name.into())),
        ));
    }
    if measures.is_empty() {
        let _ = file.require("measure")?;
    }
    let history = file.take("history").map_or(Ok(3), |value| value.count_within(1, MAX_PERIODS))?;
    let mut board = MetricStore::new(measures.into_iter().map(|(_, measure)| measure).collect(), None, history);
    board.period = file.take("period").map(|value| measure_index(&value, &board)).transpose()?;
    let mut known: Vec<String> = Vec::new();
    for (name, unit, value) in parse_performance(file)? {
        let scope = TunletNames { measures: &board.measures, performance: &known, fuzzy: &[] };
        let formula = parse_formula(&value, &scope)?;
        if let Some(problem) = board.unsupported_input(formula.inputs()) {
            return Err(value.error(problem));
        }
        known.push(name.clone());
        board.performance.push(PerformanceFunction { name, unit, formula });
    }
    Ok(board)
}

/// Names, units and formulas: `[performance]` with a formula for each name, or one `[[performance]]` for each.
fn parse_performance<'a>(file: &mut TunletTable<'a>) -> Result<Vec<(String, String, TunletValue<'a>)>, Error> {
    let Some(value) = file.take("performance") else { return Ok(Vec::new()) };
    if value.is_table() {
        return value
            .table("in [performance]")?
            .take_all()
            .into_iter()
            .map(|value| Ok((parse_name(&value)?, String::new(), value)))
            .collect();
    }
    let one = |value: TunletValue<'a>| {
        let mut table = value.table("in [[performance]]")?;
        let name = parse_name(&table.require("name")?)?;
        let unit = table.take("unit").map_or(Ok(String::new()), |value| value.nonblank_text())?;
        let formula = table.require("value")?;
        table.finish().map(|()| (name, unit, formula))
    };
    value.list()?.into_iter().map(one).collect()
}

/// Parses the fuzzy rules into the store; returns the names of their outputs.
fn parse_fuzzy(file: &mut TunletTable, board: &mut MetricStore) -> Result<Vec<String>, Error> {
    let Some(value) = file.take("fuzzy") else { return Ok(Vec::new()) };
    let names = board.performance.iter().map(|performance| performance.name.clone()).collect::<Vec<_>>();
    let scope = TunletNames { measures: &board.measures, performance: &names, fuzzy: &[] };
    let (fuzzy, outputs) = fuzzy::parse(&value, &scope)?;
    board.fuzzy = Some(fuzzy);
    Ok(outputs)
}

fn parse_search(
    value: &TunletValue,
    scope: &dyn NameScope,
    board: &MetricStore,
    tunes: &[(TunletValue, TuneDeclaration)],
) -> Result<FileSearch, Error> {
    let mut table = value.table("in [search]")?;
    let objective = table.require("objective")?;
    let objective = parse_formula(&objective, scope)?;
    let when = match (table.take("when"), board.period, board.measures.len()) {
        (Some(when), ..) => measure_index(&when, board)?,
        (None, Some(period), _) => period,
        (None, None, 1) => 0,
        _ => return Err(table.missing("when")),
    };
    let default = SearchOptions::default();
    let options = SearchOptions {
        samples: table.take("samples").map_or(Ok(default.samples), |value| value.count_within(1, 99))?,
        statistic: table.take("counts").map_or(Ok(default.statistic), |value| parse_statistic(&value))?,
        settle_iterations: table.take("settle").map_or(Ok(default.settle_iterations), |value| value.count_within(0, 99))?,
        drift: table.take("drift").map_or(Ok(default.drift), |value| value.positive_number())?,
        max_points: table.take("most").map_or(Ok(default.max_points), |value| value.count_within(1, 100_000))?,
    };
    let indices: Vec<usize> = (0..tunes.len()).filter(|index| tunes[*index].1.rule.is_none()).collect();
    if indices.is_empty() {
        return Err(table.error(TunletFileProblem::Incompatible("a search needs a [[tune]] without `value`".into())));
    }
    table.finish()?;
    let chosen = || indices.iter().map(|index| &tunes[*index].1);
    let space = SearchSpace { axes: chosen().map(|tune| SearchAxis::new(tune.spread)).collect() };
    let start = chosen().map(|tune| tune.start).collect::<Option<Vec<f64>>>();
    let search = ParameterSearch::new(chosen().map(|tune| tune.name.clone()).collect(), space, start, options);
    let (unconfirmed, changed_ranks) = (HashSet::new(), HashSet::new());
    Ok(FileSearch { search, objective, when, tunes: indices, unconfirmed, changed_ranks, counts_from: 0 })
}

fn parse_statistic(value: &TunletValue) -> Result<SampleStatistic, Error> {
    match value.nonblank_text()?.as_str() {
        "median" => Ok(SampleStatistic::Median),
        "least" => Ok(SampleStatistic::Minimum),
        _ => Err(value.unexpected("\"median\" or \"least\"")),
    }
}

/// Checks that the file contains what its `use` says.
fn check_use(value: &TunletValue, used: &str, searches: bool, fuzzy: bool) -> Result<(), Error> {
    match used {
        "search" if searches => Ok(()),
        "fuzzy" if fuzzy => Ok(()),
        "search" | "fuzzy" => Err(value.error(TomlProblem::Missing { key: format!("[{used}]"), table: "in this file".into() })),
        _ => Err(value.error(TunletFileProblem::unknown("the tunlet", used, "here", crate::tunlets::LIST.iter().map(|(name, _)| *name)))),
    }
}

fn parse_list<'a, T>(list: Option<TunletValue<'a>>, read: impl Fn(TunletValue<'a>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    list.map_or(Ok(Vec::new()), |list| list.list()?.into_iter().map(read).collect())
}

/// The index of a measure, by name.
fn measure_index(value: &TunletValue, board: &MetricStore) -> Result<usize, Error> {
    let text = value.nonblank_text()?;
    let index = board.measures.iter().position(|measure| measure.name == text);
    index.ok_or_else(|| {
        value.error(TunletFileProblem::unknown("the measure", &text, "here", board.measures.iter().map(|measure| measure.name.as_str())))
    })
}

fn parse_formula(value: &TunletValue, scope: &dyn NameScope) -> Result<MetricFormula, Error> {
    // A formula may be a plain number.
    let text = if value.is_number() { value.finite_number()?.to_string() } else { value.nonblank_text()? };
    MetricFormula::parse(&text, value.key(), scope).map_err(|fault| locate(value, fault))
}

fn parse_condition(value: &TunletValue, scope: &dyn NameScope) -> Result<TuningCondition, Error> {
    TuningCondition::parse(&value.nonblank_text()?, value.key(), scope).map_err(|fault| locate(value, fault))
}

fn parse_template(value: &TunletValue, scope: &dyn NameScope) -> Result<ReasonTemplate, Error> {
    ReasonTemplate::parse(&value.nonblank_text()?, value.key(), scope).map_err(|fault| locate(value, fault))
}

fn locate(value: &TunletValue, fault: LocatedProblem) -> Error {
    value.error_within(fault.bytes, *fault.problem)
}

impl FileTunlet {
    fn new(
        name: String,
        mut metrics: MetricStore,
        tunes: Vec<TuneDeclaration>,
        search: Option<FileSearch>,
        script: Option<TunletScript>,
    ) -> FileTunlet {
        let point_measures = metrics.measures.iter().enumerate().flat_map(|(index, measure)| vec![index; measure.points().len()]).collect();
        let mut inputs: Vec<FormulaInput> = metrics.performance.iter().flat_map(|one| one.formula.inputs().to_vec()).collect();
        inputs.extend(metrics.fuzzy.iter().flat_map(|fuzzy| fuzzy.sensor_formulas().flat_map(MetricFormula::inputs)));
        inputs.extend(tunes.iter().filter_map(|tune| tune.rule.as_ref()).flat_map(tuning_rule::TuningRule::inputs));
        inputs.extend(search.iter().flat_map(|searching| searching.objective.inputs()));
        metrics.keep_history(inputs.iter());
        let (mut targets, mut target_indices): (Vec<TuningPoint>, Vec<usize>) = Default::default();
        for tune in &tunes {
            let index = targets.iter().position(|known| *known == tune.point).unwrap_or_else(|| {
                targets.push(tune.point.clone());
                targets.len() - 1
            });
            target_indices.push(index);
        }
        let requested = HashMap::new();
        let guard = FileGuard { is_on: true, measure: None };
        FileTunlet { name, metrics, point_measures, tunes, targets, target_indices, search, script, requested, disabled: false, guard }
    }

    /// Evaluates the deciders after an event, or an interval of aggregated events.
    fn decide(&mut self, measure: usize, event: Option<&MeasuredEvent>, change: u64) -> Vec<TuningAction> {
        let mut actions = Vec::new();
        let rank = event.map(|event| event.rank);
        for index in 0..self.tunes.len() {
            let rule = self.tunes[index].rule.as_ref().filter(|rule| rule.when.contains(&measure));
            if let Some((value, why)) = rule.and_then(|rule| rule.evaluate(&self.metrics)) {
                actions.extend(self.change_action(index, value, rank, why));
            }
        }
        actions.extend(self.advance_search(measure, rank, change));
        if let (Some(script), Some(event)) = (&mut self.script, event) {
            let outcome = script.handle_event(&self.metrics, measure, event);
            actions.extend(self.apply_script(outcome));
        }
        self.metrics.end_event(measure);
        actions
    }

    fn advance_search(&mut self, measure: usize, rank: Option<u32>, change: u64) -> Vec<TuningAction> {
        let Some(searching) = self.search.as_mut().filter(|searching| searching.when == measure) else { return Vec::new() };
        // Only what happened after a confirmed change counts for it.
        let is_new = rank.is_some_and(|rank| !searching.changed_ranks.contains(&rank)) || change >= searching.counts_from;
        if !searching.unconfirmed.is_empty() || !is_new {
            return Vec::new();
        }
        let Some(time) = self.metrics.value(&searching.objective) else { return Vec::new() };
        let step = searching.search.sample(time);
        self.search_actions(step)
    }

    /// Executes a step of the search.
    fn search_actions(&mut self, step: SearchStep) -> Vec<TuningAction> {
        let indices = self.search.as_ref().map_or(Vec::new(), |searching| searching.tunes.clone());
        let changes = indices.into_iter().zip(step.values.unwrap_or_default());
        let changes: Vec<TuningAction> =
            changes.filter_map(|(index, value)| self.change_action(index, value, None, step.why.clone())).collect();
        if let Some(searching) = &mut self.search {
            let point = |action: &TuningAction| if let TuningAction::Change { point, .. } = action { Some(*point) } else { None };
            searching.unconfirmed.extend(changes.iter().filter_map(point));
        }
        step.report.map(TuningAction::Report).into_iter().chain(changes).collect()
    }

    /// Executes the requests of a script; a script that fails is disabled.
    fn apply_script(&mut self, outcome: Result<Vec<script::ScriptRequest>, String>) -> Vec<TuningAction> {
        let wants = match outcome {
            Ok(wants) => wants,
            Err(reason) => {
                self.disabled = true;
                return vec![TuningAction::Report(format!("the script is disabled: {reason}"))];
            }
        };
        let mut actions = Vec::new();
        for want in wants {
            match want {
                script::ScriptRequest::Report(text) => actions.push(TuningAction::Report(text)),
                script::ScriptRequest::Change { name, value, rank, why } => match self.tunes.iter().position(|tune| tune.name == name) {
                    Some(index) => actions.extend(self.change_action_in(index, value, rank, why)),
                    None => {
                        self.disabled = true;
                        let known = self.tunes.iter().map(|tune| tune.name.as_str());
                        let problem = TunletFileProblem::unknown("the [[tune]]", &name, "in `change`", known);
                        actions.push(TuningAction::Report(format!("the script is disabled: {problem}")));
                    }
                },
            }
        }
        actions
    }

    fn change_action(&mut self, index: usize, value: f64, rank: Option<u32>, why: String) -> Option<TuningAction> {
        self.change_action_in(index, value, rank.filter(|_| self.tunes[index].local_only), why)
    }

    /// The action that changes a value, if it differs enough.
    fn change_action_in(&mut self, index: usize, value: f64, rank: Option<u32>, why: String) -> Option<TuningAction> {
        let point = self.target_indices[index];
        let value = self.tunes[index].worthwhile_value(value, self.requested.get(&(point, rank)).copied())?;
        if !value.is_finite() {
            return None;
        }
        self.requested.insert((point, rank), value);
        Some(TuningAction::Change { point, value, rank, why })
    }
}

impl Tunlet for FileTunlet {
    fn name(&self) -> &str {
        &self.name
    }

    fn requirements(&mut self, processes: u32) -> TunletRequirements {
        self.metrics.processes = processes;
        TunletRequirements {
            measures: self.metrics.measures.iter().flat_map(MeasureDeclaration::points).collect(),
            tunes: self.targets.clone(),
        }
    }

    fn on_start(&mut self, _processes: u32) -> Vec<TuningAction> {
        let searched = self.search.as_ref().map_or(Vec::new(), |searching| searching.tunes.clone());
        let starts: Vec<(usize, f64)> = (0..self.tunes.len()).filter_map(|index| Some((index, self.tunes[index].start?))).collect();
        let reason = "initial value";
        starts
            .into_iter()
            .filter(|(index, _)| !searched.contains(index))
            .filter_map(|(index, value)| self.change_action(index, value, None, reason.into()))
            .collect()
    }

    fn on_event(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        let Some(measure) = self.point_measures.get(event.point).copied().filter(|_| !self.disabled) else { return Vec::new() };
        match self.metrics.handle_event(measure, event) {
            Some(measured) => self.decide(measure, Some(&measured), event.change),
            None => Vec::new(),
        }
    }

    fn on_summary(&mut self, joined: &EventSummary) -> Vec<TuningAction> {
        let Some(measure) = self.point_measures.get(joined.point).copied().filter(|_| !self.disabled) else { return Vec::new() };
        self.metrics.handle_summary(measure, joined);
        self.decide(measure, None, joined.change)
    }

    fn on_tick(&mut self, time: f64) -> Vec<TuningAction> {
        let Some(script) = self.script.as_mut().filter(|_| !self.disabled) else { return Vec::new() };
        let outcome = script.handle_tick(&self.metrics, time);
        self.apply_script(outcome)
    }

    fn guard(&self) -> ChangeGuard {
        match (self.guard.is_on, &self.search) {
            (false, _) => ChangeGuard::None,
            (true, Some(_)) => ChangeGuard::WhenSettled,
            (true, None) => ChangeGuard::InTurns,
        }
    }

    fn guard_measure(&self) -> Option<GuardMeasure> {
        self.guard.measure
    }

    fn is_settled(&self) -> bool {
        self.search.as_ref().is_none_or(|searching| searching.search.is_settled() && searching.unconfirmed.is_empty())
    }

    fn on_resumed(&mut self) {
        self.metrics.interrupt();
    }

    fn on_verdict(&mut self, pays: bool) {
        let Some(searching) = self.search.as_mut().filter(|_| !pays) else { return };
        searching.search.return_to_original();
        // The guard has set them.
        for (index, value) in searching.tunes.iter().zip(searching.search.current_values()) {
            self.requested.insert((self.target_indices[*index], None), value);
        }
        self.metrics.interrupt();
        self.metrics.forget();
    }

    fn on_confirmed(&mut self, point: usize, number: u64) {
        let Some(searching) = &mut self.search else { return };
        if searching.unconfirmed.remove(&point) && searching.unconfirmed.is_empty() {
            searching.counts_from = number;
            self.metrics.forget();
        }
    }

    fn on_rejected(&mut self, point: usize, why: &str) -> Vec<TuningAction> {
        let Some(searching) = self.search.as_mut().filter(|searching| searching.unconfirmed.contains(&point)) else { return Vec::new() };
        searching.unconfirmed.clear();
        let step = searching.search.drop_point(why);
        // Whatever was made of it is not known to all processes: the next point is set as a whole.
        let targets: Vec<usize> = searching.tunes.iter().map(|index| self.target_indices[*index]).collect();
        self.requested.retain(|(target, _), _| !targets.contains(target));
        self.search_actions(step)
    }

    fn on_not_made(&mut self, point: usize, why: &str) -> Vec<TuningAction> {
        let Some(searching) = self.search.as_mut().filter(|searching| searching.unconfirmed.contains(&point)) else { return Vec::new() };
        searching.search.stop(why).map(TuningAction::Report).into_iter().collect()
    }

    fn on_changed(&mut self, point: usize, rank: u32, before: Option<f64>) {
        let (Some(searching), Some(before)) = (&mut self.search, before) else { return };
        searching.changed_ranks.insert(rank);
        if let Some(variable) = searching.tunes.iter().position(|index| self.target_indices[*index] == point) {
            searching.search.note_original(variable, before);
        }
    }

    fn metrics(&self) -> Vec<TunletMetric> {
        let figure = |one: &PerformanceFunction| Some(TunletMetric::new(&one.name, self.metrics.value(&one.formula)?, &one.unit));
        let mut figures: Vec<TunletMetric> = self.metrics.performance.iter().filter_map(figure).collect();
        if let Some(FileSearch { search, .. }) = &self.search {
            figures.extend(search.best().map(|time| TunletMetric::new("best time", time, "s")));
            figures.push(TunletMetric::new("points tried", search.measured_points() as f64, ""));
        }
        figures
    }
}

#[cfg(test)]
mod tests;
