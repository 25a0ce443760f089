//! A prediction from source, drawn.

use sintonia_formats::plot::{Axis, Ink, Plot, Point, Series, Shape, Spread, Unit};

use super::{Outlook, Row};
use crate::fit::page::number;

/// More curves than this cannot be told apart.
const CURVES: usize = 6;

/// The time over the processes with its band, one curve for each combination of the other parameters.
pub fn of(outlook: &Outlook) -> Plot {
    let sweeps = outlook.sweeps();
    let mut series = Vec::new();
    for (place, sweep) in sweeps.iter().take(CURVES).enumerate() {
        let (name, ink) = (name(sweep, sweeps.len()), Ink::Number(place));
        let band = sweep.iter().map(|row| Spread { x: row.processes as f64, low: row.estimate.seconds[0], high: row.estimate.seconds[2] });
        let curve: Vec<Point> = sweep.iter().map(|row| (row.processes as f64, row.estimate.seconds[1])).collect();
        series.push(Series::new(name.clone(), ink, Shape::Band(band.collect())));
        series.push(Series::new(name, ink, Shape::Curve(curve)));
    }
    if let Some(first) = sweeps.first().and_then(|sweep| sweep.first()).filter(|_| sweeps.len() == 1) {
        let whole = first.estimate.seconds[1] * first.processes as f64;
        let ideal = outlook.rows.iter().map(|row| (row.processes as f64, whole / row.processes as f64)).collect();
        series.push(Series::new("ideal", Ink::Reference, Shape::Curve(ideal)));
    }
    Plot {
        title: format!("{}: time over p on {}", outlook.name, outlook.machine),
        notes: Vec::new(),
        x: Axis::new("processes", Unit::Whole),
        y: Axis::new("time", Unit::Seconds),
        series,
        residuals: Vec::new(),
    }
}

fn name(sweep: &[Row], sweeps: usize) -> String {
    let parameters = sweep.first().map(|row| &row.parameters).filter(|_| sweeps > 1);
    let values = parameters.into_iter().flatten().map(|(name, value)| format!("{name} = {}", number(*value)));
    let values = values.collect::<Vec<_>>().join(", ");
    if values.is_empty() { "predicted".to_owned() } else { values }
}
