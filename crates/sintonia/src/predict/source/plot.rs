//! Plots of predictions from source.

use sintonia_plot::{AxisSpec, AxisUnit, BandPoint, Plot, PlotSeries, Point, SeriesMark, SeriesStyle};

use super::{SourcePredictionRow, SourcePredictions};
use crate::text_layout::short_number;

/// More curves than this cannot be distinguished.
const MAX_CURVES: usize = 6;

/// The time over the processes with its band, one curve for each combination of the other parameters.
pub(super) fn plot_predictions(predictions: &SourcePredictions) -> Plot {
    let sweeps = predictions.sweeps();
    let mut series = Vec::new();
    for (index, sweep) in sweeps.iter().take(MAX_CURVES).enumerate() {
        let (name, ink) = (sweep_label(sweep, sweeps.len()), SeriesStyle::Indexed(index));
        let band =
            sweep.iter().map(|row| BandPoint { x: row.processes as f64, low: row.estimate.seconds[0], high: row.estimate.seconds[2] });
        let curve: Vec<Point> = sweep.iter().map(|row| (row.processes as f64, row.estimate.seconds[1])).collect();
        series.push(PlotSeries::new(name.clone(), ink, SeriesMark::Band(band.collect())));
        series.push(PlotSeries::new(name, ink, SeriesMark::Curve(curve)));
    }
    if let Some(first) = sweeps.first().and_then(|sweep| sweep.first()).filter(|_| sweeps.len() == 1) {
        let whole = first.estimate.seconds[1] * first.processes as f64;
        let ideal = predictions.rows.iter().map(|row| (row.processes as f64, whole / row.processes as f64)).collect();
        series.push(PlotSeries::new("ideal", SeriesStyle::Reference, SeriesMark::Curve(ideal)));
    }
    Plot {
        title: format!("{}: time over p on {}", predictions.name, predictions.machine),
        notes: Vec::new(),
        x: AxisSpec::new("processes", AxisUnit::Count),
        y: AxisSpec::new("time", AxisUnit::Seconds),
        series,
        residuals: Vec::new(),
    }
}

fn sweep_label(sweep: &[SourcePredictionRow], sweeps: usize) -> String {
    let parameters = sweep.first().map(|row| &row.parameters).filter(|_| sweeps > 1);
    let values = parameters.into_iter().flatten().map(|(name, value)| format!("{name} = {}", short_number(*value)));
    let values = values.collect::<Vec<_>>().join(", ");
    if values.is_empty() { "predicted".to_owned() } else { values }
}
