//! What a tunlet of a file knows at the moment: what was measured, and what formulas make of it.

use std::cell::RefCell;

use super::error::Problem;
use super::expression::{Expression, How, Meaning, Scope, Series, Window};
use super::history::History;
use super::measure::{Event, Measure};
use crate::tunlet::{Happening, Joined};
use crate::tunlets::fuzzy::Fuzzy;

/// A named formula.
#[derive(Debug)]
pub struct Performance {
    pub name: String,
    pub unit: String,
    pub formula: Expression,
}

/// What is known at the moment.
#[derive(Debug)]
pub struct Board {
    pub measures: Vec<Measure>,
    pub performance: Vec<Performance>,
    pub fuzzy: Option<Fuzzy>,
    /// The measure at which periods begin; otherwise each event is one.
    pub period: Option<usize>,
    /// How many periods a window has, unless told.
    pub history: usize,
    pub processes: u32,
    /// The latest values, by measure.
    latest: Vec<Vec<f64>>,
    /// What formulas ask the past of.
    windows: Vec<(Series, History)>,
    /// Values of performance functions that nothing has happened since.
    worked_out: RefCell<Vec<Option<Option<f64>>>>,
}

/// The names that formulas can have, while formulas are read.
pub struct Names<'a> {
    pub measures: &'a [Measure],
    pub performance: &'a [String],
    pub fuzzy: &'a [String],
}

impl Scope for Names<'_> {
    fn meaning(&self, name: &str) -> Option<Meaning> {
        if name == "processes" {
            return Some(Meaning::Processes);
        }
        let place = |list: &[String]| list.iter().position(|known| known == name);
        if let Some((measure, value)) = name.split_once('.') {
            let place = self.measures.iter().position(|known| known.name == measure)?;
            let values = &self.measures[place].values;
            let found = values.iter().position(|known| known == value).map(|value| Meaning::Latest((place, value)));
            return found.or_else(|| (value == "count").then_some(Meaning::Count(place)));
        }
        place(self.performance).map(Meaning::Performance).or_else(|| place(self.fuzzy).map(Meaning::Fuzzy))
    }

    fn names(&self) -> Vec<String> {
        let own = |measure: &Measure| {
            let name = |value: &str| format!("{}.{value}", measure.name);
            measure.values.iter().map(|value| name(value)).chain([name("count")]).collect::<Vec<_>>()
        };
        let measured = self.measures.iter().flat_map(own);
        measured.chain(self.performance.iter().cloned()).chain(self.fuzzy.iter().cloned()).chain(["processes".into()]).collect()
    }
}

impl Board {
    /// With these measures; nothing is known yet.
    pub fn new(measures: Vec<Measure>, period: Option<usize>, history: usize) -> Board {
        let latest = measures.iter().map(|measure| vec![f64::NAN; measure.values.len()]).collect();
        Board {
            measures,
            performance: Vec::new(),
            fuzzy: None,
            period,
            history,
            processes: 0,
            latest,
            windows: Vec::new(),
            worked_out: RefCell::default(),
        }
    }

    /// Keeps what formulas ask the past of.
    pub fn remember<'a>(&mut self, formulas: impl Iterator<Item = &'a Meaning>) {
        let asked: Vec<Window> =
            formulas.filter_map(|input| if let Meaning::Window(window) = input { Some(*window) } else { None }).collect();
        for window in &asked {
            if self.windows.iter().any(|(series, _)| *series == window.of) {
                continue;
            }
            let alike = || asked.iter().filter(|other| other.of == window.of);
            let most = alike().map(|window| window.periods.unwrap_or(self.history)).max().unwrap_or(1);
            self.windows.push((window.of, History::new(most, alike().any(|window| window.of_each.is_some()))));
        }
    }

    /// Whether a formula asks for what is not kept where events are joined on the way.
    pub fn refused(&self, inputs: &[Meaning]) -> Option<Problem> {
        let joined = |measure: usize| self.measures[measure].joined.is_some();
        inputs.iter().find_map(|input| match input {
            Meaning::Window(window) if joined(window.of.0) && (window.of_each.is_some() || window.how == How::Min) => {
                Some(Problem::Unfit("where events are joined on the way, `min` and `per rank` are not known".into()))
            }
            Meaning::Latest((measure, value)) if joined(*measure) && *value >= self.measures[*measure].read_values() => {
                Some(Problem::Unfit("where events are joined on the way, only what is read in the program is known".into()))
            }
            _ => None,
        })
    }

    /// Something happened; an event, if it is complete.
    pub fn happened(&mut self, measure: usize, happening: &Happening) -> Option<Event> {
        let event = self.measures[measure].happened(happening)?;
        self.worked_out.get_mut().clear();
        for ((_, value), history) in self.windows.iter_mut().filter(|(series, _)| series.0 == measure) {
            history.add(event.rank, event.values[*value], event.weight);
        }
        self.latest[measure].clone_from(&event.values);
        Some(event)
    }

    /// A while of events that were joined on the way is over.
    pub fn joined(&mut self, measure: usize, joined: &Joined) {
        self.worked_out.get_mut().clear();
        self.measures[measure].count += joined.count;
        for ((_, value), history) in self.windows.iter_mut().filter(|(series, _)| series.0 == measure) {
            if let Some(sums) = joined.values.get(*value) {
                history.join(sums);
            }
        }
        for (latest, sums) in self.latest[measure].iter_mut().zip(&joined.values) {
            *latest = if sums.count() > 0 { sums.mean() } else { *latest };
        }
    }

    /// The event of a measure is over: a period begins, if it is that of periods.
    pub fn over(&mut self, measure: usize) {
        self.worked_out.get_mut().clear();
        let begins = |series: &Series| self.period.map_or(series.0 == measure, |period| period == measure);
        self.windows.iter_mut().filter(|(series, _)| begins(series)).for_each(|(_, history)| history.begin());
    }

    /// What a name in a formula stands for now.
    pub fn known(&self, meaning: &Meaning) -> Option<f64> {
        match meaning {
            Meaning::Latest((measure, value)) => self.latest[*measure].get(*value).copied(),
            Meaning::Window(window) => {
                let (_, history) = self.windows.iter().find(|(series, _)| *series == window.of)?;
                history.taken(window.periods.unwrap_or(self.history), window.how, window.of_each)
            }
            Meaning::Count(measure) => Some(self.measures[*measure].count as f64),
            Meaning::Performance(place) => self.performance(*place),
            Meaning::Fuzzy(place) => self.fuzzy.as_ref()?.output(*place, &|formula| self.value(formula)),
            Meaning::Processes => Some(f64::from(self.processes)).filter(|processes| *processes > 0.0),
            Meaning::Own(_) => None,
        }
    }

    fn performance(&self, place: usize) -> Option<f64> {
        let worked_out = self.worked_out.borrow().get(place).copied().flatten();
        worked_out.unwrap_or_else(|| {
            let value = self.value(&self.performance[place].formula);
            let mut all = self.worked_out.borrow_mut();
            all.resize(self.performance.len(), None);
            all[place] = Some(value);
            value
        })
    }

    /// The value of a formula now.
    pub fn value(&self, formula: &Expression) -> Option<f64> {
        formula.value(&|meaning| self.known(meaning))
    }
}
