//! Operators on values. Integers are exact or fail; an integer with a float gives a float.

use super::value::ScriptValue::{self, Bool, Float, Int, List, Map, Text};

/// A binary operator except `&&`, `||` and `??`, which do not always evaluate their right side.
pub(super) fn binary(operator: &str, left: &ScriptValue, right: &ScriptValue) -> Result<ScriptValue, String> {
    match operator {
        "==" => Ok(Bool(equal(left, right))),
        "!=" => Ok(Bool(!equal(left, right))),
        "<" | "<=" | ">" | ">=" => ordered(operator, left, right).map(Bool),
        "in" => contains(right, left).map(Bool),
        "+" if !matches!((left, right), (Int(_) | Float(_), Int(_) | Float(_))) => concatenated(left, right),
        _ => arithmetic(operator, left, right),
    }
}

pub(super) fn unary(operator: &str, operand: &ScriptValue) -> Result<ScriptValue, String> {
    match (operator, operand) {
        ("!", Bool(truth)) => Ok(Bool(!truth)),
        ("-", Int(whole)) => whole.checked_neg().map(Int).ok_or_else(|| format!("-({whole}) overflows")),
        ("-", Float(number)) => Ok(Float(-number)),
        ("+", Int(_) | Float(_)) => Ok(operand.clone()),
        _ => Err(format!("`{operator}` is not for {}", operand.type_name())),
    }
}

/// Whether two values are equal; those of different types are not, except numbers.
pub(super) fn equal(left: &ScriptValue, right: &ScriptValue) -> bool {
    match (left, right) {
        (Int(_), Float(_)) | (Float(_), Int(_)) => left.number() == right.number(),
        (List(left), List(right)) => left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right)),
        (Map(left), Map(right)) => {
            let same = |(one, other): ((&_, &ScriptValue), (&_, &ScriptValue))| one.0 == other.0 && equal(one.1, other.1);
            left.len() == right.len() && left.iter().zip(right).all(same)
        }
        _ => left == right,
    }
}

/// Values of different types are in no order: a missing value is neither less nor greater.
fn ordered(operator: &str, left: &ScriptValue, right: &ScriptValue) -> Result<bool, String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match (left, right) {
        (Int(left), Int(right)) => Some(left.cmp(right)),
        (Text(left), Text(right)) => Some(left.cmp(right)),
        (Int(_) | Float(_), Int(_) | Float(_)) => left.number().partial_cmp(&right.number()),
        (List(_), List(_)) | (Map(_), Map(_)) | (Bool(_), Bool(_)) => {
            return Err(format!("`{operator}` is not for {}", left.type_name()));
        }
        _ => None,
    };
    Ok(order.is_some_and(|order| match operator {
        "<" => order == Less,
        "<=" => order != Greater,
        ">" => order == Greater,
        _ => order == Equal || order == Greater,
    }))
}

/// Whether a list has a value, a map a key, or a text another text.
pub(super) fn contains(all: &ScriptValue, one: &ScriptValue) -> Result<bool, String> {
    match (all, one) {
        (List(list), _) => Ok(list.iter().any(|value| equal(value, one))),
        (Map(map), Text(key)) => Ok(map.contains_key(key)),
        (Text(text), Text(part)) => Ok(text.contains(&**part)),
        _ => Err(format!("{} cannot contain {}", all.type_name(), one.type_name())),
    }
}

/// `+` of texts and lists; a text takes any value.
fn concatenated(left: &ScriptValue, right: &ScriptValue) -> Result<ScriptValue, String> {
    let both = match (left, right) {
        (Text(_), _) | (_, Text(_)) => ScriptValue::text(&format!("{left}{right}")),
        (List(left), List(right)) => List(left.iter().chain(right).cloned().collect()),
        _ => return Err(format!("`+` is not for {} and {}", left.type_name(), right.type_name())),
    };
    both.check_size().map(|()| both)
}

fn arithmetic(operator: &str, left: &ScriptValue, right: &ScriptValue) -> Result<ScriptValue, String> {
    if let (Int(left), Int(right)) = (left, right) {
        return integers(operator, *left, *right);
    }
    let (Some(one), Some(other)) = (left.number(), right.number()) else {
        return Err(format!("`{operator}` is not for {} and {}", left.type_name(), right.type_name()));
    };
    Ok(Float(match operator {
        "+" => one + other,
        "-" => one - other,
        "*" => one * other,
        "/" => one / other,
        "%" => one % other,
        _ => one.powf(other),
    }))
}

fn integers(operator: &str, left: i64, right: i64) -> Result<ScriptValue, String> {
    let result = match operator {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" | "%" if right == 0 => return Err(format!("{left} {operator} 0: division by zero")),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ if right < 0 => return Err(format!("{left} ** {right}: an integer has no negative power; write {left}.0")),
        _ => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
    };
    result.map(Int).ok_or_else(|| format!("{left} {operator} {right} overflows"))
}
