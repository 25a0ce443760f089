//! How many times something is done.
//!
//! Most numbers of rounds are formulas in closed form. A sum that has none is kept with what it is the sum of: where it is short it is added up,
//! which is exact and fast; where it is long the formula encloses it.

use sintonia_formula::Formula;

use crate::bindings::{Bindings, replaced};
use crate::expression::Range;

/// Formulas up to this size are multiplied out; longer ones stay factors, so that each is evaluated once.
const SHORT: u64 = 8;

/// Formulas beyond this size are not searched for sums.
const SEARCHED: u64 = 5_000;

/// A number of times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factor {
    pub(crate) value: Formula,
    /// The same as a sum over a range, if the value has no closed form.
    pub(crate) sum: Option<(Range, Formula)>,
}

impl Factor {
    pub(crate) fn plain(value: Formula) -> Factor {
        Factor { value, sum: None }
    }

    /// The sum of a formula over a range.
    pub(crate) fn summed(range: &Range, each: &Formula) -> Factor {
        let value = Formula::sum(&range.index, &range.from, &range.to, each);
        if !is_open(&value) {
            return Factor::plain(value);
        }
        // No name of a model has a space, so nothing that takes the place of a name can be caught.
        let index = format!("each {}", range.index);
        let each = each.substitute(&range.index, &Formula::symbol(&index));
        Factor { value, sum: Some((Range { index, ..range.clone() }, each)) }
    }

    /// Whether it is better multiplied out.
    pub(crate) fn is_short(&self) -> bool {
        self.sum.is_none() && self.value.size() <= SHORT
    }

    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.value.symbols().contains(name)
    }

    /// Both together, if neither is a sum without closed form.
    pub(crate) fn times(&self, other: &Factor) -> Option<Factor> {
        (self.sum.is_none() && other.sum.is_none()).then(|| Factor::plain(&self.value * &other.value))
    }

    pub(crate) fn with(&self, bindings: &Bindings) -> Factor {
        let sum = self.sum.as_ref().map(|(range, each)| {
            let (from, to) = (replaced(&range.from, bindings), replaced(&range.to, bindings));
            (Range { index: range.index.clone(), from, to }, replaced(each, bindings))
        });
        Factor { value: replaced(&self.value, bindings), sum }
    }
}

/// Whether a sum is left in a formula that could as well be added up: without unknown numbers, which only an enclosure does justice to.
fn is_open(formula: &Formula) -> bool {
    if formula.as_exact().is_some() || formula.size() > SEARCHED {
        return false;
    }
    let text = formula.to_string();
    text.contains("sum(") && !text.contains('[')
}
