//! `scaling`: the model of all open recordings, or the given one, as curves.
//!
//! `?times=8` extrapolates each parameter by this factor, `?at.n=400` sets a fixed parameter, `?efficiency=0.7` sets the minimum efficiency.

use std::sync::Arc;

use sintonia_model::model::PerformanceModel;
use sintonia_model::next_run::NextRun;
use sintonia_model::run::MeasuredRun;
use sintonia_model::run_selection::RunSelection;
use sintonia_model::scaling_curves::CurveOptions;
use sintonia_model::study::ScalingStudy;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::jobs::{JobProgress, JobRequest};
use crate::session::{ViewSession, to_refusal};
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject =
    PageSubject { name: "scaling", is_available: |open| open.model.is_some() || open.recordings.len() > 1, answer };

/// The maximum extrapolation factor.
const MAX_EXTRAPOLATION: f64 = 4096.0;

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let options = curve_options(question)?;
    if let Some(model) = &open.model {
        return curves_answer(&options, model, None);
    }
    if open.recordings.len() < 2 {
        return Err(QueryError::Unavailable(
            "only one recording is open: a model needs several with different parameters or ranks, or a model file (--model)".into(),
        ));
    }
    let (recordings, permit) = (open.recordings.clone(), open.read_permit(&open.recordings));
    let steps = recordings.iter().map(|opened| MeasuredRun::progress_steps(&opened.recording)).sum();
    let machine = open.machine.clone();
    let work = move |progress: &JobProgress| {
        let mut runs = RunSelection::default();
        for opened in &recordings {
            opened.check_memory()?;
            runs.read(&opened.name(), &opened.recording, &|| progress.step()).map_err(to_refusal)?;
        }
        runs.into_study(|runs| ScalingStudy::from_runs(runs, None, None, machine.as_ref())).map_err(to_refusal)
    };
    let task = JobRequest { description: "fitting a model to the recordings".into(), steps, permit, work };
    open.fitted_model
        .answer(task, |study: &ScalingStudy| curves_answer(&options, &study.model, study.next.as_ref().map(NextRun::record_command)))
}

/// The options of a question.
fn curve_options(question: &PageQuery) -> Result<CurveOptions, QueryError> {
    let wrong = |parameter: &str, reason: &str| QueryError::InvalidParameter { parameter: parameter.into(), reason: reason.into() };
    let positive = |parameter: &str| -> Result<Option<f64>, QueryError> {
        let number = question.parse_param::<f64>(parameter)?;
        match number.is_none_or(|number| number > 0.0 && number.is_finite()) {
            true => Ok(number),
            false => Err(wrong(parameter, "must be greater than 0")),
        }
    };
    let (times, efficiency) = (positive("times")?.unwrap_or(4.0), positive("efficiency")?.unwrap_or(0.5));
    if !(1.0..=MAX_EXTRAPOLATION).contains(&times) {
        return Err(wrong("times", "from 1 to 4096"));
    }
    if efficiency > 1.0 {
        return Err(wrong("efficiency", "a share from 0 to 1"));
    }
    let own = question.params.keys().filter_map(|key| Some((key, key.strip_prefix("at.")?)));
    let at = own.map(|(key, name)| Ok(positive(key)?.map(|value| (name.to_owned(), value)))).collect::<Result<Vec<_>, QueryError>>()?;
    Ok(CurveOptions { times, efficiency, at: at.into_iter().flatten().collect() })
}

fn curves_answer(options: &CurveOptions, model: &PerformanceModel, next: Option<String>) -> Result<QueryAnswer, QueryError> {
    match options.at.keys().find(|name| !model.parameters.iter().any(|known| known.name == **name)) {
        Some(name) => Err(QueryError::InvalidParameter {
            parameter: format!("at.{name}"),
            reason: format!("the time depends on {}", model.parameter_names().join(", ")),
        }),
        None => Ok(QueryAnswer::json(&options.curves(model, next))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn asked(query: &[(&str, &str)]) -> Result<serde_json::Value, QueryError> {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n[[parameter]]\nname = \"n\"\nfrom = 10\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        let model = PerformanceModel::parse(text, Path::new("lu")).unwrap();
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        match curves_answer(&curve_options(&PageQuery { params: query, ..PageQuery::default() })?, &model, None)? {
            QueryAnswer::Json(text) => Ok(serde_json::from_str(&text).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn there_is_a_curve_for_each_parameter_with_the_others_as_they_are_told() {
        let told = asked(&[("at.n", "50"), ("times", "8")]).unwrap();
        let curve = &told["lines"][1];
        assert_eq!((curve["parameter"].as_str(), curve["others"]["n"].as_f64()), (Some("p"), Some(50.0)));
        let (x, seconds) = (curve["x"].as_array().unwrap(), curve["seconds"].as_array().unwrap());
        assert_eq!((x.len(), x.last().unwrap().as_f64()), (seconds.len(), Some(128.0)));
        assert!((seconds.last().unwrap()[1].as_f64().unwrap() - (2500.0 / 128.0 + 128.0)).abs() < 1e-9);
        let best = curve["forecast"]["best"]["time"].as_f64().unwrap();
        assert!((45.0..=50.0).contains(&best), "{best}: from where n^2/p = p on it is no faster, and hardly before");
    }

    #[test]
    fn what_no_model_can_answer_is_refused_with_the_parameter() {
        for (name, value) in [("times", "0"), ("times", "1e9"), ("efficiency", "2"), ("at.n", "-1"), ("at.m", "5"), ("times", "many")] {
            let refused = asked(&[(name, value)]).unwrap_err();
            assert!(matches!(&refused, QueryError::InvalidParameter { parameter, .. } if parameter == name), "{name}={value}: {refused}");
        }
    }
}
