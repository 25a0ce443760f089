//! Current measurements of a tunlet from a file, and the values of its formulas.

use std::cell::RefCell;

use super::error::TunletFileProblem;
use super::expression::{AggregateFunction, FormulaInput, MetricFormula, NameScope, Series, WindowAggregate};
use super::history::SeriesHistory;
use super::measure::{MeasureDeclaration, MeasuredEvent};
use crate::tunlet::{EventSummary, PointEvent};
use crate::tunlets::fuzzy::FuzzyController;

/// A performance function (as in MATE): a named formula.
#[derive(Debug)]
pub(super) struct PerformanceFunction {
    pub name: String,
    pub unit: String,
    pub formula: MetricFormula,
}

/// Current measurements and the values of formulas.
#[derive(Debug)]
pub(super) struct MetricStore {
    pub measures: Vec<MeasureDeclaration>,
    pub performance: Vec<PerformanceFunction>,
    pub fuzzy: Option<FuzzyController>,
    /// The measure that starts periods; if none, each event is a period.
    pub period: Option<usize>,
    /// Default number of periods in a window.
    pub history: usize,
    pub processes: u32,
    /// Latest values, by measure.
    latest: Vec<Vec<f64>>,
    /// Histories of the series that formulas aggregate.
    windows: Vec<(Series, SeriesHistory)>,
    /// Values of performance functions since the last event.
    cached: RefCell<Vec<Option<Option<f64>>>>,
}

/// The names that formulas can use, while they are parsed.
pub(super) struct TunletNames<'a> {
    pub measures: &'a [MeasureDeclaration],
    pub performance: &'a [String],
    pub fuzzy: &'a [String],
}

impl NameScope for TunletNames<'_> {
    fn resolve(&self, name: &str) -> Option<FormulaInput> {
        if name == "processes" {
            return Some(FormulaInput::Processes);
        }
        let position = |list: &[String]| list.iter().position(|known| known == name);
        if let Some((measure, value)) = name.split_once('.') {
            let index = self.measures.iter().position(|known| known.name == measure)?;
            let values = &self.measures[index].values;
            let found = values.iter().position(|known| known == value).map(|value| FormulaInput::Latest((index, value)));
            return found.or_else(|| (value == "count").then_some(FormulaInput::Count(index)));
        }
        position(self.performance).map(FormulaInput::Performance).or_else(|| position(self.fuzzy).map(FormulaInput::Fuzzy))
    }

    fn names(&self) -> Vec<String> {
        let own = |measure: &MeasureDeclaration| {
            let name = |value: &str| format!("{}.{value}", measure.name);
            measure.values.iter().map(|value| name(value)).chain([name("count")]).collect::<Vec<_>>()
        };
        let measured = self.measures.iter().flat_map(own);
        measured.chain(self.performance.iter().cloned()).chain(self.fuzzy.iter().cloned()).chain(["processes".into()]).collect()
    }
}

impl MetricStore {
    /// A store for these measures, without measurements.
    pub(super) fn new(measures: Vec<MeasureDeclaration>, period: Option<usize>, history: usize) -> MetricStore {
        let latest = measures.iter().map(|measure| vec![f64::NAN; measure.values.len()]).collect();
        MetricStore {
            measures,
            performance: Vec::new(),
            fuzzy: None,
            period,
            history,
            processes: 0,
            latest,
            windows: Vec::new(),
            cached: RefCell::default(),
        }
    }

    /// Keeps a history of every series that these inputs aggregate.
    pub(super) fn keep_history<'a>(&mut self, formulas: impl Iterator<Item = &'a FormulaInput>) {
        let asked: Vec<WindowAggregate> =
            formulas.filter_map(|input| if let FormulaInput::Window(window) = input { Some(*window) } else { None }).collect();
        for window in &asked {
            if self.windows.iter().any(|(series, _)| *series == window.series) {
                continue;
            }
            let alike = || asked.iter().filter(|other| other.series == window.series);
            let most = alike().map(|window| window.periods.unwrap_or(self.history)).max().unwrap_or(1);
            self.windows.push((window.series, SeriesHistory::new(most, alike().any(|window| window.per_rank.is_some()))));
        }
    }

    /// The problem with a formula that needs data lost in aggregation on the host, if any.
    pub(super) fn unsupported_input(&self, inputs: &[FormulaInput]) -> Option<TunletFileProblem> {
        let joined = |measure: usize| self.measures[measure].join_interval.is_some();
        inputs.iter().find_map(|input| match input {
            FormulaInput::Window(window)
                if joined(window.series.0) && (window.per_rank.is_some() || window.function == AggregateFunction::Min) =>
            {
                Some(TunletFileProblem::Incompatible("where events are joined, `min` and `per rank` are not available".into()))
            }
            FormulaInput::Latest((measure, value)) if joined(*measure) && *value >= self.measures[*measure].read_value_count() => {
                Some(TunletFileProblem::Incompatible("where events are joined, only values read in the program are available".into()))
            }
            _ => None,
        })
    }

    /// Records an event; returns it once it is complete.
    pub(super) fn handle_event(&mut self, measure: usize, point_event: &PointEvent) -> Option<MeasuredEvent> {
        let event = self.measures[measure].handle_event(point_event)?;
        self.cached.get_mut().clear();
        for ((_, value), history) in self.windows.iter_mut().filter(|(series, _)| series.0 == measure) {
            history.add(event.rank, event.values[*value], event.weight);
        }
        self.latest[measure].clone_from(&event.values);
        Some(event)
    }

    /// Records an interval of aggregated events.
    pub(super) fn handle_summary(&mut self, measure: usize, joined: &EventSummary) {
        self.cached.get_mut().clear();
        self.measures[measure].count += joined.count;
        for ((_, value), history) in self.windows.iter_mut().filter(|(series, _)| series.0 == measure) {
            if let Some(sums) = joined.values.get(*value) {
                history.merge(sums);
            }
        }
        for (latest, sums) in self.latest[measure].iter_mut().zip(&joined.values) {
            *latest = if sums.count() > 0 { sums.mean() } else { *latest };
        }
    }

    /// Ends an event; starts a period if its measure does that.
    pub(super) fn end_event(&mut self, measure: usize) {
        self.cached.get_mut().clear();
        let begins = |series: &Series| self.period.map_or(series.0 == measure, |period| period == measure);
        self.windows.iter_mut().filter(|(series, _)| begins(series)).for_each(|(_, history)| history.begin_period());
    }

    /// Events were left out: the next one does not follow the latest one.
    pub(super) fn interrupt(&mut self) {
        self.measures.iter_mut().for_each(MeasureDeclaration::interrupt);
    }

    /// Forgets the windows: they are about values that are not in effect any more.
    pub(super) fn forget(&mut self) {
        self.cached.get_mut().clear();
        self.windows.iter_mut().for_each(|(_, history)| history.clear());
    }

    /// The current value of a formula's input.
    pub(super) fn input_value(&self, input: &FormulaInput) -> Option<f64> {
        match input {
            FormulaInput::Latest((measure, value)) => self.latest[*measure].get(*value).copied(),
            FormulaInput::Window(window) => {
                let (_, history) = self.windows.iter().find(|(series, _)| *series == window.series)?;
                history.aggregate(window.periods.unwrap_or(self.history), window.function, window.per_rank)
            }
            FormulaInput::Count(measure) => Some(self.measures[*measure].count as f64),
            FormulaInput::Performance(index) => self.performance_value(*index),
            FormulaInput::Fuzzy(index) => self.fuzzy.as_ref()?.output(*index, &|formula| self.value(formula)),
            FormulaInput::Processes => Some(f64::from(self.processes)).filter(|processes| *processes > 0.0),
            FormulaInput::EventValue(_) => None,
        }
    }

    fn performance_value(&self, index: usize) -> Option<f64> {
        let worked_out = self.cached.borrow().get(index).copied().flatten();
        worked_out.unwrap_or_else(|| {
            let value = self.value(&self.performance[index].formula);
            let mut all = self.cached.borrow_mut();
            all.resize(self.performance.len(), None);
            all[index] = Some(value);
            value
        })
    }

    /// The current value of a formula.
    pub(super) fn value(&self, formula: &MetricFormula) -> Option<f64> {
        formula.value(&|input| self.input_value(input))
    }
}
