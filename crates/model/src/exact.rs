//! Formulas of what is counted, not measured: calls and bytes are whole numbers, and mostly polynomials of the parameters.
//!
//! A counted number has no noise, so a formula either gives it exactly everywhere or is wrong. The fewest terms that do, with fewer than
//! there are settings so that it is no coincidence, are the answer.

use sintonia_formula::Formula;

/// The powers of a parameter that are tried.
const POWERS: [i32; 5] = [0, 1, 2, -1, 3];
/// The most terms.
const MOST_TERMS: usize = 3;
/// The most sets of terms that are tried.
const MOST_TRIED: usize = 200_000;
/// How close to a value is that value: what is left of a float after a few sums.
const EQUAL: f64 = 1e-9;
/// The largest denominator of a coefficient.
const DENOMINATORS: i64 = 24;

/// The exact formula of values at settings of these parameters; `None` if there is none that is simple.
pub fn formula(parameters: &[String], settings: &[Vec<f64>], values: &[f64]) -> Option<Formula> {
    if values.iter().all(|value| *value == 0.0) {
        return Some(Formula::zero());
    }
    let different = {
        let mut sorted: Vec<&Vec<f64>> = settings.iter().collect();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        sorted.dedup();
        sorted.len()
    };
    let monomials = monomials(parameters.len());
    let columns: Vec<Vec<f64>> =
        monomials.iter().map(|powers| settings.iter().map(|setting| value_of(powers, setting)).collect()).collect();
    let mut tried = 0;
    for terms in 1..=MOST_TERMS.min(different.saturating_sub(1)) {
        let mut chosen: Vec<usize> = (0..terms).collect();
        loop {
            tried += 1;
            if tried > MOST_TRIED {
                return None;
            }
            let own: Vec<&[f64]> = chosen.iter().map(|term| columns[*term].as_slice()).collect();
            if let Some(coefficients) = solve(&own, values).and_then(|found| nice(&found, &own, values)) {
                let terms = chosen.iter().zip(coefficients).map(|(term, coefficient)| coefficient * product(parameters, &monomials[*term]));
                return Some(terms.fold(Formula::zero(), |sum, term| sum + term));
            }
            if !next(&mut chosen, columns.len()) {
                break;
            }
        }
    }
    None
}

/// All products of powers, simplest first.
fn monomials(parameters: usize) -> Vec<Vec<i32>> {
    let mut all: Vec<Vec<i32>> = vec![Vec::new()];
    for _ in 0..parameters {
        all = all.iter().flat_map(|one| POWERS.iter().map(move |power| [one.as_slice(), &[*power]].concat())).collect();
    }
    let cost = |powers: &[i32]| powers.iter().map(|power| if *power < 0 { 2 } else { *power }).sum::<i32>();
    all.sort_by_key(|powers| cost(powers));
    all
}

fn value_of(powers: &[i32], setting: &[f64]) -> f64 {
    powers.iter().zip(setting).map(|(power, x)| x.powi(*power)).product()
}

fn product(parameters: &[String], powers: &[i32]) -> Formula {
    let factors = parameters.iter().zip(powers).map(|(name, power)| Formula::symbol(name).power(i64::from(*power)));
    factors.fold(Formula::one(), |product, factor| product * factor)
}

/// Goes on to the next choice of terms, in order; says whether there is one.
fn next(chosen: &mut [usize], of: usize) -> bool {
    let size = chosen.len();
    let Some(place) = (0..size).rev().find(|place| chosen[*place] < of - size + place) else { return false };
    chosen[place] += 1;
    for after in place + 1..size {
        chosen[after] = chosen[after - 1] + 1;
    }
    true
}

/// The coefficients with which columns give the values at every setting; `None` if there are none.
fn solve(columns: &[&[f64]], values: &[f64]) -> Option<Vec<f64>> {
    let size = columns.len();
    // Columns differ by many powers of ten: each is measured by its largest number.
    let scale: Vec<f64> = columns.iter().map(|column| column.iter().fold(0.0_f64, |most, x| most.max(x.abs()))).collect();
    let mut rows: Vec<Vec<f64>> = (0..values.len())
        .map(|row| {
            let largest = values[row].abs().max(1.0);
            columns.iter().zip(&scale).map(|(column, scale)| column[row] / scale / largest).chain([values[row] / largest]).collect()
        })
        .collect();
    for step in 0..size {
        let pivot = (step..rows.len()).max_by(|a, b| rows[*a][step].abs().total_cmp(&rows[*b][step].abs()))?;
        rows.swap(step, pivot);
        if rows[step][step].abs() < 1e-12 {
            return None;
        }
        let top = rows[step].clone();
        for row in rows.iter_mut().skip(step + 1) {
            let factor = row[step] / top[step];
            row.iter_mut().zip(&top).skip(step).for_each(|(x, above)| *x -= factor * above);
        }
    }
    let mut found = vec![0.0; size];
    for step in (0..size).rev() {
        let known: f64 = (step + 1..size).map(|after| rows[step][after] * found[after]).sum();
        found[step] = (rows[step][size] - known) / rows[step][step];
    }
    let found: Vec<f64> = found.iter().zip(&scale).map(|(x, scale)| x / scale).collect();
    gives(&found, columns, values).then_some(found)
}

fn gives(coefficients: &[f64], columns: &[&[f64]], values: &[f64]) -> bool {
    values.iter().enumerate().all(|(row, value)| {
        let sum: f64 = coefficients.iter().zip(columns).map(|(c, column)| c * column[row]).sum();
        (sum - value).abs() <= EQUAL * value.abs().max(1.0)
    })
}

/// The same coefficients as fractions, if they are simple ones and still give the values.
fn nice(found: &[f64], columns: &[&[f64]], values: &[f64]) -> Option<Vec<Formula>> {
    let fraction = |x: &f64| {
        let fits = |under: &i64| {
            let over = x * *under as f64;
            (over - over.round()).abs() <= 1e-6 * over.abs().max(1.0) && over.round() != 0.0 && over.abs() < 1e15
        };
        (1..=DENOMINATORS).find(fits).map(|under| ((x * under as f64).round() as i64, under))
    };
    let fractions: Vec<(i64, i64)> = found.iter().map(fraction).collect::<Option<_>>()?;
    let exact: Vec<f64> = fractions.iter().map(|(over, under)| *over as f64 / *under as f64).collect();
    gives(&exact, columns, values).then(|| fractions.iter().map(|(over, under)| Formula::ratio(*over, *under)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: impl Fn(f64, f64) -> f64) -> Option<Formula> {
        let settings: Vec<Vec<f64>> = [100.0, 200.0, 400.0, 600.0].iter().flat_map(|n| [2.0, 4.0, 8.0].map(|p| vec![*n, p])).collect();
        let values: Vec<f64> = settings.iter().map(|x| value(x[0], x[1])).collect();
        formula(&["n".into(), "p".into()], &settings, &values)
    }

    fn text(formula: &str) -> Option<Formula> {
        Some(formula.parse().unwrap())
    }

    #[test]
    fn counts_and_bytes_have_the_formulas_of_the_program() {
        assert_eq!(of(|_, p| p - 1.0), text("p - 1"));
        assert_eq!(of(|n, p| 8.0 * n * n / p), text("8*n^2/p"));
        assert_eq!(of(|n, _| 8.0 * n * n), text("8*n^2"));
        assert_eq!(of(|_, _| 7.0), text("7"));
        assert_eq!(of(|_, _| 0.0), text("0"));
        assert_eq!(of(|n, p| 16.0 * n * (p - 1.0) + 3.0 * p), text("16*n*p - 16*n + 3*p"));
    }

    #[test]
    fn what_no_simple_formula_gives_has_none() {
        assert_eq!(of(|n, p| (n / (p + 1.0)).floor()), None);
        let settings = [vec![1.0], vec![2.0]];
        assert_eq!(formula(&["n".into()], &settings, &[3.0, 5.0]), None, "two settings do not show a line with two coefficients");
        assert_eq!(formula(&["n".into()], &settings[..1], &[3.0]), None, "one setting shows nothing");
    }
}
