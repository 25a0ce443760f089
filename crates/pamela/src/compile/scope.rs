//! The names of one procedure that are its own: parameters, indexes, computers of tasks.
//!
//! A model parameter may have the same name as an index. Inside the loop the name means the index, but a procedure called from there still
//! means the parameter. So an own name that the model has too gets another one, and no two things are ever told apart by where they stand.

use std::collections::BTreeSet;

use sintonia_formula::Formula;

use crate::bindings::{Bindings, computer, replaced, unused};
use crate::model::{Computer, Model};

/// The symbol for the number of workers.
pub(crate) const WORKERS: &str = "p";

/// The names that mean something of the procedure's own here.
pub(super) struct Scope {
    /// The names of the model.
    global: BTreeSet<String>,
    /// Own names that had to be changed, the innermost first.
    changed: Bindings,
    /// What each name meant outside.
    hidden: Vec<Option<(String, Formula)>>,
}

impl Scope {
    pub(super) fn new(model: &Model) -> Scope {
        let global = model.parameters.iter().map(|parameter| parameter.name.clone()).chain([WORKERS.to_owned(), super::EACH.to_owned()]);
        Scope { global: global.collect(), changed: Vec::new(), hidden: Vec::new() }
    }

    /// Begins the scope of an own name; gives the name it has from now on.
    pub(super) fn enter(&mut self, name: &str) -> String {
        let before = self.changed.iter().position(|(own, _)| own == name).map(|place| self.changed.remove(place));
        self.hidden.push(before);
        if !self.global.contains(name) {
            return name.to_owned();
        }
        let other = unused(name, |name| self.global.contains(name));
        self.changed.push((name.to_owned(), Formula::symbol(&other)));
        other
    }

    /// Ends the scope that was begun last, which was of this name.
    pub(super) fn leave(&mut self, name: &str) {
        self.changed.retain(|(own, _)| own != name);
        self.changed.extend(self.hidden.pop().flatten());
    }

    pub(super) fn formula(&self, formula: &Formula) -> Formula {
        replaced(formula, &self.changed)
    }

    pub(super) fn computer(&self, own: &Computer) -> Computer {
        computer(own, &self.changed)
    }
}
