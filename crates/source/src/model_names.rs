//! Names in models.

use crate::file_pos::FilePos;

/// Reserved words of formulas and models.
const RESERVED: [&str; 24] = [
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

/// A valid model name derived from a name of the program.
pub(crate) fn to_model_name(name: &str) -> String {
    let mut result: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' }).collect();
    if result.starts_with(|letter: char| letter.is_ascii_digit()) || result.is_empty() {
        result.insert(0, '_');
    }
    if RESERVED.contains(&result.as_str()) {
        result.push('_');
    }
    result
}

/// A name derived from a position: the file without its extension, and the line.
pub(crate) fn pos_name(place: &FilePos) -> String {
    let short = place.file_and_line();
    let (file, line) = short.rsplit_once(':').unwrap_or((&short, ""));
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    to_model_name(&format!("{stem}_{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_program_become_names_of_the_model() {
        assert_eq!(["Primes.search", "sum", "2d", "größe"].map(to_model_name), ["Primes_search", "sum_", "_2d", "gr__e"]);
    }
}
