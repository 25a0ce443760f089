//! Lists of numbers as people type them: `2,4,8`, `16..256`, `2..10:2`.

/// More numbers than this are a mistake.
const MOST: usize = 100_000;

/// Why a text is no list of numbers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoList {
    /// A part of it is no number.
    #[error("`{0}` is no number")]
    NoNumber(String),
    /// A range goes backwards, from zero, or has only one end.
    #[error("`{0}` is no range: it has two ends and goes up, as 16..256, or with a step, as 2..10:2")]
    NoRange(String),
    /// It has too many numbers.
    #[error("it has more than {MOST} numbers")]
    TooMany,
}

/// The numbers of a list, in which a range doubles: `16..100` is 16, 32, 64, 100.
pub fn doubling(list: &str) -> Result<Vec<f64>, NoList> {
    let double =
        |from: f64, to: f64| std::iter::successors(Some(from), |value| Some(value * 2.0)).take_while(move |value| *value < to).chain([to]);
    numbers(list, |from, to| (from > 0.0).then(|| double(from, to).collect()))
}

/// The numbers of a list, in which a range has every number: `1..4` is 1, 2, 3, 4.
pub fn every(list: &str) -> Result<Vec<f64>, NoList> {
    numbers(list, |from, to| Some(steps(from, to, 1.0)))
}

/// The numbers of a list; `range` says what is between two ends, or that this is no range.
fn numbers(list: &str, range: impl Fn(f64, f64) -> Option<Vec<f64>>) -> Result<Vec<f64>, NoList> {
    let mut all = Vec::new();
    for item in list.split(',').map(str::trim) {
        match item.split_once("..") {
            None => all.push(number(item)?),
            Some((from, rest)) => all.extend(of_range(item, from, rest, &range)?),
        }
        if all.len() > MOST {
            return Err(NoList::TooMany);
        }
    }
    Ok(all)
}

fn of_range(item: &str, from: &str, rest: &str, range: impl Fn(f64, f64) -> Option<Vec<f64>>) -> Result<Vec<f64>, NoList> {
    let (to, step) = rest.split_once(':').map_or((rest, None), |(to, step)| (to, Some(step)));
    if from.trim().is_empty() || to.trim().is_empty() {
        return Err(NoList::NoRange(item.to_owned()));
    }
    let (from, to, step) = (number(from)?, number(to)?, step.map(number).transpose()?);
    let between = match step {
        _ if from > to => None,
        Some(step) if step > 0.0 && (to - from) / step > MOST as f64 => return Err(NoList::TooMany),
        Some(step) => (step > 0.0).then(|| steps(from, to, step)),
        None => range(from, to),
    };
    between.ok_or_else(|| NoList::NoRange(item.to_owned()))
}

/// Every number from one to another, a step apart.
fn steps(from: f64, to: f64, step: f64) -> Vec<f64> {
    // One more than there may be, so that it is seen that there are too many.
    let count = ((to - from) / step + 1e-9).floor().min(MOST as f64) as usize;
    (0..=count).map(|place| from + step * place as f64).collect()
}

fn number(text: &str) -> Result<f64, NoList> {
    let text = text.trim();
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| NoList::NoNumber(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_numbers_ranges_that_double_and_ranges_with_a_step() {
        assert_eq!(doubling("2,4,8,16..256"), Ok(vec![2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]));
        assert_eq!(doubling("16..100"), Ok(vec![16.0, 32.0, 64.0, 100.0]));
        assert_eq!(doubling("3, 2..10:4"), Ok(vec![3.0, 2.0, 6.0, 10.0]));
        assert_eq!(doubling("5..5"), Ok(vec![5.0]));
        assert_eq!(every("0..2"), Ok(vec![0.0, 1.0, 2.0]));
        assert_eq!(every("0..0.5:0.25,1..3"), Ok(vec![0.0, 0.25, 0.5, 1.0, 2.0, 3.0]));
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_reason() {
        for (list, reason) in [
            ("", NoList::NoNumber("".into())),
            ("1,x", NoList::NoNumber("x".into())),
            ("4..2", NoList::NoRange("4..2".into())),
            ("0..8", NoList::NoRange("0..8".into())),
            ("1..8:0", NoList::NoRange("1..8:0".into())),
            ("16..", NoList::NoRange("16..".into())),
            ("..16", NoList::NoRange("..16".into())),
            ("2..:2", NoList::NoRange("2..:2".into())),
            ("1..x", NoList::NoNumber("x".into())),
            ("1..1e9:1", NoList::TooMany),
            ("inf", NoList::NoNumber("inf".into())),
        ] {
            assert_eq!(doubling(list), Err(reason), "{list}");
        }
        assert_eq!(every("1..1e9"), Err(NoList::TooMany));
    }
}
