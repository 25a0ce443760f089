//! Evaluates a law for several values of one of its symbols.

use sintonia_formula::SymbolValues;

use super::{LawEvaluationError, LawInstance, LawQuantity, PerformanceLaw};
use crate::predict::EstimateRange;

/// Stands in for infinity in interval arithmetic; results at least as large are infinite.
pub const EFFECTIVELY_INFINITE: f64 = 1e15;

/// Reported quantities that do not depend on the row, in this order.
const REPORTED_QUANTITIES: [LawQuantity; 7] = [
    LawQuantity::Granularity,
    LawQuantity::SerialTime,
    LawQuantity::TimeLimit,
    LawQuantity::SpeedUpLimit,
    LawQuantity::EfficiencyLimit,
    LawQuantity::BestNodes,
    LawQuantity::NodesForEfficiency,
];

/// A law with values for its symbols, and the varying symbol.
pub struct LawQuery {
    /// The law with the middle of each value.
    pub middle: LawInstance,
    /// The law with the interval of each value.
    pub intervals: LawInstance,
    /// The varying symbol.
    pub variable: &'static str,
    /// Its values.
    pub values: Vec<f64>,
}

/// The evaluation of a law.
pub struct LawAnswer {
    /// The law.
    pub law: &'static PerformanceLaw,
    /// Its formulas with the values inserted.
    pub formulas: Vec<(LawQuantity, String)>,
    /// The symbol that varies from row to row.
    pub variable: &'static str,
    /// The results at each value.
    pub rows: Vec<LawRow>,
    /// Limits and numbers of nodes to choose.
    pub facts: Vec<(LawQuantity, EstimateRange)>,
}

/// The results at one value.
pub struct LawRow {
    /// The value.
    pub at: f64,
    /// The time.
    pub seconds: Option<EstimateRange>,
    /// The latency of a message.
    pub latency: Option<EstimateRange>,
    /// The speed-up.
    pub speedup: Option<EstimateRange>,
    /// The parallel efficiency.
    pub efficiency: Option<EstimateRange>,
}

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LawQueryError {
    /// The law cannot be evaluated.
    #[error(transparent)]
    Evaluation(#[from] LawEvaluationError),
    /// There is neither a time nor a speed-up.
    #[error("{0} has no value there")]
    NoValue(&'static str),
}

impl LawQuery {
    /// Evaluates the law; `efficiency` is the one to be kept.
    pub fn evaluate(&self, efficiency: f64) -> Result<LawAnswer, LawQueryError> {
        let figure = |of: LawQuantity, free: &[(&str, f64)]| -> Option<EstimateRange> {
            let middle = point_value(&self.middle, of, free)?;
            if self.middle == self.intervals {
                return Some([middle; 3]);
            }
            let around = self.intervals.evaluate_at(of, free).ok()?;
            let high = if around.high() >= EFFECTIVELY_INFINITE { f64::INFINITY } else { around.high() };
            Some([around.low().min(middle), middle, high.max(middle)])
        };
        let row = |at: &f64| {
            let free = [(self.variable, *at)];
            let [seconds, latency, speedup, efficiency] =
                [LawQuantity::Time, LawQuantity::Latency, LawQuantity::SpeedUp, LawQuantity::Efficiency].map(|of| figure(of, &free));
            LawRow { at: *at, seconds, latency, speedup, efficiency }
        };
        let rows: Vec<LawRow> = self.values.iter().map(row).collect();
        if let Some(first) = rows.first().filter(|row| row.seconds.is_none() && row.speedup.is_none()) {
            let missing = self.middle.evaluate_at(LawQuantity::Time, &[(self.variable, first.at)]).err();
            return Err(missing.map_or_else(|| LawQueryError::NoValue(self.middle.law().title), LawQueryError::Evaluation));
        }
        let law = self.middle.law();
        let fact = |of: LawQuantity| {
            let value = figure(of, &[("E", efficiency)])?;
            // Without a limit of the speed-up, neither efficiency nor time has one.
            let is_limited = law.equation(LawQuantity::SpeedUpLimit).is_none() || figure(LawQuantity::SpeedUpLimit, &[]).is_some();
            (is_limited || !matches!(of, LawQuantity::EfficiencyLimit | LawQuantity::TimeLimit)).then_some((of, value))
        };
        Ok(LawAnswer {
            law,
            formulas: law_formulas(&self.middle),
            variable: self.variable,
            rows,
            facts: REPORTED_QUANTITIES.into_iter().filter_map(fact).collect(),
        })
    }
}

/// The value of a quantity without outward rounding.
fn point_value(case: &LawInstance, of: LawQuantity, free: &[(&str, f64)]) -> Option<f64> {
    let formula = case.formula(of).ok()?;
    formula.evaluate(&free.iter().fold(SymbolValues::new(), |values, (name, value)| values.with_value(name, *value))).ok()
}

fn law_formulas(case: &LawInstance) -> Vec<(LawQuantity, String)> {
    let shown = [LawQuantity::Time, LawQuantity::Latency, LawQuantity::SpeedUp, LawQuantity::Efficiency];
    shown.into_iter().filter_map(|of| Some((of, case.formula(of).ok()?.to_string()))).collect()
}
