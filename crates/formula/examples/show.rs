//! Shows what formulas simplify to, and their values: `show 'sum(i=1..n, sqrt(i))' n=1e9`.

use sintonia_formula::{Formula, Interval, SymbolValues};

fn main() {
    let (mut points, mut ranges, mut texts) = (SymbolValues::new(), SymbolValues::new(), Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=').and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?))) {
            Some((name, value)) => {
                points.set(name, value);
                ranges.set(name, Interval::point(value));
            }
            None => texts.push(argument),
        }
    }
    for text in texts {
        match Formula::parse(&text) {
            Ok(formula) => show(&formula, &points, &ranges),
            Err(error) => println!("{text}: {error}"),
        }
    }
}

fn show(formula: &Formula, points: &SymbolValues<f64>, ranges: &SymbolValues<Interval>) {
    println!("{formula}");
    match (formula.evaluate(points), formula.enclose(ranges)) {
        (Ok(value), Ok(interval)) => println!("  = {value}, certainly from {} to {}", interval.low(), interval.high()),
        (Err(undefined), _) | (_, Err(undefined)) => println!("  {undefined}"),
    }
}
