//! Runs of tokens up to a terminator: checks which token may follow which.

use super::brackets;
use super::lexer::{Lexeme, LexemeKind, SyntaxLanguage};
use super::scanner::{ScanAbort, ScanResult, SyntaxScanner, abort, intended_keyword};

/// Tokens that must be followed by an operand.
const PREFIX_OF_OPERAND: [&str; 28] = [
    "+", "-", "*", "/", "%", "=", "==", "!=", "<=", ">=", "&&", "||", "&", "|", "^", "!", "~", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", ",", "(", "[",
];
/// Tokens that no operand starts with.
const NEVER_BEGINS_OPERAND: [&str; 22] =
    [")", "]", ";", ",", "}", "/", "%", "=", "==", "!=", "<=", ">=", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ">>="];
/// Operators that show that a run is an expression, not a declaration.
const EXPRESSION_OPERATORS: [&str; 19] =
    ["=", "+", "-", "/", "%", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="];

/// The terminator of a run.
#[derive(Clone, Copy)]
enum RunEnd<'t> {
    Semicolon,
    /// The end of a case label.
    Colon,
    /// The closing bracket of an opening one, which may belong to a keyword before it, such as `if`.
    Close(Lexeme<'t>, Option<Lexeme<'t>>),
}

/// What was seen in a run so far.
#[derive(Default)]
struct RunState {
    in_expression: bool,
    questions: usize,
    semicolons: usize,
    colons: usize,
}

impl<'t> SyntaxScanner<'t> {
    /// Tokens up to the `;` that ends a statement.
    pub(super) fn until_semicolon(&mut self) -> ScanResult {
        self.nested(|walk| walk.run(RunEnd::Semicolon))
    }

    /// `case …:` and `default:`.
    pub(super) fn label(&mut self) -> ScanResult {
        self.advance();
        self.nested(|walk| walk.run(RunEnd::Colon))
    }

    /// `(…)`, `[…]` and initializer lists, with the keyword before them if there is one.
    pub(super) fn parentheses(&mut self, of: Option<Lexeme<'t>>) -> ScanResult {
        let open = self.advance();
        self.nested(|walk| walk.run(RunEnd::Close(open, of)))
    }

    fn run(&mut self, until: RunEnd<'t>) -> ScanResult {
        let begin = self.next;
        let mut seen = RunState::default();
        loop {
            let word = self.peek();
            let before = if self.next > begin { Some(self.tokens[self.next - 1]) } else { opening_token(until) };
            self.check_successor(before, word, begin, &seen, until)?;
            if self.is_run_end(word, before, &seen, until)? {
                self.advance();
                return Ok(());
            }
            match word.text {
                _ if word.kind == LexemeKind::Quoted => drop(self.advance()),
                "(" | "[" => self.parentheses(None)?,
                "{" => {
                    if self.braces(before, begin, until)? {
                        return Ok(());
                    }
                }
                ":" if matches!(until, RunEnd::Semicolon) && seen.questions == 0 && self.next == begin + 1 => {
                    self.advance();
                    return Ok(());
                }
                _ => {
                    seen.update(word, until);
                    self.advance();
                }
            }
        }
    }

    /// Whether a token ends the run; an error if it is not allowed in it.
    fn is_run_end(&self, word: Lexeme<'t>, before: Option<Lexeme<'t>>, seen: &RunState, until: RunEnd<'t>) -> Result<bool, ScanAbort> {
        let closes = word.is_one_of(&[")", "]", "}"]);
        let over = word.kind == LexemeKind::End || closes;
        match until {
            RunEnd::Semicolon if word.is(";") => Ok(true),
            RunEnd::Semicolon if word.is_one_of(&[")", "]"]) => {
                let open = if word.is(")") { "(" } else { "[" };
                abort(self.unexpected("an operator or `;`").with_hint(format!("there is no `{open}` for this `{}`", word.text)))
            }
            RunEnd::Semicolon if over => abort(self.missing("`;`")),
            RunEnd::Semicolon if self.begins_statement_after_operand(word, before) => abort(self.missing("`;`")),
            RunEnd::Colon if word.is("->") || word.is(":") && seen.questions == 0 => Ok(true),
            RunEnd::Colon if over || word.is(";") => abort(self.missing("`:` after `case`")),
            RunEnd::Close(open, of) if word.text == brackets::closing(open.text) && closes => {
                if of.is_some_and(|of| of.is("for")) && seen.semicolons < 2 && seen.colons == 0 {
                    return abort(self.unexpected("`;`").with_hint("the three parts of `for` are separated by `;`"));
                }
                Ok(true)
            }
            RunEnd::Close(open, of) if word.is(";") => {
                let allowed = of.is_some_and(|of| of.is("for") && seen.semicolons < 2 || of.is("try"));
                if allowed { Ok(false) } else { abort(self.unclosed(open)) }
            }
            RunEnd::Close(open, _) if over => abort(self.unclosed(open)),
            _ => Ok(false),
        }
    }

    /// Whether a new statement starts with a token behind an operand.
    fn begins_statement_after_operand(&self, word: Lexeme<'t>, before: Option<Lexeme<'t>>) -> bool {
        let behind_operand = before.is_some_and(|before| before.ends_operand() || before.is_one_of(&["++", "--"]));
        // Outside of functions, a macro or an attribute may precede the type.
        let decorates = self.open_braces.is_empty() && before.is_some_and(|before| before.is(")"));
        let begins = self.language.begins_statement(word.text) || word.is_first_on_line && self.language.is_type(word.text) && !decorates;
        behind_operand && word.kind == LexemeKind::Keyword && begins
    }

    /// Checks whether a token may follow another.
    fn check_successor(
        &self,
        before: Option<Lexeme<'t>>,
        word: Lexeme<'t>,
        begin: usize,
        seen: &RunState,
        until: RunEnd<'t>,
    ) -> ScanResult {
        let Some(before) = before else { return Ok(()) };
        if before.is_one_of(&PREFIX_OF_OPERAND) && word.is_one_of(&NEVER_BEGINS_OPERAND) && !self.may_be_empty(before, word) {
            return abort(match before.text {
                "," => self.unexpected("something after `,`").with_hint("remove the `,` or add what follows"),
                _ => self.unexpected("an expression"),
            });
        }
        let declares_more = self.language.is_type(word.text) || self.language.is_modifier(word.text);
        if self.language == SyntaxLanguage::C && before.is("}") && word.is_first_on_line && declares_more {
            return abort(self.missing("`;`"));
        }
        if !before.ends_operand() || !matches!(word.kind, LexemeKind::Name | LexemeKind::Number | LexemeKind::Quoted) {
            return self.check_misspelled_type(before, word, begin);
        }
        let joined = self.language == SyntaxLanguage::C && (before.kind == LexemeKind::Quoted || word.kind == LexemeKind::Quoted);
        let instance = self.next >= 2 && self.tokens[self.next - 2].is("instanceof");
        let declares = before.kind == LexemeKind::Name && word.kind == LexemeKind::Name && !seen.in_expression;
        let shouted = self.language == SyntaxLanguage::C && self.tokens[begin].text.chars().all(|letter| !letter.is_lowercase());
        let cast = before.is(")") && !(word.is_first_on_line && matches!(until, RunEnd::Semicolon) && !shouted && self.is_after_call());
        if joined || instance || declares || cast || before.is("]") && !seen.in_expression {
            return Ok(());
        }
        abort(match until {
            RunEnd::Semicolon if word.is_first_on_line => self.missing("`;`"),
            RunEnd::Semicolon => self.unexpected("an operator or `;`"),
            RunEnd::Colon => self.unexpected("`:` after `case`"),
            RunEnd::Close(_, Some(of)) if of.is("for") && seen.semicolons < 2 => self.unexpected("an operator or `;`"),
            RunEnd::Close(open, _) => self.unexpected(&format!("an operator or `{}`", brackets::closing(open.text))),
        })
    }

    /// Whether the preceding `)` ends a call, not a cast.
    fn is_after_call(&self) -> bool {
        let mut open = 0usize;
        for position in (1..self.next).rev() {
            match self.tokens[position] {
                word if word.is(")") => open += 1,
                word if word.is("(") => open -= 1,
                _ => {}
            }
            if open == 0 {
                return self.tokens[position - 1].kind == LexemeKind::Name;
            }
        }
        false
    }

    /// Whether nothing is needed between two tokens.
    fn may_be_empty(&self, before: Lexeme<'t>, word: Lexeme<'t>) -> bool {
        match (before.text, word.text) {
            ("(", ")") | ("[", "]") | ("(", ";") | (",", "}") => true,
            // Pointers to unnamed parameters in C.
            ("*" | "&", ")" | ",") => self.language == SyntaxLanguage::C,
            _ => false,
        }
    }

    /// Two names followed by an operator: the first is not a type but a misspelled keyword.
    fn check_misspelled_type(&self, before: Lexeme<'t>, word: Lexeme<'t>, begin: usize) -> ScanResult {
        let two = self.next == begin + 2
            && !self.tokens[begin].is("yield")
            && before.kind == LexemeKind::Name
            && self.tokens[begin].kind == LexemeKind::Name;
        if two && word.is_one_of(&["+", "-", "/", "%", "&&", "||", "==", "!=", "<=", ">=", "."]) {
            let found = before.describe();
            return abort(self.error(before.offset, format!("expected an operator or `;`, found {found}")));
        }
        Ok(())
    }

    /// Braces in a run; returns whether they end it.
    fn braces(&mut self, before: Option<Lexeme<'t>>, begin: usize, until: RunEnd<'t>) -> Result<bool, ScanAbort> {
        let so_far = &self.tokens[begin..self.next];
        let has = |names: &[&str]| so_far.iter().any(|word| word.is_one_of(names));
        let behind = |signs: &[&str]| before.is_some_and(|before| before.is_one_of(signs));
        let java = self.language == SyntaxLanguage::Java;
        let of_type = behind(&["struct", "union"]) || self.next >= begin + 2 && self.tokens[self.next - 2].is_one_of(&["struct", "union"]);
        if behind(&["=", "]", ",", "{", "return"]) || !java && has(&["enum"]) {
            return self.parentheses(None).map(|()| false);
        }
        if behind(&["->"]) || java && has(&["switch"]) || !java && (behind(&["("]) || of_type) {
            return self.statement_block().map(|()| false);
        }
        if java && has(&["new", "class", "interface", "enum", "record"]) {
            let is_value = has(&["new"]);
            return self.skip_brackets().map(|()| !is_value);
        }
        match until {
            RunEnd::Close(_, None) if !java && behind(&[")"]) => self.parentheses(None).map(|()| false),
            RunEnd::Close(open, _) => abort(self.unclosed(open)),
            RunEnd::Colon => abort(self.unexpected("`:` after `case`")),
            RunEnd::Semicolon => self.unintroduced_block(begin, behind(&[")"])),
        }
    }

    /// A statement with braces that does not start with a keyword.
    fn unintroduced_block(&mut self, begin: usize, called: bool) -> Result<bool, ScanAbort> {
        let first = self.tokens[begin];
        if let Some(near) = intended_keyword(first).filter(|_| called || self.next == begin + 1) {
            let problem = format!("expected a statement, found {}", first.describe());
            return abort(self.error(first.offset, problem).with_hint(format!("did you mean `{near}`?")));
        }
        if self.language == SyntaxLanguage::Java {
            return abort(self.missing("`;`"));
        }
        if !self.open_braces.is_empty() && called && (self.language.is_type(first.text) || self.language.is_modifier(first.text)) {
            let at = self.next;
            self.next = begin;
            let wrong = self.unclosed_routine();
            self.next = at;
            return abort(wrong);
        }
        self.statement_block().map(|()| true)
    }
}

impl RunState {
    fn update(&mut self, word: Lexeme<'_>, until: RunEnd<'_>) {
        self.in_expression |= word.is_one_of(&EXPRESSION_OPERATORS) || word.is_one_of(&["return", "throw", "case"]);
        self.semicolons += usize::from(word.is(";"));
        self.colons += usize::from(word.is(":"));
        match word.text {
            "?" => self.questions += 1,
            ":" => self.questions = self.questions.saturating_sub(1),
            "," | ";" if matches!(until, RunEnd::Close(..)) => self.in_expression = false,
            _ => {}
        }
    }
}

fn opening_token(until: RunEnd<'_>) -> Option<Lexeme<'_>> {
    match until {
        RunEnd::Close(open, _) => Some(open),
        _ => None,
    }
}
