//! Types of Java, and how numbers change theirs.

use tree_sitter::Node;

use crate::file::Text;
use crate::routine::{Computation, Expression, Scalar, Type};

/// A type that nothing is known of.
pub(super) fn unknown() -> Type {
    Type::Other(String::new())
}

/// The text as a type.
pub(super) fn text_type() -> Type {
    Type::Other("String".to_owned())
}

/// The type that is written here.
pub(super) fn read(text: &Text, node: Node<'_>) -> Type {
    let source = text.text.get(node.byte_range()).unwrap_or_default();
    match node.kind() {
        "array_type" => {
            let element = node.child_by_field_name("element").map_or_else(unknown, |element| read(text, element));
            with_dimensions(text, element, node.child_by_field_name("dimensions"))
        }
        "generic_type" => Type::Other(source.split('<').next().unwrap_or_default().trim().to_owned()),
        "void_type" => unknown(),
        _ => named(source),
    }
}

/// The type with this name.
pub(super) fn named(name: &str) -> Type {
    Type::Scalar(match name {
        "boolean" => Scalar::Boolean,
        "byte" => Scalar::Byte,
        "short" | "char" => Scalar::Short,
        "int" => Scalar::Int,
        "long" => Scalar::Long,
        "float" => Scalar::Float,
        "double" => Scalar::Double,
        other => return Type::Other(other.rsplit('.').next().unwrap_or(other).to_owned()),
    })
}

/// How many dimensions an array may have: the language has no more than these.
const MOST_DIMENSIONS: usize = 255;

/// The array type with as many dimensions as there are brackets.
pub(super) fn with_dimensions(text: &Text, of: Type, dimensions: Option<Node<'_>>) -> Type {
    let brackets = dimensions.and_then(|node| text.text.get(node.byte_range())).map_or(0, |source| source.matches('[').count());
    (0..brackets.min(MOST_DIMENSIONS)).fold(of, |of, _| Type::Array(Box::new(of)))
}

/// The type in which two are computed with; nothing if one is no number.
pub(super) fn common(one: &Type, two: &Type) -> Option<Type> {
    match (one, two) {
        (Type::Scalar(one), Type::Scalar(two)) => Some(Type::Scalar((*one).max(*two).max(Scalar::Int))),
        // A boxed number is computed with as the other one is.
        (Type::Scalar(one), Type::Other(name)) | (Type::Other(name), Type::Scalar(one)) if name != "String" => {
            Some(Type::Scalar((*one).max(boxed(name).unwrap_or(Scalar::Int)).max(Scalar::Int)))
        }
        (Type::Other(one), Type::Other(two)) => Some(Type::Scalar(boxed(one)?.max(boxed(two)?).max(Scalar::Int))),
        _ => None,
    }
}

fn boxed(name: &str) -> Option<Scalar> {
    Some(match name {
        "Integer" | "Short" | "Byte" | "Character" => Scalar::Int,
        "Long" => Scalar::Long,
        "Float" => Scalar::Float,
        "Double" => Scalar::Double,
        _ => return None,
    })
}

/// Numbers as another type.
pub(super) trait Promotion {
    /// The expression as this type, converted if it is a number of another.
    fn promoted(self, to: &Type) -> Self;
}

impl Promotion for Expression {
    fn promoted(self, to: &Type) -> Expression {
        match (&self.of, to) {
            (Type::Scalar(from), Type::Scalar(target)) if from != target => {
                let place = self.place.clone();
                // A number in the text is one of the type that is needed from the beginning.
                let what = match self.what {
                    Computation::Number(text) if *from < Scalar::Float || *target >= Scalar::Float => Computation::Number(text),
                    _ => Computation::Convert(Box::new(self)),
                };
                Expression { what, of: to.clone(), place }
            }
            _ => self,
        }
    }
}
