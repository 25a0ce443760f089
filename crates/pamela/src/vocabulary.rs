//! The words of models and those of machine files.
//!
//! A model says `sum_double`, as the papers do; a machine file says what `add` of `float64` costs. Here one becomes the other.

use sintonia_machine::{Arithmetic, Costs, Named, Node, NumberType};

use crate::model::{Language, Operation};

/// What some words of models are called in machine files; all others are the same word.
const WORDS: [(&str, Arithmetic); 5] = [
    ("sum", Arithmetic::Add),
    ("sub", Arithmetic::Subtract),
    ("mpy", Arithmetic::Multiply),
    ("div", Arithmetic::Divide),
    ("mod", Arithmetic::Remainder),
];

/// What types are called in machine files.
const TYPES: [(&str, NumberType); 7] = [
    ("boolean", NumberType::Int32),
    ("byte", NumberType::Int32),
    ("short", NumberType::Int32),
    ("int", NumberType::Int32),
    ("long", NumberType::Int64),
    ("float", NumberType::Float32),
    ("double", NumberType::Float64),
];

/// What an operation is called in a machine file; operations without a type stand under that of `int`.
pub(crate) fn arithmetic(name: &str, of: Option<&str>) -> Option<(NumberType, Arithmetic)> {
    let word = WORDS.iter().find(|(word, _)| *word == name).map(|(_, arithmetic)| *arithmetic);
    let of = of.unwrap_or("int");
    let of = TYPES.iter().find(|(word, _)| *word == of).map(|(_, of)| *of);
    // A word of machine files that models have another word for is not a second name for it.
    let same = || Arithmetic::named(name).filter(|arithmetic| WORDS.iter().all(|(_, other)| other != arithmetic));
    Some((of?, word.or_else(same)?))
}

/// An operation of a machine file in the words of models.
fn word(of: NumberType, arithmetic: Arithmetic) -> String {
    let name = WORDS.iter().find(|(_, own)| *own == arithmetic).map_or(arithmetic.name(), |(word, _)| word);
    let of = TYPES.iter().rev().find(|(_, own)| *own == of).map_or(of.name(), |(word, _)| word);
    format!("{name}_{of}")
}

/// The costs that a language has on a node.
pub(crate) fn costs(node: &Node, language: Language) -> &Costs {
    match language {
        Language::C => &node.compute,
        Language::Java => &node.java,
    }
}

/// All operations that a machine file knows, in the words of models.
pub(crate) fn known(costs: &Costs) -> String {
    let all = costs.iter().flat_map(|(of, costs)| costs.keys().map(|arithmetic| word(*of, *arithmetic)));
    all.collect::<Vec<_>>().join(", ")
}

/// The words of an operation without its computer: `sum_double`.
pub(crate) fn called(operation: &Operation) -> String {
    operation.of.as_ref().map_or_else(|| operation.name.clone(), |of| format!("{}_{of}", operation.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_papers_are_operations_of_machine_files() {
        assert_eq!(arithmetic("sum", Some("double")), Some((NumberType::Float64, Arithmetic::Add)));
        assert_eq!(arithmetic("compare", None), Some((NumberType::Int32, Arithmetic::Compare)));
        assert_eq!(arithmetic("load", Some("long")), Some((NumberType::Int64, Arithmetic::Load)));
        assert_eq!(arithmetic("add", Some("int")), None, "a sum has one name");
        assert_eq!(arithmetic("sum", Some("quad")), None);
        assert_eq!(word(NumberType::Int32, Arithmetic::Remainder), "mod_int");
    }
}
