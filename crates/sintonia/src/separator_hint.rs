//! A hint for command lines that lack the `--` before the command to run.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::text::shell_command;

/// Verbs that run a command.
const VERBS: [&str; 2] = ["record", "tune"];

/// The error with a hint, if these words lack a `--` before a command.
pub(crate) fn with_hint(mut error: clap::Error, words: &[String]) -> clap::Error {
    if let Some(corrected) = corrected(&error, words) {
        let hint = format!("put `--` before the command: {corrected}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// The command line with a `--` before the word that was not expected.
fn corrected(error: &clap::Error, words: &[String]) -> Option<String> {
    let is_command = words.get(1).is_some_and(|verb| VERBS.contains(&verb.as_str())) && !words.iter().any(|word| word == "--");
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else { return None };
    if !is_command || error.kind() != ErrorKind::UnknownArgument || unexpected.starts_with('-') {
        return None;
    }
    let index = words.iter().position(|word| word == unexpected)?;
    let options = words.get(1..index)?.iter().cloned();
    let command: Vec<String> = options.chain(["--".into()]).chain(words[index..].iter().cloned()).collect();
    Some(format!("sintonia {}", shell_command(&command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[&str]) -> String {
        let error = crate::clap_command().try_get_matches_from(words).expect_err("the words are wrong");
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        with_hint(error, &words).to_string()
    }

    #[test]
    fn a_command_without_the_separator_is_shown_with_it() {
        let hint = message(&["sintonia", "record", "-o", "x.sin", "mpirun", "-n", "2", "./a b"]);
        assert!(hint.contains("put `--` before the command: sintonia record -o x.sin -- mpirun -n 2 './a b'"), "{hint}");
    }

    #[test]
    fn other_errors_get_no_hint() {
        for words in [&["sintonia", "record", "--what", "mpirun"][..], &["sintonia", "calls", "a.sin", "b.sin"]] {
            let hint = message(words);
            assert!(!hint.contains("put `--`"), "{hint}");
        }
    }
}
