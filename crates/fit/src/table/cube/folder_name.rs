//! Parameters in the name of a folder, as Extra-P reads them: `mm.n1000p16.r1` has `n` = 1000 and `p` = 16 in its first repetition.

/// The parameters with their values, in order; `None` if the name has none.
pub(super) fn parse_folder_name(name: &str) -> Option<Vec<(String, f64)>> {
    let pairs = without_repetition(name);
    parse_pairs(pairs).or_else(|| pairs.split_once('.').and_then(|(_, behind_prefix)| parse_pairs(behind_prefix)))
}

/// The name without `.r1` at its end.
fn without_repetition(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once(".r").filter(|(_, number)| is_number(number)).map_or(name, |(pairs, _)| pairs)
}

/// Names each followed by a number, which may have a decimal point or comma, and may be followed by one that separates.
fn parse_pairs(text: &str) -> Option<Vec<(String, f64)>> {
    let is_numeric = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
    let mut pairs = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, behind) = rest.split_at(rest.find(is_numeric)?);
        let (number, behind) = behind.split_at(behind.find(|letter| !is_numeric(letter)).unwrap_or(behind.len()));
        let value: f64 = number.trim_end_matches(['.', ',']).replace(',', ".").parse().ok()?;
        if !name.starts_with(char::is_alphabetic) {
            return None;
        }
        pairs.push((name.to_owned(), value));
        rest = behind;
    }
    (!pairs.is_empty()).then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_read_as_extra_p_documents_them() {
        let read = |name: &str| {
            parse_folder_name(name).map(|pairs| pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        };
        for (name, expected) in [
            ("mm.a1.1b1.1c1.1", "a=1.1 b=1.1 c=1.1"),
            ("mm.x1y1z1.r1", "x=1 y=1 z=1"),
            ("mm.x1.1,y1,1,z1.1.r1", "x=1.1 y=1.1 z=1.1"),
            ("mm.x1.y1.z1.r1", "x=1 y=1 z=1"),
            ("x10y1z1", "x=10 y=1 z=1"),
            ("bt-mz_sum.p2.r12", "p=2"),
            ("mm.rows10.r1", "rows=10"),
        ] {
            assert_eq!(read(name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(["mm", "mm.r1", "scorep-20240101_1200_123", "mm.x1y"].map(read), [None, None, None, None]);
    }
}
