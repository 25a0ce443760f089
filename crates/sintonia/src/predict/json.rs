//! Predictions of several series as JSON.

use serde::Serialize;
use sintonia_model::forecast::Forecast;
use sintonia_model::forecast::json::ForecastJson;

/// The predictions of all series.
#[derive(Serialize)]
pub(super) struct SeriesForecastsJson<'a> {
    series: Vec<SeriesForecastJson<'a>>,
}

/// The predictions of one series, with what they are about.
#[derive(Serialize)]
struct SeriesForecastJson<'a> {
    name: &'a str,
    region: Option<&'a str>,
    metric: &'a str,
    #[serde(flatten)]
    forecast: ForecastJson,
}

impl<'a> SeriesForecastsJson<'a> {
    /// All predictions; with the components of each, if requested.
    pub(super) fn new(forecasts: &'a [Forecast], explain: bool) -> SeriesForecastsJson<'a> {
        let series = |forecast: &'a Forecast| SeriesForecastJson {
            name: &forecast.model.name,
            region: forecast.model.region.as_deref(),
            metric: &forecast.model.quantity.name,
            forecast: ForecastJson::new(forecast, explain),
        };
        SeriesForecastsJson { series: forecasts.iter().map(series).collect() }
    }
}
