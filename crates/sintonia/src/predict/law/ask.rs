//! What a law is asked: values for its symbols as people type them, and the symbol that changes.

use sintonia_formula::Interval;
use sintonia_model::laws::tasks::Estimate;
use sintonia_model::laws::{Case, LAWS, Law};

use super::interval;
use crate::predict::values;

/// The numbers of nodes unless others are asked for.
const NODES: &str = "1..64";

/// A law, values for its symbols, and what changes.
pub struct Asked {
    /// The law with the middle of each value.
    pub middle: Case,
    /// The law with the interval of each value.
    pub around: Case,
    /// The symbol that changes.
    pub along: &'static str,
    /// Its values.
    pub values: Vec<f64>,
}

/// Values of symbols.
type Given = Vec<(String, Interval)>;

/// A symbol with what was said of it.
enum Said {
    Exactly(f64),
    Between(f64, f64),
    Each(Vec<f64>),
}

/// Reads what a law is asked, such as `R=0.8,C=[0.01,0.02],M=64`; the number of nodes comes from `procs`.
pub fn of(name: &str, text: &str, procs: Option<&str>) -> Result<Asked, String> {
    let law = named(name)?;
    let (mut middle, mut around, mut along) = (Vec::new(), Vec::new(), None);
    for item in split(text) {
        let (symbol, value) =
            item.split_once('=').ok_or_else(|| format!("`{item}`: a symbol and its value are needed, such as {}", example(law)))?;
        let symbol = symbol.trim().to_owned();
        match said(value).map_err(|error| format!("{symbol}={value}: {error}"))? {
            Said::Exactly(value) => {
                middle.push((symbol.clone(), Interval::point(value)));
                around.push((symbol, Interval::point(value)));
            }
            Said::Between(low, high) => {
                let interval = Interval::new(low, high).ok_or_else(|| format!("{symbol}: {low} is more than {high}"))?;
                middle.push((symbol.clone(), Interval::point(0.5 * (low + high))));
                around.push((symbol, interval));
            }
            Said::Each(_) if along.is_some() => return Err(format!("{symbol} and another one change: only one can")),
            Said::Each(values) => {
                let known = law.symbol(&symbol).ok_or_else(|| format!("{} has no `{symbol}`", law.title))?;
                along = Some((known.name, values));
            }
        }
    }
    Asked::new(law, (middle, around), along, procs)
}

impl Asked {
    /// A law with values that were estimated.
    pub fn estimated(name: &str, values: &[(&str, Estimate)], procs: Option<&str>) -> Result<Asked, String> {
        let middle = values.iter().map(|(symbol, estimate)| (symbol.to_string(), Interval::point(short(estimate.value)))).collect();
        let around = values.iter().map(|(symbol, estimate)| (symbol.to_string(), interval(estimate))).collect();
        Asked::new(named(name)?, (middle, around), None, procs)
    }

    fn new(
        law: &'static Law,
        (middle, around): (Given, Given),
        along: Option<(&'static str, Vec<f64>)>,
        procs: Option<&str>,
    ) -> Result<Asked, String> {
        let case = |values: Given| law.with(values.iter().map(|(name, value)| (name.as_str(), *value))).map_err(|error| error.to_string());
        let has_nodes = law.symbol("N").is_some();
        let (along, values) = match (along, procs) {
            (Some(_), Some(_)) if has_nodes => return Err("--procs and another list change: only one can".into()),
            (Some(along), _) => along,
            (None, Some(_)) if !has_nodes => return Err(format!("{} is not about processes, so --procs means nothing", law.title)),
            (None, procs) if has_nodes => ("N", values::every(procs.unwrap_or(NODES)).map_err(|error| format!("--procs: {error}"))?),
            (None, _) => return Err(format!("{} needs a list for one of its symbols, such as d=0..8", law.title)),
        };
        let least = if along == "N" { 1.0 } else { 0.0 };
        let most = law.symbol(along).map_or(f64::INFINITY, |symbol| symbol.most);
        if let Some(bad) = values.iter().find(|value| !(least..=most).contains(*value)) {
            return Err(format!("{along} cannot be {bad}"));
        }
        Ok(Asked { middle: case(middle)?, around: case(around)?, along, values })
    }
}

/// A value with no more digits than anybody can have measured, since formulas show all of them.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn named(name: &str) -> Result<&'static Law, String> {
    let known = || LAWS.iter().map(|law| law.name).collect::<Vec<_>>().join(", ");
    Law::named(name).ok_or_else(|| format!("there is no law called `{name}`; there are {}", known()))
}

fn example(law: &Law) -> String {
    law.symbols.first().map_or("x=1".into(), |symbol| format!("{}=1", symbol.also.first().unwrap_or(&symbol.name)))
}

/// The items of a list, in which brackets hold commas: `a=1,b=[2,3]`; numbers without a name go on with the list before them.
fn split(text: &str) -> Vec<String> {
    let (mut items, mut depth): (Vec<String>, i32) = (vec![String::new()], 0);
    for letter in text.chars() {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        match (letter, items.last_mut()) {
            (',', _) if depth <= 0 => items.push(String::new()),
            (letter, Some(item)) => item.push(letter),
            _ => {}
        }
    }
    let mut joined: Vec<String> = Vec::new();
    for item in items.into_iter().filter(|item| !item.trim().is_empty()) {
        match joined.last_mut() {
            Some(before) if !item.contains('=') => *before = format!("{before},{item}"),
            _ => joined.push(item),
        }
    }
    joined
}

fn said(text: &str) -> Result<Said, String> {
    let text = text.trim();
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let ends = values::every(inside).map_err(|error| error.to_string())?;
        return match ends[..] {
            [low, high] => Ok(Said::Between(low, high)),
            _ => Err("an interval has two ends, as [0.1,0.2]".into()),
        };
    }
    let list = values::every(text).map_err(|error| error.to_string())?;
    Ok(if let [value] = list[..] { Said::Exactly(value) } else { Said::Each(list) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_model::laws::Quantity;

    #[test]
    fn symbols_have_numbers_intervals_or_lists() {
        let asked = of("all-to-one-simple", "R=0.8,C=[0.01,0.03],M=64", Some("1..4")).unwrap();
        assert_eq!((asked.along, asked.values.as_slice()), ("N", &[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(asked.middle.at(Quantity::Granularity, &[]).unwrap().middle(), 40.0);
        assert!((asked.around.at(Quantity::Granularity, &[]).unwrap().high() - 80.0).abs() < 1e-9);
        let asked = of("wormhole", "P=100,L=1,F=1,d=1,2,4", None).unwrap();
        assert_eq!((asked.along, asked.values.as_slice()), ("d", &[1.0, 2.0, 4.0][..]));
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_reason() {
        for (name, text, procs, reason) in [
            ("amdal", "", None, "there is no law called `amdal`; there are amdahl, gustafson"),
            ("amdahl", "serial", None, "a symbol and its value are needed, such as serial=1"),
            ("amdahl", "serial=x", None, "`x` is no number"),
            ("amdahl", "serial=[2,1]", None, "2 is more than 1"),
            ("amdahl", "time=1", None, "has no `time`"),
            ("amdahl", "serial=1..3", Some("1..4"), "only one can"),
            ("wormhole", "P=1,L=1,F=1,d=1", None, "needs a list"),
            ("wormhole", "P=1,L=1,F=1", Some("4"), "not about processes"),
            ("amdahl", "serial=1,parallel=2", Some("0,1"), "N cannot be 0"),
            ("virtual-cut-through", "P=1,L=1,F=1,d=1,header=1,busy=0,2", None, "B cannot be 2"),
        ] {
            let error = of(name, text, procs).err().unwrap();
            assert!(error.contains(reason), "{name} {text}: {error}");
        }
    }
}
