//! The local names of a procedure: parameters, indexes, computers of tasks.
//!
//! A model parameter may have the same name as an index. Inside the loop the name means the index, but a procedure called from there still
//! means the parameter. So local names that clash with the model's are renamed, and every name is unambiguous.

use std::collections::BTreeSet;

use sintonia_formula::Formula;

use crate::bindings::{Bindings, bind_computer, substitute_all, unused_name};
use crate::expression::WORKERS;
use crate::model::{Computer, PamelaModel};

/// The local names in scope.
pub(super) struct ProcedureScope {
    /// The names of the model.
    model_names: BTreeSet<String>,
    /// Renamed local names, the innermost first.
    renamed: Bindings,
    /// The shadowed meaning of each name.
    shadowed: Vec<Option<(String, Formula)>>,
}

impl ProcedureScope {
    pub(super) fn new(model: &PamelaModel) -> ProcedureScope {
        let global =
            model.parameters.iter().map(|parameter| parameter.name.clone()).chain([WORKERS.to_owned(), super::EACH_COMPUTER.to_owned()]);
        ProcedureScope { model_names: global.collect(), renamed: Vec::new(), shadowed: Vec::new() }
    }

    /// Opens the scope of a local name; returns its unambiguous name.
    pub(super) fn enter(&mut self, name: &str) -> String {
        let before = self.renamed.iter().position(|(own, _)| own == name).map(|place| self.renamed.remove(place));
        self.shadowed.push(before);
        if !self.model_names.contains(name) {
            return name.to_owned();
        }
        let other = unused_name(name, |name| self.model_names.contains(name));
        self.renamed.push((name.to_owned(), Formula::symbol(&other)));
        other
    }

    /// Closes the innermost scope, which is that of this name.
    pub(super) fn leave(&mut self, name: &str) {
        self.renamed.retain(|(own, _)| own != name);
        self.renamed.extend(self.shadowed.pop().flatten());
    }

    pub(super) fn formula(&self, formula: &Formula) -> Formula {
        substitute_all(formula, &self.renamed)
    }

    pub(super) fn computer(&self, own: &Computer) -> Computer {
        bind_computer(own, &self.renamed)
    }
}
