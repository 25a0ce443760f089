//! Functions of the language. All can be called as `f(x)` or `x.f()`, except those that change a list or map.

use super::operators::contains;
use super::value::ScriptValue::{self, Bool, Float, Int, List, Map, Text, Unit};

/// Calls a function that changes nothing; `None` if there is none for these arguments.
pub(super) fn call(name: &str, arguments: &[ScriptValue]) -> Option<Result<ScriptValue, String>> {
    let value = match (name, arguments) {
        ("to_string", [value]) => ScriptValue::text(&value.to_string()),
        ("len", [Text(text)]) => Int(text.chars().count() as i64),
        ("len", [List(list)]) => Int(list.len() as i64),
        ("len", [Map(map)]) => Int(map.len() as i64),
        ("keys", [Map(map)]) => List(map.keys().cloned().map(Text).collect()),
        ("values", [Map(map)]) => List(map.values().cloned().collect()),
        ("contains", [all, one]) => return Some(contains(all, one).map(Bool)),
        ("abs", [Int(whole)]) => return Some(whole.checked_abs().map(Int).ok_or_else(|| format!("abs({whole}) overflows"))),
        ("min", [Int(one), Int(other)]) => Int(*one.min(other)),
        ("max", [Int(one), Int(other)]) => Int(*one.max(other)),
        ("to_int", [Int(_)]) => arguments[0].clone(),
        ("to_int", [Float(number)]) => return Some(truncated(*number)),
        ("min", [one, other]) => Float(one.number()?.min(other.number()?)),
        ("max", [one, other]) => Float(one.number()?.max(other.number()?)),
        ("log", [number, base]) => Float(number.number()?.log(base.number()?)),
        (_, [number]) => Float(function_of_number(name, number.number()?)?),
        _ => return None,
    };
    Some(Ok(value))
}

fn truncated(number: f64) -> Result<ScriptValue, String> {
    // 2^63, the first float beyond the integers.
    let beyond = -(i64::MIN as f64);
    let fits = number >= -beyond && number < beyond;
    if fits { Ok(Int(number as i64)) } else { Err(format!("{} is not within the integers", Float(number))) }
}

fn function_of_number(name: &str, number: f64) -> Option<f64> {
    Some(match name {
        "abs" => number.abs(),
        "floor" => number.floor(),
        "ceiling" => number.ceil(),
        "round" => number.round(),
        "sqrt" => number.sqrt(),
        "exp" => number.exp(),
        "ln" => number.ln(),
        "log" => number.log10(),
        "to_float" => number,
        _ => return None,
    })
}

/// Whether a method may change the value it is called on.
pub(super) fn changes_receiver(name: &str) -> bool {
    matches!(name, "push" | "pop" | "shift" | "insert" | "remove" | "clear" | "sort")
}

/// Calls a function that changes a list or map; `None` if there is none for these arguments.
pub(super) fn change(name: &str, receiver: &mut ScriptValue, arguments: &[ScriptValue]) -> Option<Result<ScriptValue, String>> {
    let value = match (name, receiver, arguments) {
        ("push", List(list), [value]) => {
            list.push(value.clone());
            Unit
        }
        ("pop", List(list), []) => list.pop().unwrap_or_default(),
        ("shift", List(list), []) if list.is_empty() => Unit,
        ("shift", List(list), []) => list.remove(0),
        ("insert", List(list), [Int(at), value]) => {
            let at = index(*at, list.len()).unwrap_or(if *at < 0 { 0 } else { list.len() });
            list.insert(at, value.clone());
            Unit
        }
        ("remove", List(list), [Int(at)]) => index(*at, list.len()).map_or(Unit, |at| list.remove(at)),
        ("remove", Map(map), [Text(key)]) => map.remove(key).unwrap_or_default(),
        ("clear", List(list), []) => {
            list.clear();
            Unit
        }
        ("clear", Map(map), []) => {
            map.clear();
            Unit
        }
        ("sort", List(list), []) => return Some(sort(list).map(|()| Unit)),
        _ => return None,
    };
    Some(Ok(value))
}

/// Where an element is; a negative index counts from the end.
pub(super) fn index(at: i64, length: usize) -> Option<usize> {
    let from_start = if at < 0 { at.checked_add(length as i64)? } else { at };
    usize::try_from(from_start).ok().filter(|index| *index < length)
}

/// Sorts numbers, or texts.
fn sort(list: &mut [ScriptValue]) -> Result<(), String> {
    if list.iter().all(|value| matches!(value, Text(_))) {
        list.sort_by(|one, other| if let (Text(one), Text(other)) = (one, other) { one.cmp(other) } else { std::cmp::Ordering::Equal });
    } else if list.iter().all(|value| value.number().is_some()) {
        list.sort_by(|one, other| one.number().unwrap_or_default().total_cmp(&other.number().unwrap_or_default()));
    } else {
        return Err("only numbers, or only texts, can be sorted".into());
    }
    Ok(())
}
