//! Shell quoting, so that a printed command can be pasted.

/// Quoted words on one line.
pub(super) fn join_quoted<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// A word, quoted if necessary.
pub(super) fn quote(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_shell_makes_the_same_words_of_the_line() {
        let words = ["mpirun", "-n", "4", "./my app", "it's", "", "$HOME", "a\nb", "*", "~", "#no", "é", "`x`", "a\\b", "!", "[0-9]"];
        let words = words.map(String::from);
        let script = format!("for word in {}; do printf '%s\\0' \"$word\"; done", join_quoted(&words));
        let answer = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let back: Vec<String> = answer.stdout.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        assert_eq!(back[..back.len() - 1], words);
    }

    #[test]
    fn plain_words_stay_plain() {
        assert_eq!(join_quoted(&["mpirun", "--host", "a:2,b:2", "./app"].map(String::from)), "mpirun --host a:2,b:2 ./app");
    }
}
