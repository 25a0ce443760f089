//! Types of C, with what their sizes depend on.

use std::collections::HashMap;

use super::constant::{constant_value, expr_size, natural_number};
use crate::ir::{DataType, ExprKind, ScalarType, TypedExpr};

/// A C type.
#[derive(Debug, Clone)]
pub(super) enum CType {
    /// `void`
    Void,
    /// A scalar.
    Number(ScalarType),
    /// A pointer to something.
    Pointer(Box<CType>),
    /// An array, with its length if it has one.
    Array(Box<CType>, Option<Box<TypedExpr>>),
    /// A struct or union, by its name.
    Struct(String),
    /// A type from a header.
    Unknown(String),
}

/// Maximum nesting depth of types: a struct that contains itself is invalid C, but must not cause a loop.
const MAX_TYPE_DEPTH: usize = 32;

/// The maximum size of an array length expression.
const MAX_LENGTH_SIZE: usize = 100;

/// The structs of a program, by name.
#[derive(Debug, Default)]
pub(super) struct StructTable(HashMap<String, Vec<(String, CType)>>);

impl StructTable {
    /// Adds a struct.
    pub(super) fn define(&mut self, name: &str, fields: Vec<(String, CType)>) {
        self.0.insert(name.to_owned(), fields);
    }

    /// The field names of all structs.
    pub(super) fn field_names(&self) -> HashMap<String, Vec<String>> {
        self.0.iter().map(|(name, fields)| (name.clone(), fields.iter().map(|(field, _)| field.clone()).collect())).collect()
    }

    /// The type of a field, of the struct itself or of one that the type points to.
    pub(super) fn field(&self, of: &CType, name: &str) -> Option<CType> {
        match of {
            CType::Struct(structure) => self.0.get(structure)?.iter().find(|(field, _)| field == name).map(|(_, of)| of.clone()),
            CType::Pointer(to) | CType::Array(to, _) => self.field(to, name),
            _ => None,
        }
    }

    /// The size of an element, and the lengths of the arrays around it; `None` for types from headers.
    pub(super) fn size(&self, of: &CType) -> Option<(u64, Vec<TypedExpr>)> {
        self.size_within(of, MAX_TYPE_DEPTH)
    }

    fn size_within(&self, of: &CType, depth: usize) -> Option<(u64, Vec<TypedExpr>)> {
        let depth = depth.checked_sub(1)?;
        match of {
            CType::Void => Some((1, Vec::new())),
            CType::Number(scalar) => Some((scalar_bytes(*scalar), Vec::new())),
            CType::Pointer(_) => Some((8, Vec::new())),
            CType::Array(of, Some(length)) => {
                let (bytes, mut lengths) = self.size_within(of, depth)?;
                lengths.push((**length).clone());
                Some((bytes, lengths))
            }
            CType::Array(_, None) | CType::Unknown(_) => None,
            CType::Struct(name) => self.bytes_of_fields(self.0.get(name)?, depth).map(|bytes| (bytes, Vec::new())),
        }
    }

    fn bytes_of_fields(&self, fields: &[(String, CType)], depth: usize) -> Option<u64> {
        let (mut end, mut widest) = (0u64, 1u64);
        for (_, of) in fields {
            let (bytes, lengths) = self.size_within(of, depth)?;
            let mut all = bytes;
            for length in &lengths {
                all = all.checked_mul(natural_number(length)?)?;
            }
            let alignment = if bytes.is_power_of_two() { bytes.min(8) } else { 8 };
            end = end.checked_next_multiple_of(alignment)?.checked_add(all)?;
            widest = widest.max(alignment);
        }
        end.checked_next_multiple_of(widest)
    }
}

impl CType {
    /// A pointer to it.
    pub(super) fn into_pointer(self) -> CType {
        if self.levels() < MAX_TYPE_DEPTH { CType::Pointer(Box::new(self)) } else { CType::Unknown("pointer".into()) }
    }

    /// An array of it. A constant length is kept as a number, and one that is too large is dropped, since types nest.
    pub(super) fn into_array(self, length: Option<TypedExpr>) -> CType {
        if self.levels() >= MAX_TYPE_DEPTH {
            return CType::Unknown("array".into());
        }
        let length = length.and_then(|length| match constant_value(&length) {
            Some(number) => Some(TypedExpr { kind: ExprKind::Number(number.to_string()), ..length }),
            None => (expr_size(&length, MAX_LENGTH_SIZE) < MAX_LENGTH_SIZE).then_some(length),
        });
        CType::Array(Box::new(self), length.map(Box::new))
    }

    /// The number of pointer and array levels.
    fn levels(&self) -> usize {
        std::iter::successors(Some(self), |of| of.element()).count()
    }

    /// The IR type.
    pub(super) fn to_data_type(&self) -> DataType {
        match self {
            CType::Void => DataType::Named("void".into()),
            CType::Number(scalar) => DataType::Scalar(*scalar),
            CType::Pointer(to) | CType::Array(to, _) => DataType::Array(Box::new(to.to_data_type())),
            CType::Struct(name) | CType::Unknown(name) => DataType::Named(name.clone()),
        }
    }

    /// The element type of a pointer or array.
    pub(super) fn element(&self) -> Option<&CType> {
        match self {
            CType::Pointer(to) | CType::Array(to, _) => Some(to),
            _ => None,
        }
    }

    /// The scalar it computes as; types from headers count as `int`.
    pub(super) fn scalar(&self) -> ScalarType {
        match self {
            CType::Number(scalar) => *scalar,
            CType::Pointer(_) | CType::Array(..) => ScalarType::Long,
            CType::Void | CType::Struct(_) | CType::Unknown(_) => ScalarType::Int,
        }
    }
}

/// The size of a scalar in bytes.
pub(super) fn scalar_bytes(scalar: ScalarType) -> u64 {
    match scalar {
        ScalarType::Boolean | ScalarType::Byte => 1,
        ScalarType::Short => 2,
        ScalarType::Int | ScalarType::Float => 4,
        ScalarType::Long | ScalarType::Double => 8,
    }
}

/// The type of words such as `unsigned long int`.
pub(super) fn builtin_type(text: &str) -> Option<CType> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let known = ["signed", "unsigned", "short", "long", "int", "char", "float", "double", "_Bool", "bool", "void", "_Complex", "complex"];
    if words.is_empty() || !words.iter().all(|word| known.contains(word)) {
        return None;
    }
    Some(match () {
        () if has("void") => CType::Void,
        () if has("double") => CType::Number(ScalarType::Double),
        () if has("float") => CType::Number(ScalarType::Float),
        () if has("_Bool") || has("bool") => CType::Number(ScalarType::Boolean),
        () if has("char") => CType::Number(ScalarType::Byte),
        () if has("short") => CType::Number(ScalarType::Short),
        () if has("long") => CType::Number(ScalarType::Long),
        () => CType::Number(ScalarType::Int),
    })
}

/// Scalar types that headers define.
pub(super) fn header_type(name: &str) -> Option<CType> {
    let scalar = match name {
        "size_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" | "time_t" | "clock_t" | "off_t" | "int64_t" | "uint64_t"
        | "MPI_Aint" | "MPI_Count" | "MPI_Offset" => ScalarType::Long,
        "int32_t" | "uint32_t" | "uint" => ScalarType::Int,
        "int16_t" | "uint16_t" => ScalarType::Short,
        "int8_t" | "uint8_t" => ScalarType::Byte,
        "bool" => ScalarType::Boolean,
        "float_t" => ScalarType::Float,
        "double_t" => ScalarType::Double,
        _ => return None,
    };
    Some(CType::Number(scalar))
}
