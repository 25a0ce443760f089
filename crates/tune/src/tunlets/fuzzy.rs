//! Fuzzy rules, as Autopilot has them: "if load is high and trend is rising then chunk is small".
//!
//! Sensors are formulas; each has words that hold to a degree from 0 to 1. A rule holds as far as the least of its parts does (`and`) or
//! the greatest (`or`). What the rules say of an output is drawn together: words that are single numbers by their weighted mean (Sugeno), words
//! that are shapes by the centre of the area below all of them, each cut off at the degree of its rules (Mamdani). An output is a name that
//! formulas can have, so that it may be a variable's new value, or a factor of it.

mod rule;
mod shape;

use crate::file::expression::Expression;
pub use rule::{Rule, RuleFault};
pub use shape::Shape;

/// Words for the values of something.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// What it is.
    pub name: String,
    /// Its words, and how far each holds.
    pub words: Vec<(String, Shape)>,
}

impl Words {
    /// The place of a word.
    pub fn place(&self, word: &str) -> Option<usize> {
        self.words.iter().position(|(known, _)| known == word)
    }
}

/// Fuzzy rules with their sensors and outputs.
#[derive(Debug)]
pub struct Fuzzy {
    sensors: Vec<(Expression, Words)>,
    outputs: Vec<Words>,
    rules: Vec<Rule>,
}

impl Fuzzy {
    /// From its parts; rules carry places in these lists.
    pub fn new(sensors: Vec<(Expression, Words)>, outputs: Vec<Words>, rules: Vec<Rule>) -> Fuzzy {
        Fuzzy { sensors, outputs, rules }
    }

    /// What its sensors are.
    pub fn formulas(&self) -> impl Iterator<Item = &Expression> {
        self.sensors.iter().map(|(formula, _)| formula)
    }

    /// What an output comes to, with these values of the sensors' formulas; nothing if no rule holds or a sensor is not known.
    pub fn output(&self, output: usize, value: &dyn Fn(&Expression) -> Option<f64>) -> Option<f64> {
        let values = self.formulas().map(value).collect::<Option<Vec<f64>>>()?;
        self.drawn_together(output, &values)
    }

    /// What an output comes to when the sensors have these values.
    fn drawn_together(&self, output: usize, values: &[f64]) -> Option<f64> {
        let holds = |sensor: usize, word: usize| self.sensors[sensor].1.words[word].1.holds(values[sensor]);
        let mut degrees = vec![0.0f64; self.outputs[output].words.len()];
        for rule in &self.rules {
            let degree = rule.weight * rule.premise.degree(&holds);
            for (_, word) in rule.conclusions.iter().filter(|(of, _)| *of == output) {
                degrees[*word] = degrees[*word].max(degree);
            }
        }
        let shapes: Vec<(Shape, f64)> = self.outputs[output].words.iter().map(|(_, shape)| *shape).zip(degrees).collect();
        shape::centre(&shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::expression::{Meaning, Scope};

    struct Two;

    impl Scope for Two {
        fn meaning(&self, name: &str) -> Option<Meaning> {
            ["load", "trend"].iter().position(|known| *known == name).map(Meaning::Own)
        }

        fn names(&self) -> Vec<String> {
            vec!["load".into(), "trend".into()]
        }
    }

    fn words(name: &str, list: &[(&str, &[f64])]) -> Words {
        let word = |(name, corners): &(&str, &[f64])| (name.to_string(), Shape::new(corners).expect("a shape"));
        Words { name: name.into(), words: list.iter().map(word).collect() }
    }

    fn control(outputs: Words, rules: &[(&str, &str)]) -> Fuzzy {
        let sensor = |name: &str, words| (Expression::parse(name, "value", &Two).expect("a formula"), words);
        let sensors = vec![
            sensor("load", words("load", &[("low", &[0.0, 0.0, 1.0]), ("high", &[0.0, 1.0, 1.0])])),
            sensor("trend", words("trend", &[("falling", &[-1.0, -1.0, 0.0]), ("rising", &[0.0, 1.0, 1.0])])),
        ];
        let all: Vec<&Words> = sensors.iter().map(|(_, words)| words).collect();
        let read = |(premise, then): &(&str, &str)| Rule::read(premise, then, 1.0, &all, &[&outputs]).expect("a rule");
        let rules = rules.iter().map(read).collect();
        Fuzzy::new(sensors, vec![outputs], rules)
    }

    #[test]
    fn single_numbers_are_weighted_by_how_far_their_rules_hold() {
        let outputs = words("chunk", &[("small", &[10.0]), ("large", &[50.0])]);
        let fuzzy = control(outputs, &[("load is high and trend is rising", "chunk is small"), ("load is low", "chunk is large")]);
        // High to 0.7 and rising to 0.4, so small to 0.4; low to 0.3, so large to 0.3.
        let value = fuzzy.drawn_together(0, &[0.7, 0.4]).expect("rules hold");
        assert!((value - (0.4 * 10.0 + 0.3 * 50.0) / 0.7).abs() < 1e-12, "{value}");
        assert_eq!(fuzzy.drawn_together(0, &[1.0, -1.0]), None, "no rule holds");
    }

    #[test]
    fn shapes_are_cut_off_and_their_common_centre_is_taken() {
        let outputs = words("chunk", &[("small", &[0.0, 0.0, 10.0]), ("large", &[10.0, 20.0, 20.0])]);
        let fuzzy = control(outputs, &[("load is high", "chunk is small"), ("load is low", "chunk is large")]);
        // Both to 0.5: two trapezia, mirror images of each other, so that the centre is in the middle.
        let value = fuzzy.drawn_together(0, &[0.5, 0.0]).expect("rules hold");
        assert!((value - 10.0).abs() < 1e-9, "{value}");
        // Only `small`, whole: the centre of a triangle is a third of its base from the right angle.
        let value = fuzzy.drawn_together(0, &[1.0, 0.0]).expect("rules hold");
        assert!((value - 10.0 / 3.0).abs() < 1e-9, "{value}");
    }

    #[test]
    fn or_takes_the_greater_not_the_rest_and_weights_lessen() {
        let outputs = words("chunk", &[("small", &[10.0]), ("large", &[50.0])]);
        let mut fuzzy = control(outputs, &[("load is high or trend is rising", "chunk is small"), ("not load is high", "chunk is large")]);
        fuzzy.rules[0].weight = 0.5;
        // 0.5 * max(0.2, 0.6) = 0.3 for small, 1 - 0.2 = 0.8 for large.
        let value = fuzzy.drawn_together(0, &[0.2, 0.6]).expect("rules hold");
        assert!((value - (0.3 * 10.0 + 0.8 * 50.0) / 1.1).abs() < 1e-12, "{value}");
    }
}
