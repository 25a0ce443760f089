//! Numbers with a decimal comma, in tables whose cells are not separated by commas.

use std::borrow::Cow;

/// The number with a decimal point: `1,5` is 1.5 unless commas separate cells. A comma beside a point, or a second one, stays, and is an
/// error later.
pub(super) fn decimal_point(cell: &str, separator: char) -> Cow<'_, str> {
    let is_decimal = separator != ',' && cell.matches(',').count() == 1 && !cell.contains('.');
    if is_decimal { Cow::Owned(cell.replace(',', ".")) } else { Cow::Borrowed(cell) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comma_is_a_decimal_comma_where_semicolons_separate() {
        assert_eq!(["1,5", "-2,5e-3", "7"].map(|cell| decimal_point(cell, ';').into_owned()), ["1.5", "-2.5e-3", "7"]);
        assert_eq!(["1,234,567", "1.234,5"].map(|cell| decimal_point(cell, ';').into_owned()), ["1,234,567", "1.234,5"]);
        assert_eq!(decimal_point("1,5", ','), "1,5");
    }
}
