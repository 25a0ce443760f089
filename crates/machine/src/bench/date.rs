//! Today's date for machine files.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today's date in UTC: `2026-11-15`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The date this many days after 1970-01-01. Years start in March here, so that a leap day is the last day.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        for (days, text) in [(0, "1970-01-01"), (59, "1970-03-01"), (789, "1972-02-29"), (10_957, "2000-01-01"), (20_772, "2026-11-15")] {
            assert_eq!(date(days), text);
        }
    }
}
