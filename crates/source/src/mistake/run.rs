//! Words one after the other, up to what ends them: which of them cannot follow which.

use super::brackets;
use super::walk::{Step, Stop, Walk, meant, stop};
use super::words::{Kind, Tongue, Word};

/// Signs behind which an operand must come.
const NEEDS_MORE: [&str; 28] = [
    "+", "-", "*", "/", "%", "=", "==", "!=", "<=", ">=", "&&", "||", "&", "|", "^", "!", "~", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", ",", "(", "[",
];
/// Signs that no operand begins with.
const BEGINS_NOTHING: [&str; 22] =
    [")", "]", ";", ",", "}", "/", "%", "=", "==", "!=", "<=", ">=", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ">>="];
/// Signs behind which words are computed with and no longer declared.
const COMPUTES: [&str; 19] = ["=", "+", "-", "/", "%", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="];

/// What ends a run of words.
#[derive(Clone, Copy)]
enum Until<'t> {
    Semicolon,
    /// The label of a case.
    Colon,
    /// What closes an opening sign, which may belong to a word before it, as `if`.
    Close(Word<'t>, Option<Word<'t>>),
}

/// What was seen in a run so far.
#[derive(Default)]
struct Seen {
    computes: bool,
    questions: usize,
    semicolons: usize,
    colons: usize,
}

impl<'t> Walk<'t> {
    /// Words up to the `;` that ends a statement.
    pub(super) fn until_semicolon(&mut self) -> Step {
        self.deeper(|walk| walk.run(Until::Semicolon))
    }

    /// `case …:` and `default:`.
    pub(super) fn label(&mut self) -> Step {
        self.take();
        self.deeper(|walk| walk.run(Until::Colon))
    }

    /// `(…)` and `[…]` and lists in braces, that of a word before it if there is one.
    pub(super) fn parentheses(&mut self, of: Option<Word<'t>>) -> Step {
        let open = self.take();
        self.deeper(|walk| walk.run(Until::Close(open, of)))
    }

    fn run(&mut self, until: Until<'t>) -> Step {
        let begin = self.next;
        let mut seen = Seen::default();
        loop {
            let word = self.peek();
            let before = if self.next > begin { Some(self.words[self.next - 1]) } else { opening(until) };
            self.follows(before, word, begin, &seen, until)?;
            if self.ends(word, before, &seen, until)? {
                self.take();
                return Ok(());
            }
            match word.text {
                _ if word.kind == Kind::Quoted => drop(self.take()),
                "(" | "[" => self.parentheses(None)?,
                "{" => {
                    if self.braces(before, begin, until)? {
                        return Ok(());
                    }
                }
                ":" if matches!(until, Until::Semicolon) && seen.questions == 0 && self.next == begin + 1 => {
                    self.take();
                    return Ok(());
                }
                _ => {
                    seen.note(word, until);
                    self.take();
                }
            }
        }
    }

    /// Whether a word ends the run; something is wrong if it cannot stand in it.
    fn ends(&self, word: Word<'t>, before: Option<Word<'t>>, seen: &Seen, until: Until<'t>) -> Result<bool, Stop> {
        let closes = word.is_one_of(&[")", "]", "}"]);
        let over = word.kind == Kind::End || closes;
        match until {
            Until::Semicolon if word.is(";") => Ok(true),
            Until::Semicolon if word.is_one_of(&[")", "]"]) => {
                let open = if word.is(")") { "(" } else { "[" };
                stop(self.unexpected("an operator or `;`").hint(format!("there is no `{open}` for this `{}`", word.text)))
            }
            Until::Semicolon if over => stop(self.missing("`;`")),
            Until::Semicolon if self.begins_anew(word, before) => stop(self.missing("`;`")),
            Until::Colon if word.is("->") || word.is(":") && seen.questions == 0 => Ok(true),
            Until::Colon if over || word.is(";") => stop(self.missing("`:` after `case`")),
            Until::Close(open, of) if word.text == brackets::closing(open.text) && closes => {
                if of.is_some_and(|of| of.is("for")) && seen.semicolons < 2 && seen.colons == 0 {
                    return stop(self.unexpected("`;`").hint("the three parts of `for` are separated by `;`"));
                }
                Ok(true)
            }
            Until::Close(open, of) if word.is(";") => {
                let allowed = of.is_some_and(|of| of.is("for") && seen.semicolons < 2 || of.is("try"));
                if allowed { Ok(false) } else { stop(self.unclosed(open)) }
            }
            Until::Close(open, _) if over => stop(self.unclosed(open)),
            _ => Ok(false),
        }
    }

    /// Whether a statement begins with a word that stands behind an operand.
    fn begins_anew(&self, word: Word<'t>, before: Option<Word<'t>>) -> bool {
        let behind_operand = before.is_some_and(|before| before.ends_operand() || before.is_one_of(&["++", "--"]));
        // Outside of functions, a macro or the attribute of a function may stand before its type.
        let decorates = self.blocks.is_empty() && before.is_some_and(|before| before.is(")"));
        let begins = self.tongue.begins_statement(word.text) || word.first && self.tongue.is_type(word.text) && !decorates;
        behind_operand && word.kind == Kind::Reserved && begins
    }

    /// Whether a word can follow another; what is wrong if not.
    fn follows(&self, before: Option<Word<'t>>, word: Word<'t>, begin: usize, seen: &Seen, until: Until<'t>) -> Step {
        let Some(before) = before else { return Ok(()) };
        if before.is_one_of(&NEEDS_MORE) && word.is_one_of(&BEGINS_NOTHING) && !self.may_be_empty(before, word) {
            return stop(match before.text {
                "," => self.unexpected("something after `,`").hint("leave the `,` away, or say what follows"),
                _ => self.unexpected("an expression"),
            });
        }
        let declares_more = self.tongue.is_type(word.text) || self.tongue.is_modifier(word.text);
        if self.tongue == Tongue::C && before.is("}") && word.first && declares_more {
            return stop(self.missing("`;`"));
        }
        if !before.ends_operand() || !matches!(word.kind, Kind::Name | Kind::Number | Kind::Quoted) {
            return self.misspelt(before, word, begin);
        }
        let joined = self.tongue == Tongue::C && (before.kind == Kind::Quoted || word.kind == Kind::Quoted);
        let instance = self.next >= 2 && self.words[self.next - 2].is("instanceof");
        let declares = before.kind == Kind::Name && word.kind == Kind::Name && !seen.computes;
        let shouted = self.tongue == Tongue::C && self.words[begin].text.chars().all(|letter| !letter.is_lowercase());
        let cast = before.is(")") && !(word.first && matches!(until, Until::Semicolon) && !shouted && self.behind_call());
        if joined || instance || declares || cast || before.is("]") && !seen.computes {
            return Ok(());
        }
        stop(match until {
            Until::Semicolon if word.first => self.missing("`;`"),
            Until::Semicolon => self.unexpected("an operator or `;`"),
            Until::Colon => self.unexpected("`:` after `case`"),
            Until::Close(_, Some(of)) if of.is("for") && seen.semicolons < 2 => self.unexpected("an operator or `;`"),
            Until::Close(open, _) => self.unexpected(&format!("an operator or `{}`", brackets::closing(open.text))),
        })
    }

    /// Whether the `)` right before belongs to a call, and not to a conversion.
    fn behind_call(&self) -> bool {
        let mut open = 0usize;
        for position in (1..self.next).rev() {
            match self.words[position] {
                word if word.is(")") => open += 1,
                word if word.is("(") => open -= 1,
                _ => {}
            }
            if open == 0 {
                return self.words[position - 1].kind == Kind::Name;
            }
        }
        false
    }

    /// Whether nothing may stand between two signs.
    fn may_be_empty(&self, before: Word<'t>, word: Word<'t>) -> bool {
        match (before.text, word.text) {
            ("(", ")") | ("[", "]") | ("(", ";") | (",", "}") => true,
            // Pointers to what has no name, in C.
            ("*" | "&", ")" | ",") => self.tongue == Tongue::C,
            _ => false,
        }
    }

    /// Two names and then an operator: the first is no type but a word that was misspelt.
    fn misspelt(&self, before: Word<'t>, word: Word<'t>, begin: usize) -> Step {
        let two =
            self.next == begin + 2 && !self.words[begin].is("yield") && before.kind == Kind::Name && self.words[begin].kind == Kind::Name;
        if two && word.is_one_of(&["+", "-", "/", "%", "&&", "||", "==", "!=", "<=", ">=", "."]) {
            let found = before.shown();
            return stop(self.wrong(before.at, format!("expected an operator or `;`, found {found}")));
        }
        Ok(())
    }

    /// Braces in a run: whether it ends with them.
    fn braces(&mut self, before: Option<Word<'t>>, begin: usize, until: Until<'t>) -> Result<bool, Stop> {
        let so_far = &self.words[begin..self.next];
        let has = |names: &[&str]| so_far.iter().any(|word| word.is_one_of(names));
        let behind = |signs: &[&str]| before.is_some_and(|before| before.is_one_of(signs));
        let java = self.tongue == Tongue::Java;
        let of_type = behind(&["struct", "union"]) || self.next >= begin + 2 && self.words[self.next - 2].is_one_of(&["struct", "union"]);
        if behind(&["=", "]", ",", "{", "return"]) || !java && has(&["enum"]) {
            return self.parentheses(None).map(|()| false);
        }
        if behind(&["->"]) || java && has(&["switch"]) || !java && (behind(&["("]) || of_type) {
            return self.code().map(|()| false);
        }
        if java && has(&["new", "class", "interface", "enum", "record"]) {
            let is_value = has(&["new"]);
            return self.skip().map(|()| !is_value);
        }
        match until {
            Until::Close(_, None) if !java && behind(&[")"]) => self.parentheses(None).map(|()| false),
            Until::Close(open, _) => stop(self.unclosed(open)),
            Until::Colon => stop(self.unexpected("`:` after `case`")),
            Until::Semicolon => self.unheaded(begin, behind(&[")"])),
        }
    }

    /// A statement with braces that begins with no word of the language.
    fn unheaded(&mut self, begin: usize, called: bool) -> Result<bool, Stop> {
        let first = self.words[begin];
        if let Some(near) = meant(first).filter(|_| called || self.next == begin + 1) {
            let problem = format!("expected a statement, found {}", first.shown());
            return stop(self.wrong(first.at, problem).hint(format!("did you mean `{near}`?")));
        }
        if self.tongue == Tongue::Java {
            return stop(self.missing("`;`"));
        }
        if !self.blocks.is_empty() && called && (self.tongue.is_type(first.text) || self.tongue.is_modifier(first.text)) {
            let at = self.next;
            self.next = begin;
            let wrong = self.not_ended();
            self.next = at;
            return stop(wrong);
        }
        self.code().map(|()| true)
    }
}

impl Seen {
    fn note(&mut self, word: Word<'_>, until: Until<'_>) {
        self.computes |= word.is_one_of(&COMPUTES) || word.is_one_of(&["return", "throw", "case"]);
        self.semicolons += usize::from(word.is(";"));
        self.colons += usize::from(word.is(":"));
        match word.text {
            "?" => self.questions += 1,
            ":" => self.questions = self.questions.saturating_sub(1),
            "," | ";" if matches!(until, Until::Close(..)) => self.computes = false,
            _ => {}
        }
    }
}

fn opening(until: Until<'_>) -> Option<Word<'_>> {
    match until {
        Until::Close(open, _) => Some(open),
        _ => None,
    }
}
