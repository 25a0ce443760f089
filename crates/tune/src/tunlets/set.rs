//! The tunlet `set`: gives variables of the program other initial values, before the program returns from `MPI_Init`.

use std::collections::BTreeMap;

use serde::Deserialize;
use sintonia_link::probe_protocol::ActionRepeat;

use crate::tuning_points::{Actor, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::{ChangeGuard, TuningAction, Tunlet};

/// Settings of the tunlet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSettings {
    /// Variables and their values.
    variables: BTreeMap<String, f64>,
}

/// The text by which [`super::open_tunlet`] opens it for these variables.
pub fn tunlet_text(variables: &BTreeMap<String, i64>) -> String {
    let values: Vec<String> = variables.iter().map(|(name, value)| format!("{name:?}={value}")).collect();
    format!("set:variables={{{}}}", values.join(","))
}

/// The tunlet.
#[derive(Debug)]
pub struct SetTunlet {
    variables: Vec<(String, f64)>,
}

impl SetTunlet {
    /// Sets these variables.
    pub fn new(settings: SetSettings) -> SetTunlet {
        SetTunlet { variables: settings.variables.into_iter().collect() }
    }
}

impl Tunlet for SetTunlet {
    fn name(&self) -> &str {
        "set"
    }

    fn requirements(&mut self, _processes: u32) -> TunletRequirements {
        let point = |(name, value): &(String, f64)| TuningPoint {
            actor: Actor::All,
            target: TuningTarget::Variable(name.clone()),
            range: (*value, *value),
            moment: TuningMoment::AtOnce,
            when: ActionRepeat::Once,
        };
        TunletRequirements { measures: Vec::new(), tunes: self.variables.iter().map(point).collect() }
    }

    fn on_start(&mut self, _processes: u32) -> Vec<TuningAction> {
        self.variables.iter().enumerate().map(|(point, (_, value))| TuningAction::change(point, *value, "initial value")).collect()
    }

    /// The user says which values.
    fn guard(&self) -> ChangeGuard {
        ChangeGuard::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_is_read_back() {
        for variables in [BTreeMap::from([("p->q".to_owned(), -3), ("work(3)".to_owned(), 7)]), BTreeMap::new()] {
            let text = tunlet_text(&variables);
            assert_eq!(crate::tunlets::open_tunlet(&text).map(|tunlet| tunlet.name().to_owned()).ok().as_deref(), Some("set"), "{text}");
        }
    }

    #[test]
    fn each_variable_is_set_once_to_its_value_and_to_no_other() {
        let variables = BTreeMap::from([("a".to_owned(), 3.0), ("b->c".to_owned(), -1.0)]);
        let mut tunlet = SetTunlet::new(SetSettings { variables });
        let points = tunlet.requirements(4).tunes;
        let targets: Vec<_> = points.iter().map(|point| (point.target.to_string(), point.range)).collect();
        assert_eq!(targets, [("a".to_owned(), (3.0, 3.0)), ("b->c".to_owned(), (-1.0, -1.0))]);
        assert_eq!(tunlet.on_start(4), [TuningAction::change(0, 3.0, "initial value"), TuningAction::change(1, -1.0, "initial value")]);
        assert_eq!(tunlet.guard(), ChangeGuard::None);
    }
}
