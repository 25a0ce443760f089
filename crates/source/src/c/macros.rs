//! What `#define` says. A macro is expanded where it is used and read there, so that everything keeps the place at which the user wrote it.

use std::collections::HashMap;

/// How deep macros may stand in each other.
const DEEPEST: usize = 32;

/// How many bytes all expansions of a program may have: macros that double each other would have no end.
const MOST_TEXT: usize = 1 << 20;

/// A macro.
#[derive(Debug, Clone)]
pub struct Macro {
    /// What it is given; none for a macro that is no function.
    pub parameters: Option<Vec<String>>,
    /// What it stands for.
    pub text: String,
}

/// The macros of a program.
#[derive(Debug, Default)]
pub struct Macros {
    known: HashMap<String, Macro>,
    active: Vec<String>,
    expanded: usize,
}

impl Macros {
    /// Whether there is a macro of this name.
    pub fn is_defined(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Takes up a definition.
    pub fn define(&mut self, name: &str, parameters: Option<Vec<String>>, text: &str) {
        let text = without_comments(text);
        self.known.insert(name.to_owned(), Macro { parameters, text });
    }

    /// Forgets a definition.
    pub fn undefine(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// What a macro without parameters stands for, unless it is being expanded already.
    pub fn constant(&self, name: &str) -> Option<String> {
        let found = self.known.get(name).filter(|found| found.parameters.is_none() && !found.text.is_empty())?;
        (!self.active.iter().any(|active| active == name)).then(|| found.text.clone())
    }

    /// What a macro stands for when it is given these arguments.
    pub fn function(&self, name: &str, arguments: &[String]) -> Option<String> {
        let found = self.known.get(name)?;
        let parameters = found.parameters.as_ref()?;
        if self.active.iter().any(|active| active == name) {
            return None;
        }
        Some(replaced(&found.text, parameters, arguments))
    }

    /// Begins an expansion; false where it would not end.
    pub fn enter(&mut self, name: &str, text: &str) -> bool {
        self.expanded = self.expanded.saturating_add(text.len());
        if self.active.len() >= DEEPEST || self.expanded > MOST_TEXT {
            return false;
        }
        self.active.push(name.to_owned());
        true
    }

    /// Ends the expansion that began last.
    pub fn leave(&mut self) {
        self.active.pop();
    }
}

/// The text with arguments in place of parameters: `#a` is a text, and `a##b` is one name.
fn replaced(text: &str, parameters: &[String], arguments: &[String]) -> String {
    let all = arguments.join(", ");
    let argument = |word: &str| match parameters.iter().position(|parameter| parameter == word) {
        Some(at) => Some(arguments.get(at).map_or("", String::as_str)),
        None => (word == "__VA_ARGS__").then_some(all.as_str()),
    };
    let mut out = String::new();
    let mut words = words(text).peekable();
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

/// The text cut into names and what stands between them; a literal is never cut.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '"' | '\'' => literal_length(rest, first),
            _ if is_letter(first) => rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The bytes of the literal that a text begins with.
pub fn literal_length(text: &str, quote: char) -> usize {
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
pub fn without_comments(text: &str) -> String {
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

    fn with(name: &str, parameters: Option<&[&str]>, text: &str) -> Macros {
        let mut macros = Macros::default();
        macros.define(name, parameters.map(|list| list.iter().map(|&name| name.to_owned()).collect()), text);
        macros
    }

    #[test]
    fn arguments_stand_where_the_parameters_stood() {
        let macros = with("MAX", Some(&["a", "b"]), "((a) > (b) ? (a) : (b)) /* not in \"a\" */");
        assert_eq!(macros.function("MAX", &["x + 1".into(), "ab".into()]).unwrap(), "((x + 1) > (ab) ? (x + 1) : (ab))");
        let macros = with("SAY", Some(&["a"]), "puts(\"a\", a)");
        assert_eq!(macros.function("SAY", &["b".into()]).unwrap(), "puts(\"a\", b)");
        let macros = with("BOTH", Some(&["a", "b"]), "a ## b(#a)");
        assert_eq!(macros.function("BOTH", &["x".into(), "y".into()]).unwrap(), "xy(\"x\")");
    }

    #[test]
    fn a_macro_does_not_expand_itself() {
        let mut macros = with("N", None, "N + 1");
        assert_eq!(macros.constant("N").unwrap(), "N + 1");
        assert!(macros.enter("N", "N + 1"));
        assert_eq!(macros.constant("N"), None);
        macros.leave();
        assert!(macros.constant("N").is_some());
    }

    #[test]
    fn expansions_have_an_end() {
        let mut macros = Macros::default();
        let text = "x".repeat(MOST_TEXT / 2);
        assert!(macros.enter("A", &text));
        assert!(macros.enter("B", &text));
        assert!(!macros.enter("C", "x"));
    }
}
