//! Formulas as LaTeX, for mathematics mode.

use crate::atom::{Extreme, How};
use crate::formula::Formula;
use crate::rational::Rational;
use crate::shown::{Call, Shown, ShownRange, shown};

impl Formula {
    /// The formula in LaTeX, without the signs that begin and end mathematics.
    pub fn latex(&self) -> String {
        sum_level(&shown(self, None))
    }

    /// The formula in LaTeX with so many significant digits, as `{:.4}` writes it as text.
    pub fn latex_with_digits(&self, digits: usize) -> String {
        sum_level(&shown(self, Some(digits)))
    }
}

/// A formula where nothing binds around it.
fn sum_level(shown: &Shown) -> String {
    match shown {
        Shown::Number(value) => number(value),
        Shown::Between(low, high) => format!("\\left[{}, {}\\right]", number(low), number(high)),
        Shown::Symbol(name) => symbol(name),
        Shown::Power(base, exponent) if is_half(exponent) => root(base),
        Shown::Power(base, exponent) => format!("{}^{{{}}}", base_level(base), sum_level(exponent)),
        Shown::Call(call, entries) => called(*call, entries),
        Shown::Product { over, under } if under.is_empty() => product(over),
        Shown::Product { over, under } => format!("\\frac{{{}}}{{{}}}", alone_or_product(over), alone_or_product(under)),
        Shown::Sum(terms) => {
            let mut text = String::new();
            for (place, term) in terms.iter().enumerate() {
                text.push_str(match (place, term.negative) {
                    (0, false) => "",
                    (0, true) => "-",
                    (_, false) => " + ",
                    (_, true) => " - ",
                });
                text.push_str(&factor_level(&term.shown));
            }
            text
        }
        Shown::Range(range) => ranged(range),
        Shown::Pieces(variable, pieces) => {
            let variable = sum_level(variable);
            let row = |(bound, formula): &(Option<Shown>, Shown)| match bound {
                Some(bound) => format!("{} & {variable} \\le {}", sum_level(formula), sum_level(bound)),
                None => format!("{} & \\text{{beyond}}", sum_level(formula)),
            };
            format!("\\begin{{cases}} {} \\end{{cases}}", pieces.iter().map(row).collect::<Vec<_>>().join(" \\\\ "))
        }
    }
}

fn is_half(exponent: &Shown) -> bool {
    matches!(exponent, Shown::Product { over, under } if matches!((over.as_slice(), under.as_slice()),
        ([Shown::Number(over)], [Shown::Number(under)]) if over.is_one() && *under == Rational::from(2)))
}

fn root(base: &Shown) -> String {
    format!("\\sqrt{{{}}}", sum_level(base))
}

fn alone_or_product(list: &[Shown]) -> String {
    match list {
        [only] => sum_level(only),
        several => product(several),
    }
}

fn product(list: &[Shown]) -> String {
    let mut text = String::new();
    for (place, shown) in list.iter().enumerate() {
        if place > 0 {
            // Digits after digits would read as one number.
            let digit = matches!(shown, Shown::Number(_)) || matches!(shown, Shown::Power(base, _) if matches!(**base, Shown::Number(_)));
            text.push_str(if digit { " \\cdot " } else { "\\," });
        }
        text.push_str(&factor_level(shown));
    }
    text
}

/// A formula as a factor: sums, and whatever reaches to the right without end, in parentheses.
fn factor_level(shown: &Shown) -> String {
    match shown {
        Shown::Sum(_) | Shown::Range(_) => parenthesised(shown),
        _ => sum_level(shown),
    }
}

/// A formula as the base of a power.
fn base_level(shown: &Shown) -> String {
    match shown {
        Shown::Symbol(_) | Shown::Between(..) => sum_level(shown),
        Shown::Number(value) if value.is_whole() => sum_level(shown),
        _ => parenthesised(shown),
    }
}

fn parenthesised(shown: &Shown) -> String {
    format!("\\left({}\\right)", sum_level(shown))
}

fn called(call: Call, entries: &[Shown]) -> String {
    let list = entries.iter().map(sum_level).collect::<Vec<_>>().join(", ");
    match call {
        Call::Sqrt => format!("\\sqrt{{{list}}}"),
        Call::Log2 => format!("\\log_2\\left({list}\\right)"),
        Call::Ln => format!("\\ln\\left({list}\\right)"),
        Call::Ceil => format!("\\left\\lceil {list} \\right\\rceil"),
        Call::Floor => format!("\\left\\lfloor {list} \\right\\rfloor"),
        Call::Max => format!("\\max\\left({list}\\right)"),
        Call::Min => format!("\\min\\left({list}\\right)"),
    }
}

fn ranged(range: &ShownRange) -> String {
    let name = match range.how {
        How::Sum => "\\sum",
        How::Extreme(Extreme::Max) => "\\max",
        How::Extreme(Extreme::Min) => "\\min",
    };
    let (index, from, to, body) = (symbol(&range.index), sum_level(&range.from), sum_level(&range.to), factor_level(&range.body));
    match range.how {
        How::Sum => format!("{name}_{{{index}={from}}}^{{{to}}} {body}"),
        How::Extreme(_) => format!("{name}_{{{index}={from} \\ldots {to}}} {body}"),
    }
}

/// A number; powers of ten as such.
fn number(value: &Rational) -> String {
    let text = value.to_string();
    if let Some((digits, power)) = text.split_once('e') {
        return if digits == "1" { format!("10^{{{power}}}") } else { format!("{digits} \\cdot 10^{{{power}}}") };
    }
    match text.split_once('/') {
        Some((over, under)) => format!("\\frac{{{over}}}{{{under}}}"),
        None => text,
    }
}

/// A symbol: one letter as it is, a subscript after an underscore, longer names upright.
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
