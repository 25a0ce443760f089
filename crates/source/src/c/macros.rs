//! Macros. A macro is expanded and parsed where it is used, so that everything has the position of its use.

use std::collections::HashMap;

/// Maximum nesting depth of macro expansions.
const MAX_EXPANSION_DEPTH: usize = 32;

/// The maximum number of bytes of all expansions of a program: macros that double each other would grow exponentially.
const MAX_EXPANDED_BYTES: usize = 1 << 20;

/// A macro definition.
#[derive(Debug, Clone)]
pub(super) struct CMacro {
    /// Its parameters; `None` for an object-like macro.
    pub parameters: Option<Vec<String>>,
    /// Its replacement.
    pub replacement: String,
}

/// The macros of a program.
#[derive(Debug, Default)]
pub(super) struct MacroTable {
    definitions: HashMap<String, CMacro>,
    active: Vec<String>,
    expanded: usize,
}

impl MacroTable {
    /// Whether a macro is defined.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.definitions.contains_key(name)
    }

    /// Adds a definition.
    pub(super) fn define(&mut self, name: &str, parameters: Option<Vec<String>>, text: &str) {
        let text = strip_comments(text);
        self.definitions.insert(name.to_owned(), CMacro { parameters, replacement: text });
    }

    /// Removes a definition.
    pub(super) fn undefine(&mut self, name: &str) {
        self.definitions.remove(name);
    }

    /// The replacement of an object-like macro, unless it is being expanded already.
    pub(super) fn expand_object_macro(&self, name: &str) -> Option<String> {
        let found = self.definitions.get(name).filter(|found| found.parameters.is_none() && !found.replacement.is_empty())?;
        (!self.active.iter().any(|active| active == name)).then(|| found.replacement.clone())
    }

    /// The expansion of a function-like macro.
    pub(super) fn expand_function_macro(&self, name: &str, arguments: &[String]) -> Option<String> {
        let found = self.definitions.get(name)?;
        let parameters = found.parameters.as_ref()?;
        if self.active.iter().any(|active| active == name) {
            return None;
        }
        Some(substitute_parameters(&found.replacement, parameters, arguments))
    }

    /// Begins an expansion; returns false if it would not end.
    pub(super) fn begin_expansion(&mut self, name: &str, text: &str) -> bool {
        self.expanded = self.expanded.saturating_add(text.len());
        if self.active.len() >= MAX_EXPANSION_DEPTH || self.expanded > MAX_EXPANDED_BYTES {
            return false;
        }
        self.active.push(name.to_owned());
        true
    }

    /// Ends the innermost expansion.
    pub(super) fn end_expansion(&mut self) {
        self.active.pop();
    }
}

/// Substitutes arguments for parameters; handles `#a` and `a##b`.
fn substitute_parameters(text: &str, parameters: &[String], arguments: &[String]) -> String {
    let all = arguments.join(", ");
    let argument = |word: &str| match parameters.iter().position(|parameter| parameter == word) {
        Some(at) => Some(arguments.get(at).map_or("", String::as_str)),
        None => (word == "__VA_ARGS__").then_some(all.as_str()),
    };
    let mut out = String::new();
    let mut words = preprocessing_tokens(text).peekable();
    while let Some(word) = words.next() {
        if word != "#" {
            out.push_str(argument(word).unwrap_or(word));
            continue;
        }
        let is_pasted = words.next_if_eq(&"#").is_some();
        while words.next_if_eq(&" ").is_some() {}
        if is_pasted {
            out.truncate(out.trim_end().len());
        } else if let Some(text) = words.next() {
            let text = argument(text).unwrap_or(text);
            out.push_str(&format!("\"{}\"", text.replace(['"', '\\', '\n'], " ")));
        }
    }
    out
}

/// The text split into names and what is between them; literals are not split.
pub(super) fn preprocessing_tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '"' | '\'' => literal_length(rest, first),
            _ if is_identifier_char(first) => rest.find(|letter| !is_identifier_char(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

fn is_identifier_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The length of the literal at the start of a text.
pub(super) fn literal_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The text on one line, without comments.
pub(super) fn strip_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '"' | '\'' => {
                let length = literal_length(rest, first);
                out.push_str(&rest[..length]);
                length
            }
            '/' if rest.starts_with("//") => rest.len(),
            '/' if rest.starts_with("/*") => {
                out.push(' ');
                rest[2..].find("*/").map_or(rest.len(), |end| end + 4)
            }
            '\\' if rest.starts_with("\\\n") => 2,
            '\\' if rest.starts_with("\\\r\n") => 3,
            _ => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[skip..];
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, parameters: Option<&[&str]>, text: &str) -> MacroTable {
        let mut macros = MacroTable::default();
        macros.define(name, parameters.map(|list| list.iter().map(|&name| name.to_owned()).collect()), text);
        macros
    }

    #[test]
    fn arguments_stand_where_the_parameters_stood() {
        let macros = with("MAX", Some(&["a", "b"]), "((a) > (b) ? (a) : (b)) /* not in \"a\" */");
        assert_eq!(macros.expand_function_macro("MAX", &["x + 1".into(), "ab".into()]).unwrap(), "((x + 1) > (ab) ? (x + 1) : (ab))");
        let macros = with("SAY", Some(&["a"]), "puts(\"a\", a)");
        assert_eq!(macros.expand_function_macro("SAY", &["b".into()]).unwrap(), "puts(\"a\", b)");
        let macros = with("BOTH", Some(&["a", "b"]), "a ## b(#a)");
        assert_eq!(macros.expand_function_macro("BOTH", &["x".into(), "y".into()]).unwrap(), "xy(\"x\")");
    }

    #[test]
    fn a_macro_does_not_expand_itself() {
        let mut macros = with("N", None, "N + 1");
        assert_eq!(macros.expand_object_macro("N").unwrap(), "N + 1");
        assert!(macros.begin_expansion("N", "N + 1"));
        assert_eq!(macros.expand_object_macro("N"), None);
        macros.end_expansion();
        assert!(macros.expand_object_macro("N").is_some());
    }

    #[test]
    fn expansions_have_an_end() {
        let mut macros = MacroTable::default();
        let text = "x".repeat(MAX_EXPANDED_BYTES / 2);
        assert!(macros.begin_expansion("A", &text));
        assert!(macros.begin_expansion("B", &text));
        assert!(!macros.begin_expansion("C", "x"));
    }
}
