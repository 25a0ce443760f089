//! Formulas of a tunlet file: those of the `formula` crate, over measurements.
//!
//! The `formula` crate knows only symbols. So terms over events, such as `chunk.seconds` or `mean(chunk.seconds)`, are first replaced by
//! symbols; the rest is left to that crate.

use std::collections::HashMap;
use std::ops::Range;

use sintonia_formula::{CompiledFormula, Formula};

use super::error::TunletFileProblem;

/// A series of measured values: index of the measure, index of the value.
pub(crate) type Series = (usize, usize);

/// An input of a formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FormulaInput {
    /// The latest value.
    Latest(Series),
    /// An aggregate over a window.
    Window(WindowAggregate),
    /// Number of events of a measure.
    Count(usize),
    /// A performance function.
    Performance(usize),
    /// An output of the fuzzy rules.
    Fuzzy(usize),
    /// A value of the current event.
    EventValue(usize),
    /// Number of processes of the program.
    Processes,
}

/// An aggregate over the latest periods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowAggregate {
    /// The aggregated series.
    pub series: Series,
    /// Number of periods; none for the default of the file.
    pub periods: Option<usize>,
    /// The aggregate function.
    pub function: AggregateFunction,
    /// The function applied to each rank first, if ranks are distinguished.
    pub per_rank: Option<AggregateFunction>,
}

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    Mean,
    Deviation,
    Max,
    Min,
    Sum,
    Count,
    Latest,
}

impl AggregateFunction {
    const ALL: [(&'static str, AggregateFunction); 7] = [
        ("mean", AggregateFunction::Mean),
        ("deviation", AggregateFunction::Deviation),
        ("max", AggregateFunction::Max),
        ("min", AggregateFunction::Min),
        ("sum", AggregateFunction::Sum),
        ("count", AggregateFunction::Count),
        ("latest", AggregateFunction::Latest),
    ];

    fn from_name(name: &str) -> Option<AggregateFunction> {
        AggregateFunction::ALL.iter().find(|(known, _)| *known == name).map(|(_, how)| *how)
    }

    /// Whether the formula crate has a function of that name.
    fn is_formula_function(self) -> bool {
        matches!(self, AggregateFunction::Max | AggregateFunction::Min | AggregateFunction::Sum)
    }
}

/// Resolves names in a formula.
pub trait NameScope {
    /// The input that a name denotes.
    fn resolve(&self, name: &str) -> Option<FormulaInput>;
    /// All names, for hints.
    fn names(&self) -> Vec<String>;
}

/// A problem with a range of bytes of a text.
#[derive(Debug)]
pub struct LocatedProblem {
    pub bytes: Range<usize>,
    pub problem: Box<TunletFileProblem>,
}

impl LocatedProblem {
    fn new(bytes: Range<usize>, problem: TunletFileProblem) -> LocatedProblem {
        LocatedProblem { bytes, problem: Box::new(problem) }
    }

    /// The same in a text that contains this one at an offset.
    fn shifted(self, offset: usize) -> LocatedProblem {
        LocatedProblem { bytes: self.bytes.start + offset..self.bytes.end + offset, ..self }
    }
}

/// A compiled formula with its inputs.
#[derive(Debug, Clone)]
pub struct MetricFormula {
    formula: CompiledFormula,
    inputs: Vec<FormulaInput>,
}

impl MetricFormula {
    /// Parses the formula of a key.
    pub fn parse(text: &str, key: &str, scope: &dyn NameScope) -> Result<MetricFormula, LocatedProblem> {
        let translated = TranslatedFormula::new(text, key, scope)?;
        let wrong = |at: usize, reason: String| {
            LocatedProblem::new(at..at + 1, TunletFileProblem::Formula { key: key.into(), what: "formula", reason })
        };
        let formula =
            Formula::parse(&translated.text).map_err(|error| wrong(translated.source_offset(error.offset), error.kind.to_string()))?;
        let symbols: Vec<String> = formula.symbols().into_iter().collect();
        let mut inputs = Vec::with_capacity(symbols.len());
        for symbol in &symbols {
            match translated.meanings.get(symbol).copied().or_else(|| scope.resolve(symbol)) {
                Some(input) => inputs.push(input),
                None => return Err(unknown_name(symbol, text, scope)),
            }
        }
        let order: Vec<&str> = symbols.iter().map(String::as_str).collect();
        let formula = formula.compile(&order).map_err(|error| wrong(0, error.to_string()))?;
        Ok(MetricFormula { formula, inputs })
    }

    /// Its inputs.
    pub fn inputs(&self) -> &[FormulaInput] {
        &self.inputs
    }

    /// Its value, if all inputs are known.
    pub fn value(&self, known: &dyn Fn(&FormulaInput) -> Option<f64>) -> Option<f64> {
        let values = self.inputs.iter().map(|input| known(input).filter(|value| value.is_finite())).collect::<Option<Vec<f64>>>()?;
        Some(self.formula.eval(&values)).filter(|value| value.is_finite())
    }
}

fn unknown_name(name: &str, text: &str, scope: &dyn NameScope) -> LocatedProblem {
    let at = text.find(name).unwrap_or(0);
    let names = scope.names();
    let problem = TunletFileProblem::unknown("the name", name, "here", names.iter().map(String::as_str));
    LocatedProblem::new(at..at + name.len().min(text.len() - at).max(1), problem)
}

/// A formula in which terms over events have become symbols.
struct TranslatedFormula {
    text: String,
    /// Offsets of parts in the new text, and in the original.
    moved: Vec<(usize, usize)>,
    meanings: HashMap<String, FormulaInput>,
}

impl TranslatedFormula {
    fn new(text: &str, key: &str, scope: &dyn NameScope) -> Result<TranslatedFormula, LocatedProblem> {
        let mut result = TranslatedFormula { text: String::with_capacity(text.len() + 16), moved: Vec::new(), meanings: HashMap::new() };
        let mut at = 0;
        while let Some(character) = text[at..].chars().next() {
            result.moved.push((result.text.len(), at));
            let reader = WindowParser { text, key, scope };
            if let Some(name) = name_at(text, at) {
                if let Some((window, end)) = reader.parse_window(&name)? {
                    let symbol: String = text[at..end].chars().filter(|character| *character != '`').collect();
                    result.text.extend(["`", &symbol, "`"]);
                    result.meanings.insert(symbol, FormulaInput::Window(window));
                    at = end;
                    continue;
                }
                let quoted = name.is_quoted || name.text.contains('.');
                result.text.extend(if quoted { ["`", name.text, "`"] } else { ["", name.text, ""] });
                at = name.end;
            } else if character.is_ascii_digit() {
                let end = number_end(text, at);
                result.text.push_str(&text[at..end]);
                at = end;
            } else {
                result.text.push(character);
                at += character.len_utf8();
            }
        }
        result.moved.push((result.text.len(), text.len()));
        Ok(result)
    }

    /// The original offset of a byte of the new text.
    fn source_offset(&self, at: usize) -> usize {
        let before = self.moved.partition_point(|(new, _)| *new <= at);
        self.moved.get(before.saturating_sub(1)).map_or(0, |(_, old)| *old)
    }
}

/// A name in a text: words joined by dots, or anything in backquotes.
struct NameToken<'a> {
    text: &'a str,
    begin: usize,
    end: usize,
    is_quoted: bool,
}

fn name_at(text: &str, begin: usize) -> Option<NameToken<'_>> {
    let rest = &text[begin..];
    if let Some(quoted) = rest.strip_prefix('`') {
        let length = quoted.find('`')?;
        return Some(NameToken { text: &quoted[..length], begin, end: begin + length + 2, is_quoted: true });
    }
    let is_begin = |character: char| character.is_alphabetic() || character == '_';
    if !rest.starts_with(is_begin) {
        return None;
    }
    let is_within = |character: char| character.is_alphanumeric() || character == '_';
    let mut length = 0;
    loop {
        length += rest[length..].find(|character| !is_within(character)).unwrap_or(rest.len() - length);
        match rest[length..].strip_prefix('.') {
            Some(after) if after.starts_with(is_begin) => length += 1,
            _ => return Some(NameToken { text: &rest[..length], begin, end: begin + length, is_quoted: false }),
        }
    }
}

/// The end of a number; its exponent is not a name.
fn number_end(text: &str, begin: usize) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(begin);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if bytes.get(end).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        let sign = usize::from(bytes.get(end + 1).is_some_and(|byte| matches!(byte, b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

/// Parses aggregates over windows.
struct WindowParser<'a> {
    text: &'a str,
    key: &'a str,
    scope: &'a dyn NameScope,
}

impl WindowParser<'_> {
    /// A window aggregate that begins with this name, and its end; none if it is a function of the formula crate.
    fn parse_window(&self, name: &NameToken) -> Result<Option<(WindowAggregate, usize)>, LocatedProblem> {
        let Some(how) = AggregateFunction::from_name(name.text).filter(|_| !name.is_quoted) else { return Ok(None) };
        let Some(inside) = self.parse_symbol(name.end, "(") else { return Ok(None) };
        let read = self.parse_arguments(how, inside)?;
        if read.is_none() && !how.is_formula_function() {
            let reason = format!("`{0}` takes a measured value, as in `{0}(point.value)` or `{0}(point.value over 5)`", name.text);
            return Err(self.error(name.begin..name.end, reason));
        }
        Ok(read)
    }

    fn parse_arguments(&self, how: AggregateFunction, at: usize) -> Result<Option<(WindowAggregate, usize)>, LocatedProblem> {
        let Some(first) = name_at(self.text, self.skip_blanks(at)) else { return Ok(None) };
        let inner = AggregateFunction::from_name(first.text).filter(|_| !first.is_quoted).zip(self.parse_symbol(first.end, "("));
        if let Some((of_each, at)) = inner {
            let Some(measured) = name_at(self.text, self.skip_blanks(at)) else { return Ok(None) };
            let (periods, at) = self.parse_over(measured.end)?;
            let Some(end) = self.parse_symbol(at, ")").and_then(|at| self.parse_per_rank(at)).and_then(|at| self.parse_symbol(at, ")"))
            else {
                return Ok(None);
            };
            let of = self.resolve_series(&measured)?;
            return Ok(Some((WindowAggregate { series: of, periods, function: how, per_rank: Some(of_each) }, end)));
        }
        let (periods, at) = self.parse_over(first.end)?;
        let (of_each, at) = self.parse_per_rank(at).map_or((None, at), |at| (Some(AggregateFunction::Latest), at));
        let Some(end) = self.parse_symbol(at, ")") else {
            return if periods.is_some() || of_each.is_some() { Err(self.error(at..at + 1, "a `)` is missing".into())) } else { Ok(None) };
        };
        Ok(Some((WindowAggregate { series: self.resolve_series(&first)?, periods, function: how, per_rank: of_each }, end)))
    }

    fn resolve_series(&self, name: &NameToken) -> Result<Series, LocatedProblem> {
        match self.scope.resolve(name.text) {
            Some(FormulaInput::Latest(series)) => Ok(series),
            Some(_) => Err(self.error(name.begin..name.end, format!("`{}` is not measured, so it has no history", name.text))),
            None => Err(unknown_name(name.text, self.text, self.scope)),
        }
    }

    /// An optional number of periods.
    fn parse_over(&self, at: usize) -> Result<(Option<usize>, usize), LocatedProblem> {
        let Some(begin) = self.parse_keyword(at, "over") else { return Ok((None, at)) };
        let begin = self.skip_blanks(begin);
        let end = number_end(self.text, begin);
        match self.text[begin..end].parse::<usize>() {
            Ok(periods @ 1..=super::MAX_PERIODS) => Ok((Some(periods), end)),
            _ => Err(self.error(
                begin..end.max(begin + 1),
                format!("`over` needs a number of periods, from 1 to {}", crate::tunlet_file::MAX_PERIODS),
            )),
        }
    }

    fn parse_per_rank(&self, at: usize) -> Option<usize> {
        self.parse_keyword(self.parse_keyword(at, "per")?, "rank")
    }

    fn parse_keyword(&self, at: usize, word: &str) -> Option<usize> {
        name_at(self.text, self.skip_blanks(at)).filter(|name| name.text == word && !name.is_quoted).map(|name| name.end)
    }

    fn parse_symbol(&self, at: usize, sign: &str) -> Option<usize> {
        let at = self.skip_blanks(at);
        self.text[at..].starts_with(sign).then_some(at + sign.len())
    }

    fn skip_blanks(&self, at: usize) -> usize {
        at + (self.text[at..].len() - self.text[at..].trim_start().len())
    }

    fn error(&self, at: Range<usize>, reason: String) -> LocatedProblem {
        LocatedProblem::new(at, TunletFileProblem::Formula { key: self.key.into(), what: "formula", reason })
    }
}

/// Comparisons of formulas, combined with `and`, `or` and `not`.
#[derive(Debug, Clone)]
pub(crate) enum TuningCondition {
    All(Vec<TuningCondition>),
    Any(Vec<TuningCondition>),
    Not(Box<TuningCondition>),
    Compare(Box<MetricFormula>, ComparisonOp, Box<MetricFormula>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparisonOp {
    Less,
    AtMost,
    Equal,
    Differs,
    AtLeast,
    Greater,
}

impl ComparisonOp {
    /// Longer symbols first.
    const ALL: [(&'static str, ComparisonOp); 7] = [
        ("<=", ComparisonOp::AtMost),
        (">=", ComparisonOp::AtLeast),
        ("!=", ComparisonOp::Differs),
        ("==", ComparisonOp::Equal),
        ("<", ComparisonOp::Less),
        (">", ComparisonOp::Greater),
        ("=", ComparisonOp::Equal),
    ];

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            ComparisonOp::Less => left < right,
            ComparisonOp::AtMost => left <= right,
            ComparisonOp::Equal => left == right,
            ComparisonOp::Differs => left != right,
            ComparisonOp::AtLeast => left >= right,
            ComparisonOp::Greater => left > right,
        }
    }
}

/// Deepest nesting of conditions.
const MAX_DEPTH: usize = 32;

impl TuningCondition {
    /// Parses the condition of a key.
    pub(crate) fn parse(text: &str, key: &str, scope: &dyn NameScope) -> Result<TuningCondition, LocatedProblem> {
        ConditionParser { text, key, scope }.parse(0..text.len(), 0)
    }

    /// Inputs of its formulas.
    pub(crate) fn inputs(&self) -> Vec<FormulaInput> {
        match self {
            TuningCondition::All(parts) | TuningCondition::Any(parts) => parts.iter().flat_map(TuningCondition::inputs).collect(),
            TuningCondition::Not(part) => part.inputs(),
            TuningCondition::Compare(left, _, right) => [left.inputs(), right.inputs()].concat(),
        }
    }

    /// Whether it holds; none if an input is unknown.
    pub(crate) fn holds(&self, known: &dyn Fn(&FormulaInput) -> Option<f64>) -> Option<bool> {
        match self {
            TuningCondition::All(parts) => parts.iter().try_fold(true, |all, part| Some(all && part.holds(known)?)),
            TuningCondition::Any(parts) => parts.iter().try_fold(false, |any, part| Some(any || part.holds(known)?)),
            TuningCondition::Not(part) => part.holds(known).map(|holds| !holds),
            TuningCondition::Compare(left, how, right) => Some(how.holds(left.value(known)?, right.value(known)?)),
        }
    }
}

struct ConditionParser<'a> {
    text: &'a str,
    key: &'a str,
    scope: &'a dyn NameScope,
}

impl ConditionParser<'_> {
    fn parse(&self, range: Range<usize>, depth: usize) -> Result<TuningCondition, LocatedProblem> {
        let range = self.trimmed(range);
        if depth > MAX_DEPTH {
            return Err(self.error(range, "conditions are nested too deeply"));
        }
        let outside = top_level_tokens(&self.text[range.clone()], range.start);
        for (word, join) in [("or", TuningCondition::Any as fn(Vec<TuningCondition>) -> TuningCondition), ("and", TuningCondition::All)] {
            let joints: Vec<&Range<usize>> = outside.iter().filter(|part| &self.text[(*part).clone()] == word).collect();
            if !joints.is_empty() {
                let begins = [range.start].into_iter().chain(joints.iter().map(|joint| joint.end));
                let ends = joints.iter().map(|joint| joint.start).chain([range.end]);
                return begins.zip(ends).map(|(begin, end)| self.parse(begin..end, depth + 1)).collect::<Result<_, _>>().map(join);
            }
        }
        if let Some(not) = outside.first().filter(|part| part.start == range.start && &self.text[(*part).clone()] == "not") {
            return Ok(TuningCondition::Not(Box::new(self.parse(not.end..range.end, depth + 1)?)));
        }
        let signs: Vec<(&Range<usize>, ComparisonOp)> = outside.iter().filter_map(|part| self.parse_comparison(part)).collect();
        match signs[..] {
            [(sign, how)] => {
                Ok(TuningCondition::Compare(self.parse_formula(range.start..sign.start)?, how, self.parse_formula(sign.end..range.end)?))
            }
            [] if self.text[range.clone()].starts_with('(') && self.text[range.clone()].ends_with(')') && range.len() > 2 => {
                self.parse(range.start + 1..range.end - 1, depth + 1)
            }
            [] => Err(self.error(range, "it has no comparison: <, <=, =, !=, >= or >")),
            [_, (second, _), ..] => Err(self.error(second.clone(), "chained comparison; combine comparisons with `and`")),
        }
    }

    fn parse_comparison<'r>(&self, part: &'r Range<usize>) -> Option<(&'r Range<usize>, ComparisonOp)> {
        ComparisonOp::ALL.iter().find(|(sign, _)| *sign == &self.text[part.clone()]).map(|(_, how)| (part, *how))
    }

    fn parse_formula(&self, range: Range<usize>) -> Result<Box<MetricFormula>, LocatedProblem> {
        let formula = MetricFormula::parse(&self.text[range.clone()], self.key, self.scope);
        formula.map(Box::new).map_err(|fault| fault.shifted(range.start))
    }

    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let text = &self.text[range.clone()];
        let begin = range.start + (text.len() - text.trim_start().len());
        begin..begin + text.trim().len()
    }

    fn error(&self, at: Range<usize>, reason: &str) -> LocatedProblem {
        LocatedProblem::new(at, TunletFileProblem::Formula { key: self.key.into(), what: "condition", reason: reason.into() })
    }
}

/// Words and comparison symbols outside parentheses.
fn top_level_tokens(text: &str, offset: usize) -> Vec<Range<usize>> {
    let (mut parts, mut depth, mut at) = (Vec::new(), 0usize, 0);
    while let Some(character) = text[at..].chars().next() {
        let length = if let Some(name) = name_at(text, at) {
            if depth == 0 && !name.is_quoted {
                parts.push(offset + at..offset + name.end);
            }
            name.end - at
        } else if let Some((sign, _)) = ComparisonOp::ALL.iter().find(|(sign, _)| text[at..].starts_with(sign)) {
            if depth == 0 {
                parts.push(offset + at..offset + at + sign.len());
            }
            sign.len()
        } else {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            character.len_utf8()
        };
        at += length;
    }
    parts
}

/// A text with formulas in braces: `a task takes {1000*mean(chunk.task):.2} ms`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReasonTemplate(Vec<TemplatePart>);

#[derive(Debug, Clone)]
enum TemplatePart {
    Text(String),
    Value(Box<MetricFormula>, Option<usize>),
}

impl ReasonTemplate {
    /// Parses the text of a key.
    pub(crate) fn parse(text: &str, key: &str, scope: &dyn NameScope) -> Result<ReasonTemplate, LocatedProblem> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while let Some(brace) = text[at..].find('{').map(|found| at + found) {
            pieces.push(TemplatePart::Text(text[at..brace].into()));
            let Some(end) = text[brace..].find('}').map(|found| brace + found) else {
                let problem =
                    TunletFileProblem::Formula { key: key.into(), what: "text with formulas in braces", reason: "a `}` is missing".into() };
                return Err(LocatedProblem::new(brace..brace + 1, problem));
            };
            let inside = &text[brace + 1..end];
            let (formula, digits) = match inside.rsplit_once(":.") {
                Some((formula, digits)) if digits.trim().parse::<usize>().is_ok_and(|digits| digits <= 15) => {
                    (formula, digits.trim().parse().ok())
                }
                _ => (inside, None),
            };
            let formula = MetricFormula::parse(formula, key, scope).map_err(|fault| fault.shifted(brace + 1))?;
            pieces.push(TemplatePart::Value(Box::new(formula), digits));
            at = end + 1;
        }
        pieces.push(TemplatePart::Text(text[at..].into()));
        Ok(ReasonTemplate(pieces))
    }

    /// Inputs of its formulas.
    pub(crate) fn inputs(&self) -> Vec<FormulaInput> {
        let part_inputs = |piece: &TemplatePart| match piece {
            TemplatePart::Text(_) => Vec::new(),
            TemplatePart::Value(formula, _) => formula.inputs().to_vec(),
        };
        self.0.iter().flat_map(part_inputs).collect()
    }

    /// The text with values in place of formulas.
    pub(crate) fn render(&self, known: &dyn Fn(&FormulaInput) -> Option<f64>) -> String {
        let piece = |piece: &TemplatePart| match piece {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Value(formula, digits) => match (formula.value(known), digits) {
                (None, _) => "unknown".into(),
                (Some(value), Some(digits)) => format!("{value:.digits$}"),
                (Some(value), None) => format_short(value),
            },
        };
        self.0.iter().map(piece).collect()
    }
}

/// Formats four significant digits.
pub(crate) fn format_short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - magnitude).max(0.0) as usize;
    format!("{value:.digits$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measure `chunk` with `seconds` and `size`, and a performance function `load`.
    struct Names;

    impl NameScope for Names {
        fn resolve(&self, name: &str) -> Option<FormulaInput> {
            match name {
                "chunk.seconds" => Some(FormulaInput::Latest((0, 0))),
                "chunk.size" => Some(FormulaInput::Latest((0, 1))),
                "chunk.count" => Some(FormulaInput::Count(0)),
                "load" => Some(FormulaInput::Performance(0)),
                _ => None,
            }
        }

        fn names(&self) -> Vec<String> {
            ["chunk.seconds", "chunk.size", "chunk.count", "load"].map(String::from).to_vec()
        }
    }

    fn known(input: &FormulaInput) -> Option<f64> {
        match input {
            FormulaInput::Latest((0, value)) => Some([2.0, 10.0][*value]),
            FormulaInput::Window(WindowAggregate { function: AggregateFunction::Mean, periods: None, per_rank: None, .. }) => Some(3.0),
            FormulaInput::Window(WindowAggregate { function: AggregateFunction::Max, periods: Some(5), per_rank: None, .. }) => Some(8.0),
            FormulaInput::Window(WindowAggregate { function: AggregateFunction::Max, per_rank: Some(AggregateFunction::Sum), .. }) => {
                Some(100.0)
            }
            FormulaInput::Window(WindowAggregate {
                function: AggregateFunction::Min, per_rank: Some(AggregateFunction::Latest), ..
            }) => Some(0.25),
            FormulaInput::Count(0) => Some(7.0),
            _ => None,
        }
    }

    fn value(text: &str) -> Option<f64> {
        MetricFormula::parse(text, "value", &Names).unwrap_or_else(|fault| panic!("{text}: {}", fault.problem)).value(&known)
    }

    fn fault(text: &str) -> (Range<usize>, String) {
        let fault = MetricFormula::parse(text, "value", &Names).err().unwrap_or_else(|| panic!("{text} is a formula"));
        (fault.bytes, fault.problem.to_string())
    }

    #[test]
    fn formulas_use_latest_values_and_windows() {
        assert_eq!(value("chunk.seconds / chunk.size"), Some(0.2));
        assert_eq!(value("2*mean(chunk.seconds) + `chunk.size`"), Some(16.0));
        assert_eq!(value("max(chunk.seconds over 5) - 1e1*0"), Some(8.0));
        assert_eq!(value("max(sum(chunk.seconds) per rank)/mean(chunk.seconds)"), Some(100.0 / 3.0));
        assert_eq!(value("min( chunk.seconds per rank )"), Some(0.25));
        assert_eq!(value("chunk.count"), Some(7.0));
    }

    #[test]
    fn formula_functions_of_the_same_name_still_work() {
        assert_eq!(value("max(chunk.seconds, 5)"), Some(5.0));
        assert_eq!(value("max(mean(chunk.seconds), chunk.size)"), Some(10.0));
        assert_eq!(value("sum(i=1..4, i)"), Some(10.0));
    }

    #[test]
    fn unknown_or_undefined_inputs_give_no_value() {
        assert_eq!(value("max(1, load)"), None);
        assert_eq!(value("1/(chunk.seconds - 2)"), None);
    }

    #[test]
    fn a_problem_has_a_range_and_a_hint() {
        let (at, text) = fault("1 + chunk.secnods");
        assert_eq!(at, 4..17);
        assert!(text.contains("did you mean `chunk.seconds`?"), "{text}");
        assert_eq!(fault("mean(chunk.seconds) + )").0.start, 22);
        assert!(fault("mean(load)").1.contains("not measured"));
        assert!(fault("deviation(1 + 2)").1.contains("takes a measured value"));
        assert!(fault("mean(chunk.seconds over x)").1.contains("number of periods"));
        assert!(fault("mean(chunk.sise)").1.contains("did you mean `chunk.size`?"));
    }

    #[test]
    fn conditions_compare_and_combine() {
        let holds = |text: &str| {
            TuningCondition::parse(text, "if", &Names).unwrap_or_else(|fault| panic!("{text}: {}", fault.problem)).holds(&known)
        };
        assert_eq!(holds("chunk.seconds < 3 and chunk.size >= 10"), Some(true));
        assert_eq!(holds("chunk.seconds > 3 or (chunk.size = 10 and not chunk.count != 7)"), Some(true));
        assert_eq!(holds("not ((chunk.size + 1)*2 == 22)"), Some(false));
        assert_eq!(holds("load > 1"), None);
        let fault = |text: &str| TuningCondition::parse(text, "if", &Names).expect_err("no condition").problem.to_string();
        assert!(fault("chunk.size").contains("no comparison"));
        assert!(fault("1 < chunk.size < 4").contains("combine comparisons with `and`"));
        assert!(fault("chunk.size < sise").contains("sise"));
    }

    #[test]
    fn parsing_never_panics() {
        let pieces =
            ["mean(", "chunk.size", " over ", "5", ")", " per rank", "`", "é", "max(", ".", "1e", "(", " and ", "<", "not ", "{", ":.2}"];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..6 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let _ = MetricFormula::parse(&text, "value", &Names);
            let _ = TuningCondition::parse(&text, "if", &Names);
            let _ = ReasonTemplate::parse(&text, "why", &Names);
        }
    }

    #[test]
    fn texts_are_filled_with_values() {
        let text = ReasonTemplate::parse("{chunk.seconds:.2} s for {chunk.size} tasks, load {load}", "why", &Names).expect("a text");
        assert_eq!(text.render(&known), "2.00 s for 10 tasks, load unknown");
        assert!(ReasonTemplate::parse("{load", "why", &Names).is_err());
        assert_eq!(
            (format_short(0.012_345_6), format_short(1234.56), format_short(2.5e-9)),
            ("0.01235".into(), "1235".into(), "2.500e-9".into())
        );
    }
}
