//! The printer of formulas.

use std::fmt::{self, Display, Formatter, Write};

use super::lexer::{FUNCTIONS, is_plain_name};
use crate::atom::{Extremum, FoldOp};
use crate::display::{DisplayExpr, DisplayFold, MathFunction, to_display};
use crate::formula::{Formula, MAX_PRINTED_SIZE};

impl Display for Formula {
    /// With a precision, as in `{:.4}`, fractions get that many significant digits; interval coefficients are rounded outward and integers
    /// are kept. Without one, the output parses back as the same formula.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write_expr(out, &to_display(self, out.precision()), Precedence::Sum)
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.size() > MAX_PRINTED_SIZE { write!(out, "a formula of {} operations", self.size()) } else { Display::fmt(self, out) }
    }
}

/// The precedence of the context; looser expressions are parenthesized.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Sum,
    Product,
    Factor,
    Power,
}

fn write_expr(out: &mut Formatter<'_>, expr: &DisplayExpr, around: Precedence) -> fmt::Result {
    let own = match expr {
        DisplayExpr::Sum(_) => Precedence::Sum,
        DisplayExpr::Product { .. } => Precedence::Product,
        DisplayExpr::Power(..) if around == Precedence::Power => Precedence::Sum,
        _ => Precedence::Power,
    };
    if own < around {
        out.write_char('(')?;
        write_unparenthesized(out, expr)?;
        return out.write_char(')');
    }
    write_unparenthesized(out, expr)
}

fn write_unparenthesized(out: &mut Formatter<'_>, expr: &DisplayExpr) -> fmt::Result {
    match expr {
        DisplayExpr::Number(value) => write!(out, "{value}"),
        DisplayExpr::Interval(low, high) => write!(out, "[{low}, {high}]"),
        DisplayExpr::Symbol(name) => write_name(out, name),
        DisplayExpr::Power(base, exponent) => {
            write_expr(out, base, Precedence::Power)?;
            out.write_char('^')?;
            write_expr(out, exponent, Precedence::Power)
        }
        DisplayExpr::Function(call, entries) => {
            write!(out, "{}(", function_name(*call))?;
            write_separated(out, entries, ", ", Precedence::Sum)?;
            out.write_char(')')
        }
        DisplayExpr::Product { numerator, denominator } => {
            write_separated(out, numerator, "*", Precedence::Factor)?;
            write_divisors(out, denominator)
        }
        DisplayExpr::Sum(terms) => {
            for (index, term) in terms.iter().enumerate() {
                out.write_str(match (index, term.negative) {
                    (0, false) => "",
                    (0, true) => "-",
                    (_, false) => " + ",
                    (_, true) => " - ",
                })?;
                write_expr(out, &term.expr, Precedence::Product)?;
            }
            Ok(())
        }
        DisplayExpr::Fold(range) => write_fold(out, range),
        DisplayExpr::Piecewise(variable, pieces) => {
            out.write_str("pieces(")?;
            write_expr(out, variable, Precedence::Sum)?;
            for (bound, formula) in pieces {
                match bound {
                    Some(bound) => {
                        out.write_str(", up to ")?;
                        write_expr(out, bound, Precedence::Sum)?;
                    }
                    None => out.write_str(", beyond")?,
                }
                out.write_str(": ")?;
                write_expr(out, formula, Precedence::Sum)?;
            }
            out.write_char(')')
        }
    }
}

/// Divisors are grouped in parentheses. Sums, intervals, zero and their powers get a division sign each, since in parentheses they would be
/// multiplied out.
fn write_divisors(out: &mut Formatter<'_>, denominator: &[DisplayExpr]) -> fmt::Result {
    let dissolves = |expr: &DisplayExpr| match expr {
        DisplayExpr::Sum(_) | DisplayExpr::Interval(..) => true,
        DisplayExpr::Number(value) => value.is_zero(),
        _ => false,
    };
    let apart = |expr: &&DisplayExpr| match expr {
        DisplayExpr::Power(base, _) => dissolves(base),
        other => dissolves(other),
    };
    let (apart, together): (Vec<&DisplayExpr>, Vec<&DisplayExpr>) = denominator.iter().partition(apart);
    if together.len() > 1 {
        out.write_str("/(")?;
        write_separated(out, together.iter().copied(), "*", Precedence::Factor)?;
        out.write_char(')')?;
    }
    let single = if together.len() == 1 { together.as_slice() } else { &[] };
    for divisor in single.iter().chain(&apart) {
        out.write_char('/')?;
        write_expr(out, divisor, Precedence::Factor)?;
    }
    Ok(())
}

fn write_separated<'a>(
    out: &mut Formatter<'_>,
    list: impl IntoIterator<Item = &'a DisplayExpr>,
    separator: &str,
    around: Precedence,
) -> fmt::Result {
    for (index, expr) in list.into_iter().enumerate() {
        if index > 0 {
            out.write_str(separator)?;
        }
        write_expr(out, expr, around)?;
    }
    Ok(())
}

fn write_fold(out: &mut Formatter<'_>, range: &DisplayFold) -> fmt::Result {
    let name = match range.op {
        FoldOp::Sum => "sum",
        FoldOp::Extremum(Extremum::Max) => "max",
        FoldOp::Extremum(Extremum::Min) => "min",
    };
    write!(out, "{name}(")?;
    write_name(out, &range.index)?;
    out.write_char('=')?;
    write_expr(out, &range.from, Precedence::Sum)?;
    out.write_str("..")?;
    write_expr(out, &range.to, Precedence::Sum)?;
    out.write_str(", ")?;
    write_expr(out, &range.body, Precedence::Sum)?;
    out.write_char(')')
}

fn function_name(call: MathFunction) -> &'static str {
    match call {
        MathFunction::Sqrt => "sqrt",
        MathFunction::Log2 => "log2",
        MathFunction::Ln => "ln",
        MathFunction::Ceil => "ceil",
        MathFunction::Floor => "floor",
        MathFunction::Max => "max",
        MathFunction::Min => "min",
    }
}

/// Names that would be ambiguous are quoted in backquotes, with `\` before a backquote or backslash inside.
fn write_name(out: &mut Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_name(name) && !FUNCTIONS.contains(&name) {
        return out.write_str(name);
    }
    write!(out, "`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}
