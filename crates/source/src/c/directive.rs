//! Preprocessor directives. Conditions are evaluated as by a compiler, but only macros of the files read are known.
//!
//! Inactive code is removed before parsing, since a group may start in the middle of a statement. It is replaced by blanks, so that all
//! positions stay the same.

use std::path::Path;
use std::sync::Arc;

use tree_sitter::Node;

use super::constant::constant_value;
use super::lowering::{CLowering, SourceFragment};
use super::macros::preprocessing_tokens;
use crate::error::Error;
use crate::file_pos::FilePos;

/// A group between `#if` and `#endif`.
struct ConditionalGroup {
    /// Whether the enclosing code is active.
    is_outer_active: bool,
    /// Whether a branch of the group has been active already.
    has_active_branch: bool,
    /// Whether the current branch is active.
    is_active: bool,
}

impl CLowering {
    /// The text with inactive code blanked. Included files are read on the way.
    pub(super) fn preprocess(&mut self, file: &Arc<str>, text: &str) -> Result<String, Error> {
        let mut out = String::with_capacity(text.len());
        let mut groups: Vec<ConditionalGroup> = Vec::new();
        let mut in_comment = false;
        let mut number = 1;
        for line in logical_lines(text) {
            let place = FilePos { file: file.clone(), line: number, column: 1 };
            number += line.matches('\n').count();
            let is_compiled = groups.last().is_none_or(|group| group.is_active);
            let directive = if in_comment { None } else { line.trim_start().strip_prefix('#') };
            let keeps = match directive {
                Some(directive) => self.process_directive(directive, &mut groups, is_compiled, &place)?,
                None => is_compiled,
            };
            if keeps {
                // The grammar does not allow blanks after a macro without a replacement.
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

    /// Processes a directive; returns whether its line is kept.
    fn process_directive(
        &mut self,
        directive: &str,
        groups: &mut Vec<ConditionalGroup>,
        is_compiled: bool,
        place: &FilePos,
    ) -> Result<bool, Error> {
        let directive = super::macros::strip_comments(directive);
        let (word, rest) = directive.split_at(directive.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(directive.len()));
        let rest = rest.trim();
        match word {
            "if" | "ifdef" | "ifndef" => {
                let now = is_compiled && self.evaluate_condition(word, rest, place)?;
                groups.push(ConditionalGroup { is_outer_active: is_compiled, has_active_branch: now, is_active: now });
            }
            "elif" | "elifdef" | "elifndef" => {
                let Some(ConditionalGroup { is_outer_active: true, has_active_branch: false, .. }) = groups.last() else {
                    groups.last_mut().into_iter().for_each(|group| group.is_active = false);
                    return Ok(false);
                };
                let now = self.evaluate_condition(word.trim_start_matches("el"), rest, place)?;
                groups.last_mut().into_iter().for_each(|group| (group.is_active, group.has_active_branch) = (now, now));
            }
            "else" => groups
                .last_mut()
                .into_iter()
                .for_each(|group| (group.is_active, group.has_active_branch) = (group.is_outer_active && !group.has_active_branch, true)),
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

    fn include(&mut self, rest: &str, place: &FilePos) -> Result<(), Error> {
        let Some(name) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { return Ok(()) };
        self.header(&Path::new(place.file.as_ref()).with_file_name(name))
    }

    fn evaluate_condition(&mut self, word: &str, rest: &str, place: &FilePos) -> Result<bool, Error> {
        let name = rest.split_whitespace().next().unwrap_or_default();
        match word {
            "ifdef" => Ok(self.macros.is_defined(name)),
            "ifndef" => Ok(!self.macros.is_defined(name)),
            _ => {
                let text = self.resolve_defined(rest);
                let value = self.expand_expression("#if", &text, place)?;
                Ok(value.and_then(|value| constant_value(&value.expression)).is_some_and(|value| value != 0))
            }
        }
    }

    /// A condition with `defined` evaluated and unknown names replaced by 0.
    fn resolve_defined(&self, condition: &str) -> String {
        let mut out = String::new();
        let mut asks = false;
        for word in preprocessing_tokens(condition) {
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

    /// Processes a macro definition among the declarations.
    pub(super) fn directive(&mut self, node: Node, piece: SourceFragment) {
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

/// The lines of a text with their terminators; a directive continues after a `\`.
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

/// Whether a block comment is open at the end of a line.
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
