//! What laws say, drawn.

use sintonia_formats::plot::{Axis, Ink, Plot, Point, Series, Shape, Spread, Unit};
use sintonia_model::predict::Figure;

use super::{Answer, Row};

/// The speed-up over the nodes beside the ideal one, or the time over whatever changes.
pub fn of(answers: &[Answer]) -> Plot {
    let speedups = answers.iter().all(|answer| answer.rows.iter().all(|row| row.speedup.is_some()));
    let of: fn(&Row) -> Option<Figure> = if speedups { |row| row.speedup } else { |row| row.seconds };
    let mut series = Vec::new();
    for (number, answer) in answers.iter().enumerate() {
        let figures = || answer.rows.iter().filter_map(|row| Some((row.at, of(row)?)));
        let band: Vec<Spread> = figures().map(|(x, [low, _, high])| Spread { x, low, high }).collect();
        if band.iter().any(|spread| spread.high > spread.low * (1.0 + 1e-9)) {
            series.push(Series::new(answer.law.title, Ink::Number(number), Shape::Band(band)));
        }
        let curve: Vec<Point> = figures().map(|(x, figure)| (x, figure[1])).collect();
        series.push(Series::new(answer.law.title, Ink::Number(number), Shape::Curve(curve)));
    }
    if speedups && let Some(answer) = answers.first() {
        let ideal = answer.rows.iter().map(|row| (row.at, row.at)).collect();
        series.push(Series::new("ideal", Ink::Reference, Shape::Curve(ideal)));
    }
    let along = answers.first().map_or("N", |answer| answer.along);
    let (label, unit) = if speedups { ("speed-up", Unit::Number) } else { ("time", Unit::Seconds) };
    let (over, counts) = match answers.first().and_then(|answer| answer.law.symbol(along)) {
        Some(symbol) if along != "N" => (format!("{along}, {}", symbol.means), Unit::Number),
        _ => ("processes".into(), Unit::Whole),
    };
    let title = match answers {
        [one] => format!("{}: {label} over {along}", one.law.title),
        _ => format!("{label} over {along}"),
    };
    Plot { title, notes: Vec::new(), x: Axis::new(over, counts), y: Axis::new(label, unit), series, residuals: Vec::new() }
}
