//! Types of Java and numeric promotion.

use tree_sitter::Node;

use crate::ir::{DataType, ExprKind, ScalarType, TypedExpr};
use crate::source_file::SourceFile;

pub(super) fn unknown_type() -> DataType {
    DataType::Named(String::new())
}

/// The type `String`.
pub(super) fn string_type() -> DataType {
    DataType::Named("String".to_owned())
}

/// The type that a node denotes.
pub(super) fn type_from_node(text: &SourceFile, node: Node<'_>) -> DataType {
    let source = text.text.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "array_type" => {
            let element = node.child_by_field_name("element").map_or_else(unknown_type, |element| type_from_node(text, element));
            with_dimensions(text, element, node.child_by_field_name("dimensions"))
        }
        "generic_type" => DataType::Named(source.split('<').next().unwrap_or_default().trim().to_owned()),
        "void_type" => unknown_type(),
        _ => type_from_name(source),
    }
}

pub(super) fn type_from_name(name: &str) -> DataType {
    DataType::Scalar(match name {
        "boolean" => ScalarType::Boolean,
        "byte" => ScalarType::Byte,
        "short" | "char" => ScalarType::Short,
        "int" => ScalarType::Int,
        "long" => ScalarType::Long,
        "float" => ScalarType::Float,
        "double" => ScalarType::Double,
        other => return DataType::Named(other.rsplit('.').next().unwrap_or(other).to_owned()),
    })
}

/// The maximum number of dimensions of an array in Java.
const MAX_DIMENSIONS: usize = 255;

/// An array type with as many dimensions as there are brackets.
pub(super) fn with_dimensions(text: &SourceFile, of: DataType, dimensions: Option<Node<'_>>) -> DataType {
    let brackets = dimensions.and_then(|node| text.text.get(node.byte_range())).map_or(0, |source| source.matches('[').count());
    (0..brackets.min(MAX_DIMENSIONS)).fold(of, |of, _| DataType::Array(Box::new(of)))
}

/// The type after binary numeric promotion; `None` if an operand is not numeric.
pub(super) fn common_type(one: &DataType, two: &DataType) -> Option<DataType> {
    match (one, two) {
        (DataType::Scalar(one), DataType::Scalar(two)) => Some(DataType::Scalar((*one).max(*two).max(ScalarType::Int))),
        // A boxed number is unboxed.
        (DataType::Scalar(one), DataType::Named(name)) | (DataType::Named(name), DataType::Scalar(one)) if name != "String" => {
            Some(DataType::Scalar((*one).max(unboxed_type(name).unwrap_or(ScalarType::Int)).max(ScalarType::Int)))
        }
        (DataType::Named(one), DataType::Named(two)) => {
            Some(DataType::Scalar(unboxed_type(one)?.max(unboxed_type(two)?).max(ScalarType::Int)))
        }
        _ => None,
    }
}

fn unboxed_type(name: &str) -> Option<ScalarType> {
    Some(match name {
        "Integer" | "Short" | "Byte" | "Character" => ScalarType::Int,
        "Long" => ScalarType::Long,
        "Float" => ScalarType::Float,
        "Double" => ScalarType::Double,
        _ => return None,
    })
}

/// Numeric promotion.
pub(super) trait NumericPromotion {
    /// Converts a number to this type.
    fn promote_to(self, to: &DataType) -> Self;
}

impl NumericPromotion for TypedExpr {
    fn promote_to(self, to: &DataType) -> TypedExpr {
        match (&self.data_type, to) {
            (DataType::Scalar(from), DataType::Scalar(target)) if from != target => {
                let place = self.pos.clone();
                // A literal directly has the target type.
                let what = match self.kind {
                    ExprKind::Number(text) if *from < ScalarType::Float || *target >= ScalarType::Float => ExprKind::Number(text),
                    _ => ExprKind::Cast(Box::new(self)),
                };
                TypedExpr { kind: what, data_type: to.clone(), pos: place }
            }
            _ => self,
        }
    }
}
