//! Declarations: classes with their members in Java, functions and variables in C.

use sintonia_text::suggestion::nearest_name;

use super::lexer::{JAVA_MODIFIERS, Lexeme, LexemeKind, SyntaxLanguage};
use super::scanner::{ScanResult, SyntaxScanner, abort};

const CLASSES: [&str; 4] = ["class", "interface", "enum", "record"];

impl<'t> SyntaxScanner<'t> {
    /// The whole file.
    pub(super) fn file(&mut self) -> ScanResult {
        while self.peek().kind != LexemeKind::End {
            if self.peek().is("}") {
                return abort(self.unexpected("the end of the file").with_hint("there is no `{` for this `}`"));
            }
            match self.language {
                SyntaxLanguage::Java => self.java_item()?,
                SyntaxLanguage::C => self.c_item()?,
            }
        }
        Ok(())
    }

    /// A function, a type or variables of a C file.
    fn c_item(&mut self) -> ScanResult {
        let word = self.peek();
        if word.kind == LexemeKind::Keyword && self.language.begins_statement(word.text) {
            return abort(
                self.unexpected("a function or a declaration")
                    .with_hint("the preceding function has already ended: is there an extra `}`?"),
            );
        }
        self.check_declaration_type()?;
        self.until_semicolon()
    }

    /// Reports a declaration with modifiers but no type.
    pub(super) fn check_declaration_type(&mut self) -> ScanResult {
        let modifiers = (0..).take_while(|ahead| self.language.is_modifier(self.peek_at(*ahead).text)).count();
        let (name, next) = (self.peek_at(modifiers), self.peek_at(modifiers + 1));
        let shouted = name.text.starts_with('_') || name.text.chars().all(|letter| !letter.is_lowercase());
        if modifiers > 0 && name.kind == LexemeKind::Name && !shouted && next.is_one_of(&["=", ";", ",", "("]) {
            return abort(self.error(name.offset, format!("expected a type before {}", name.describe())));
        }
        Ok(())
    }

    /// A class or an import of a Java file.
    fn java_item(&mut self) -> ScanResult {
        self.modifiers()?;
        let (word, after) = (self.peek(), self.peek_at(1));
        if word.is_one_of(&["import", "package", ";"]) {
            while !self.peek().is(";") {
                let dotted = self.peek().kind == LexemeKind::Name || self.peek().is_one_of(&["import", "package", "static", ".", "*"]);
                if !dotted || self.peek().is_first_on_line && self.peek().offset != word.offset {
                    return abort(self.missing("`;`"));
                }
                self.advance();
            }
            self.advance();
            return Ok(());
        }
        if self.begins_class() {
            return self.class();
        }
        let leads = after.kind == LexemeKind::Keyword && (self.language.is_modifier(after.text) || CLASSES.contains(&after.text));
        if word.kind == LexemeKind::Name && (leads || after.kind == LexemeKind::Name && self.peek_at(2).is("{")) {
            let near = nearest_name(word.text, JAVA_MODIFIERS.into_iter().chain(CLASSES));
            let wrong = self.unexpected("a class");
            return abort(match near {
                Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
                None => wrong,
            });
        }
        self.member("")
    }

    /// Skips modifiers and annotations.
    pub(super) fn modifiers(&mut self) -> ScanResult {
        loop {
            if self.peek().is("@") {
                self.advance();
                self.advance();
                while self.peek().is(".") {
                    self.advance();
                    self.advance();
                }
                if self.peek().is("(") {
                    self.skip_brackets()?;
                }
            } else if self.peek().is("non") && self.peek_at(1).is("-") {
                self.advance();
                self.advance();
            } else if self.language.is_modifier(self.peek().text) || self.peek().is_one_of(&["default", "sealed"]) {
                self.advance();
            } else {
                return Ok(());
            }
        }
    }

    fn begins_class(&self) -> bool {
        let word = self.peek();
        let record = word.is("record") && self.peek_at(1).kind == LexemeKind::Name && self.peek_at(2).is_one_of(&["(", "<"]);
        word.is_one_of(&["class", "interface", "enum", "@interface"]) || record
    }

    fn class(&mut self) -> ScanResult {
        let what = self.advance();
        let name = self.peek();
        if name.kind != LexemeKind::Name {
            return abort(self.unexpected(&format!("the name of the {}", what.text)));
        }
        while !self.peek().is("{") {
            match self.peek() {
                word if word.is("(") => self.skip_brackets()?,
                word if word.kind == LexemeKind::End || word.is_one_of(&[";", "}", "=", ")"]) => return abort(self.unexpected("`{`")),
                _ => drop(self.advance()),
            }
        }
        // Enum constants have a syntax of their own.
        if what.is("enum") || what.is("@interface") {
            return self.skip_brackets();
        }
        self.nested(|walk| walk.block(|walk| walk.member(name.text)))
    }

    /// A field, a method or a nested class of the class with this name.
    fn member(&mut self, class: &str) -> ScanResult {
        if self.peek().is("static") && self.peek_at(1).is("{") {
            self.advance();
        }
        if self.peek().is("{") {
            return self.statement_block();
        }
        self.modifiers()?;
        let word = self.peek();
        if word.is(";") {
            self.advance();
            return Ok(());
        }
        if self.begins_class() {
            return self.class();
        }
        if word.kind == LexemeKind::Keyword && !self.language.is_type(word.text) {
            let hint = "statements belong into methods: is there an extra `}` before this?";
            return abort(self.unexpected("a field or a method").with_hint(hint));
        }
        let begin = self.next;
        let names = self.names();
        match (names.as_slice(), self.peek()) {
            (_, next) if !next.is_one_of(&["(", "=", ";", ",", "{"]) => self.malformed_member(&names),
            ([name], next) if name.text == class && next.is("{") => self.statement_block(),
            (_, next) if next.is("{") => abort(self.unexpected("`(`, `=` or `;`")),
            ([name], next) if name.text != class || !next.is("(") => {
                let wrong = self.error(name.offset, format!("expected a type before {}", name.describe()));
                abort(if next.is("(") { wrong.with_hint("a method needs a return type, or `void`") } else { wrong })
            }
            ([first, _, _, ..], _) => abort(self.unknown_modifier(*first)),
            (_, next) if next.is("(") => self.method(),
            _ => {
                self.next = begin;
                self.until_semicolon()
            }
        }
    }

    /// The tokens of a type and a name, without type arguments and brackets.
    fn names(&mut self) -> Vec<Lexeme<'t>> {
        let (mut names, mut open, mut qualified) = (Vec::new(), 0usize, false);
        loop {
            let word = self.peek();
            match word.text {
                "<" => open += 1,
                ">" | ">>" | ">>>" => open = open.saturating_sub(word.text.len()),
                "." | "[" | "]" | "?" | "&" | "@" => {}
                "," if open > 0 => {}
                _ if open > 0 && word.kind != LexemeKind::Punct && word.kind != LexemeKind::End => {}
                _ if word.kind == LexemeKind::Name || self.language.is_type(word.text) => {
                    if !qualified {
                        names.push(word);
                    }
                }
                _ => return names,
            }
            qualified = word.is(".") || word.is("@");
            self.advance();
        }
    }

    fn unknown_modifier(&self, first: Lexeme<'t>) -> crate::error::SourceDiagnostic {
        let wrong = self.error(first.offset, format!("expected a modifier or a type, found {}", first.describe()));
        match nearest_name(first.text, JAVA_MODIFIERS) {
            Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
            None => wrong,
        }
    }

    /// A member that is neither a method nor a field.
    fn malformed_member(&self, names: &[Lexeme<'t>]) -> ScanResult {
        match names {
            [] => abort(self.unexpected("a field or a method")),
            [first, ..] if self.peek().kind == LexemeKind::Keyword => abort(self.unknown_modifier(*first)),
            _ => abort(self.missing("`(`, `=` or `;`")),
        }
    }

    fn method(&mut self) -> ScanResult {
        let begin = self.next + 1;
        self.parentheses(None)?;
        self.parameters(begin, self.next - 1)?;
        while self.peek().is_one_of(&["[", "]", "throws", ",", "."]) || self.peek().kind == LexemeKind::Name {
            self.advance();
        }
        match self.peek() {
            word if word.is("{") => self.statement_block(),
            word if word.is(";") => {
                self.advance();
                Ok(())
            }
            word if word.is("default") => self.until_semicolon(),
            _ => abort(self.unexpected("`{` or `;`")),
        }
    }

    /// Checks that each parameter has a type and a name.
    fn parameters(&self, begin: usize, end: usize) -> ScanResult {
        let (mut open, mut part) = (0usize, Vec::new());
        for word in &self.tokens[begin..=end] {
            match word.text {
                "<" | "(" => open += 1,
                ">" | ">>" | ">>>" => open = open.saturating_sub(word.text.len()),
                ")" if open > 0 => open -= 1,
                "," | ")" if open == 0 => {
                    if let [alone] = part.as_slice() {
                        let alone: &Lexeme<'t> = alone;
                        return abort(self.error(alone.offset, format!("expected a type and a name, found {}", alone.describe())));
                    }
                    part.clear();
                }
                _ if open == 0 && (word.kind == LexemeKind::Name || self.language.is_type(word.text)) => part.push(*word),
                _ => {}
            }
        }
        Ok(())
    }
}
