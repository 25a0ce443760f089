//! Parses number lists: `2,4,8`, `16..256`, `2..10:2`.

/// More numbers than this are refused.
const MAX_NUMBERS: usize = 100_000;

/// Why a text is not a number list.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum NumberListError {
    /// An item is not a number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// A range is decreasing, starts at zero, or has only one end.
    #[error("`{0}` is not a valid range: expected an increasing range such as 16..256, or with a step such as 2..10:2")]
    InvalidRange(String),
    /// There are too many numbers.
    #[error("more than {MAX_NUMBERS} numbers")]
    TooManyNumbers,
}

/// Parses a list in which ranges double: `16..100` is 16, 32, 64, 100.
pub(super) fn parse_doubling(list: &str) -> Result<Vec<f64>, NumberListError> {
    let double =
        |from: f64, to: f64| std::iter::successors(Some(from), |value| Some(value * 2.0)).take_while(move |value| *value < to).chain([to]);
    parse_list(list, |from, to| (from > 0.0).then(|| double(from, to).collect()))
}

/// Parses a list in which ranges contain every integer: `1..4` is 1, 2, 3, 4.
pub(super) fn parse_integers(list: &str) -> Result<Vec<f64>, NumberListError> {
    parse_list(list, |from, to| Some(arithmetic_range(from, to, 1.0)))
}

/// Parses a list; `range` expands two ends, or returns none if they are invalid.
fn parse_list(list: &str, range: impl Fn(f64, f64) -> Option<Vec<f64>>) -> Result<Vec<f64>, NumberListError> {
    let mut all = Vec::new();
    for item in list.split(',').map(str::trim) {
        match item.split_once("..") {
            None => all.push(parse_number(item)?),
            Some((from, rest)) => all.extend(parse_range(item, from, rest, &range)?),
        }
        if all.len() > MAX_NUMBERS {
            return Err(NumberListError::TooManyNumbers);
        }
    }
    Ok(all)
}

fn parse_range(item: &str, from: &str, rest: &str, range: impl Fn(f64, f64) -> Option<Vec<f64>>) -> Result<Vec<f64>, NumberListError> {
    let (to, step) = rest.split_once(':').map_or((rest, None), |(to, step)| (to, Some(step)));
    if from.trim().is_empty() || to.trim().is_empty() {
        return Err(NumberListError::InvalidRange(item.to_owned()));
    }
    let (from, to, step) = (parse_number(from)?, parse_number(to)?, step.map(parse_number).transpose()?);
    let between = match step {
        _ if from > to => None,
        Some(step) if step > 0.0 && (to - from) / step > MAX_NUMBERS as f64 => return Err(NumberListError::TooManyNumbers),
        Some(step) => (step > 0.0).then(|| arithmetic_range(from, to, step)),
        None => range(from, to),
    };
    between.ok_or_else(|| NumberListError::InvalidRange(item.to_owned()))
}

/// Numbers from `from` to `to`, a step apart.
fn arithmetic_range(from: f64, to: f64, step: f64) -> Vec<f64> {
    // One more than allowed, so that the caller detects too many.
    let count = ((to - from) / step + 1e-9).floor().min(MAX_NUMBERS as f64) as usize;
    (0..=count).map(|index| from + step * index as f64).collect()
}

fn parse_number(text: &str) -> Result<f64, NumberListError> {
    let text = text.trim();
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| NumberListError::NotANumber(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_numbers_ranges_that_double_and_ranges_with_a_step() {
        assert_eq!(parse_doubling("2,4,8,16..256"), Ok(vec![2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]));
        assert_eq!(parse_doubling("16..100"), Ok(vec![16.0, 32.0, 64.0, 100.0]));
        assert_eq!(parse_doubling("3, 2..10:4"), Ok(vec![3.0, 2.0, 6.0, 10.0]));
        assert_eq!(parse_doubling("5..5"), Ok(vec![5.0]));
        assert_eq!(parse_integers("0..2"), Ok(vec![0.0, 1.0, 2.0]));
        assert_eq!(parse_integers("0..0.5:0.25,1..3"), Ok(vec![0.0, 0.25, 0.5, 1.0, 2.0, 3.0]));
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_reason() {
        for (list, reason) in [
            ("", NumberListError::NotANumber("".into())),
            ("1,x", NumberListError::NotANumber("x".into())),
            ("4..2", NumberListError::InvalidRange("4..2".into())),
            ("0..8", NumberListError::InvalidRange("0..8".into())),
            ("1..8:0", NumberListError::InvalidRange("1..8:0".into())),
            ("16..", NumberListError::InvalidRange("16..".into())),
            ("..16", NumberListError::InvalidRange("..16".into())),
            ("2..:2", NumberListError::InvalidRange("2..:2".into())),
            ("1..x", NumberListError::NotANumber("x".into())),
            ("1..1e9:1", NumberListError::TooManyNumbers),
            ("inf", NumberListError::NotANumber("inf".into())),
        ] {
            assert_eq!(parse_doubling(list), Err(reason), "{list}");
        }
        assert_eq!(parse_integers("1..1e9"), Err(NumberListError::TooManyNumbers));
    }
}
