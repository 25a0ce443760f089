//! Translation between the operation names of models and those of machine files.
//!
//! A model says `sum_double`, as the papers do; a machine file has the cost of `add` for `float64`.

use sintonia_machine::{ArithmeticCosts, ArithmeticOp, Named, NodeType, NumberType};

use crate::model::{ComputeOp, SourceLanguage};

/// Operations with another name in machine files.
const WORDS: [(&str, ArithmeticOp); 5] = [
    ("sum", ArithmeticOp::Add),
    ("sub", ArithmeticOp::Subtract),
    ("mpy", ArithmeticOp::Multiply),
    ("div", ArithmeticOp::Divide),
    ("mod", ArithmeticOp::Remainder),
];

/// Types in machine files.
const TYPES: [(&str, NumberType); 7] = [
    ("boolean", NumberType::Int32),
    ("byte", NumberType::Int32),
    ("short", NumberType::Int32),
    ("int", NumberType::Int32),
    ("long", NumberType::Int64),
    ("float", NumberType::Float32),
    ("double", NumberType::Float64),
];

/// The operation of a machine file; operations without a type use that of `int`.
pub(crate) fn arithmetic(name: &str, of: Option<&str>) -> Option<(NumberType, ArithmeticOp)> {
    let word = WORDS.iter().find(|(word, _)| *word == name).map(|(_, arithmetic)| *arithmetic);
    let of = of.unwrap_or("int");
    let of = TYPES.iter().find(|(word, _)| *word == of).map(|(_, of)| *of);
    // If a model has its own word for an operation, the word of the machine file is not a second one.
    let same = || ArithmeticOp::from_name(name).filter(|arithmetic| WORDS.iter().all(|(_, other)| other != arithmetic));
    Some((of?, word.or_else(same)?))
}

/// The model's name for an operation of a machine file.
fn model_word(of: NumberType, arithmetic: ArithmeticOp) -> String {
    let name = WORDS.iter().find(|(_, own)| *own == arithmetic).map_or(arithmetic.name(), |(word, _)| word);
    let of = TYPES.iter().rev().find(|(_, own)| *own == of).map_or(of.name(), |(word, _)| word);
    format!("{name}_{of}")
}

/// The costs of a language on a node.
pub(crate) fn costs(node: &NodeType, language: SourceLanguage) -> &ArithmeticCosts {
    match language {
        SourceLanguage::C => &node.compute,
        SourceLanguage::Java => &node.java,
    }
}

/// All operations of a machine file, by their names in models.
pub(crate) fn known_operations(costs: &ArithmeticCosts) -> String {
    let all = costs.iter().flat_map(|(of, costs)| costs.keys().map(|arithmetic| model_word(*of, *arithmetic)));
    all.collect::<Vec<_>>().join(", ")
}

/// The name of an operation without its computer: `sum_double`.
pub(crate) fn operation_name(operation: &ComputeOp) -> String {
    operation.data_type.as_ref().map_or_else(|| operation.name.clone(), |of| format!("{}_{of}", operation.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_papers_are_operations_of_machine_files() {
        assert_eq!(arithmetic("sum", Some("double")), Some((NumberType::Float64, ArithmeticOp::Add)));
        assert_eq!(arithmetic("compare", None), Some((NumberType::Int32, ArithmeticOp::Compare)));
        assert_eq!(arithmetic("load", Some("long")), Some((NumberType::Int64, ArithmeticOp::Load)));
        assert_eq!(arithmetic("add", Some("int")), None, "a sum has one name");
        assert_eq!(arithmetic("sum", Some("quad")), None);
        assert_eq!(model_word(NumberType::Int32, ArithmeticOp::Remainder), "mod_int");
    }
}
