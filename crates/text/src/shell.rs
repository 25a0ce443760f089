//! Commands as they would be typed, for messages.

/// A command as it could be typed, on one line.
pub fn shell_command(words: &[String]) -> String {
    words.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ")
}

fn shell_quote(word: &str) -> String {
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
    fn a_command_can_be_pasted_again() {
        let words = ["mpirun", "-n", "4", "./my app", "it's", "", "two\nlines"].map(String::from);
        assert_eq!(shell_command(&words), r"mpirun -n 4 './my app' 'it'\''s' '' 'two lines'");
    }
}
