//! What a tunlet of a file may change, and the rules that say to what.

use sintonia_link::order::{Side, When};

use super::board::Board;
use super::error::{Error, Problem};
use super::expression::{Condition, Expression, Meaning, Scope, Template};
use super::measure::{actor, name};
use super::table::{Table, Value};
use super::{condition, formula, measure_named, template};
use crate::point::{Argument, Kind, Moment, Target, TuningPoint};
use crate::tunlets::search::Spread;

/// Something that may be changed.
#[derive(Debug)]
pub struct Tune {
    /// Its name, for scripts and searches.
    pub name: String,
    pub point: TuningPoint,
    /// Whole numbers only.
    whole: bool,
    /// How its values are spread, for a search.
    pub spread: Spread,
    /// The value it gets before anything is known.
    pub start: Option<f64>,
    /// A smaller change is not made.
    least: Least,
    /// Only in the process in which something happened.
    pub there: bool,
    pub rule: Option<Rule>,
}

/// The least change that is worth making.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Least {
    /// By so much.
    By(f64),
    /// By this share of what is there.
    Share(f64),
}

/// What a thing is changed to, and when.
#[derive(Debug)]
pub struct Rule {
    /// The measures that it is evaluated at.
    pub when: Vec<usize>,
    condition: Option<Condition>,
    value: Expression,
    /// What it is changed to when the condition does not hold.
    otherwise: Option<Expression>,
    why: Template,
}

/// The kinds of things that can be changed; one of them must be there.
const KINDS: [&str; 6] = ["variable", "call", "replace", "library", "control", "environment"];

impl Tune {
    /// Reads a table `[[tune]]`; without `when` it is evaluated where periods begin.
    pub fn read(value: &Value, scope: &dyn Scope, board: &Board) -> Result<Tune, Error> {
        let mut table = value.table("in [[tune]]")?;
        let target = match (target(&mut table)?, table.take("type")) {
            (Target::Variable(variable), Some(value)) => Target::Typed { variable, kind: kind(&value)? },
            (_, Some(value)) => return Err(value.error(Problem::Unfit("only a `variable` has a type".into()))),
            (target, None) => target,
        };
        let is_switch = matches!(target, Target::Replace { .. } | Target::Library(_));
        let point = TuningPoint {
            actor: actor(&mut table)?,
            range: match table.take("range") {
                Some(range) => range.range()?,
                None if is_switch => (0.0, 1.0),
                None => table.require("range")?.range()?,
            },
            moment: table.take("at").map_or(Ok(Moment::AtOnce), |value| moment(&value))?,
            when: table.take("often").map_or(Ok(When::Once), |value| often(&value))?,
            target,
        };
        let whole = table.take("whole").map_or(Ok(false), |value| value.truth())?;
        let step = table.take("step").map(|value| value.positive()).transpose()?;
        let spread = Spread { range: point.range, step, whole, log: scale(&mut table, point.range)? };
        let tune = Tune {
            name: table.take("name").map_or_else(|| Ok(point.target.to_string()), |value| name(&value))?,
            whole,
            spread,
            start: table.take("start").map(|value| within(&value, point.range)).transpose()?,
            least: table.take("least").map_or(Ok(Least::By(0.0)), |value| least(&value))?,
            there: table.take("where").map_or(Ok(false), |value| there(&value))?,
            rule: Rule::read(&mut table, is_switch, scope, board)?,
            point,
        };
        table.finish().map(|()| tune)
    }

    /// The value that is wished for, if it is worth a change from what is there.
    pub fn worth(&self, value: f64, now: Option<f64>) -> Option<f64> {
        let value = if self.whole { value.round() } else { value };
        let least = |now: f64| match self.least {
            Least::By(least) => least,
            Least::Share(share) => share * now.abs(),
        };
        let differs = |now: f64| (now - value).abs() >= least(now).max(f64::MIN_POSITIVE);
        now.is_none_or(differs).then_some(value)
    }
}

impl Rule {
    fn read(table: &mut Table, is_switch: bool, scope: &dyn Scope, board: &Board) -> Result<Option<Rule>, Error> {
        let (value, when) = (table.take("value"), table.take("when"));
        let condition = table.take("if").map(|value| condition(&value, scope)).transpose()?;
        let otherwise = table.take("else").map(|value| formula(&value, scope)).transpose()?;
        let why = table.take("why").map(|value| template(&value, scope)).transpose()?;
        let value = match value {
            Some(value) => formula(&value, scope)?,
            None if is_switch && condition.is_some() => always_one(scope).map_err(|problem| table.error(problem))?,
            None if condition.is_some() || otherwise.is_some() || when.is_some() => {
                return Err(table.error(Problem::Missing { key: "value".into(), table: table.name.clone() }));
            }
            None => return Ok(None),
        };
        if otherwise.is_some() && condition.is_none() {
            return Err(table.error(Problem::Unfit("`else` needs an `if`".into())));
        }
        let when = match (when, board.period, board.measures.len()) {
            (Some(when), ..) => when.one_or_more()?.iter().map(|when| measure_named(when, board)).collect::<Result<Vec<_>, _>>()?,
            (None, Some(period), _) => vec![period],
            (None, None, 1) => vec![0],
            _ => return Err(table.error(Problem::Missing { key: "when".into(), table: table.name.clone() })),
        };
        Ok(Some(Rule { when, condition, value, otherwise, why: why.unwrap_or_default() }))
    }

    /// What the thing should be now, and why.
    pub fn wish(&self, board: &Board) -> Option<(f64, String)> {
        let known = |meaning: &Meaning| board.known(meaning);
        let holds = self.condition.as_ref().map_or(Some(true), |condition| condition.holds(&known))?;
        let value = if holds { board.value(&self.value) } else { board.value(self.otherwise.as_ref()?) }?;
        Some((value, self.why.filled(&known)))
    }

    /// What its formulas depend on.
    pub fn inputs(&self) -> Vec<Meaning> {
        let formulas = std::iter::once(&self.value).chain(&self.otherwise).flat_map(Expression::inputs).copied();
        let others = self.condition.iter().flat_map(Condition::inputs).chain(self.why.inputs());
        formulas.chain(others).collect()
    }
}

/// A function is replaced, or a library loaded, whenever the condition holds.
fn always_one(scope: &dyn Scope) -> Result<Expression, Problem> {
    Expression::parse("1", "value", scope).map_err(|fault| *fault.problem)
}

fn target(table: &mut Table) -> Result<Target, Error> {
    let found: Vec<(&str, Value)> = KINDS.into_iter().filter_map(|kind| Some((kind, table.take(kind)?))).collect();
    let [(kind, value)] = found[..] else {
        let key = KINDS.join("`, `");
        let problem = if found.is_empty() {
            Problem::Missing { key: format!("{key}` or another of these; one of `{key}"), table: table.name.clone() }
        } else {
            Problem::Unfit(format!("only one of `{key}` can be in a [[tune]]"))
        };
        return Err(table.error(problem));
    };
    let text = value.text()?;
    Ok(match kind {
        "variable" => Target::Variable(text),
        "call" => Target::Call { function: text, arguments: arguments(table)? },
        "replace" => Target::Replace { function: text, by: table.require("by")?.text()? },
        "library" => Target::Library(text),
        "control" => Target::Control(text),
        _ => Target::Environment(text),
    })
}

fn arguments(table: &mut Table) -> Result<Vec<Argument>, Error> {
    let Some(list) = table.take("arguments") else { return Ok(vec![Argument::Wished]) };
    let argument = |value: &Value| match value.text() {
        Ok(text) if text == "value" => Ok(Argument::Wished),
        Ok(_) => Err(value.unexpected("a number, or \"value\" for the value that is wished for")),
        Err(_) => value.number().map(Argument::Number),
    };
    list.list()?.iter().map(argument).collect()
}

fn moment(value: &Value) -> Result<Moment, Error> {
    let text = value.text()?;
    let function = |prefix: &str| text.strip_prefix(prefix).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    match text.as_str() {
        "at once" => Ok(Moment::AtOnce),
        "before MPI" => Ok(Moment::BeforeMpi),
        "together" => Ok(Moment::Together),
        _ => match (function("entry of "), function("exit of ")) {
            (Some(entered), _) => Ok(Moment::At(entered, Side::Entry)),
            (_, Some(left)) => Ok(Moment::At(left, Side::Exit)),
            _ => Err(value.unexpected("\"at once\", \"entry of FUNCTION\", \"exit of FUNCTION\", \"before MPI\" or \"together\"")),
        },
    }
}

fn kind(value: &Value) -> Result<Kind, Error> {
    let expected = "a type of C: \"char\", \"short\", \"int\", \"long\", each also \"unsigned\", \"float\", \"double\" or \"bool\"";
    Kind::named(&value.text()?).ok_or_else(|| value.unexpected(expected))
}

fn often(value: &Value) -> Result<When, Error> {
    match value.text()?.as_str() {
        "once" => Ok(When::Once),
        "always" => Ok(When::Always),
        _ => Err(value.unexpected("\"once\" or \"always\"")),
    }
}

fn least(value: &Value) -> Result<Least, Error> {
    let share = value.text().ok().and_then(|text| text.strip_suffix('%')?.trim().parse::<f64>().ok());
    let least = share.map_or_else(|| value.number().map(Least::By), |percent| Ok(Least::Share(percent / 100.0)));
    let is_some = |least: &Least| matches!(least, Least::By(amount) | Least::Share(amount) if *amount >= 0.0 && amount.is_finite());
    least.ok().filter(is_some).ok_or_else(|| value.unexpected("a number from 0 on, or a share as in \"10 %\""))
}

fn there(value: &Value) -> Result<bool, Error> {
    match value.text()?.as_str() {
        "there" => Ok(true),
        "everywhere" => Ok(false),
        _ => Err(value.unexpected("\"everywhere\", or \"there\": only in the process in which the event happened")),
    }
}

fn scale(table: &mut Table, range: (f64, f64)) -> Result<bool, Error> {
    let Some(value) = table.take("scale") else { return Ok(false) };
    match value.text()?.as_str() {
        "linear" => Ok(false),
        "log" if range.0 > 0.0 => Ok(true),
        "log" => Err(value.error(Problem::Unfit("a range on a logarithmic scale begins above zero".into()))),
        _ => Err(value.unexpected("\"linear\" or \"log\"")),
    }
}

fn within(value: &Value, range: (f64, f64)) -> Result<f64, Error> {
    match value.number()? {
        number if number >= range.0 && number <= range.1 => Ok(number),
        _ => Err(value.unexpected("a number within `range`")),
    }
}
