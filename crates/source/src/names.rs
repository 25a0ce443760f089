//! Names that the model can have.

use crate::place::Place;

/// Words that mean something in formulas or models and so cannot be names there.
const TAKEN: [&str; 24] = [
    "sum",
    "max",
    "min",
    "pieces",
    "sqrt",
    "log2",
    "ln",
    "ceil",
    "floor",
    "up",
    "to",
    "beyond",
    "seq",
    "par",
    "tasks",
    "on",
    "if",
    "else",
    "use",
    "delay",
    "parameter",
    "resource",
    "language",
    "main",
];

/// A name for the model that is as near to one of the program as may be.
pub(crate) fn for_model(name: &str) -> String {
    let mut result: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' }).collect();
    if result.starts_with(|letter: char| letter.is_ascii_digit()) || result.is_empty() {
        result.insert(0, '_');
    }
    if TAKEN.contains(&result.as_str()) {
        result.push('_');
    }
    result
}

/// A file without its ending and a line, as part of a name.
pub(crate) fn spot(place: &Place) -> String {
    let short = place.short();
    let (file, line) = short.rsplit_once(':').unwrap_or((&short, ""));
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    for_model(&format!("{stem}_{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_program_become_names_of_the_model() {
        assert_eq!(["Primes.search", "sum", "2d", "größe"].map(for_model), ["Primes_search", "sum_", "_2d", "gr__e"]);
    }
}
