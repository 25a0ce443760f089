//! Fuzzy rules, as in Autopilot: "if load is high and trend is rising then chunk is small".
//!
//! Sensors are formulas; each has terms with a membership degree from 0 to 1. The degree of a rule is the minimum of its parts (`and`) or
//! their maximum (`or`). Outputs are defuzzified: singletons by their weighted mean (Sugeno), other membership functions
//! by the centroid of their union, each clipped at the degree of its rules (Mamdani). An output is a name in formulas, so that it may
//! be a variable's new value, or a factor of it.

mod membership;
mod rule;

use crate::tunlet_file::expression::MetricFormula;
pub use membership::MembershipFunction;
pub use rule::{FuzzyRule, FuzzyRuleError};

/// A linguistic variable: a sensor or output with its terms.
#[derive(Debug, Clone, PartialEq)]
pub struct LinguisticVariable {
    /// Its name.
    pub name: String,
    /// Its terms with their membership functions.
    pub terms: Vec<(String, MembershipFunction)>,
}

impl LinguisticVariable {
    /// The index of a term.
    pub fn term_index(&self, word: &str) -> Option<usize> {
        self.terms.iter().position(|(known, _)| known == word)
    }
}

/// Fuzzy rules with their sensors and outputs.
#[derive(Debug)]
pub struct FuzzyController {
    sensors: Vec<(MetricFormula, LinguisticVariable)>,
    outputs: Vec<LinguisticVariable>,
    rules: Vec<FuzzyRule>,
}

impl FuzzyController {
    /// From its parts; rules refer to them by index.
    pub fn new(
        sensors: Vec<(MetricFormula, LinguisticVariable)>,
        outputs: Vec<LinguisticVariable>,
        rules: Vec<FuzzyRule>,
    ) -> FuzzyController {
        FuzzyController { sensors, outputs, rules }
    }

    /// Formulas of the sensors.
    pub fn sensor_formulas(&self) -> impl Iterator<Item = &MetricFormula> {
        self.sensors.iter().map(|(formula, _)| formula)
    }

    /// The value of an output; none if no rule applies or a sensor is unknown.
    pub fn output(&self, output: usize, value: &dyn Fn(&MetricFormula) -> Option<f64>) -> Option<f64> {
        let values = self.sensor_formulas().map(value).collect::<Option<Vec<f64>>>()?;
        self.defuzzify(output, &values)
    }

    /// The value of an output for these sensor values.
    fn defuzzify(&self, output: usize, values: &[f64]) -> Option<f64> {
        let holds = |sensor: usize, word: usize| self.sensors[sensor].1.terms[word].1.degree(values[sensor]);
        let mut degrees = vec![0.0f64; self.outputs[output].terms.len()];
        for rule in &self.rules {
            let degree = rule.weight * rule.premise.degree(&holds);
            for (_, word) in rule.conclusions.iter().filter(|(of, _)| *of == output) {
                degrees[*word] = degrees[*word].max(degree);
            }
        }
        let shapes: Vec<(MembershipFunction, f64)> = self.outputs[output].terms.iter().map(|(_, shape)| *shape).zip(degrees).collect();
        membership::centroid(&shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunlet_file::expression::{FormulaInput, NameScope};

    struct TwoSensors;

    impl NameScope for TwoSensors {
        fn resolve(&self, name: &str) -> Option<FormulaInput> {
            ["load", "trend"].iter().position(|known| *known == name).map(FormulaInput::EventValue)
        }

        fn names(&self) -> Vec<String> {
            vec!["load".into(), "trend".into()]
        }
    }

    fn words(name: &str, list: &[(&str, &[f64])]) -> LinguisticVariable {
        let word = |(name, corners): &(&str, &[f64])| (name.to_string(), MembershipFunction::new(corners).expect("a shape"));
        LinguisticVariable { name: name.into(), terms: list.iter().map(word).collect() }
    }

    fn control(outputs: LinguisticVariable, rules: &[(&str, &str)]) -> FuzzyController {
        let sensor = |name: &str, words| (MetricFormula::parse(name, "value", &TwoSensors).expect("a formula"), words);
        let sensors = vec![
            sensor("load", words("load", &[("low", &[0.0, 0.0, 1.0]), ("high", &[0.0, 1.0, 1.0])])),
            sensor("trend", words("trend", &[("falling", &[-1.0, -1.0, 0.0]), ("rising", &[0.0, 1.0, 1.0])])),
        ];
        let all: Vec<&LinguisticVariable> = sensors.iter().map(|(_, words)| words).collect();
        let read = |(premise, then): &(&str, &str)| FuzzyRule::parse(premise, then, 1.0, &all, &[&outputs]).expect("a rule");
        let rules = rules.iter().map(read).collect();
        FuzzyController::new(sensors, vec![outputs], rules)
    }

    #[test]
    fn singletons_are_weighted_by_degree() {
        let outputs = words("chunk", &[("small", &[10.0]), ("large", &[50.0])]);
        let fuzzy = control(outputs, &[("load is high and trend is rising", "chunk is small"), ("load is low", "chunk is large")]);
        // High to 0.7 and rising to 0.4, so small to 0.4; low to 0.3, so large to 0.3.
        let value = fuzzy.defuzzify(0, &[0.7, 0.4]).expect("rules hold");
        assert!((value - (0.4 * 10.0 + 0.3 * 50.0) / 0.7).abs() < 1e-12, "{value}");
        assert_eq!(fuzzy.defuzzify(0, &[1.0, -1.0]), None, "no rule holds");
    }

    #[test]
    fn membership_functions_are_clipped_and_their_centroid_taken() {
        let outputs = words("chunk", &[("small", &[0.0, 0.0, 10.0]), ("large", &[10.0, 20.0, 20.0])]);
        let fuzzy = control(outputs, &[("load is high", "chunk is small"), ("load is low", "chunk is large")]);
        // Both to 0.5: two mirrored trapezoids, so that the centroid is in the middle.
        let value = fuzzy.defuzzify(0, &[0.5, 0.0]).expect("rules hold");
        assert!((value - 10.0).abs() < 1e-9, "{value}");
        // Only `small`, unclipped: the centroid of a triangle is a third of its base from the right angle.
        let value = fuzzy.defuzzify(0, &[1.0, 0.0]).expect("rules hold");
        assert!((value - 10.0 / 3.0).abs() < 1e-9, "{value}");
    }

    #[test]
    fn or_not_and_weights_are_applied() {
        let outputs = words("chunk", &[("small", &[10.0]), ("large", &[50.0])]);
        let mut fuzzy = control(outputs, &[("load is high or trend is rising", "chunk is small"), ("not load is high", "chunk is large")]);
        fuzzy.rules[0].weight = 0.5;
        // 0.5 * max(0.2, 0.6) = 0.3 for small, 1 - 0.2 = 0.8 for large.
        let value = fuzzy.defuzzify(0, &[0.2, 0.6]).expect("rules hold");
        assert!((value - (0.3 * 10.0 + 0.8 * 50.0) / 1.1).abs() < 1e-12, "{value}");
    }
}
