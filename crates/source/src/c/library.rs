//! Library functions of C.

use super::types::CType;
use crate::ir::ScalarType;

/// Functions of `math.h`, by their names in models of all languages.
pub(super) fn math_function(name: &str) -> Option<(&'static str, ScalarType)> {
    const KNOWN: [(&str, &str); 20] = [
        ("sqrt", "Math.sqrt"),
        ("sin", "Math.sin"),
        ("cos", "Math.cos"),
        ("tan", "Math.tan"),
        ("asin", "Math.asin"),
        ("acos", "Math.acos"),
        ("atan", "Math.atan"),
        ("atan2", "Math.atan2"),
        ("exp", "Math.exp"),
        ("log", "Math.log"),
        ("log10", "Math.log10"),
        ("pow", "Math.pow"),
        ("fabs", "Math.abs"),
        ("floor", "Math.floor"),
        ("ceil", "Math.ceil"),
        ("fmax", "Math.max"),
        ("fmin", "Math.min"),
        ("sinh", "Math.sinh"),
        ("cosh", "Math.cosh"),
        ("tanh", "Math.tanh"),
    ];
    let of = |name: &str| KNOWN.iter().find(|(c, _)| *c == name).map(|(_, model)| *model);
    match name {
        "abs" => Some(("Math.abs", ScalarType::Int)),
        "labs" | "llabs" => Some(("Math.abs", ScalarType::Long)),
        "rand" | "random" => Some(("Math.random", ScalarType::Int)),
        "drand48" => Some(("Math.random", ScalarType::Double)),
        _ => of(name).map(|found| (found, ScalarType::Double)).or_else(|| Some((of(name.strip_suffix('f')?)?, ScalarType::Float))),
    }
}

/// The return type of a library function.
pub(super) fn return_type(name: &str) -> CType {
    match name {
        "atof" | "strtod" | "MPI_Wtime" | "MPI_Wtick" | "omp_get_wtime" | "difftime" => CType::Number(ScalarType::Double),
        "atol" | "atoll" | "strtol" | "strtoll" | "strtoul" | "strlen" | "time" | "clock" => CType::Number(ScalarType::Long),
        "getenv" | "strdup" | "realloc" | "strchr" | "strstr" | "fgets" => CType::Pointer(Box::new(CType::Number(ScalarType::Byte))),
        _ => CType::Number(ScalarType::Int),
    }
}
