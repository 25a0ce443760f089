//! Formulas of a tunlet's file: those of the `formula` crate, over what was measured.
//!
//! A formula knows symbols, and nothing of events. So what a formula says of events, `chunk.seconds` or `mean(chunk.seconds)`, is found
//! first and made a symbol of its own; the rest is left to the formula.

use std::collections::HashMap;
use std::ops::Range;

use sintonia_formula::{Compiled, Formula};

use super::error::Problem;

/// Where a measured value stands: which measure, and which of its values.
pub type Series = (usize, usize);

/// What a name in a formula stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning {
    /// The latest value.
    Latest(Series),
    /// What the values of a window come to.
    Window(Window),
    /// How often a measure has happened.
    Count(usize),
    /// A performance function.
    Performance(usize),
    /// What fuzzy rules come to.
    Fuzzy(usize),
    /// A value of the event itself.
    Own(usize),
    /// How many processes the program has.
    Processes,
}

/// What the values of the latest periods come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Of which value.
    pub of: Series,
    /// How many periods; those of the file, unless told.
    pub periods: Option<usize>,
    /// What of them.
    pub how: How,
    /// What is taken of each process first, if processes are told apart.
    pub of_each: Option<How>,
}

/// What is taken of many values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Mean,
    Deviation,
    Max,
    Min,
    Sum,
    Count,
    Latest,
}

impl How {
    const ALL: [(&'static str, How); 7] = [
        ("mean", How::Mean),
        ("deviation", How::Deviation),
        ("max", How::Max),
        ("min", How::Min),
        ("sum", How::Sum),
        ("count", How::Count),
        ("latest", How::Latest),
    ];

    fn named(name: &str) -> Option<How> {
        How::ALL.iter().find(|(known, _)| *known == name).map(|(_, how)| *how)
    }

    /// Whether formulas have a function of that name themselves.
    fn is_of_formulas(self) -> bool {
        matches!(self, How::Max | How::Min | How::Sum)
    }
}

/// What names mean where a formula stands.
pub trait Scope {
    /// What a name stands for.
    fn meaning(&self, name: &str) -> Option<Meaning>;
    /// All names, for hints.
    fn names(&self) -> Vec<String>;
}

/// What is wrong with a text, and with which bytes of it.
#[derive(Debug)]
pub struct Fault {
    pub bytes: Range<usize>,
    pub problem: Box<Problem>,
}

impl Fault {
    fn new(bytes: Range<usize>, problem: Problem) -> Fault {
        Fault { bytes, problem: Box::new(problem) }
    }

    /// The same in a text that this one is part of, so many bytes behind its beginning.
    fn behind(self, offset: usize) -> Fault {
        Fault { bytes: self.bytes.start + offset..self.bytes.end + offset, ..self }
    }
}

/// A formula, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Expression {
    formula: Compiled,
    inputs: Vec<Meaning>,
}

impl Expression {
    /// Reads a formula that stands under a key.
    pub fn parse(text: &str, key: &str, scope: &dyn Scope) -> Result<Expression, Fault> {
        let translated = Translation::of(text, key, scope)?;
        let wrong = |at: usize, reason: String| Fault::new(at..at + 1, Problem::Formula { key: key.into(), what: "formula", reason });
        let formula = Formula::parse(&translated.text).map_err(|error| wrong(translated.origin(error.at), error.expected.to_string()))?;
        let symbols: Vec<String> = formula.symbols().into_iter().collect();
        let mut inputs = Vec::with_capacity(symbols.len());
        for symbol in &symbols {
            match translated.meanings.get(symbol).copied().or_else(|| scope.meaning(symbol)) {
                Some(meaning) => inputs.push(meaning),
                None => return Err(unknown(symbol, text, scope)),
            }
        }
        let order: Vec<&str> = symbols.iter().map(String::as_str).collect();
        let formula = formula.compile(&order).map_err(|error| wrong(0, error.to_string()))?;
        Ok(Expression { formula, inputs })
    }

    /// What it depends on.
    pub fn inputs(&self) -> &[Meaning] {
        &self.inputs
    }

    /// Its value, if all that it depends on is known.
    pub fn value(&self, known: &dyn Fn(&Meaning) -> Option<f64>) -> Option<f64> {
        let values = self.inputs.iter().map(|input| known(input).filter(|value| value.is_finite())).collect::<Option<Vec<f64>>>()?;
        Some(self.formula.at(&values)).filter(|value| value.is_finite())
    }
}

fn unknown(name: &str, text: &str, scope: &dyn Scope) -> Fault {
    let at = text.find(name).unwrap_or(0);
    let names = scope.names();
    let problem = Problem::unknown("the name", name, "here", names.iter().map(String::as_str));
    Fault::new(at..at + name.len().min(text.len() - at).max(1), problem)
}

/// A text in which what is said of events has become symbols.
struct Translation {
    text: String,
    /// Where pieces of the new text begin, and where they stood before.
    moved: Vec<(usize, usize)>,
    meanings: HashMap<String, Meaning>,
}

impl Translation {
    fn of(text: &str, key: &str, scope: &dyn Scope) -> Result<Translation, Fault> {
        let mut result = Translation { text: String::with_capacity(text.len() + 16), moved: Vec::new(), meanings: HashMap::new() };
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            result.moved.push((result.text.len(), at));
            let reader = Reader { text, key, scope };
            if let Some(name) = name_at(text, at) {
                if let Some((window, end)) = reader.window(&name)? {
                    let symbol: String = text[at..end].chars().filter(|letter| *letter != '`').collect();
                    result.text.extend(["`", &symbol, "`"]);
                    result.meanings.insert(symbol, Meaning::Window(window));
                    at = end;
                    continue;
                }
                let quoted = name.is_quoted || name.text.contains('.');
                result.text.extend(if quoted { ["`", name.text, "`"] } else { ["", name.text, ""] });
                at = name.end;
            } else if letter.is_ascii_digit() {
                let end = number_end(text, at);
                result.text.push_str(&text[at..end]);
                at = end;
            } else {
                result.text.push(letter);
                at += letter.len_utf8();
            }
        }
        result.moved.push((result.text.len(), text.len()));
        Ok(result)
    }

    /// Where a byte of the new text stood before.
    fn origin(&self, at: usize) -> usize {
        let before = self.moved.partition_point(|(new, _)| *new <= at);
        self.moved.get(before.saturating_sub(1)).map_or(0, |(_, old)| *old)
    }
}

/// A name in a text: words joined by dots, or anything in backquotes.
struct Name<'a> {
    text: &'a str,
    begin: usize,
    end: usize,
    is_quoted: bool,
}

fn name_at(text: &str, begin: usize) -> Option<Name<'_>> {
    let rest = &text[begin..];
    if let Some(quoted) = rest.strip_prefix('`') {
        let length = quoted.find('`')?;
        return Some(Name { text: &quoted[..length], begin, end: begin + length + 2, is_quoted: true });
    }
    let is_begin = |letter: char| letter.is_alphabetic() || letter == '_';
    if !rest.starts_with(is_begin) {
        return None;
    }
    let is_within = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut length = 0;
    loop {
        length += rest[length..].find(|letter| !is_within(letter)).unwrap_or(rest.len() - length);
        match rest[length..].strip_prefix('.') {
            Some(after) if after.starts_with(is_begin) => length += 1,
            _ => return Some(Name { text: &rest[..length], begin, end: begin + length, is_quoted: false }),
        }
    }
}

/// Where a number ends; its exponent is no name.
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

/// Reads what is said of windows.
struct Reader<'a> {
    text: &'a str,
    key: &'a str,
    scope: &'a dyn Scope,
}

impl Reader<'_> {
    /// A window that begins with this name, and where it ends; nothing if it is a matter of formulas.
    fn window(&self, name: &Name) -> Result<Option<(Window, usize)>, Fault> {
        let Some(how) = How::named(name.text).filter(|_| !name.is_quoted) else { return Ok(None) };
        let Some(inside) = self.sign(name.end, "(") else { return Ok(None) };
        let read = self.inside(how, inside)?;
        if read.is_none() && !how.is_of_formulas() {
            let reason = format!("`{0}` takes a measured value, as in `{0}(point.value)` or `{0}(point.value over 5)`", name.text);
            return Err(self.wrong(name.begin..name.end, reason));
        }
        Ok(read)
    }

    fn inside(&self, how: How, at: usize) -> Result<Option<(Window, usize)>, Fault> {
        let Some(first) = name_at(self.text, self.blank(at)) else { return Ok(None) };
        let inner = How::named(first.text).filter(|_| !first.is_quoted).zip(self.sign(first.end, "("));
        if let Some((of_each, at)) = inner {
            let Some(measured) = name_at(self.text, self.blank(at)) else { return Ok(None) };
            let (periods, at) = self.over(measured.end)?;
            let Some(end) = self.sign(at, ")").and_then(|at| self.per_rank(at)).and_then(|at| self.sign(at, ")")) else { return Ok(None) };
            let of = self.measured(&measured)?;
            return Ok(Some((Window { of, periods, how, of_each: Some(of_each) }, end)));
        }
        let (periods, at) = self.over(first.end)?;
        let (of_each, at) = self.per_rank(at).map_or((None, at), |at| (Some(How::Latest), at));
        let Some(end) = self.sign(at, ")") else {
            return if periods.is_some() || of_each.is_some() { Err(self.wrong(at..at + 1, "a `)` is missing".into())) } else { Ok(None) };
        };
        Ok(Some((Window { of: self.measured(&first)?, periods, how, of_each }, end)))
    }

    fn measured(&self, name: &Name) -> Result<Series, Fault> {
        match self.scope.meaning(name.text) {
            Some(Meaning::Latest(series)) => Ok(series),
            Some(_) => Err(self.wrong(name.begin..name.end, format!("`{}` is not measured, so there is no history of it", name.text))),
            None => Err(unknown(name.text, self.text, self.scope)),
        }
    }

    /// How many periods are asked for.
    fn over(&self, at: usize) -> Result<(Option<usize>, usize), Fault> {
        let Some(begin) = self.word(at, "over") else { return Ok((None, at)) };
        let begin = self.blank(begin);
        let end = number_end(self.text, begin);
        match self.text[begin..end].parse::<usize>() {
            Ok(periods @ 1..=super::MOST_PERIODS) => Ok((Some(periods), end)),
            _ => Err(self
                .wrong(begin..end.max(begin + 1), format!("behind `over` stands a number of periods, from 1 to {}", super::MOST_PERIODS))),
        }
    }

    fn per_rank(&self, at: usize) -> Option<usize> {
        self.word(self.word(at, "per")?, "rank")
    }

    fn word(&self, at: usize, word: &str) -> Option<usize> {
        name_at(self.text, self.blank(at)).filter(|name| name.text == word && !name.is_quoted).map(|name| name.end)
    }

    fn sign(&self, at: usize, sign: &str) -> Option<usize> {
        let at = self.blank(at);
        self.text[at..].starts_with(sign).then_some(at + sign.len())
    }

    fn blank(&self, at: usize) -> usize {
        at + (self.text[at..].len() - self.text[at..].trim_start().len())
    }

    fn wrong(&self, at: Range<usize>, reason: String) -> Fault {
        Fault::new(at, Problem::Formula { key: self.key.into(), what: "formula", reason })
    }
}

/// Whether something is so: comparisons of formulas, joined by `and`, `or` and `not`.
#[derive(Debug, Clone)]
pub enum Condition {
    /// All are so.
    All(Vec<Condition>),
    /// One is so.
    Any(Vec<Condition>),
    /// It is not so.
    Not(Box<Condition>),
    /// Two formulas compare in this way.
    Compare(Box<Expression>, Comparison, Box<Expression>),
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Less,
    AtMost,
    Equal,
    Differs,
    AtLeast,
    Greater,
}

impl Comparison {
    /// Longer signs first.
    const ALL: [(&'static str, Comparison); 7] = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("!=", Comparison::Differs),
        ("==", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
    ];

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::AtMost => left <= right,
            Comparison::Equal => left == right,
            Comparison::Differs => left != right,
            Comparison::AtLeast => left >= right,
            Comparison::Greater => left > right,
        }
    }
}

/// How deep conditions may stand inside each other.
const MOST_DEPTH: usize = 32;

impl Condition {
    /// Reads a condition that stands under a key.
    pub fn parse(text: &str, key: &str, scope: &dyn Scope) -> Result<Condition, Fault> {
        Conditions { text, key, scope }.read(0..text.len(), 0)
    }

    /// What it depends on.
    pub fn inputs(&self) -> Vec<Meaning> {
        match self {
            Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(Condition::inputs).collect(),
            Condition::Not(part) => part.inputs(),
            Condition::Compare(left, _, right) => [left.inputs(), right.inputs()].concat(),
        }
    }

    /// Whether it is so; nothing if something that it depends on is not known.
    pub fn holds(&self, known: &dyn Fn(&Meaning) -> Option<f64>) -> Option<bool> {
        match self {
            Condition::All(parts) => parts.iter().try_fold(true, |all, part| Some(all && part.holds(known)?)),
            Condition::Any(parts) => parts.iter().try_fold(false, |any, part| Some(any || part.holds(known)?)),
            Condition::Not(part) => part.holds(known).map(|holds| !holds),
            Condition::Compare(left, how, right) => Some(how.holds(left.value(known)?, right.value(known)?)),
        }
    }
}

struct Conditions<'a> {
    text: &'a str,
    key: &'a str,
    scope: &'a dyn Scope,
}

impl Conditions<'_> {
    fn read(&self, range: Range<usize>, depth: usize) -> Result<Condition, Fault> {
        let range = self.trimmed(range);
        if depth > MOST_DEPTH {
            return Err(self.wrong(range, "conditions stand too deep inside each other"));
        }
        let outside = outermost(&self.text[range.clone()], range.start);
        for (word, join) in [("or", Condition::Any as fn(Vec<Condition>) -> Condition), ("and", Condition::All)] {
            let joints: Vec<&Range<usize>> = outside.iter().filter(|part| &self.text[(*part).clone()] == word).collect();
            if !joints.is_empty() {
                let begins = [range.start].into_iter().chain(joints.iter().map(|joint| joint.end));
                let ends = joints.iter().map(|joint| joint.start).chain([range.end]);
                return begins.zip(ends).map(|(begin, end)| self.read(begin..end, depth + 1)).collect::<Result<_, _>>().map(join);
            }
        }
        if let Some(not) = outside.first().filter(|part| part.start == range.start && &self.text[(*part).clone()] == "not") {
            return Ok(Condition::Not(Box::new(self.read(not.end..range.end, depth + 1)?)));
        }
        let signs: Vec<(&Range<usize>, Comparison)> = outside.iter().filter_map(|part| self.comparison(part)).collect();
        match signs[..] {
            [(sign, how)] => Ok(Condition::Compare(self.formula(range.start..sign.start)?, how, self.formula(sign.end..range.end)?)),
            [] if self.text[range.clone()].starts_with('(') && self.text[range.clone()].ends_with(')') && range.len() > 2 => {
                self.read(range.start + 1..range.end - 1, depth + 1)
            }
            [] => Err(self.wrong(range, "there is no comparison in it: <, <=, =, !=, >= or >")),
            [_, (second, _), ..] => Err(self.wrong(second.clone(), "one comparison at a time; join them by `and`")),
        }
    }

    fn comparison<'r>(&self, part: &'r Range<usize>) -> Option<(&'r Range<usize>, Comparison)> {
        Comparison::ALL.iter().find(|(sign, _)| *sign == &self.text[part.clone()]).map(|(_, how)| (part, *how))
    }

    fn formula(&self, range: Range<usize>) -> Result<Box<Expression>, Fault> {
        let formula = Expression::parse(&self.text[range.clone()], self.key, self.scope);
        formula.map(Box::new).map_err(|fault| fault.behind(range.start))
    }

    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let text = &self.text[range.clone()];
        let begin = range.start + (text.len() - text.trim_start().len());
        begin..begin + text.trim().len()
    }

    fn wrong(&self, at: Range<usize>, reason: &str) -> Fault {
        Fault::new(at, Problem::Formula { key: self.key.into(), what: "condition", reason: reason.into() })
    }
}

/// Words and signs of comparison that stand in no parentheses.
fn outermost(text: &str, offset: usize) -> Vec<Range<usize>> {
    let (mut parts, mut depth, mut at) = (Vec::new(), 0usize, 0);
    while let Some(letter) = text[at..].chars().next() {
        let length = if let Some(name) = name_at(text, at) {
            if depth == 0 && !name.is_quoted {
                parts.push(offset + at..offset + name.end);
            }
            name.end - at
        } else if let Some((sign, _)) = Comparison::ALL.iter().find(|(sign, _)| text[at..].starts_with(sign)) {
            if depth == 0 {
                parts.push(offset + at..offset + at + sign.len());
            }
            sign.len()
        } else {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter.len_utf8()
        };
        at += length;
    }
    parts
}

/// A text with formulas in braces: `a task takes {1000*mean(chunk.task):.2} ms`.
#[derive(Debug, Clone, Default)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Value(Box<Expression>, Option<usize>),
}

impl Template {
    /// Reads a text that stands under a key.
    pub fn parse(text: &str, key: &str, scope: &dyn Scope) -> Result<Template, Fault> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        while let Some(brace) = text[at..].find('{').map(|found| at + found) {
            pieces.push(Piece::Text(text[at..brace].into()));
            let Some(end) = text[brace..].find('}').map(|found| brace + found) else {
                let problem = Problem::Formula { key: key.into(), what: "text with formulas in braces", reason: "a `}` is missing".into() };
                return Err(Fault::new(brace..brace + 1, problem));
            };
            let inside = &text[brace + 1..end];
            let (formula, digits) = match inside.rsplit_once(":.") {
                Some((formula, digits)) if digits.trim().parse::<usize>().is_ok_and(|digits| digits <= 15) => {
                    (formula, digits.trim().parse().ok())
                }
                _ => (inside, None),
            };
            let formula = Expression::parse(formula, key, scope).map_err(|fault| fault.behind(brace + 1))?;
            pieces.push(Piece::Value(Box::new(formula), digits));
            at = end + 1;
        }
        pieces.push(Piece::Text(text[at..].into()));
        Ok(Template(pieces))
    }

    /// What its formulas depend on.
    pub fn inputs(&self) -> Vec<Meaning> {
        let of = |piece: &Piece| match piece {
            Piece::Text(_) => Vec::new(),
            Piece::Value(formula, _) => formula.inputs().to_vec(),
        };
        self.0.iter().flat_map(of).collect()
    }

    /// The text, with values in place of formulas.
    pub fn filled(&self, known: &dyn Fn(&Meaning) -> Option<f64>) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(formula, digits) => match (formula.value(known), digits) {
                (None, _) => "unknown".into(),
                (Some(value), Some(digits)) => format!("{value:.digits$}"),
                (Some(value), None) => short(value),
            },
        };
        self.0.iter().map(piece).collect()
    }
}

/// A number with four digits that count.
pub fn short(value: f64) -> String {
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

    /// A point `chunk` with `seconds` and `size`, of which a performance function `load` is made.
    struct Names;

    impl Scope for Names {
        fn meaning(&self, name: &str) -> Option<Meaning> {
            match name {
                "chunk.seconds" => Some(Meaning::Latest((0, 0))),
                "chunk.size" => Some(Meaning::Latest((0, 1))),
                "chunk.count" => Some(Meaning::Count(0)),
                "load" => Some(Meaning::Performance(0)),
                _ => None,
            }
        }

        fn names(&self) -> Vec<String> {
            ["chunk.seconds", "chunk.size", "chunk.count", "load"].map(String::from).to_vec()
        }
    }

    fn known(meaning: &Meaning) -> Option<f64> {
        match meaning {
            Meaning::Latest((0, value)) => Some([2.0, 10.0][*value]),
            Meaning::Window(Window { how: How::Mean, periods: None, of_each: None, .. }) => Some(3.0),
            Meaning::Window(Window { how: How::Max, periods: Some(5), of_each: None, .. }) => Some(8.0),
            Meaning::Window(Window { how: How::Max, of_each: Some(How::Sum), .. }) => Some(100.0),
            Meaning::Window(Window { how: How::Min, of_each: Some(How::Latest), .. }) => Some(0.25),
            Meaning::Count(0) => Some(7.0),
            _ => None,
        }
    }

    fn value(text: &str) -> Option<f64> {
        Expression::parse(text, "value", &Names).unwrap_or_else(|fault| panic!("{text}: {}", fault.problem)).value(&known)
    }

    fn fault(text: &str) -> (Range<usize>, String) {
        let fault = Expression::parse(text, "value", &Names).err().unwrap_or_else(|| panic!("{text} is a formula"));
        (fault.bytes, fault.problem.to_string())
    }

    #[test]
    fn formulas_speak_of_latest_values_and_of_windows() {
        assert_eq!(value("chunk.seconds / chunk.size"), Some(0.2));
        assert_eq!(value("2*mean(chunk.seconds) + `chunk.size`"), Some(16.0));
        assert_eq!(value("max(chunk.seconds over 5) - 1e1*0"), Some(8.0));
        assert_eq!(value("max(sum(chunk.seconds) per rank)/mean(chunk.seconds)"), Some(100.0 / 3.0));
        assert_eq!(value("min( chunk.seconds per rank )"), Some(0.25));
        assert_eq!(value("chunk.count"), Some(7.0));
    }

    #[test]
    fn the_functions_of_formulas_with_the_same_names_stay_what_they_are() {
        assert_eq!(value("max(chunk.seconds, 5)"), Some(5.0));
        assert_eq!(value("max(mean(chunk.seconds), chunk.size)"), Some(10.0));
        assert_eq!(value("sum(i=1..4, i)"), Some(10.0));
    }

    #[test]
    fn what_is_not_known_yet_or_undefined_has_no_value() {
        assert_eq!(value("max(1, load)"), None);
        assert_eq!(value("1/(chunk.seconds - 2)"), None);
    }

    #[test]
    fn a_fault_says_which_bytes_and_what_was_meant() {
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
    fn conditions_compare_and_join() {
        let holds =
            |text: &str| Condition::parse(text, "if", &Names).unwrap_or_else(|fault| panic!("{text}: {}", fault.problem)).holds(&known);
        assert_eq!(holds("chunk.seconds < 3 and chunk.size >= 10"), Some(true));
        assert_eq!(holds("chunk.seconds > 3 or (chunk.size = 10 and not chunk.count != 7)"), Some(true));
        assert_eq!(holds("not ((chunk.size + 1)*2 == 22)"), Some(false));
        assert_eq!(holds("load > 1"), None);
        let fault = |text: &str| Condition::parse(text, "if", &Names).expect_err("no condition").problem.to_string();
        assert!(fault("chunk.size").contains("no comparison"));
        assert!(fault("1 < chunk.size < 4").contains("join them by `and`"));
        assert!(fault("chunk.size < sise").contains("sise"));
    }

    #[test]
    fn any_text_is_a_formula_or_a_fault_and_never_a_panic() {
        let pieces =
            ["mean(", "chunk.size", " over ", "5", ")", " per rank", "`", "é", "max(", ".", "1e", "(", " and ", "<", "not ", "{", ":.2}"];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..6 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let _ = Expression::parse(&text, "value", &Names);
            let _ = Condition::parse(&text, "if", &Names);
            let _ = Template::parse(&text, "why", &Names);
        }
    }

    #[test]
    fn texts_are_filled_with_values() {
        let text = Template::parse("{chunk.seconds:.2} s for {chunk.size} tasks, load {load}", "why", &Names).expect("a text");
        assert_eq!(text.filled(&known), "2.00 s for 10 tasks, load unknown");
        assert!(Template::parse("{load", "why", &Names).is_err());
        assert_eq!((short(0.012_345_6), short(1234.56), short(2.5e-9)), ("0.01235".into(), "1235".into(), "2.500e-9".into()));
    }
}
