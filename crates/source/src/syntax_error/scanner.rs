//! Finds common syntax errors by scanning the tokens of a program.
//!
//! This knows far less than a grammar, and accepts whatever it does not know to be wrong. It knows where people forget something, and says
//! there what was expected. It is only used for texts with errors.

use sintonia_text::suggestion::nearest_name;

use super::brackets;
use super::lexer::{self, Lexeme, LexemeKind, STATEMENT_KEYWORDS, SyntaxLanguage};
use crate::error::SourceDiagnostic;
use crate::source_file::SourceFile;

/// Maximum nesting depth; deeper code is not checked.
const MAX_DEPTH: usize = 400;

/// The first common error of a text.
pub(super) fn find_common_error(text: &SourceFile, tongue: SyntaxLanguage) -> Option<SourceDiagnostic> {
    match lexer::tokenize(text, tongue) {
        Err(endless) => Some(endless),
        Ok(words) => SyntaxScanner { text, language: tongue, tokens: words, next: 0, open_braces: Vec::new(), depth: 0 }
            .file()
            .err()
            .flatten()
            .map(|wrong| *wrong),
    }
}

/// Why the scan stops early: an error, or `None` if the nesting is too deep.
pub(super) type ScanAbort = Option<Box<SourceDiagnostic>>;

pub(super) type ScanResult = Result<(), ScanAbort>;

pub(super) struct SyntaxScanner<'t> {
    pub(super) text: &'t SourceFile,
    pub(super) language: SyntaxLanguage,
    /// The tokens; the last is the end.
    pub(super) tokens: Vec<Lexeme<'t>>,
    pub(super) next: usize,
    /// The open braces, the innermost last.
    pub(super) open_braces: Vec<Lexeme<'t>>,
    depth: usize,
}

impl<'t> SyntaxScanner<'t> {
    pub(super) fn peek(&self) -> Lexeme<'t> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Lexeme<'t> {
        self.tokens[(self.next + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn advance(&mut self) -> Lexeme<'t> {
        let word = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        word
    }

    pub(super) fn error(&self, at: usize, problem: String) -> SourceDiagnostic {
        SourceDiagnostic::new(self.text.pos_at(at), problem).with_source_line(&self.text.text)
    }

    /// Something else was expected instead of the next token.
    pub(super) fn unexpected(&self, what: &str) -> SourceDiagnostic {
        self.error(self.peek().offset, format!("expected {what}, found {}", self.peek().describe()))
    }

    /// Something was expected directly behind the last token.
    pub(super) fn missing(&self, what: &str) -> SourceDiagnostic {
        let at = self.next.checked_sub(1).map_or(0, |last| self.tokens[last].end());
        self.error(at, format!("expected {what}, found {}", self.peek().describe()))
    }

    /// A closing bracket was expected directly behind the last token.
    pub(super) fn unclosed(&self, open: Lexeme<'t>) -> SourceDiagnostic {
        let place = self.text.pos_at(open.offset);
        let closing = brackets::closing(open.text);
        self.missing(&format!("`{closing}` for the `{}` of line {}, column {}", open.text, place.line, place.column))
    }

    pub(super) fn nested(&mut self, inside: impl FnOnce(&mut Self) -> ScanResult) -> ScanResult {
        if self.depth >= MAX_DEPTH {
            return Err(None);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    /// `{ … }` with statements.
    pub(super) fn statement_block(&mut self) -> ScanResult {
        self.block(Self::statement)
    }

    /// `{ … }` with items.
    pub(super) fn block(&mut self, mut inside: impl FnMut(&mut Self) -> ScanResult) -> ScanResult {
        let open = self.advance();
        self.open_braces.push(open);
        while !self.peek().is("}") {
            if self.peek().kind == LexemeKind::End {
                return abort(self.unclosed(brackets::suspect_brace(&self.tokens, self.text).unwrap_or(open)));
            }
            inside(self)?;
        }
        self.advance();
        self.open_braces.pop();
        Ok(())
    }

    pub(super) fn statement(&mut self) -> ScanResult {
        self.nested(Self::statement_unchecked)
    }

    fn statement_unchecked(&mut self) -> ScanResult {
        let word = self.peek();
        if word.kind == LexemeKind::Quoted {
            return self.simple_statement();
        }
        match word.text {
            "{" => self.statement_block(),
            "if" => self.condition(),
            "while" | "for" | "switch" => self.statement_with_header(),
            "synchronized" if self.language == SyntaxLanguage::Java => self.statement_with_header(),
            "do" => self.do_loop(),
            "try" if self.language == SyntaxLanguage::Java => self.try_statement(),
            "case" | "default" => self.label(),
            "else" => {
                let hint = "there is no matching `if`: use `{` and `}` for several statements between the two";
                abort(self.unexpected("a statement").with_hint(hint))
            }
            "catch" | "finally" if self.language == SyntaxLanguage::Java => {
                abort(self.unexpected("a statement").with_hint("there is no matching `try`"))
            }
            "public" | "private" | "protected" | "static" if self.language == SyntaxLanguage::Java => abort(self.unclosed_routine()),
            _ => self.simple_statement(),
        }
    }

    /// Something begins that cannot be inside a routine, so the routine has not ended.
    pub(super) fn unclosed_routine(&self) -> SourceDiagnostic {
        let Some(open) = brackets::suspect_brace(&self.tokens, self.text).or(self.open_braces.last().copied()) else {
            return self.unexpected("`}`");
        };
        let place = self.text.pos_at(open.offset);
        self.unexpected(&format!("`}}` for the `{{` of line {}, column {}", place.line, place.column))
    }

    fn condition(&mut self) -> ScanResult {
        self.statement_with_header()?;
        if self.peek().is("else") {
            self.advance();
            return self.body();
        }
        Ok(())
    }

    /// A keyword with parentheses, and a statement.
    fn statement_with_header(&mut self) -> ScanResult {
        self.header()?;
        self.body()
    }

    /// A keyword with parentheses.
    fn header(&mut self) -> ScanResult {
        let word = self.advance();
        if !self.peek().is("(") {
            return abort(self.unexpected(&format!("`(` after `{}`", word.text)));
        }
        self.parentheses(Some(word))
    }

    /// The body of a condition or a loop.
    fn body(&mut self) -> ScanResult {
        if self.peek().is("}") || self.peek().kind == LexemeKind::End {
            return abort(self.unexpected("a statement"));
        }
        self.statement()
    }

    fn do_loop(&mut self) -> ScanResult {
        self.advance();
        self.body()?;
        if !self.peek().is("while") {
            return abort(self.unexpected("`while` with the condition of `do`"));
        }
        self.header()?;
        if self.peek().is(";") {
            self.advance();
            return Ok(());
        }
        abort(self.missing("`;`"))
    }

    fn try_statement(&mut self) -> ScanResult {
        self.advance();
        if self.peek().is("(") {
            self.skip_brackets()?;
        }
        self.required_block("`{` after `try`")?;
        while self.peek().is("catch") {
            self.header()?;
            self.required_block("`{` after `catch (…)`")?;
        }
        if self.peek().is("finally") {
            self.advance();
            self.required_block("`{` after `finally`")?;
        }
        Ok(())
    }

    fn required_block(&mut self, what: &str) -> ScanResult {
        if self.peek().is("{") { self.statement_block() } else { abort(self.unexpected(what)) }
    }

    /// A statement that ends with `;`, or a declaration of variables.
    pub(super) fn simple_statement(&mut self) -> ScanResult {
        if self.language == SyntaxLanguage::Java && self.peek().is("@") {
            self.modifiers()?;
        }
        let first = self.peek();
        self.check_declaration_type()?;
        self.until_semicolon().map_err(|stop| stop.map(|wrong| Box::new(with_keyword_hint(*wrong, first))))
    }

    /// Skips brackets with any content.
    pub(super) fn skip_brackets(&mut self) -> ScanResult {
        let open = self.advance();
        let mut left = vec![open];
        while let Some(last) = left.last() {
            let word = self.peek();
            match word.text {
                _ if word.kind == LexemeKind::Quoted => {}
                "(" | "[" | "{" => left.push(word),
                ")" | "]" | "}" if brackets::closing(last.text) == word.text => drop(left.pop()),
                _ if word.kind == LexemeKind::End || word.is_one_of(&[")", "]", "}"]) => return abort(self.unclosed(*last)),
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }
}

/// Adds the keyword that was probably meant at the start of the statement.
fn with_keyword_hint(wrong: SourceDiagnostic, first: Lexeme<'_>) -> SourceDiagnostic {
    match intended_keyword(first).filter(|_| wrong.hint.is_none() && !wrong.problem.starts_with("expected `;`")) {
        Some(near) => wrong.with_hint(format!("did you mean `{near}`?")),
        None => wrong,
    }
}

/// The keyword that a name at the start of a statement probably misspells.
pub(super) fn intended_keyword(first: Lexeme<'_>) -> Option<&'static str> {
    let long_enough = first.kind == LexemeKind::Name && first.text.len() > 1;
    nearest_name(first.text, STATEMENT_KEYWORDS.into_iter().filter(|_| long_enough))
        .filter(|near| near.len().abs_diff(first.text.len()) <= 1)
}

pub(super) fn abort<T>(wrong: SourceDiagnostic) -> Result<T, ScanAbort> {
    Err(Some(Box::new(wrong)))
}
