//! Library functions on numbers, in Java and in C.

use sintonia_formula::Formula;

use super::assumptions::Assumptions;
use super::value::AbstractValue;

/// The cost and value of a library function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LibraryFunction {
    /// A single operation.
    Named(&'static str),
    /// The maximum or minimum of two: a comparison and an assignment.
    Extremum {
        /// Whether it is the maximum.
        is_max: bool,
    },
    /// A random number in [0, 1).
    Random,
}

pub(crate) fn find_function(name: &str) -> Option<LibraryFunction> {
    let short = name.strip_prefix("Math.").or_else(|| name.strip_prefix("StrictMath.")).unwrap_or(name);
    let java = short.len() != name.len();
    Some(match short {
        "sqrt" | "cbrt" | "hypot" | "sqrtf" => LibraryFunction::Named("sqrt"),
        "sin" | "asin" | "sinh" | "sinf" => LibraryFunction::Named("sin"),
        "cos" | "acos" | "cosh" | "cosf" => LibraryFunction::Named("cos"),
        "tan" | "atan" | "atan2" | "tanh" | "tanf" => LibraryFunction::Named("tan"),
        "exp" | "expm1" | "exp2" | "expf" => LibraryFunction::Named("exp"),
        "log" | "log10" | "log2" | "log1p" | "logf" => LibraryFunction::Named("log"),
        "pow" | "powf" => LibraryFunction::Named("pow"),
        "abs" | "fabs" | "labs" | "fabsf" | "signum" => LibraryFunction::Named("abs"),
        "floor" | "ceil" | "rint" | "round" | "trunc" | "floorf" | "ceilf" => LibraryFunction::Named("floor"),
        "fmax" => LibraryFunction::Extremum { is_max: true },
        "fmin" => LibraryFunction::Extremum { is_max: false },
        "max" if java => LibraryFunction::Extremum { is_max: true },
        "min" if java => LibraryFunction::Extremum { is_max: false },
        "random" if java => LibraryFunction::Random,
        "floorMod" if java => LibraryFunction::Named("mod"),
        "floorDiv" if java => LibraryFunction::Named("div"),
        "drand48" => LibraryFunction::Random,
        "rand" => LibraryFunction::Named("random"),
        _ => return None,
    })
}

/// The value of a function, if it is known.
pub(crate) fn function_value(name: &str, function: LibraryFunction, arguments: &[AbstractValue], facts: &Assumptions) -> AbstractValue {
    let short = name.rsplit('.').next().unwrap_or(name);
    match (function, arguments) {
        (LibraryFunction::Random, _) => AbstractValue::Uniform { low: Formula::zero(), high: Formula::one(), whole: false },
        (LibraryFunction::Extremum { is_max: larger }, [one, two]) => one.extreme(two, larger),
        (LibraryFunction::Named("sqrt"), [AbstractValue::Exact(of)]) if short.starts_with("sqrt") => AbstractValue::Exact(of.sqrt()),
        (LibraryFunction::Named("abs"), [value]) if short != "signum" && value.is_nonnegative(facts) => value.clone(),
        (LibraryFunction::Named("abs"), [AbstractValue::Exact(of)]) if short != "signum" => {
            AbstractValue::Exact(Formula::max_of([of.clone(), -of]))
        }
        (LibraryFunction::Named("floor"), [AbstractValue::Exact(of)]) if short.starts_with("floor") => {
            AbstractValue::Exact(facts.floor(of))
        }
        (LibraryFunction::Named("floor"), [AbstractValue::Exact(of)]) if short.starts_with("ceil") => AbstractValue::Exact(facts.ceil(of)),
        (LibraryFunction::Named("log"), [AbstractValue::Exact(of)]) => match short {
            "log" | "logf" => AbstractValue::Exact(of.ln()),
            "log2" => AbstractValue::Exact(of.log2()),
            "log10" => AbstractValue::Exact(of.log2() * Formula::integer(10).log2().power(-1)),
            _ => AbstractValue::unknown(),
        },
        (LibraryFunction::Named("pow"), [AbstractValue::Exact(base), AbstractValue::Exact(exponent)]) => {
            AbstractValue::Exact(base.pow_formula(exponent))
        }
        (LibraryFunction::Named("div"), [AbstractValue::Exact(over), AbstractValue::Exact(by)]) if facts.is_positive(by) => {
            AbstractValue::Exact(facts.floor(&(over * &by.power(-1))))
        }
        (LibraryFunction::Named("mod"), [AbstractValue::Exact(over), AbstractValue::Exact(by)]) if facts.is_positive(by) => {
            AbstractValue::Exact(over - &(by * &facts.floor(&(over * &by.power(-1)))))
        }
        (LibraryFunction::Named("random"), _) => AbstractValue::Bounded { low: Some(Formula::zero()), high: None },
        _ => AbstractValue::unknown(),
    }
}
