//! Names: which known one a misspelt one is near to, and which the model can have.

/// The name that is nearest to one that nobody knows, if it is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (name.chars().count() / 2).clamp(1, 3);
    known.into_iter().map(|other| (distance(name, other), other)).filter(|(far, _)| *far <= most).min().map(|(_, other)| other)
}

/// How many letters must be changed, put in or left away. Long names are taken as far from everything.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.to_lowercase().chars().collect(), other.to_lowercase().chars().collect());
    if one.len().max(other.len()) > 100 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for column in 0..other.len() {
            let change = corner + usize::from(*letter != other[column]);
            corner = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_that_was_meant() {
        assert_eq!(nearest("serach", ["search", "total"]), Some("search"));
        assert_eq!(nearest("upto", ["tasks", "limit"]), None);
    }

    #[test]
    fn names_of_the_program_become_names_of_the_model() {
        assert_eq!(["Primes.search", "sum", "2d", "größe"].map(for_model), ["Primes_search", "sum_", "_2d", "gr__e"]);
    }
}
