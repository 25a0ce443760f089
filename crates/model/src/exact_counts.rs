//! Exact formulas of counts: calls and bytes are integers, and mostly polynomials of the parameters.
//!
//! Counts have no noise, so a formula is either exact everywhere or wrong. The result is the formula with the fewest terms that reproduces
//! all counts, with fewer terms than settings so that it is no coincidence.

use sintonia_formula::Formula;

/// The powers of a parameter that are tried.
const POWERS: [i32; 5] = [0, 1, 2, -1, 3];
/// The maximum number of terms.
const MAX_TERMS: usize = 3;
/// The maximum number of combinations of terms that are tried.
const MAX_COMBINATIONS: usize = 200_000;
/// Relative tolerance for floating point sums.
const TOLERANCE: f64 = 1e-9;
/// The largest denominator of a coefficient.
const MAX_DENOMINATOR: i64 = 24;

/// The exact formula of values at settings of these parameters; `None` if there is no simple one.
pub(crate) fn find_formula(parameters: &[String], settings: &[Vec<f64>], values: &[f64]) -> Option<Formula> {
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
        monomials.iter().map(|powers| settings.iter().map(|setting| evaluate_monomial(powers, setting)).collect()).collect();
    let mut tried = 0;
    for terms in 1..=MAX_TERMS.min(different.saturating_sub(1)) {
        let mut chosen: Vec<usize> = (0..terms).collect();
        loop {
            tried += 1;
            if tried > MAX_COMBINATIONS {
                return None;
            }
            let own: Vec<&[f64]> = chosen.iter().map(|term| columns[*term].as_slice()).collect();
            if let Some(coefficients) = solve_exactly(&own, values).and_then(|found| as_fractions(&found, &own, values)) {
                let terms = chosen
                    .iter()
                    .zip(coefficients)
                    .map(|(term, coefficient)| coefficient * monomial_formula(parameters, &monomials[*term]));
                return Some(terms.fold(Formula::zero(), |sum, term| sum + term));
            }
            if !next_combination(&mut chosen, columns.len()) {
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

fn evaluate_monomial(powers: &[i32], setting: &[f64]) -> f64 {
    powers.iter().zip(setting).map(|(power, x)| x.powi(*power)).product()
}

fn monomial_formula(parameters: &[String], powers: &[i32]) -> Formula {
    let factors = parameters.iter().zip(powers).map(|(name, power)| Formula::symbol(name).power(i64::from(*power)));
    factors.fold(Formula::one(), |product, factor| product * factor)
}

/// Advances to the next combination of terms in lexicographic order; false at the end.
fn next_combination(chosen: &mut [usize], of: usize) -> bool {
    let size = chosen.len();
    let Some(index) = (0..size).rev().find(|index| chosen[*index] < of - size + index) else { return false };
    chosen[index] += 1;
    for after in index + 1..size {
        chosen[after] = chosen[after - 1] + 1;
    }
    true
}

/// The coefficients that reproduce the values at every setting; `None` if there are none.
fn solve_exactly(columns: &[&[f64]], values: &[f64]) -> Option<Vec<f64>> {
    let size = columns.len();
    // Columns differ by many orders of magnitude, so each is scaled by its largest entry.
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
    reproduces(&found, columns, values).then_some(found)
}

fn reproduces(coefficients: &[f64], columns: &[&[f64]], values: &[f64]) -> bool {
    values.iter().enumerate().all(|(row, value)| {
        let sum: f64 = coefficients.iter().zip(columns).map(|(c, column)| c * column[row]).sum();
        (sum - value).abs() <= TOLERANCE * value.abs().max(1.0)
    })
}

/// The coefficients as simple fractions, if they still reproduce the values.
fn as_fractions(found: &[f64], columns: &[&[f64]], values: &[f64]) -> Option<Vec<Formula>> {
    let fraction = |x: &f64| {
        let fits = |under: &i64| {
            let over = x * *under as f64;
            (over - over.round()).abs() <= 1e-6 * over.abs().max(1.0) && over.round() != 0.0 && over.abs() < 1e15
        };
        (1..=MAX_DENOMINATOR).find(fits).map(|under| ((x * under as f64).round() as i64, under))
    };
    let fractions: Vec<(i64, i64)> = found.iter().map(fraction).collect::<Option<_>>()?;
    let exact: Vec<f64> = fractions.iter().map(|(over, under)| *over as f64 / *under as f64).collect();
    reproduces(&exact, columns, values).then(|| fractions.iter().map(|(over, under)| Formula::ratio(*over, *under)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: impl Fn(f64, f64) -> f64) -> Option<Formula> {
        let settings: Vec<Vec<f64>> = [100.0, 200.0, 400.0, 600.0].iter().flat_map(|n| [2.0, 4.0, 8.0].map(|p| vec![*n, p])).collect();
        let values: Vec<f64> = settings.iter().map(|x| value(x[0], x[1])).collect();
        find_formula(&["n".into(), "p".into()], &settings, &values)
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
        assert_eq!(find_formula(&["n".into()], &settings, &[3.0, 5.0]), None, "two settings do not show a line with two coefficients");
        assert_eq!(find_formula(&["n".into()], &settings[..1], &[3.0]), None, "one setting shows nothing");
    }
}
