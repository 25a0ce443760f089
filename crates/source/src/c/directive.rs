//! Lines that begin with `#`. Conditions are decided as a compiler decides them, but only macros of the read files are known.
//!
//! What is not compiled is left out before the text is parsed, since a group may begin in the middle of a statement. Blanks stand in its place, so
//! that everything else keeps its own.

use std::path::Path;
use std::sync::Arc;

use tree_sitter::Node;

use super::constant::constant;
use super::macros::words;
use super::reader::{Piece, Reader};
use crate::error::Error;
use crate::place::Place;

/// A group between `#if` and `#endif`.
struct Group {
    /// Whether what is around it is compiled.
    outer: bool,
    /// Whether a part of it was compiled already.
    taken: bool,
    /// Whether the present part is.
    now: bool,
}

impl Reader {
    /// The text with blanks for what is not compiled. What it includes is read on the way.
    pub(super) fn compiled(&mut self, file: &Arc<str>, text: &str) -> Result<String, Error> {
        let mut out = String::with_capacity(text.len());
        let mut groups: Vec<Group> = Vec::new();
        let mut in_comment = false;
        let mut number = 1;
        for line in logical_lines(text) {
            let place = Place { file: file.clone(), line: number, column: 1 };
            number += line.matches('\n').count();
            let is_compiled = groups.last().is_none_or(|group| group.now);
            let directive = if in_comment { None } else { line.trim_start().strip_prefix('#') };
            let keeps = match directive {
                Some(directive) => self.keeps_line(directive, &mut groups, is_compiled, &place)?,
                None => is_compiled,
            };
            if keeps {
                // The grammar knows no blanks after a macro that stands for nothing.
                let end = if directive.is_some() { line.trim_end().len() } else { line.len() };
                out.push_str(&line[..end]);
                out.extend(line[end..].chars().filter(|letter| *letter == '\n'));
                in_comment = ends_in_comment(line, in_comment);
            } else {
                out.extend(line.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
            }
        }
        Ok(out)
    }

    /// Takes up a directive; whether its line stays.
    fn keeps_line(&mut self, directive: &str, groups: &mut Vec<Group>, is_compiled: bool, place: &Place) -> Result<bool, Error> {
        let directive = super::macros::without_comments(directive);
        let (word, rest) = directive.split_at(directive.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(directive.len()));
        let rest = rest.trim();
        match word {
            "if" | "ifdef" | "ifndef" => {
                let now = is_compiled && self.holds(word, rest, place)?;
                groups.push(Group { outer: is_compiled, taken: now, now });
            }
            "elif" | "elifdef" | "elifndef" => {
                let Some(Group { outer: true, taken: false, .. }) = groups.last() else {
                    groups.last_mut().into_iter().for_each(|group| group.now = false);
                    return Ok(false);
                };
                let now = self.holds(word.trim_start_matches("el"), rest, place)?;
                groups.last_mut().into_iter().for_each(|group| (group.now, group.taken) = (now, now));
            }
            "else" => groups.last_mut().into_iter().for_each(|group| (group.now, group.taken) = (group.outer && !group.taken, true)),
            "endif" => drop(groups.pop()),
            "include" if is_compiled => self.include(rest, place)?,
            "define" if is_compiled => {
                let (name, after) =
                    rest.split_at(rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len()));
                if !after.starts_with('(') {
                    self.macros.define(name, None, after.trim());
                } else if !self.macros.is_defined(name) {
                    self.macros.define(name, Some(Vec::new()), "");
                }
                return Ok(true);
            }
            "undef" if is_compiled => {
                self.macros.undefine(rest);
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn include(&mut self, rest: &str, place: &Place) -> Result<(), Error> {
        let Some(name) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { return Ok(()) };
        self.header(&Path::new(place.file.as_ref()).with_file_name(name))
    }

    fn holds(&mut self, word: &str, rest: &str, place: &Place) -> Result<bool, Error> {
        let name = rest.split_whitespace().next().unwrap_or_default();
        match word {
            "ifdef" => Ok(self.macros.is_defined(name)),
            "ifndef" => Ok(!self.macros.is_defined(name)),
            _ => {
                let text = self.with_known_names(rest);
                let value = self.expanded("#if", &text, place)?;
                Ok(value.and_then(|value| constant(&value.expression)).is_some_and(|value| value != 0))
            }
        }
    }

    /// A condition in which `defined` is decided and names that are no macros are 0.
    fn with_known_names(&self, condition: &str) -> String {
        let mut out = String::new();
        let mut asks = false;
        for word in words(condition) {
            let is_name = word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
            match word {
                "defined" => asks = true,
                _ if is_name && asks => {
                    out.push_str(if self.macros.is_defined(word) { "1" } else { "0" });
                    asks = false;
                }
                _ if is_name && !self.macros.is_defined(word) => out.push('0'),
                _ => out.push_str(word),
            }
        }
        out
    }

    /// Takes up a definition where it stands among the declarations.
    pub(super) fn directive(&mut self, node: Node, piece: Piece) {
        let text = node.child_by_field_name("value").map_or("", |value| piece.text_of(value));
        let name = node.child_by_field_name("name").map_or("", |name| piece.text_of(name));
        match node.kind() {
            "preproc_def" => self.macros.define(name, None, text),
            "preproc_function_def" => {
                let names = node.child_by_field_name("parameters").map(|list| {
                    let names = list.named_children(&mut list.walk()).filter(|child| child.kind() == "identifier").collect::<Vec<_>>();
                    names.into_iter().map(|child| piece.text_of(child).to_owned()).collect()
                });
                self.macros.define(name, Some(names.unwrap_or_default()), text);
            }
            "preproc_call" => {
                let what = node.child_by_field_name("directive").map_or("", |directive| piece.text_of(directive));
                let argument = node.child_by_field_name("argument").map_or("", |argument| piece.text_of(argument));
                if what.trim_start_matches('#').trim() == "undef" {
                    self.macros.undefine(argument.trim());
                }
            }
            _ => {}
        }
    }
}

/// The lines of a text with their ends; one that ends in `\` goes on in the next if it is a directive.
fn logical_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let is_directive = rest.trim_start_matches([' ', '\t']).starts_with('#');
        let mut end = 0;
        loop {
            end += rest[end..].find('\n').map_or(rest.len() - end, |at| at + 1);
            let goes_on = is_directive && rest[..end].trim_end_matches(['\n', '\r']).ends_with('\\');
            if !goes_on || end == rest.len() {
                break;
            }
        }
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// Whether a comment that goes over several lines is open at the end of a line.
fn ends_in_comment(line: &str, in_comment: bool) -> bool {
    let mut open = in_comment;
    let mut rest = line;
    loop {
        if open {
            let Some(end) = rest.find("*/") else { return true };
            rest = &rest[end + 2..];
            open = false;
            continue;
        }
        let Some(start) = rest.find(['/', '"', '\'']) else { return false };
        rest = &rest[start..];
        if rest.starts_with("//") {
            return false;
        }
        let skip = match rest.as_bytes()[0] {
            b'/' if rest.starts_with("/*") => {
                open = true;
                2
            }
            b'/' => 1,
            quote => super::macros::literal_length(rest, char::from(quote)),
        };
        rest = &rest[skip..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends_and_directives_go_on_after_a_backslash() {
        let lines: Vec<&str> = logical_lines("a\\\n#define B \\\n  2\nc").collect();
        assert_eq!(lines, ["a\\\n", "#define B \\\n  2\n", "c"]);
    }

    #[test]
    fn comments_are_open_until_they_end() {
        assert!(ends_in_comment("int a; /* here\n", false));
        assert!(!ends_in_comment("and */ int b;\n", true));
        assert!(!ends_in_comment("\"/*\" // /*\n", false));
    }
}
