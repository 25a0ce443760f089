//! Accepted model files, and errors in them.

use std::path::Path;

use proptest::prelude::*;

use crate::fitted_term::FittedTerm;
use crate::host_effects::{HostEffects, SchedulingTime};
use crate::model::{
    CallFormulas, HoldOutValidation, MeasuredParameter, MeasuredSetting, ModelPart, ModelledQuantity, PerformanceModel, PredictionBasis,
    ReferenceMachine, RoleLimit,
};
use crate::working_set::{CacheHierarchy, CacheLevel, WorkingSet};
use sintonia_fit::quantity_kind::QuantityKind;
use sintonia_insight::program_part::PartKind;

fn parse(text: &str) -> Result<PerformanceModel, String> {
    PerformanceModel::parse(text, Path::new("m.toml")).map_err(|error| error.to_string())
}

/// A model with two parts and a role, fitted and written by hand.
fn sample(name: &str, numbers: [f64; 3]) -> PerformanceModel {
    let names = ["n".to_owned(), "p".to_owned()];
    let settings: Vec<Vec<f64>> = [100.0, 200.0, 400.0, 800.0].iter().flat_map(|n| [2.0, 4.0, 8.0].map(|p| vec![*n, p])).collect();
    let values: Vec<f64> = settings.iter().map(|x| 1e-9 * x[0].powi(3) / x[1]).collect();
    let fitted = FittedTerm::fit(&names, &settings, &values, 0).unwrap();
    let part = |name: &str, kind, term| ModelPart { name: name.into(), kind, share: numbers[0], term, calls: None, reference_cost: None };
    let calls =
        CallFormulas { operation: "MPI_Send".into(), count: "p - 1".parse().unwrap(), bytes: "8*n^2".parse().unwrap(), idle_ranks: 1 };
    let send = ModelPart {
        calls: Some(calls),
        reference_cost: Some("pieces(n, up to 100: [0.5, 0.75]*n, beyond: n + p)".parse().unwrap()),
        ..part(
            "MPI_Send at \"a\"\\b.c:12",
            PartKind::Communication,
            FittedTerm::from_formula("1e-6*p + 3".parse().unwrap(), Some(numbers[1])),
        )
    };
    let cache = |name: &str, slowdown| CacheLevel { name: name.into(), bytes: 1 << 21, processors: 2, slowdown };
    PerformanceModel {
        name: name.into(),
        region: Some("main->\"loop\"".into()),
        quantity: ModelledQuantity { name: "time".into(), unit: "s".into() },
        parameters: vec![
            MeasuredParameter { name: "n".into(), from: 2.0, to: 800.0, kind: QuantityKind::Unknown },
            MeasuredParameter { name: "p".into(), from: 2.0, to: 8.0, kind: QuantityKind::Processes },
        ],
        fixed: [("it's fixed".to_owned(), numbers[2])].into(),
        parts: vec![part("computation", PartKind::Computation, fitted.clone()), send],
        limits: vec![RoleLimit { role: "master".into(), term: fitted.clone() }],
        whole: Some(fitted.clone()),
        uses: PredictionBasis::Parts,
        reference_machine: Some(ReferenceMachine {
            name: "here".into(),
            costs: [("float64 add".to_owned(), numbers[1])].into(),
            disturbance: numbers[1],
            ranks_per_core: 0.5,
        }),
        host_effects: HostEffects {
            scheduling: Some(SchedulingTime { mean_percent: numbers[1], spread_percent: numbers[0] }),
            working_set: Some(WorkingSet {
                term: fitted.clone(),
                hosts: 2,
                host: CacheHierarchy { processors: 8, caches: vec![cache("L2", None), cache("L3", Some(2.5))] },
                other_host: None,
            }),
        },
        noise_percent: numbers[1],
        validation: Some(HoldOutValidation {
            parts_error_percent: Some(numbers[0]),
            whole_error_percent: numbers[1],
            parts_widening: 1.0 + numbers[0].abs(),
            whole_widening: 1.0,
            runs: 3,
        }),
        points: vec![MeasuredSetting { at: vec![100.0, 2.0], value: numbers[0] }],
        notes: vec!["line one\nline two".into()],
    }
}

#[test]
fn a_file_without_any_series_says_so() {
    let said = parse("format = 1\nseries = []\n").unwrap_err();
    assert!(said.starts_with("m.toml:2") && said.contains("there is no series, so there is no model"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_model_is_read_as_it_was_written(name in "\\PC{0,12}", a in 0.0..1e9, b in 0.0..100.0, c in -1e300..1e300) {
        let model = sample(&name, [a, b, c]);
        prop_assert!(parse(&model.to_text()).unwrap() == model, "{}", model.name);
    }

    #[test]
    fn several_models_are_read_as_they_were_written(names in prop::collection::vec("\\PC{0,12}", 1..4)) {
        let models: Vec<PerformanceModel> = names.iter().zip(1..).map(|(name, k)| sample(name, [f64::from(k), 2.0, 3.0])).collect();
        let text = PerformanceModel::all_to_text(&models);
        prop_assert!(PerformanceModel::parse_all(&text, Path::new("m.toml")).unwrap() == models, "{text}");
    }

    #[test]
    fn any_text_gives_a_model_or_an_error(text in "\\PC{0,200}") {
        let _ = parse(&text);
        let _ = parse(&format!("format = 1\n[model]\nname = \"x\"\nformula = \"{text}\"\n"));
    }

    #[test]
    fn a_file_with_one_character_changed_gives_a_model_or_an_error(place in 0.0..1.0, new in any::<char>()) {
        let text = sample("x", [1.0, 2.0, 3.0]).to_text();
        let place = (text.chars().count() as f64 * place) as usize;
        let changed: String = text.chars().enumerate().map(|(at, old)| if at == place { new } else { old }).collect();
        if let Ok(model) = parse(&changed) {
            let names = model.parameter_names();
            let _ = crate::predict::Predictor::new(&model, &names).predict_seconds(&vec![3.0; names.len()]);
        }
    }
}

const BY_HAND: &str = "format = 1\n[model]\nname = \"lu\"\nformula = \"1e-9*n^3/p + 1e-5*p\"\n\
                       [[parameter]]\nname = \"n\"\nfrom = 1\nto = 1000\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";

#[test]
fn a_model_can_be_written_by_hand_in_a_few_lines() {
    let model = parse(BY_HAND).unwrap();
    assert_eq!(model.uses, PredictionBasis::Whole);
    assert!((model.point_estimate(&[1000.0, 4.0]).unwrap() - 0.25004).abs() < 1e-12);
}

#[test]
fn a_formula_by_hand_has_the_interval_of_its_error() {
    let model = parse(&BY_HAND.replacen("name = \"lu\"", "name = \"lu\"\nerror_percent = 10", 1)).unwrap();
    let names = model.parameter_names();
    let [low, middle, high] = crate::predict::Predictor::new(&model, &names).predict_seconds(&[1000.0, 4.0]).unwrap();
    assert!(low < 0.85 * middle && high > 1.15 * middle && (middle - 0.25004).abs() < 1e-12, "{low} {middle} {high}");
}

#[test]
fn a_file_that_cannot_be_read_or_is_no_text_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    let refused = || PerformanceModel::read(&path).unwrap_err().to_string();
    assert!(refused().starts_with(&format!("cannot read {}: ", path.display())), "{}", refused());
    std::fs::write(&path, b"format\xff").unwrap();
    assert_eq!(refused(), format!("{} is not a model file: invalid UTF-8 at byte 6", path.display()));
}

#[test]
fn the_composed_formula_is_told_in_a_comment() {
    let model = sample("x", [1.0, 2.0, 3.0]);
    let text = model.to_text();
    let told = text.lines().find_map(|line| line.strip_prefix("# Result of the terms below: time = "));
    assert_eq!(told.map(str::parse), Some(Ok(model.formula())));
}

#[test]
fn a_formula_that_was_changed_by_hand_leaves_its_possible_formulas() {
    let model = sample("x", [1.0, 2.0, 3.0]);
    let found = model.parts[0].term.formula.to_string();
    let changed =
        parse(&model.to_text().replacen(&format!("share = 1\nformula = \"{found}\""), "share = 1\nformula = \"n^2\"", 1)).unwrap();
    assert!(model.parts[0].term.curve.is_some() && changed.parts[0].term.curve.is_none());
    assert_eq!(changed.parts[0].term.formula, "n^2".parse().unwrap());
    assert!(changed.limits[0].term.curve.is_some());
}

#[test]
fn a_file_of_several_models_is_refused_where_one_is_needed() {
    let text = PerformanceModel::all_to_text(&[sample("x", [1.0, 2.0, 3.0]), sample("y", [1.0, 2.0, 3.0])]);
    assert_eq!(parse(&text).unwrap_err(), "m.toml has 2 models, but one is needed here: fit a single series (--y, --where)");
    let error = parse(&text.replacen("[series.whole]", "[series.hole]", 2)).unwrap_err();
    assert!(error.contains("`hole` is unknown in [[series]]"), "{error}");
    assert!(parse("format = 1\n[[series]]\n").unwrap_err().starts_with("m.toml:2:"));
    assert!(parse("format = 1\nseries = 3\n").unwrap_err().starts_with("m.toml:2:"));
}

#[test]
fn every_error_says_the_line_and_what_is_wrong() {
    let wrong = |from: &str, to: &str| parse(&BY_HAND.replacen(from, to, 1)).unwrap_err();
    for (from, to, line, what) in [
        ("format = 1", "format = 7", 1, "format 7"),
        ("name = \"lu\"", "nome = \"lu\"", 3, "`nome` is unknown in [model] (did you mean `name`?)"),
        ("name = \"lu\"\n", "", 2, "`name` is missing in [model]"),
        ("n^3/p", "n^^3", 4, "invalid formula"),
        ("from = 1\nto = 16", "from = 1\nto = nan", 9, "p cannot range from 1 to NaN"),
        ("name = \"lu\"", "name = \"lu\"\nnoise_percent = nan", 4, "the noise of runs must be a finite number, from 0 on, not NaN"),
        ("name = \"lu\"", "name = \"lu\"\nnoise_percent = -5", 4, "the noise of runs must be"),
        ("name = \"lu\"", "name = \"lu\"\nerror_percent = -5", 4, "an error in percent must be a finite number, from 0 on, not -5"),
        ("format = 1", "format = 1\n[fixed]\nk = inf", 3, "a fixed parameter must be a finite number, not inf"),
        ("format = 1", "format = 1\n[validation]\nwhole_error_percent = nan\nruns = 1", 3, "an error in percent must be"),
        (
            "format = 1",
            "format = 1\n[validation]\nwhole_error_percent = 1\nwhole_widening = 0.5\nruns = 1",
            4,
            "the widening of intervals must be",
        ),
        ("format = 1", "format = 1\n[machine]\nname = \"m\"\ncosts = { \"add\" = 0 }", 4, "a cost must be a finite number above 0, not 0"),
        ("formula = \"1e-9*n^3/p + 1e-5*p\"", "error_percent = 5\n[whole]\nformula = \"n\"", 4, "put it next to one"),
        ("format = 1", "format = 1\n[whole]\nformula = \"n\"", 6, "two formulas of the total"),
        ("[[parameter]]", "[[part]]\nname = \"a\"\nkind = \"other\"\nformula = \"n\"\n[[parameter]]", 4, "the parts define the formula"),
        ("n^3/p", "n^3/q", 4, "depends on q, which is not a [[parameter]]"),
        ("to = 16", "to = 0.5", 9, "p cannot range from 1 to 0.5"),
        ("name = \"p\"", "name = \"n\"", 9, "duplicate parameter n"),
        ("formula = \"1e-9*n^3/p + 1e-5*p\"\n", "", 2, "needs a formula"),
        ("[[parameter]]", "[[parameter]", 5, ""),
        ("name = \"lu\"", "name = \"lu\"\nuses = \"parts\"", 4, "needs a formula"),
    ] {
        let error = wrong(from, to);
        assert!(error.starts_with(&format!("m.toml:{line}:")) && error.contains(what), "{from} -> {to}: {error}");
    }
    assert_eq!(parse("").unwrap_err(), "m.toml:1:1: this is not a model file: it must begin with `format = 1`");
    assert!(parse("format = 2\n[other]\n").unwrap_err().contains("m.toml:1:10: model file format 2"));
    let error = wrong("n^3/p", "n^^3");
    assert!(error.contains("m.toml:4:19: ") && error.contains("formula = \"1e-9*n^^3 + 1e-5*p\"\n                      ^"), "{error}");
    let error = parse(&format!("{BY_HAND}[measured]\npoints = [[1, 2]]\n")).unwrap_err();
    assert!(error.contains("m.toml:14:11") && error.contains("2 parameter values"), "{error}");
}
