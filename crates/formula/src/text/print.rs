//! Formulas as text.

use std::fmt::{self, Display, Formatter, Write};

use super::token::{FUNCTIONS, is_plain_name};
use crate::atom::{Extreme, How};
use crate::formula::{Formula, READABLE};
use crate::shown::{Call, Shown, ShownRange, shown};

impl Display for Formula {
    /// With a precision, as in `{:.4}`, fractions get so many significant digits; unknown numbers are rounded outward and whole numbers not at
    /// all. Without one, what is written reads back as the same formula.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write_shown(out, &shown(self, out.precision()), Binding::Sum)
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.size() > READABLE { write!(out, "a formula of {} operations", self.size()) } else { Display::fmt(self, out) }
    }
}

/// How tightly what stands around binds; what binds less tightly gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    Factor,
    Power,
}

fn write_shown(out: &mut Formatter<'_>, shown: &Shown, around: Binding) -> fmt::Result {
    let own = match shown {
        Shown::Sum(_) => Binding::Sum,
        Shown::Product { .. } => Binding::Product,
        Shown::Power(..) if around == Binding::Power => Binding::Sum,
        _ => Binding::Power,
    };
    if own < around {
        out.write_char('(')?;
        write_bare(out, shown)?;
        return out.write_char(')');
    }
    write_bare(out, shown)
}

fn write_bare(out: &mut Formatter<'_>, shown: &Shown) -> fmt::Result {
    match shown {
        Shown::Number(value) => write!(out, "{value}"),
        Shown::Between(low, high) => write!(out, "[{low}, {high}]"),
        Shown::Symbol(name) => write_name(out, name),
        Shown::Power(base, exponent) => {
            write_shown(out, base, Binding::Power)?;
            out.write_char('^')?;
            write_shown(out, exponent, Binding::Power)
        }
        Shown::Call(call, entries) => {
            write!(out, "{}(", name(*call))?;
            separated(out, entries, ", ", Binding::Sum)?;
            out.write_char(')')
        }
        Shown::Product { over, under } => {
            separated(out, over, "*", Binding::Factor)?;
            write_divisors(out, under)
        }
        Shown::Sum(terms) => {
            for (place, term) in terms.iter().enumerate() {
                out.write_str(match (place, term.negative) {
                    (0, false) => "",
                    (0, true) => "-",
                    (_, false) => " + ",
                    (_, true) => " - ",
                })?;
                write_shown(out, &term.shown, Binding::Product)?;
            }
            Ok(())
        }
        Shown::Range(range) => write_range(out, range),
        Shown::Pieces(variable, pieces) => {
            out.write_str("pieces(")?;
            write_shown(out, variable, Binding::Sum)?;
            for (bound, formula) in pieces {
                match bound {
                    Some(bound) => {
                        out.write_str(", up to ")?;
                        write_shown(out, bound, Binding::Sum)?;
                    }
                    None => out.write_str(", beyond")?,
                }
                out.write_str(": ")?;
                write_shown(out, formula, Binding::Sum)?;
            }
            out.write_char(')')
        }
    }
}

/// What is divided by: together in parentheses, but sums, intervals and zero, and their powers, each behind its own sign, for in parentheses
/// they would be multiplied out.
fn write_divisors(out: &mut Formatter<'_>, under: &[Shown]) -> fmt::Result {
    let dissolves = |shown: &Shown| match shown {
        Shown::Sum(_) | Shown::Between(..) => true,
        Shown::Number(value) => value.is_zero(),
        _ => false,
    };
    let apart = |shown: &&Shown| match shown {
        Shown::Power(base, _) => dissolves(base),
        other => dissolves(other),
    };
    let (apart, together): (Vec<&Shown>, Vec<&Shown>) = under.iter().partition(apart);
    if together.len() > 1 {
        out.write_str("/(")?;
        separated(out, together.iter().copied(), "*", Binding::Factor)?;
        out.write_char(')')?;
    }
    let single = if together.len() == 1 { together.as_slice() } else { &[] };
    for divisor in single.iter().chain(&apart) {
        out.write_char('/')?;
        write_shown(out, divisor, Binding::Factor)?;
    }
    Ok(())
}

fn separated<'a>(out: &mut Formatter<'_>, list: impl IntoIterator<Item = &'a Shown>, separator: &str, around: Binding) -> fmt::Result {
    for (place, shown) in list.into_iter().enumerate() {
        if place > 0 {
            out.write_str(separator)?;
        }
        write_shown(out, shown, around)?;
    }
    Ok(())
}

fn write_range(out: &mut Formatter<'_>, range: &ShownRange) -> fmt::Result {
    let name = match range.how {
        How::Sum => "sum",
        How::Extreme(Extreme::Max) => "max",
        How::Extreme(Extreme::Min) => "min",
    };
    write!(out, "{name}(")?;
    write_name(out, &range.index)?;
    out.write_char('=')?;
    write_shown(out, &range.from, Binding::Sum)?;
    out.write_str("..")?;
    write_shown(out, &range.to, Binding::Sum)?;
    out.write_str(", ")?;
    write_shown(out, &range.body, Binding::Sum)?;
    out.write_char(')')
}

fn name(call: Call) -> &'static str {
    match call {
        Call::Sqrt => "sqrt",
        Call::Log2 => "log2",
        Call::Ln => "ln",
        Call::Ceil => "ceil",
        Call::Floor => "floor",
        Call::Max => "max",
        Call::Min => "min",
    }
}

/// Names that would read as something else stand in backquotes, with `\` before a backquote or backslash inside.
fn write_name(out: &mut Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_name(name) && !FUNCTIONS.contains(&name) {
        return out.write_str(name);
    }
    write!(out, "`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}
