//! Plots and drawings, as SVG and as text.
//!
//! What is drawn is described as data: a [`Plot`] of measurements and formulas, a [`HeatMap`](heat_map::HeatMap), or a program graph
//! ([`program_graph`]). Nothing here knows where the data come from, or writes files.

#![forbid(unsafe_code)]

pub mod heat_map;
mod plot;
pub mod program_graph;
mod svg;

pub use plot::{
    AxisSpec, AxisUnit, BandPoint, CharSet, GAP, MeasuredPoint, Plot, PlotSeries, Point, ScaleType, SeriesMark, SeriesStyle,
    TerminalOptions, VerticalLine, render_svg, render_text, residuals, sample_curve,
};
