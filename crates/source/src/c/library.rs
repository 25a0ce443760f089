//! Functions that headers declare, as far as models depend on them.

use super::types::CType;
use crate::routine::Scalar;

/// Functions of `math.h`, by the names they have in models of all languages.
pub(super) fn mathematics(name: &str) -> Option<(&'static str, Scalar)> {
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
        "abs" => Some(("Math.abs", Scalar::Int)),
        "labs" | "llabs" => Some(("Math.abs", Scalar::Long)),
        "rand" | "random" => Some(("Math.random", Scalar::Int)),
        "drand48" => Some(("Math.random", Scalar::Double)),
        _ => of(name).map(|found| (found, Scalar::Double)).or_else(|| Some((of(name.strip_suffix('f')?)?, Scalar::Float))),
    }
}

/// What a function of a header gives.
pub(super) fn returned_by(name: &str) -> CType {
    match name {
        "atof" | "strtod" | "MPI_Wtime" | "MPI_Wtick" | "omp_get_wtime" | "difftime" => CType::Number(Scalar::Double),
        "atol" | "atoll" | "strtol" | "strtoll" | "strtoul" | "strlen" | "time" | "clock" => CType::Number(Scalar::Long),
        "getenv" | "strdup" | "realloc" | "strchr" | "strstr" | "fgets" => CType::Pointer(Box::new(CType::Number(Scalar::Byte))),
        _ => CType::Number(Scalar::Int),
    }
}
