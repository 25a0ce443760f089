//! Texts as they fit on a screen, beside the words for amounts that every report uses.

pub use sintonia_insight::words::{bytes, count, percent, plural, seconds};

/// A power of two as an amount of data.
pub fn binary_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10).min(6);
    format!("{} {}", bytes >> (10 * power), UNITS[power as usize])
}

/// Text in lines of at most so many characters, broken between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// The beginning of a text that is too long.
pub fn head(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.into(),
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// The end of a text that is too long: of a path, it says more than the beginning.
pub fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.into();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - width)).collect()
}

/// A bar whose length shows a share; anything above nothing is seen.
pub fn bar(share: f64, width: usize) -> String {
    let length = (share * width as f64).round() as usize;
    "#".repeat(if share > 0.0 { length.clamp(1, width) } else { 0 })
}

/// A command as it could be typed, on one line.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    let visible: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("'{}'", visible.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_have_their_own_units() {
        assert_eq!((binary_bytes(8), binary_bytes(4096), binary_bytes(1 << 33)), ("8 B".into(), "4 KiB".into(), "8 GiB".into()));
        assert_eq!(binary_bytes(0), "0 B");
    }

    #[test]
    fn long_texts_are_cut_where_it_hurts_least() {
        assert_eq!((head("mpirun", 6), head("mpirun -n 2", 6)), ("mpirun".into(), "mpiru…".into()));
        assert_eq!((tail("lu.c:1", 6), tail("src/lu.c:1", 6)), ("lu.c:1".into(), "…u.c:1".into()));
    }

    #[test]
    fn a_bar_shows_that_there_is_something() {
        assert_eq!((bar(0.0, 10), bar(0.001, 10), bar(0.5, 10), bar(1.0, 10)), ("".into(), "#".into(), "#####".into(), "#".repeat(10)));
    }

    #[test]
    fn a_command_can_be_pasted_again() {
        let words = ["mpirun", "-n", "4", "./my app", "it's", "", "two\nlines"].map(String::from);
        assert_eq!(command(&words), r"mpirun -n 4 './my app' 'it'\''s' '' 'two lines'");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("longer-than-a-line is kept", 8), ["longer-than-a-line", "is kept"]);
        assert!(wrapped("", 5).is_empty());
    }
}
