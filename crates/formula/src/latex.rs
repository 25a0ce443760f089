//! Formulas as LaTeX, for math mode.

use crate::atom::{Extremum, FoldOp};
use crate::display::{DisplayExpr, DisplayFold, MathFunction, to_display};
use crate::formula::Formula;
use crate::rational::Rational;

impl Formula {
    /// The formula in LaTeX, without math delimiters.
    pub fn latex(&self) -> String {
        sum_level(&to_display(self, None))
    }

    /// The formula in LaTeX with `digits` significant digits, as `{:.4}` does for text.
    pub fn latex_with_digits(&self, digits: usize) -> String {
        sum_level(&to_display(self, Some(digits)))
    }
}

/// A formula in a context that needs no parentheses.
fn sum_level(expr: &DisplayExpr) -> String {
    match expr {
        DisplayExpr::Number(value) => number(value),
        DisplayExpr::Interval(low, high) => format!("\\left[{}, {}\\right]", number(low), number(high)),
        DisplayExpr::Symbol(name) => symbol(name),
        DisplayExpr::Power(base, exponent) if is_half(exponent) => root(base),
        DisplayExpr::Power(base, exponent) => format!("{}^{{{}}}", base_level(base), sum_level(exponent)),
        DisplayExpr::Function(call, entries) => function_call(*call, entries),
        DisplayExpr::Product { numerator, denominator } if denominator.is_empty() => product(numerator),
        DisplayExpr::Product { numerator, denominator } => {
            format!("\\frac{{{}}}{{{}}}", single_or_product(numerator), single_or_product(denominator))
        }
        DisplayExpr::Sum(terms) => {
            let mut text = String::new();
            for (index, term) in terms.iter().enumerate() {
                text.push_str(match (index, term.negative) {
                    (0, false) => "",
                    (0, true) => "-",
                    (_, false) => " + ",
                    (_, true) => " - ",
                });
                text.push_str(&factor_level(&term.expr));
            }
            text
        }
        DisplayExpr::Fold(range) => fold(range),
        DisplayExpr::Piecewise(variable, pieces) => {
            let variable = sum_level(variable);
            let row = |(bound, formula): &(Option<DisplayExpr>, DisplayExpr)| match bound {
                Some(bound) => format!("{} & {variable} \\le {}", sum_level(formula), sum_level(bound)),
                None => format!("{} & \\text{{beyond}}", sum_level(formula)),
            };
            format!("\\begin{{cases}} {} \\end{{cases}}", pieces.iter().map(row).collect::<Vec<_>>().join(" \\\\ "))
        }
    }
}

fn is_half(exponent: &DisplayExpr) -> bool {
    matches!(exponent, DisplayExpr::Product { numerator, denominator } if matches!((numerator.as_slice(), denominator.as_slice()),
        ([DisplayExpr::Number(above)], [DisplayExpr::Number(below)]) if above.is_one() && *below == Rational::from(2)))
}

fn root(base: &DisplayExpr) -> String {
    format!("\\sqrt{{{}}}", sum_level(base))
}

fn single_or_product(list: &[DisplayExpr]) -> String {
    match list {
        [only] => sum_level(only),
        several => product(several),
    }
}

fn product(list: &[DisplayExpr]) -> String {
    let mut text = String::new();
    for (index, expr) in list.iter().enumerate() {
        if index > 0 {
            // Digits after digits would read as one number.
            let digit = matches!(expr, DisplayExpr::Number(_))
                || matches!(expr, DisplayExpr::Power(base, _) if matches!(**base, DisplayExpr::Number(_)));
            text.push_str(if digit { " \\cdot " } else { "\\," });
        }
        text.push_str(&factor_level(expr));
    }
    text
}

/// A formula as a factor: sums and folds, which extend to the right, are parenthesized.
fn factor_level(expr: &DisplayExpr) -> String {
    match expr {
        DisplayExpr::Sum(_) | DisplayExpr::Fold(_) => parenthesized(expr),
        _ => sum_level(expr),
    }
}

/// A formula as the base of a power.
fn base_level(expr: &DisplayExpr) -> String {
    match expr {
        DisplayExpr::Symbol(_) | DisplayExpr::Interval(..) => sum_level(expr),
        DisplayExpr::Number(value) if value.is_integer() => sum_level(expr),
        _ => parenthesized(expr),
    }
}

fn parenthesized(expr: &DisplayExpr) -> String {
    format!("\\left({}\\right)", sum_level(expr))
}

fn function_call(call: MathFunction, entries: &[DisplayExpr]) -> String {
    let list = entries.iter().map(sum_level).collect::<Vec<_>>().join(", ");
    match call {
        MathFunction::Sqrt => format!("\\sqrt{{{list}}}"),
        MathFunction::Log2 => format!("\\log_2\\left({list}\\right)"),
        MathFunction::Ln => format!("\\ln\\left({list}\\right)"),
        MathFunction::Ceil => format!("\\left\\lceil {list} \\right\\rceil"),
        MathFunction::Floor => format!("\\left\\lfloor {list} \\right\\rfloor"),
        MathFunction::Max => format!("\\max\\left({list}\\right)"),
        MathFunction::Min => format!("\\min\\left({list}\\right)"),
    }
}

fn fold(range: &DisplayFold) -> String {
    let name = match range.op {
        FoldOp::Sum => "\\sum",
        FoldOp::Extremum(Extremum::Max) => "\\max",
        FoldOp::Extremum(Extremum::Min) => "\\min",
    };
    let (index, from, to, body) = (symbol(&range.index), sum_level(&range.from), sum_level(&range.to), factor_level(&range.body));
    match range.op {
        FoldOp::Sum => format!("{name}_{{{index}={from}}}^{{{to}}} {body}"),
        FoldOp::Extremum(_) => format!("{name}_{{{index}={from} \\ldots {to}}} {body}"),
    }
}

/// A number; with a power of ten in scientific notation.
fn number(value: &Rational) -> String {
    let text = value.to_string();
    if let Some((digits, power)) = text.split_once('e') {
        return if digits == "1" { format!("10^{{{power}}}") } else { format!("{digits} \\cdot 10^{{{power}}}") };
    }
    match text.split_once('/') {
        Some((numerator, denominator)) => format!("\\frac{{{numerator}}}{{{denominator}}}"),
        None => text,
    }
}

/// A symbol: single letters in italics, a subscript after an underscore, longer names upright.
fn symbol(name: &str) -> String {
    let upright = |part: &str| {
        let safe: String = part.chars().flat_map(escaped).collect();
        if part.chars().count() == 1 { safe } else { format!("\\mathrm{{{safe}}}") }
    };
    match name.split_once('_') {
        Some((base, below)) if !base.is_empty() && !below.is_empty() => format!("{}_{{{}}}", upright(base), upright(below)),
        _ => upright(name),
    }
}

fn escaped(letter: char) -> Vec<char> {
    match letter {
        '\\' => "\\backslash{}".chars().collect(),
        '{' | '}' | '_' | '$' | '%' | '&' | '#' => vec!['\\', letter],
        '^' => "\\hat{}".chars().collect(),
        '~' => "\\sim{}".chars().collect(),
        ' ' => "\\ ".chars().collect(),
        other => vec![other],
    }
}
