//! Reads model files: any text gives a model, or an error with its position.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_fit::quantity_kind::QuantityKind;
use sintonia_formula::{Formula, ParseError};
use sintonia_toml_file::TomlDocument;

use super::error::ModelFileError;
use super::{BASES, FORMAT, PART_KINDS};
use crate::curve::FittedCurve;
use crate::fitted_term::FittedTerm;
use crate::host_effects::{HostEffects, SchedulingTime};
use crate::model::{
    CallFormulas, HoldOutValidation, MeasuredParameter, MeasuredSetting, ModelPart, ModelledQuantity, PerformanceModel, PredictionBasis,
    ReferenceMachine, RoleLimit,
};
use crate::working_set::{CacheHierarchy, CacheLevel, WorkingSet};

type TomlTable<'a> = sintonia_toml_file::TomlTable<'a, ModelFileError>;
type TomlValue<'a> = sintonia_toml_file::TomlValue<'a, ModelFileError>;

/// Parses the models of a file: its own tables, or those of each `[[series]]`.
pub(super) fn parse_models(text: &str, path: &Path) -> Result<Vec<PerformanceModel>, ModelFileError> {
    let document = TomlDocument::parse(text, path)?;
    let mut file = document.root();
    check_format(&mut file)?;
    match file.take("series") {
        None => Ok(vec![parse_model(file)?]),
        Some(list) => {
            let models = parse_list(Some(list), |series| parse_model(series.table("in [[series]]")?))?;
            if models.is_empty() {
                return Err(list.error("there is no series, so there is no model".to_owned()));
            }
            file.finish().map(|()| models)
        }
    }
}

fn parse_model(mut file: TomlTable) -> Result<PerformanceModel, ModelFileError> {
    let parameters = parse_parameters(file.take("parameter"))?;
    let fixed = parse_numbers(file.take("fixed"), "in [fixed]", "a fixed parameter", FINITE)?;
    let reader = FormulaReader { parameter_names: parameters.iter().map(|parameter| parameter.name.clone()).collect(), fixed: &fixed };
    let possible = Alternatives::parse(file.take("possible"))?;
    let parts = with_alternatives(file.take("part"), &possible.parts, |part, possible| reader.part(part, possible))?;
    let limits = with_alternatives(file.take("limit"), &possible.limits, |limit, possible| reader.limit(limit, possible))?;
    let head_value = file.require("model")?;
    let mut head = head_value.table("in [model]")?;
    let whole = reader.whole(file.take("whole"), &mut head, !parts.is_empty(), possible.whole)?;
    let uses = head.take("uses");
    let default_basis = if parts.is_empty() { PredictionBasis::Whole } else { PredictionBasis::Parts };
    let basis = uses.map_or(Ok(default_basis), |uses| uses.word(&BASES))?;
    let is_there = if basis == PredictionBasis::Parts { !parts.is_empty() } else { whole.is_some() };
    if !is_there {
        let what = "a model needs a formula: `formula` in [model] or [whole], or at least one [[part]] if it uses parts";
        return Err(uses.unwrap_or(head_value).error(what.to_owned()));
    }
    let model = PerformanceModel {
        name: head.require("name")?.text()?,
        region: head.take("region").map(|region| region.text()).transpose()?,
        quantity: ModelledQuantity {
            name: head.take("quantity").map_or(Ok("time".into()), |value| value.text())?,
            unit: head.take("unit").map_or(Ok("s".into()), |value| value.text())?,
        },
        points: parse_points(file.take("measured"), parameters.len())?,
        parameters,
        parts,
        limits,
        whole,
        uses: basis,
        reference_machine: file.take("machine").map(parse_machine).transpose()?,
        host_effects: HostEffects {
            scheduling: file.take("scheduling").map(parse_scheduling).transpose()?,
            working_set: file.take("memory").map(|memory| reader.working_set(memory, possible.memory)).transpose()?,
        },
        noise_percent: head.take("noise_percent").map_or(Ok(0.0), |value| checked_number(&value, "the noise of runs", FROM_ZERO))?,
        validation: file.take("validation").map(parse_validation).transpose()?,
        notes: head.take("notes").map_or(Ok(Vec::new()), |notes| notes.list()?.iter().map(TomlValue::text).collect())?,
        fixed,
    };
    head.finish()?;
    file.finish().map(|()| model)
}

/// Checked first, because other formats have other tables.
fn check_format(file: &mut TomlTable) -> Result<(), ModelFileError> {
    let Some(format) = file.take("format") else {
        return Err(file.error(format!("this is not a model file: it must begin with `format = {FORMAT}`")));
    };
    match format.count()? {
        FORMAT => Ok(()),
        other => Err(format.error(format!("model file format {other} is not supported, only format {FORMAT} is"))),
    }
}

/// A constraint on a number: its description and its check.
type NumberRule = (&'static str, fn(f64) -> bool);

const FINITE: NumberRule = ("a finite number", f64::is_finite);
const FROM_ZERO: NumberRule = ("a finite number, from 0 on", |value| value.is_finite() && value >= 0.0);
const POSITIVE: NumberRule = ("a finite number above 0", |value| value.is_finite() && value > 0.0);

fn checked_number(value: &TomlValue, what: &str, (must, is): NumberRule) -> Result<f64, ModelFileError> {
    match value.number()? {
        number if is(number) => Ok(number),
        number => Err(value.error(format!("{what} must be {must}, not {number}"))),
    }
}

/// Numbers by name.
fn parse_numbers(value: Option<TomlValue>, table: &str, what: &str, must: NumberRule) -> Result<BTreeMap<String, f64>, ModelFileError> {
    let Some(value) = value else { return Ok(BTreeMap::new()) };
    let all = value.table(table)?.take_all();
    all.iter().map(|value| Ok((value.key().to_owned(), checked_number(value, what, must)?))).collect()
}

fn parse_list<'a, T>(
    list: Option<TomlValue<'a>>,
    read: impl FnMut(TomlValue<'a>) -> Result<T, ModelFileError>,
) -> Result<Vec<T>, ModelFileError> {
    list.map_or(Ok(Vec::new()), |list| list.list()?.into_iter().map(read).collect())
}

fn parse_machine(value: TomlValue) -> Result<ReferenceMachine, ModelFileError> {
    let mut table = value.table("in [machine]")?;
    let costs = parse_numbers(table.take("costs"), "in [machine.costs]", "a cost", POSITIVE)?;
    let disturbance = table.take("disturbance").map(|value| checked_number(&value, "a disturbance", FROM_ZERO)).transpose()?;
    let ranks_per_core = table.take("ranks_per_core").map(|value| checked_number(&value, "a number of ranks", POSITIVE)).transpose()?;
    let machine = ReferenceMachine {
        name: table.require("name")?.text()?,
        costs,
        disturbance: disturbance.unwrap_or(0.0),
        ranks_per_core: ranks_per_core.unwrap_or(1.0),
    };
    table.finish().map(|()| machine)
}

fn parse_scheduling(value: TomlValue) -> Result<SchedulingTime, ModelFileError> {
    let mut table = value.table("in [scheduling]")?;
    let mut percent = |name: &'static str| checked_number(&table.require(name)?, "a share in percent", FROM_ZERO);
    let time = SchedulingTime { mean_percent: percent("mean_percent")?, spread_percent: percent("spread_percent")? };
    table.finish().map(|()| time)
}

/// A number of things, at least one.
fn parse_count(value: &TomlValue, what: &str) -> Result<u64, ModelFileError> {
    match value.count()? {
        0 => Err(value.error(format!("{what} cannot be 0"))),
        count => Ok(count),
    }
}

fn parse_cache(value: TomlValue) -> Result<CacheLevel, ModelFileError> {
    let mut table = value.table("of a cache")?;
    let slowdown: NumberRule = ("a finite number, from 1 on", |value| value.is_finite() && value >= 1.0);
    let cache = CacheLevel {
        name: table.require("name")?.text()?,
        bytes: parse_count(&table.require("bytes")?, "the size of a cache")?,
        processors: parse_count(&table.require("processors")?, "the number of processors that share a cache")? as usize,
        slowdown: table.take("slowdown").map(|value| checked_number(&value, "the slowdown beyond a cache", slowdown)).transpose()?,
    };
    table.finish().map(|()| cache)
}

fn parse_validation(value: TomlValue) -> Result<HoldOutValidation, ModelFileError> {
    let mut table = value.table("in [validation]")?;
    let error = |value: &TomlValue| checked_number(value, "an error in percent", FROM_ZERO);
    let from_one: NumberRule = ("a finite number, from 1 on", |value| value.is_finite() && value >= 1.0);
    let mut widening =
        |name: &'static str| table.take(name).map_or(Ok(1.0), |value| checked_number(&value, "the widening of intervals", from_one));
    let (parts_widening, whole_widening) = (widening("parts_widening")?, widening("whole_widening")?);
    let validation = HoldOutValidation {
        parts_widening,
        whole_widening,
        parts_error_percent: table.take("parts_error_percent").as_ref().map(error).transpose()?,
        whole_error_percent: error(&table.require("whole_error_percent")?)?,
        runs: table.require("runs")?.count()? as usize,
    };
    table.finish().map(|()| validation)
}

fn parse_parameters(list: Option<TomlValue>) -> Result<Vec<MeasuredParameter>, ModelFileError> {
    let mut parameters: Vec<MeasuredParameter> = Vec::new();
    for value in parse_list(list, Ok)? {
        let mut table = value.table("in [[parameter]]")?;
        let name = table.require("name")?.text()?;
        let (from, to) = (table.require("from")?.number()?, table.require("to")?.number()?);
        let kind = table.take("kind").map_or(Ok(QuantityKind::Unknown), |kind| kind.word(&QuantityKind::ALL))?;
        table.finish()?;
        if parameters.iter().any(|other| other.name == name) {
            return Err(value.error(format!("duplicate parameter {name}")));
        }
        if !(from > 0.0 && from <= to && to.is_finite()) {
            let what = format!("{name} cannot range from {from} to {to}: both must be positive, and `from` must not exceed `to`");
            return Err(value.error(what));
        }
        parameters.push(MeasuredParameter { name, from, to, kind });
    }
    Ok(parameters)
}

fn parse_points(value: Option<TomlValue>, parameters: usize) -> Result<Vec<MeasuredSetting>, ModelFileError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let mut table = value.table("in [measured]")?;
    let points = parse_list(Some(table.require("points")?), |point| {
        let mut at = point.list()?.iter().map(TomlValue::number).collect::<Result<Vec<_>, _>>()?;
        if at.len() != parameters + 1 || at.iter().any(|number| !number.is_finite()) {
            return Err(point.error(format!("a point needs {parameters} parameter values and one measured value, all finite")));
        }
        let value = at.pop().unwrap_or_default();
        Ok(MeasuredSetting { at, value })
    })?;
    table.finish().map(|()| points)
}

/// The alternative formulas behind the intervals, as texts.
#[derive(Default)]
struct Alternatives<'a> {
    whole: Option<TomlValue<'a>>,
    parts: Vec<TomlValue<'a>>,
    limits: Vec<TomlValue<'a>>,
    memory: Option<TomlValue<'a>>,
}

impl<'a> Alternatives<'a> {
    fn parse(value: Option<TomlValue<'a>>) -> Result<Alternatives<'a>, ModelFileError> {
        let Some(value) = value else { return Ok(Alternatives::default()) };
        let mut table = value.table("in [possible]")?;
        let (whole, memory) = (table.take("whole"), table.take("memory"));
        let (parts, limits) = (parse_list(table.take("parts"), Ok)?, parse_list(table.take("limits"), Ok)?);
        table.finish().map(|()| Alternatives { whole, parts, limits, memory })
    }
}

/// Reads terms with their alternative formulas, if there are any.
fn with_alternatives<'a, T>(
    list: Option<TomlValue<'a>>,
    possible: &[TomlValue<'a>],
    read: impl Fn(TomlValue<'a>, Option<TomlValue<'a>>) -> Result<T, ModelFileError>,
) -> Result<Vec<T>, ModelFileError> {
    let terms = parse_list(list, Ok)?;
    // If terms were added or removed by hand, the alternatives can no longer be assigned.
    let possible = if possible.len() == terms.len() { possible } else { &[] };
    terms.into_iter().enumerate().map(|(index, term)| read(term, possible.get(index).copied())).collect()
}

/// The parameters that formulas may depend on.
struct FormulaReader<'a> {
    parameter_names: Vec<String>,
    fixed: &'a BTreeMap<String, f64>,
}

impl FormulaReader<'_> {
    fn part(&self, value: TomlValue, possible: Option<TomlValue>) -> Result<ModelPart, ModelFileError> {
        let mut table = value.table("in [[part]]")?;
        let part = ModelPart {
            name: table.require("name")?.text()?,
            kind: table.require("kind")?.word(&PART_KINDS)?,
            share: table.take("share").map_or(Ok(0.0), |share| checked_number(&share, "a share", FROM_ZERO))?,
            term: self.term(&mut table, possible)?,
            calls: table.take("calls").map(|calls| self.calls(calls)).transpose()?,
            reference_cost: table.take("machine_seconds").map(|cost| self.formula(&cost)).transpose()?,
        };
        table.finish().map(|()| part)
    }

    fn calls(&self, value: TomlValue) -> Result<CallFormulas, ModelFileError> {
        let mut table = value.table("in `calls`")?;
        let calls = CallFormulas {
            operation: table.require("operation")?.text()?,
            count: self.formula(&table.require("count")?)?,
            bytes: self.formula(&table.require("bytes")?)?,
            idle_ranks: table.take("idle_ranks").map_or(Ok(0), |ranks| ranks.count())? as usize,
        };
        table.finish().map(|()| calls)
    }

    fn limit(&self, value: TomlValue, possible: Option<TomlValue>) -> Result<RoleLimit, ModelFileError> {
        let mut table = value.table("in [[limit]]")?;
        let limit = RoleLimit { role: table.require("role")?.text()?, term: self.term(&mut table, possible)? };
        table.finish().map(|()| limit)
    }

    /// The memory of a rank, and the caches of a host.
    fn working_set(&self, value: TomlValue, possible: Option<TomlValue>) -> Result<WorkingSet, ModelFileError> {
        let mut table = value.table("in [memory]")?;
        let term = self.term(&mut table, possible)?;
        let hosts = parse_count(&table.require("hosts")?, "the number of hosts")? as usize;
        let processors = parse_count(&table.require("processors")?, "the number of processors of a host")? as usize;
        let caches = parse_list(table.take("caches"), parse_cache)?;
        table.finish().map(|()| WorkingSet { term, hosts, host: CacheHierarchy { processors, caches }, other_host: None })
    }

    /// The formula of the total: in a table of its own, or in [model] if there is nothing else.
    fn whole(
        &self,
        whole: Option<TomlValue>,
        head: &mut TomlTable,
        has_parts: bool,
        possible: Option<TomlValue>,
    ) -> Result<Option<FittedTerm>, ModelFileError> {
        let (formula, error) = (head.take("formula"), head.take("error_percent"));
        if let (None, Some(error)) = (&formula, &error) {
            return Err(error.error("error_percent needs a formula: put it next to one".to_owned()));
        }
        match (whole, formula) {
            (Some(_), Some(second)) => Err(second.error("there are two formulas of the total: remove one, here or in [whole]".to_owned())),
            (None, Some(second)) if has_parts => {
                Err(second.error("the parts define the formula: remove this one, or move it to [whole] and set `uses`".to_owned()))
            }
            (None, Some(formula)) => self.fitted_term(&formula, error, None).map(Some),
            (Some(whole), None) => {
                let mut table = whole.table("in [whole]")?;
                let term = self.term(&mut table, possible)?;
                table.finish().map(|()| Some(term))
            }
            (None, None) => Ok(None),
        }
    }

    /// The formula of a table, with its error.
    fn term(&self, table: &mut TomlTable, possible: Option<TomlValue>) -> Result<FittedTerm, ModelFileError> {
        let (formula, error) = (table.require("formula")?, table.take("error_percent"));
        self.fitted_term(&formula, error, possible)
    }

    fn fitted_term(
        &self,
        formula: &TomlValue,
        error_percent: Option<TomlValue>,
        possible: Option<TomlValue>,
    ) -> Result<FittedTerm, ModelFileError> {
        let formula = self.formula(formula)?;
        let error_percent = error_percent.map(|error| checked_number(&error, "an error in percent", FROM_ZERO)).transpose()?;
        let curve = possible.map(|text| self.curve(&text)).transpose()?.flatten();
        Ok(FittedTerm { curve: curve.filter(|curve| curve.formula() == formula), formula, error_percent, scale: None })
    }

    /// The alternatives of a formula; none in an empty text.
    fn curve(&self, value: &TomlValue) -> Result<Option<FittedCurve>, ModelFileError> {
        let text = value.text()?;
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = |why: String| {
            value.error(format!("these alternative formulas are invalid ({why}); without [possible], error_percent gives the intervals"))
        };
        let curve: FittedCurve = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if curve.is_valid(&self.parameter_names) {
            Ok(Some(curve))
        } else {
            Err(wrong("they are inconsistent with themselves or with the parameters".into()))
        }
    }

    fn formula(&self, value: &TomlValue) -> Result<Formula, ModelFileError> {
        let formula: Formula = value
            .text()?
            .parse()
            .map_err(|error: ParseError| value.error_within(error.offset..error.offset + 1, format!("invalid formula: {}", error.kind)))?;
        match formula.symbols().into_iter().find(|symbol| !self.parameter_names.contains(symbol)) {
            None => Ok(formula),
            Some(symbol) => Err(value.error(self.unknown_symbol(&symbol))),
        }
    }

    fn unknown_symbol(&self, symbol: &str) -> String {
        match self.fixed.get(symbol) {
            Some(value) => {
                format!("the formula depends on {symbol}, which is fixed at {value}: write the number instead, or make it a [[parameter]]")
            }
            None => format!(
                "the formula depends on {symbol}, which is not a [[parameter]]; the parameters are: {}",
                self.parameter_names.join(", ")
            ),
        }
    }
}
