//! Plots of laws.

use sintonia_model::laws::{LawAnswer, LawRow};
use sintonia_model::predict::EstimateRange;
use sintonia_plot::{AxisSpec, AxisUnit, BandPoint, Plot, PlotSeries, Point, SeriesMark, SeriesStyle};

/// Speed-up over nodes with the ideal one, or time over the varying symbol.
pub(super) fn plot_answers(answers: &[LawAnswer]) -> Plot {
    let speedups = answers.iter().all(|answer| answer.rows.iter().all(|row| row.speedup.is_some()));
    let of: fn(&LawRow) -> Option<EstimateRange> = if speedups { |row| row.speedup } else { |row| row.seconds };
    let mut series = Vec::new();
    for (number, answer) in answers.iter().enumerate() {
        let figures = || answer.rows.iter().filter_map(|row| Some((row.at, of(row)?)));
        let band: Vec<BandPoint> = figures().map(|(x, [low, _, high])| BandPoint { x, low, high }).collect();
        if band.iter().any(|spread| spread.high > spread.low * (1.0 + 1e-9)) {
            series.push(PlotSeries::new(answer.law.title, SeriesStyle::Indexed(number), SeriesMark::Band(band)));
        }
        let curve: Vec<Point> = figures().map(|(x, figure)| (x, figure[1])).collect();
        series.push(PlotSeries::new(answer.law.title, SeriesStyle::Indexed(number), SeriesMark::Curve(curve)));
    }
    if speedups && let Some(answer) = answers.first() {
        let ideal = answer.rows.iter().map(|row| (row.at, row.at)).collect();
        series.push(PlotSeries::new("ideal", SeriesStyle::Reference, SeriesMark::Curve(ideal)));
    }
    let along = answers.first().map_or("N", |answer| answer.variable);
    let (label, unit) = if speedups { ("speed-up", AxisUnit::Number) } else { ("time", AxisUnit::Seconds) };
    let (over, counts) = match answers.first().and_then(|answer| answer.law.symbol(along)) {
        Some(symbol) if along != "N" => (format!("{along}, {}", symbol.description), AxisUnit::Number),
        _ => ("processes".into(), AxisUnit::Count),
    };
    let title = match answers {
        [one] => format!("{}: {label} over {along}", one.law.title),
        _ => format!("{label} over {along}"),
    };
    Plot { title, notes: Vec::new(), x: AxisSpec::new(over, counts), y: AxisSpec::new(label, unit), series, residuals: Vec::new() }
}
