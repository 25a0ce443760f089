//! Numbers, labels and dates as text; numbers are written millions of times.

pub(crate) fn push_number(line: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return line.extend_from_slice(&digits[at..]);
        }
    }
}

/// Appends colon-separated numbers.
pub(crate) fn push_numbers(line: &mut Vec<u8>, values: &[u64]) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            line.push(b':');
        }
        push_number(line, *value);
    }
}

/// A label without line breaks and other control characters.
pub fn single_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The date of a trace: `dd/mm/yyyy at hh:mm`, UTC.
pub(crate) fn format_date(seconds_since_1970: f64) -> String {
    let minutes = (seconds_since_1970.clamp(0.0, 253_402_300_799.0) / 60.0) as u64;
    let (mut days, minute) = (minutes / 1440, minutes % 1440);
    let mut year = 1970;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    format!("{:02}/{month:02}/{year} at {:02}:{:02}", days + 1, minute / 60, minute % 60)
}

/// Parses such a date; years may have two digits.
pub(crate) fn parse_date(date: &str) -> Option<f64> {
    let (day, time) = date.split_once(" at ")?;
    let mut day = day.split('/').map(|part| part.trim().parse::<u64>().ok());
    let (day, month, year) = (day.next()??, day.next()??, day.next()??);
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (u64, u64) = (hour.trim().parse().ok()?, minute.trim().parse().ok()?);
    let year = if year < 100 { 2000 + year } else { year };
    let is_date = (1970..10_000).contains(&year) && (1..=12).contains(&month) && day >= 1 && day <= days_of_month(year, month);
    if !is_date || hour > 23 || minute > 59 {
        return None;
    }
    let days: u64 = (1970..year).map(days_of_year).chain((1..month).map(|month| days_of_month(year, month))).sum();
    Some((((days + day - 1) * 24 + hour) * 60 + minute) as f64 * 60.0)
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_between_colons() {
        let mut line = Vec::new();
        push_numbers(&mut line, &[0, 7, 10, u64::MAX]);
        assert_eq!(line, b"0:7:10:18446744073709551615");
    }

    #[test]
    fn a_date_is_a_moment() {
        assert_eq!(format_date(1_794_722_186.26), "15/11/2026 at 05:56");
        assert_eq!(parse_date("15/11/2026 at 05:56"), Some(1_794_722_160.0));
        assert_eq!(parse_date("29/02/24 at 00:00").map(format_date).as_deref(), Some("29/02/2024 at 00:00"));
        for none in
            ["", "29/02/2023 at 00:00", "1/1/2020", "1/13/2020 at 1:1", "1/1/2020 at 24:00", "0/1/2020 at 0:00", "1/1/99999999 at 0:00"]
        {
            assert_eq!(parse_date(none), None, "{none}");
        }
    }
}
