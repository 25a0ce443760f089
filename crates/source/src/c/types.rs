//! Types of C, with what their sizes depend on; a model needs only how they compute.

use std::collections::HashMap;

use super::constant::{constant, weight, whole_number};
use crate::routine::{Computation, Expression, Scalar, Type};

/// A type of C.
#[derive(Debug, Clone)]
pub enum CType {
    /// `void`
    Nothing,
    /// A number.
    Number(Scalar),
    /// A pointer to something.
    Pointer(Box<CType>),
    /// An array, with its length where it has one.
    Array(Box<CType>, Option<Box<Expression>>),
    /// A structure or union, by its name.
    Structure(String),
    /// Something from a header.
    Unknown(String),
}

/// How deep types may stand in each other: a structure that holds itself is no C, but it is met.
const DEEPEST: usize = 32;

/// How many operations the length of an array may have.
const LONGEST: usize = 100;

/// The structures of a program, by their names.
#[derive(Debug, Default)]
pub struct Structures(HashMap<String, Vec<(String, CType)>>);

impl Structures {
    /// Takes up a structure.
    pub fn define(&mut self, name: &str, fields: Vec<(String, CType)>) {
        self.0.insert(name.to_owned(), fields);
    }

    /// The names of the fields of all structures.
    pub fn names(&self) -> HashMap<String, Vec<String>> {
        self.0.iter().map(|(name, fields)| (name.clone(), fields.iter().map(|(field, _)| field.clone()).collect())).collect()
    }

    /// The type of a field, of the structure itself or of one that the type points to.
    pub fn field(&self, of: &CType, name: &str) -> Option<CType> {
        match of {
            CType::Structure(structure) => self.0.get(structure)?.iter().find(|(field, _)| field == name).map(|(_, of)| of.clone()),
            CType::Pointer(to) | CType::Array(to, _) => self.field(to, name),
            _ => None,
        }
    }

    /// The bytes of one, and the lengths of the arrays around it; unknown for what stands in headers.
    pub fn size(&self, of: &CType) -> Option<(u64, Vec<Expression>)> {
        self.size_within(of, DEEPEST)
    }

    fn size_within(&self, of: &CType, depth: usize) -> Option<(u64, Vec<Expression>)> {
        let depth = depth.checked_sub(1)?;
        match of {
            CType::Nothing => Some((1, Vec::new())),
            CType::Number(scalar) => Some((scalar_bytes(*scalar), Vec::new())),
            CType::Pointer(_) => Some((8, Vec::new())),
            CType::Array(of, Some(length)) => {
                let (bytes, mut lengths) = self.size_within(of, depth)?;
                lengths.push((**length).clone());
                Some((bytes, lengths))
            }
            CType::Array(_, None) | CType::Unknown(_) => None,
            CType::Structure(name) => self.bytes_of_fields(self.0.get(name)?, depth).map(|bytes| (bytes, Vec::new())),
        }
    }

    fn bytes_of_fields(&self, fields: &[(String, CType)], depth: usize) -> Option<u64> {
        let (mut end, mut widest) = (0u64, 1u64);
        for (_, of) in fields {
            let (bytes, lengths) = self.size_within(of, depth)?;
            let mut all = bytes;
            for length in &lengths {
                all = all.checked_mul(whole_number(length)?)?;
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
    pub fn pointed_to(self) -> CType {
        if self.levels() < DEEPEST { CType::Pointer(Box::new(self)) } else { CType::Unknown("pointer".into()) }
    }

    /// An array of it. A length that is a number is kept as such, and one that is too long to write down is not kept: types are made of types.
    pub fn times(self, length: Option<Expression>) -> CType {
        if self.levels() >= DEEPEST {
            return CType::Unknown("array".into());
        }
        let length = length.and_then(|length| match constant(&length) {
            Some(number) => Some(Expression { what: Computation::Number(number.to_string()), ..length }),
            None => (weight(&length, LONGEST) < LONGEST).then_some(length),
        });
        CType::Array(Box::new(self), length.map(Box::new))
    }

    /// How many pointers and arrays stand around a type.
    fn levels(&self) -> usize {
        std::iter::successors(Some(self), |of| of.element()).count()
    }

    /// The type as far as costs depend on it.
    pub fn plain(&self) -> Type {
        match self {
            CType::Nothing => Type::Other("void".into()),
            CType::Number(scalar) => Type::Scalar(*scalar),
            CType::Pointer(to) | CType::Array(to, _) => Type::Array(Box::new(to.plain())),
            CType::Structure(name) | CType::Unknown(name) => Type::Other(name.clone()),
        }
    }

    /// What a pointer points to, what an array has.
    pub fn element(&self) -> Option<&CType> {
        match self {
            CType::Pointer(to) | CType::Array(to, _) => Some(to),
            _ => None,
        }
    }

    /// The number it computes as: what headers hide is taken as a whole number.
    pub fn scalar(&self) -> Scalar {
        match self {
            CType::Number(scalar) => *scalar,
            CType::Pointer(_) | CType::Array(..) => Scalar::Long,
            CType::Nothing | CType::Structure(_) | CType::Unknown(_) => Scalar::Int,
        }
    }
}

/// The bytes of a number.
pub fn scalar_bytes(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Boolean | Scalar::Byte => 1,
        Scalar::Short => 2,
        Scalar::Int | Scalar::Float => 4,
        Scalar::Long | Scalar::Double => 8,
    }
}

/// The type that words such as `unsigned long int` name.
pub fn number_of_words(text: &str) -> Option<CType> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let known = ["signed", "unsigned", "short", "long", "int", "char", "float", "double", "_Bool", "bool", "void", "_Complex", "complex"];
    if words.is_empty() || !words.iter().all(|word| known.contains(word)) {
        return None;
    }
    Some(match () {
        () if has("void") => CType::Nothing,
        () if has("double") => CType::Number(Scalar::Double),
        () if has("float") => CType::Number(Scalar::Float),
        () if has("_Bool") || has("bool") => CType::Number(Scalar::Boolean),
        () if has("char") => CType::Number(Scalar::Byte),
        () if has("short") => CType::Number(Scalar::Short),
        () if has("long") => CType::Number(Scalar::Long),
        () => CType::Number(Scalar::Int),
    })
}

/// Types that headers define and that are numbers.
pub fn number_of_header(name: &str) -> Option<CType> {
    let scalar = match name {
        "size_t" | "ssize_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" | "time_t" | "clock_t" | "off_t" | "int64_t" | "uint64_t"
        | "MPI_Aint" | "MPI_Count" | "MPI_Offset" => Scalar::Long,
        "int32_t" | "uint32_t" | "uint" => Scalar::Int,
        "int16_t" | "uint16_t" => Scalar::Short,
        "int8_t" | "uint8_t" => Scalar::Byte,
        "bool" => Scalar::Boolean,
        "float_t" => Scalar::Float,
        "double_t" => Scalar::Double,
        _ => return None,
    };
    Some(CType::Number(scalar))
}
