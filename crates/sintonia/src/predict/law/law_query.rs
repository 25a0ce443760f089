//! Parses queries of a law: values for its symbols, and the symbol that varies.

use sintonia_formula::Interval;
use sintonia_model::laws::task_times::MeanEstimate;
use sintonia_model::laws::{EFFECTIVELY_INFINITE, LAWS, LawQuery, PerformanceLaw};

use crate::predict::number_list;

/// The default numbers of nodes.
const DEFAULT_NODES: &str = "1..64";

/// Values of symbols.
type SymbolIntervals = Vec<(String, Interval)>;

/// The parsed value of a symbol.
enum SymbolValue {
    Exact(f64),
    Interval(f64, f64),
    List(Vec<f64>),
}

/// Parses a query such as `R=0.8,C=[0.01,0.02],M=64`; the number of nodes comes from `procs`.
pub(super) fn parse(name: &str, text: &str, procs: Option<&str>) -> Result<LawQuery, String> {
    let law = find_law(name)?;
    let (mut middle, mut around, mut along) = (Vec::new(), Vec::new(), None);
    for item in split_items(text) {
        let (symbol, value) =
            item.split_once('=').ok_or_else(|| format!("`{item}`: expected SYMBOL=VALUE, such as {}", example_value(law)))?;
        let symbol = symbol.trim().to_owned();
        match parse_value(value).map_err(|error| format!("{symbol}={value}: {error}"))? {
            SymbolValue::Exact(value) => {
                middle.push((symbol.clone(), Interval::point(value)));
                around.push((symbol, Interval::point(value)));
            }
            SymbolValue::Interval(low, high) => {
                let interval = Interval::new(low, high).ok_or_else(|| format!("{symbol}: {low} is greater than {high}"))?;
                middle.push((symbol.clone(), Interval::point(0.5 * (low + high))));
                around.push((symbol, interval));
            }
            SymbolValue::List(_) if along.is_some() => {
                return Err(format!("{symbol} and another symbol have a list: only one symbol can vary"));
            }
            SymbolValue::List(values) => {
                let known = law.symbol(&symbol).ok_or_else(|| format!("{} has no symbol `{symbol}`", law.title))?;
                along = Some((known.name, values));
            }
        }
    }
    let along = along.or_else(|| single_value(law, &mut middle, &mut around));
    build_query(law, (middle, around), along, procs)
}

/// Without a list, a law that does not depend on nodes is evaluated at the last exact value alone.
fn single_value(law: &PerformanceLaw, middle: &mut SymbolIntervals, around: &mut SymbolIntervals) -> Option<(&'static str, Vec<f64>)> {
    let index = around.iter().rposition(|(_, value)| value.low() == value.high()).filter(|_| law.symbol("N").is_none())?;
    let name = law.symbol(&around[index].0)?.name;
    around.remove(index);
    Some((name, vec![middle.remove(index).1.midpoint()]))
}

/// A law with estimated values.
pub(super) fn from_estimates(name: &str, values: &[(&str, MeanEstimate)], procs: Option<&str>) -> Result<LawQuery, String> {
    let middle = values.iter().map(|(symbol, estimate)| (symbol.to_string(), Interval::point(round_for_display(estimate.value)))).collect();
    let around = values.iter().map(|(symbol, estimate)| (symbol.to_string(), estimate_interval(estimate))).collect();
    build_query(find_law(name)?, (middle, around), None, procs)
}

fn build_query(
    law: &'static PerformanceLaw,
    (middle, around): (SymbolIntervals, SymbolIntervals),
    along: Option<(&'static str, Vec<f64>)>,
    procs: Option<&str>,
) -> Result<LawQuery, String> {
    let case = |values: SymbolIntervals| {
        law.with_values(values.iter().map(|(name, value)| (name.as_str(), *value))).map_err(|error| error.to_string())
    };
    let has_nodes = law.symbol("N").is_some();
    let (along, values) = match (along, procs) {
        (Some(_), Some(_)) if has_nodes => return Err("--procs and another list are given: only one symbol can vary".into()),
        (_, Some(_)) if !has_nodes => return Err(format!("{} does not depend on processes, so --procs has no effect", law.title)),
        (Some(along), _) => along,
        (None, procs) if has_nodes => {
            ("N", number_list::parse_integers(procs.unwrap_or(DEFAULT_NODES)).map_err(|error| format!("--procs: {error}"))?)
        }
        (None, _) => return Err(format!("{} needs values for its symbols, such as d=0..8", law.title)),
    };
    let least = if along == "N" { 1.0 } else { 0.0 };
    let most = law.symbol(along).map_or(f64::INFINITY, |symbol| symbol.max);
    if let Some(bad) = values.iter().find(|value| !(least..=most).contains(*value)) {
        return Err(format!("{along} cannot be {bad}"));
    }
    if let Some(bad) = values.iter().find(|value| along == "N" && value.fract() != 0.0) {
        return Err(format!("N cannot be {bad}: the number of nodes is an integer"));
    }
    Ok(LawQuery { middle: case(middle)?, intervals: case(around)?, variable: along, values })
}

/// The interval of an estimate; without one, the value itself.
fn estimate_interval(estimate: &MeanEstimate) -> Interval {
    let between = estimate.interval.and_then(|(low, high)| Interval::new(low, high.min(EFFECTIVELY_INFINITE).max(low)));
    between.unwrap_or_else(|| Interval::point(estimate.value))
}

/// Rounds to measurable precision, since formulas show all digits.
fn round_for_display(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn find_law(name: &str) -> Result<&'static PerformanceLaw, String> {
    let known = || LAWS.iter().map(|law| law.name).collect::<Vec<_>>().join(", ");
    PerformanceLaw::from_name(name).ok_or_else(|| format!("no law `{name}`; available: {}", known()))
}

fn example_value(law: &PerformanceLaw) -> String {
    law.symbols.first().map_or("x=1".into(), |symbol| format!("{}=1", symbol.aliases.first().unwrap_or(&symbol.name)))
}

/// Splits a list in which brackets protect commas: `a=1,b=[2,3]`; numbers without a name continue the list before them.
fn split_items(text: &str) -> Vec<String> {
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

fn parse_value(text: &str) -> Result<SymbolValue, String> {
    let text = text.trim();
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let ends = number_list::parse_integers(inside).map_err(|error| error.to_string())?;
        return match ends[..] {
            [low, high] => Ok(SymbolValue::Interval(low, high)),
            _ => Err("an interval has two bounds, as in [0.1,0.2]".into()),
        };
    }
    let list = number_list::parse_integers(text).map_err(|error| error.to_string())?;
    Ok(if let [value] = list[..] { SymbolValue::Exact(value) } else { SymbolValue::List(list) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_model::laws::LawQuantity;

    #[test]
    fn symbols_have_numbers_intervals_or_lists() {
        let query = parse("all-to-one-simple", "R=0.8,C=[0.01,0.03],M=64", Some("1..4")).unwrap();
        assert_eq!((query.variable, query.values.as_slice()), ("N", &[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(query.middle.evaluate_at(LawQuantity::Granularity, &[]).unwrap().midpoint(), 40.0);
        assert!((query.intervals.evaluate_at(LawQuantity::Granularity, &[]).unwrap().high() - 80.0).abs() < 1e-9);
        let query = parse("wormhole", "P=100,L=1,F=1,d=1,2,4", None).unwrap();
        assert_eq!((query.variable, query.values.as_slice()), ("d", &[1.0, 2.0, 4.0][..]));
        let query = parse("wormhole", "P=100,L=1,d=2,F=[1,2]", None).unwrap();
        assert_eq!((query.variable, query.values.as_slice()), ("d", &[2.0][..]), "a law at a single point");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_reason() {
        for (name, text, procs, reason) in [
            ("amdal", "", None, "no law `amdal`; available: amdahl, gustafson"),
            ("amdahl", "serial", None, "expected SYMBOL=VALUE, such as serial=1"),
            ("amdahl", "serial=x", None, "`x` is not a number"),
            ("amdahl", "serial=[2,1]", None, "2 is greater than 1"),
            ("amdahl", "time=1", None, "has no symbol `time`"),
            ("amdahl", "serial=1..3", Some("1..4"), "only one symbol can vary"),
            ("wormhole", "", None, "needs values for its symbols"),
            ("amdahl", "serial=1,parallel=2", Some("1..3:0.5"), "N cannot be 1.5: the number of nodes is an integer"),
            ("wormhole", "P=1,L=1,F=1", Some("4"), "does not depend on processes"),
            ("amdahl", "serial=1,parallel=2", Some("0,1"), "N cannot be 0"),
            ("virtual-cut-through", "P=1,L=1,F=1,d=1,header=1,busy=0,2", None, "B cannot be 2"),
        ] {
            let error = parse(name, text, procs).err().unwrap();
            assert!(error.contains(reason), "{name} {text}: {error}");
        }
    }
}
