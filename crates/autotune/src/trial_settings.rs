//! What is set for a run: environment variables, variables of the program, and the placement of its ranks.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::environment::Environment;

/// Settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrialSettings {
    /// Environment variables.
    pub environment: Environment,
    /// Integer variables of the program, which get these values before it returns from `MPI_Init`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, i64>,
    /// The command line that places the ranks, instead of the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed_command: Option<Vec<String>>,
}

impl From<Environment> for TrialSettings {
    fn from(environment: Environment) -> TrialSettings {
        TrialSettings { environment, ..TrialSettings::default() }
    }
}

impl TrialSettings {
    /// A variable of the program.
    pub fn from_variable(name: &str, value: i64) -> TrialSettings {
        TrialSettings { variables: BTreeMap::from([(name.to_owned(), value)]), ..TrialSettings::default() }
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.environment.is_empty() && self.variables.is_empty() && self.placed_command.is_none()
    }

    /// Both together; `None` if they contradict each other.
    pub fn merge(&self, other: &TrialSettings) -> Option<TrialSettings> {
        let mut merged = self.clone();
        merged.environment = self.environment.merge(&other.environment)?;
        for (name, value) in &other.variables {
            if *merged.variables.entry(name.clone()).or_insert(*value) != *value {
                return None;
            }
        }
        if let Some(command) = &other.placed_command
            && merged.placed_command.get_or_insert_with(|| command.clone()) != command
        {
            return None;
        }
        Some(merged)
    }

    /// Everything in one line.
    pub fn to_line(&self) -> String {
        let environment = Some(self.environment.to_line()).filter(|line| !line.is_empty());
        let variables = self.variables.iter().map(|(name, value)| format!("{name} = {value}"));
        let placement = self.placed_command.as_ref().map(|_| "ranks placed".to_owned());
        environment.into_iter().chain(variables).chain(placement).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_contradict_each_other_do_not_merge() {
        let block = |value| TrialSettings::from_variable("block", value);
        let environment = TrialSettings::from(Environment::new([("A", "1")]));
        let both = environment.merge(&block(8)).unwrap();
        assert_eq!(both.to_line(), "A=1, block = 8");
        assert_eq!(both.merge(&block(8)), Some(both.clone()));
        assert_eq!(both.merge(&block(9)), None);
        let placed = |word: &str| TrialSettings { placed_command: Some(vec![word.into()]), ..TrialSettings::default() };
        assert_eq!(placed("a").merge(&placed("b")), None);
        assert_eq!(placed("a").merge(&both).unwrap().to_line(), "A=1, block = 8, ranks placed");
        assert!(TrialSettings::default().is_empty() && !placed("a").is_empty() && !block(1).is_empty());
    }
}
