//! Tuning points of a tunlet file, and the rules that set them.

use sintonia_link::probe_protocol::{ActionRepeat, HookSide};

use super::error::{Error, TunletFileProblem};
use super::expression::{FormulaInput, MetricFormula, NameScope, ReasonTemplate, TuningCondition};
use super::measure::{parse_actor, parse_name};
use super::metric_store::MetricStore;
use super::{TunletTable, TunletValue};
use super::{measure_index, parse_condition, parse_formula, parse_template};
use crate::tuning_points::{CallArgument, DeclaredType, TuningMoment, TuningPoint, TuningTarget};
use crate::tunlets::search::SearchAxisSpec;

/// A tuning point declared in a file.
#[derive(Debug)]
pub(super) struct TuneDeclaration {
    /// Its name, for scripts and searches.
    pub name: String,
    pub point: TuningPoint,
    /// Integers only.
    integer_only: bool,
    /// Its grid of values, for a search.
    pub spread: SearchAxisSpec,
    /// Initial value.
    pub start: Option<f64>,
    /// Smaller changes are not made.
    min_change: MinimumChange,
    /// Only in the process of the event.
    pub local_only: bool,
    pub rule: Option<TuningRule>,
}

/// The smallest change worth making.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MinimumChange {
    Absolute(f64),
    /// As a share of the current value.
    Relative(f64),
}

/// When a tuning point is set, and to what.
#[derive(Debug)]
pub(super) struct TuningRule {
    /// The measures whose events trigger it.
    pub when: Vec<usize>,
    condition: Option<TuningCondition>,
    value: MetricFormula,
    /// Value when the condition does not hold.
    otherwise: Option<MetricFormula>,
    why: ReasonTemplate,
}

/// Keys of the kinds of targets; exactly one is required.
const TARGET_KEYS: [&str; 6] = ["variable", "call", "replace", "library", "control", "environment"];

impl TuneDeclaration {
    /// Parses a table `[[tune]]`; without `when` it is triggered where periods begin.
    pub(super) fn parse(value: &TunletValue, scope: &dyn NameScope, board: &MetricStore) -> Result<TuneDeclaration, Error> {
        let mut table = value.table("in [[tune]]")?;
        let target = match (parse_target(&mut table)?, table.take("type")) {
            (TuningTarget::Variable(variable), Some(value)) => TuningTarget::Typed { variable, kind: parse_type(&value)? },
            (_, Some(value)) => return Err(value.error(TunletFileProblem::Incompatible("only a `variable` has a type".into()))),
            (target, None) => target,
        };
        let is_switch = matches!(target, TuningTarget::Replace { .. } | TuningTarget::Library(_));
        let point = TuningPoint {
            actor: parse_actor(&mut table)?,
            range: match table.take("range") {
                Some(range) => parse_range(&range)?,
                None if is_switch => (0.0, 1.0),
                None => parse_range(&table.require("range")?)?,
            },
            moment: table.take("at").map_or(Ok(TuningMoment::AtOnce), |value| parse_moment(&value))?,
            when: table.take("often").map_or(Ok(ActionRepeat::Once), |value| parse_repetition(&value))?,
            target,
        };
        let whole = table.take("whole").map_or(Ok(false), |value| value.boolean())?;
        let step = table.take("step").map(|value| value.positive_number()).transpose()?;
        let spread = SearchAxisSpec { range: point.range, step, integer_only: whole, log: parse_scale(&mut table, point.range)? };
        let tune = TuneDeclaration {
            name: table.take("name").map_or_else(|| Ok(point.target.to_string()), |value| parse_name(&value))?,
            integer_only: whole,
            spread,
            start: table.take("start").map(|value| parse_within(&value, point.range)).transpose()?,
            min_change: table.take("least").map_or(Ok(MinimumChange::Absolute(0.0)), |value| parse_min_change(&value))?,
            local_only: table.take("where").map_or(Ok(false), |value| parse_where(&value))?,
            rule: TuningRule::parse(&mut table, is_switch, scope, board)?,
            point,
        };
        table.finish().map(|()| tune)
    }

    /// The value to request, if it differs enough from the current one.
    pub(super) fn worthwhile_value(&self, value: f64, now: Option<f64>) -> Option<f64> {
        let value = if self.integer_only { value.round() } else { value };
        let least = |now: f64| match self.min_change {
            MinimumChange::Absolute(least) => least,
            MinimumChange::Relative(share) => share * now.abs(),
        };
        let differs = |now: f64| (now - value).abs() >= least(now).max(f64::MIN_POSITIVE);
        now.is_none_or(differs).then_some(value)
    }
}

impl TuningRule {
    fn parse(table: &mut TunletTable, is_switch: bool, scope: &dyn NameScope, board: &MetricStore) -> Result<Option<TuningRule>, Error> {
        let (value, when) = (table.take("value"), table.take("when"));
        let condition = table.take("if").map(|value| parse_condition(&value, scope)).transpose()?;
        let otherwise = table.take("else").map(|value| parse_formula(&value, scope)).transpose()?;
        let why = table.take("why").map(|value| parse_template(&value, scope)).transpose()?;
        let value = match value {
            Some(value) => parse_formula(&value, scope)?,
            None if is_switch && condition.is_some() => always_one(scope).map_err(|problem| table.error(problem))?,
            None if condition.is_some() || otherwise.is_some() || when.is_some() => {
                return Err(table.missing("value"));
            }
            None => return Ok(None),
        };
        if otherwise.is_some() && condition.is_none() {
            return Err(table.error(TunletFileProblem::Incompatible("`else` needs an `if`".into())));
        }
        let when = match (when, board.period, board.measures.len()) {
            (Some(when), ..) => when.one_or_more()?.iter().map(|when| measure_index(when, board)).collect::<Result<Vec<_>, _>>()?,
            (None, Some(period), _) => vec![period],
            (None, None, 1) => vec![0],
            _ => return Err(table.missing("when")),
        };
        Ok(Some(TuningRule { when, condition, value, otherwise, why: why.unwrap_or_default() }))
    }

    /// The value it requests now, and why.
    pub(super) fn evaluate(&self, board: &MetricStore) -> Option<(f64, String)> {
        let known = |input: &FormulaInput| board.input_value(input);
        let holds = self.condition.as_ref().map_or(Some(true), |condition| condition.holds(&known))?;
        let value = if holds { board.value(&self.value) } else { board.value(self.otherwise.as_ref()?) }?;
        Some((value, self.why.render(&known)))
    }

    /// Inputs of its formulas.
    pub(super) fn inputs(&self) -> Vec<FormulaInput> {
        let formulas = std::iter::once(&self.value).chain(&self.otherwise).flat_map(MetricFormula::inputs).copied();
        let others = self.condition.iter().flat_map(TuningCondition::inputs).chain(self.why.inputs());
        formulas.chain(others).collect()
    }
}

/// A replacement or library is switched on whenever the condition holds.
fn always_one(scope: &dyn NameScope) -> Result<MetricFormula, TunletFileProblem> {
    MetricFormula::parse("1", "value", scope).map_err(|fault| *fault.problem)
}

fn parse_target(table: &mut TunletTable) -> Result<TuningTarget, Error> {
    let found: Vec<(&str, TunletValue)> = TARGET_KEYS.into_iter().filter_map(|kind| Some((kind, table.take(kind)?))).collect();
    let [(kind, value)] = found[..] else {
        let key = TARGET_KEYS.join("`, `");
        return Err(match found[..] {
            [] => table.missing(format!("{key}` or another of these; one of `{key}")),
            _ => table.error(TunletFileProblem::Incompatible(format!("only one of `{key}` can be in a [[tune]]"))),
        });
    };
    let text = value.nonblank_text()?;
    Ok(match kind {
        "variable" => TuningTarget::Variable(text),
        "call" => TuningTarget::Call { function: text, arguments: parse_arguments(table)? },
        "replace" => TuningTarget::Replace { function: text, by: table.require("by")?.nonblank_text()? },
        "library" => TuningTarget::Library(text),
        "control" => TuningTarget::Control(text),
        _ => TuningTarget::Environment(text),
    })
}

fn parse_arguments(table: &mut TunletTable) -> Result<Vec<CallArgument>, Error> {
    let Some(list) = table.take("arguments") else { return Ok(vec![CallArgument::Wished]) };
    let argument = |value: &TunletValue| match value.nonblank_text() {
        Ok(text) if text == "value" => Ok(CallArgument::Wished),
        Ok(_) => Err(value.unexpected("a number, or \"value\" for the requested value")),
        Err(_) => value.finite_number().map(CallArgument::Number),
    };
    list.list()?.iter().map(argument).collect()
}

fn parse_moment(value: &TunletValue) -> Result<TuningMoment, Error> {
    let text = value.nonblank_text()?;
    let function = |prefix: &str| text.strip_prefix(prefix).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    match text.as_str() {
        "at once" => Ok(TuningMoment::AtOnce),
        "before MPI" => Ok(TuningMoment::BeforeMpi),
        "together" => Ok(TuningMoment::Together),
        _ => match (function("entry of "), function("exit of ")) {
            (Some(entered), _) => Ok(TuningMoment::At(entered, HookSide::Entry)),
            (_, Some(left)) => Ok(TuningMoment::At(left, HookSide::Exit)),
            _ => Err(value.unexpected("\"at once\", \"entry of FUNCTION\", \"exit of FUNCTION\", \"before MPI\" or \"together\"")),
        },
    }
}

fn parse_type(value: &TunletValue) -> Result<DeclaredType, Error> {
    let expected = "a C type: \"char\", \"short\", \"int\", \"long\", each also \"unsigned\", \"float\", \"double\" or \"bool\"";
    DeclaredType::from_name(&value.nonblank_text()?).ok_or_else(|| value.unexpected(expected))
}

fn parse_repetition(value: &TunletValue) -> Result<ActionRepeat, Error> {
    match value.nonblank_text()?.as_str() {
        "once" => Ok(ActionRepeat::Once),
        "always" => Ok(ActionRepeat::Always),
        _ => Err(value.unexpected("\"once\" or \"always\"")),
    }
}

fn parse_min_change(value: &TunletValue) -> Result<MinimumChange, Error> {
    let share = value.nonblank_text().ok().and_then(|text| text.strip_suffix('%')?.trim().parse::<f64>().ok());
    let least =
        share.map_or_else(|| value.finite_number().map(MinimumChange::Absolute), |percent| Ok(MinimumChange::Relative(percent / 100.0)));
    let is_some = |least: &MinimumChange| matches!(least, MinimumChange::Absolute(amount) | MinimumChange::Relative(amount) if *amount >= 0.0 && amount.is_finite());
    least.ok().filter(is_some).ok_or_else(|| value.unexpected("a non-negative number, or a share as in \"10 %\""))
}

fn parse_where(value: &TunletValue) -> Result<bool, Error> {
    match value.nonblank_text()?.as_str() {
        "there" => Ok(true),
        "everywhere" => Ok(false),
        _ => Err(value.unexpected("\"everywhere\", or \"there\": only in the process of the event")),
    }
}

/// A lower and an upper bound.
fn parse_range(value: &TunletValue) -> Result<(f64, f64), Error> {
    let wrong = || value.unexpected("the least and the greatest value: [least, greatest]");
    let numbers = value.list().map_err(|_| wrong())?.iter().map(TunletValue::finite_number).collect::<Result<Vec<_>, _>>()?;
    match numbers[..] {
        [low, high] if low <= high => Ok((low, high)),
        _ => Err(wrong()),
    }
}

fn parse_scale(table: &mut TunletTable, range: (f64, f64)) -> Result<bool, Error> {
    let Some(value) = table.take("scale") else { return Ok(false) };
    match value.nonblank_text()?.as_str() {
        "linear" => Ok(false),
        "log" if range.0 > 0.0 => Ok(true),
        "log" => Err(value.error(TunletFileProblem::Incompatible("a range on a logarithmic scale must be positive".into()))),
        _ => Err(value.unexpected("\"linear\" or \"log\"")),
    }
}

fn parse_within(value: &TunletValue, range: (f64, f64)) -> Result<f64, Error> {
    match value.finite_number()? {
        number if number >= range.0 && number <= range.1 => Ok(number),
        _ => Err(value.unexpected("a number within `range`")),
    }
}
