//! How many times something is done.
//!
//! Most trip counts are formulas in closed form. A sum without one is kept with its summand: a short one is summed step by step, which is
//! exact and fast; a long one is enclosed by its formula.

use sintonia_formula::Formula;

use crate::bindings::{Bindings, substitute_all};
use crate::expression::LoopRange;

/// Formulas up to this size are multiplied out; longer ones stay factors, so that each is evaluated once.
const SHORT_SIZE: u64 = 8;

/// Larger formulas are not searched for sums.
const MAX_SEARCHED_SIZE: u64 = 5_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RepeatCount {
    pub(crate) value: Formula,
    /// The same as a sum over a range, if the value has no closed form.
    pub(crate) sum: Option<(LoopRange, Formula)>,
}

impl RepeatCount {
    pub(crate) fn from_formula(value: Formula) -> RepeatCount {
        RepeatCount { value, sum: None }
    }

    /// The sum of a formula over a range.
    pub(crate) fn from_sum(range: &LoopRange, each: &Formula) -> RepeatCount {
        let value = Formula::sum(&range.index, &range.from, &range.to, each);
        if !has_open_sum(&value) {
            return RepeatCount::from_formula(value);
        }
        // No name of a model contains a space, so substitution cannot capture it.
        let index = format!("each {}", range.index);
        let each = each.substitute(&range.index, &Formula::symbol(&index));
        RepeatCount { value, sum: Some((LoopRange { index, ..range.clone() }, each)) }
    }

    /// Whether it should be multiplied out.
    pub(crate) fn is_short(&self) -> bool {
        self.sum.is_none() && self.value.size() <= SHORT_SIZE
    }

    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.value.symbols().contains(name)
    }

    /// The product, if neither is a sum without a closed form.
    pub(crate) fn times(&self, other: &RepeatCount) -> Option<RepeatCount> {
        (self.sum.is_none() && other.sum.is_none()).then(|| RepeatCount::from_formula(&self.value * &other.value))
    }

    pub(crate) fn with_bindings(&self, bindings: &Bindings) -> RepeatCount {
        let sum = self.sum.as_ref().map(|(range, each)| {
            let (from, to) = (substitute_all(&range.from, bindings), substitute_all(&range.to, bindings));
            (LoopRange { index: range.index.clone(), from, to }, substitute_all(each, bindings))
        });
        RepeatCount { value: substitute_all(&self.value, bindings), sum }
    }
}

/// Whether a formula contains a sum that could be summed step by step: without interval coefficients, which need an enclosure.
fn has_open_sum(formula: &Formula) -> bool {
    if formula.as_exact().is_some() || formula.size() > MAX_SEARCHED_SIZE {
        return false;
    }
    let text = formula.to_string();
    text.contains("sum(") && !text.contains('[')
}
