//! Tables on which fits were wrong once: what is right for each.

use std::path::Path;

use sintonia_fit::table::{TableColumns, read_csv};
use sintonia_model::model::PerformanceModel;
use sintonia_model::predict::Predictor;
use sintonia_model::series::CurveForm;

fn model(text: &str, parameters: &[&str]) -> PerformanceModel {
    let parameters = parameters.iter().map(ToString::to_string).collect();
    let columns = TableColumns { parameters, value: "t".into(), unit: None, kinds: Vec::new() };
    let series = read_csv("t.csv", text, &columns).unwrap();
    let model = PerformanceModel::from_series(&series, &CurveForm::Scaling).unwrap();
    let read = PerformanceModel::parse(&model.to_text(), Path::new("m")).expect("what is written can be read");
    assert_eq!(read, model);
    read
}

fn predicted(model: &PerformanceModel, setting: &[f64]) -> [f64; 3] {
    Predictor::new(model, &model.parameter_names()).predict_seconds(setting).expect("a prediction")
}

#[test]
fn a_rise_of_800_times_after_a_change_of_the_growth_is_no_constant() {
    let model = model(include_str!("data/change_of_growth.csv"), &["p"]);
    assert_eq!(model.formula().to_string(), "pieces(p, up to 20: log2(p), beyond: p^2)");
    assert!(model.notes.iter().any(|note| note.contains("the growth changes between p = 20 and 24")), "{:?}", model.notes);
    let [low, middle, high] = predicted(&model, &[80.0]);
    assert!(low <= 6400.0 && 6400.0 <= high && (middle / 6400.0 - 1.0).abs() < 0.02, "{low} {middle} {high}");
}

#[test]
fn a_clean_grid_gives_the_function_that_it_was_made_with() {
    let model = model(include_str!("data/clean_grid.csv"), &["x", "y"]);
    let terms: Vec<String> = model.whole.as_ref().unwrap().curve.as_ref().unwrap().terms().iter().map(|one| one.term.to_string()).collect();
    assert!(terms.len() == 2 && terms.contains(&"1".to_owned()) && terms.contains(&"x^2*log2(y)".to_owned()), "{}", model.formula());
    let truth = 1.0 + 0.2 * 200.0 * 200.0 * 16f64.log2();
    let [low, middle, high] = predicted(&model, &[200.0, 16.0]);
    assert!((middle / truth - 1.0).abs() < 0.01 && low <= truth && truth <= high, "{low} {middle} {high}, not {truth}");
}

#[test]
fn what_is_fitted_to_a_cache_step_is_predicted() {
    let model = model(include_str!("data/cache_step.csv"), &["n"]);
    let [low, middle, high] = predicted(&model, &[1600.0]);
    // Above the step, the time is about 8.9e-9 n^3.
    assert!(low <= middle && middle <= high && (0.5..2.0).contains(&(middle / 36.5)), "{low} {middle} {high}, {}", model.formula());
}
