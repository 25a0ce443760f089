//! Routines that no program brings along: functions of numbers, in Java and in C.

use sintonia_formula::Formula;

use super::facts::Facts;
use super::value::Value;

/// What a function of numbers costs and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// One operation with a name of its own.
    Named(&'static str),
    /// The larger or the smaller of two: a comparison and an assignment.
    Extreme {
        /// Whether it is the larger.
        larger: bool,
    },
    /// A random number from 0 up to 1.
    Random,
}

/// The function of this name.
pub(crate) fn function(name: &str) -> Option<Function> {
    let short = name.strip_prefix("Math.").or_else(|| name.strip_prefix("StrictMath.")).unwrap_or(name);
    let java = short.len() != name.len();
    Some(match short {
        "sqrt" | "cbrt" | "hypot" | "sqrtf" => Function::Named("sqrt"),
        "sin" | "asin" | "sinh" | "sinf" => Function::Named("sin"),
        "cos" | "acos" | "cosh" | "cosf" => Function::Named("cos"),
        "tan" | "atan" | "atan2" | "tanh" | "tanf" => Function::Named("tan"),
        "exp" | "expm1" | "exp2" | "expf" => Function::Named("exp"),
        "log" | "log10" | "log2" | "log1p" | "logf" => Function::Named("log"),
        "pow" | "powf" => Function::Named("pow"),
        "abs" | "fabs" | "labs" | "fabsf" | "signum" => Function::Named("abs"),
        "floor" | "ceil" | "rint" | "round" | "trunc" | "floorf" | "ceilf" => Function::Named("floor"),
        "fmax" => Function::Extreme { larger: true },
        "fmin" => Function::Extreme { larger: false },
        "max" if java => Function::Extreme { larger: true },
        "min" if java => Function::Extreme { larger: false },
        "random" if java => Function::Random,
        "floorMod" if java => Function::Named("mod"),
        "floorDiv" if java => Function::Named("div"),
        "drand48" => Function::Random,
        "rand" => Function::Named("random"),
        _ => return None,
    })
}

/// What a function gives, as far as it can be followed.
pub(crate) fn result(name: &str, function: Function, arguments: &[Value], facts: &Facts) -> Value {
    let short = name.rsplit('.').next().unwrap_or(name);
    match (function, arguments) {
        (Function::Random, _) => Value::Drawn { low: Formula::zero(), high: Formula::one(), whole: false },
        (Function::Extreme { larger }, [one, two]) => one.extreme(two, larger),
        (Function::Named("sqrt"), [Value::Known(of)]) if short.starts_with("sqrt") => Value::Known(of.sqrt()),
        (Function::Named("abs"), [value]) if short != "signum" && value.is_nonnegative(facts) => value.clone(),
        (Function::Named("abs"), [Value::Known(of)]) if short != "signum" => Value::Known(Formula::max_of([of.clone(), -of])),
        (Function::Named("floor"), [Value::Known(of)]) if short.starts_with("floor") => Value::Known(facts.floor(of)),
        (Function::Named("floor"), [Value::Known(of)]) if short.starts_with("ceil") => Value::Known(facts.ceil(of)),
        (Function::Named("log"), [Value::Known(of)]) => match short {
            "log" | "logf" => Value::Known(of.ln()),
            "log2" => Value::Known(of.log2()),
            "log10" => Value::Known(of.log2() * Formula::integer(10).log2().power(-1)),
            _ => Value::unknown(),
        },
        (Function::Named("pow"), [Value::Known(base), Value::Known(exponent)]) => Value::Known(base.to_the(exponent)),
        (Function::Named("div"), [Value::Known(over), Value::Known(by)]) if facts.is_positive(by) => {
            Value::Known(facts.floor(&(over * &by.power(-1))))
        }
        (Function::Named("mod"), [Value::Known(over), Value::Known(by)]) if facts.is_positive(by) => {
            Value::Known(over - &(by * &facts.floor(&(over * &by.power(-1)))))
        }
        (Function::Named("random"), _) => Value::Between { low: Some(Formula::zero()), high: None },
        _ => Value::unknown(),
    }
}
