//! Text to tokens. A template becomes its text pieces with the tokens of its expressions between them.

use super::{ScriptError, SharedText};

/// The symbols, longer ones before those they begin with.
const SYMBOLS: [&str; 36] = [
    "..=", "**=", "||", "&&", "??", "==", "!=", "<=", ">=", "**", "+=", "-=", "*=", "/=", "%=", "..", "#{", "(", ")", "[", "]", "{", "}",
    ",", ";", ":", ".", "+", "-", "*", "/", "%", "=", "<", ">", "!",
];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptToken {
    Int(i64),
    Float(f64),
    Text(SharedText),
    /// The first piece of a template; `open` if an expression follows.
    TemplateStart {
        text: SharedText,
        open: bool,
    },
    /// A piece after an expression.
    TemplateRest {
        text: SharedText,
        open: bool,
    },
    /// A name or a keyword.
    Name(SharedText),
    Symbol(&'static str),
    End,
}

/// The tokens of a text with their byte positions, `End` last.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, ScriptToken)>, ScriptError> {
    let mut lexer = ScriptLexer { text, at: 0, braces: Vec::new() };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space()?;
        let at = lexer.at;
        let token = lexer.token()?;
        let ended = token == ScriptToken::End;
        tokens.push((at, token));
        if ended {
            return Ok(tokens);
        }
    }
}

struct ScriptLexer<'a> {
    text: &'a str,
    at: usize,
    /// Open braces in each template expression that is being read.
    braces: Vec<usize>,
}

impl<'a> ScriptLexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error<T>(&self, at: usize, reason: impl Into<String>) -> Result<T, ScriptError> {
        Err(ScriptError { at, reason: reason.into() })
    }

    /// Takes bytes while they satisfy a condition.
    fn take_while(&mut self, holds: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !holds(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_space(&mut self) -> Result<(), ScriptError> {
        loop {
            self.take_while(|byte| byte.is_ascii_whitespace());
            if self.rest().starts_with("//") {
                self.take_while(|byte| byte != b'\n');
            } else if self.rest().starts_with("/*") {
                self.skip_block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) -> Result<(), ScriptError> {
        let (begin, mut depth) = (self.at, 0);
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return Ok(());
                }
            } else if let Some(other) = rest.chars().next() {
                self.at += other.len_utf8();
            } else {
                return self.error(begin, "the comment does not end");
            }
        }
    }

    fn token(&mut self) -> Result<ScriptToken, ScriptError> {
        let Some(first) = self.rest().chars().next() else { return Ok(ScriptToken::End) };
        match first {
            '0'..='9' => self.number(),
            '"' => self.quoted(),
            '`' => {
                self.at += 1;
                // A line break right after the opening mark is not part of the text.
                self.at += self.rest().len() - self.rest().strip_prefix('\n').unwrap_or(self.rest()).len();
                let (text, open) = self.template_piece()?;
                Ok(ScriptToken::TemplateStart { text, open })
            }
            '_' | 'a'..='z' | 'A'..='Z' => {
                Ok(ScriptToken::Name(self.take_while(|byte| byte == b'_' || byte.is_ascii_alphanumeric()).into()))
            }
            '}' if self.braces.last() == Some(&0) => {
                self.at += 1;
                self.braces.pop();
                let (text, open) = self.template_piece()?;
                Ok(ScriptToken::TemplateRest { text, open })
            }
            _ => self.symbol(first),
        }
    }

    fn symbol(&mut self, first: char) -> Result<ScriptToken, ScriptError> {
        let Some(symbol) = SYMBOLS.into_iter().find(|symbol| self.rest().starts_with(symbol)) else {
            return self.error(self.at, format!("`{first}` is not part of the language"));
        };
        if let Some(open) = self.braces.last_mut() {
            *open += usize::from(symbol.ends_with('{'));
            *open -= usize::from(symbol == "}");
        }
        self.at += symbol.len();
        Ok(ScriptToken::Symbol(symbol))
    }

    fn number(&mut self) -> Result<ScriptToken, ScriptError> {
        let begin = self.at;
        let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'_';
        self.take_while(is_digit);
        let mut is_float = false;
        let follows = |rest: &str, at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        // `1..5` is a range and `1.abs()` a call.
        if self.rest().starts_with('.') && follows(self.rest(), 1) {
            is_float = true;
            self.at += 1;
            self.take_while(is_digit);
        }
        let signed = usize::from(self.rest().get(1..2).is_some_and(|sign| sign == "+" || sign == "-"));
        if self.rest().starts_with(['e', 'E']) && follows(self.rest(), 1 + signed) {
            is_float = true;
            self.at += 1 + signed;
            self.take_while(is_digit);
        }
        let digits = self.text[begin..self.at].replace('_', "");
        if self.rest().starts_with(|next: char| next.is_alphabetic() || next == '_') {
            return self.error(begin, format!("`{digits}` is followed by a letter"));
        }
        let token = if is_float { digits.parse().ok().map(ScriptToken::Float) } else { digits.parse().ok().map(ScriptToken::Int) };
        token.map_or_else(|| self.error(begin, format!("the number {digits} is too large")), Ok)
    }

    /// A text in quotes, on one line.
    fn quoted(&mut self) -> Result<ScriptToken, ScriptError> {
        let begin = self.at;
        let mut text = String::new();
        let mut next = self.rest().char_indices().skip(1);
        while let Some((offset, letter)) = next.next() {
            match letter {
                '"' => {
                    self.at = begin + offset + 1;
                    return Ok(ScriptToken::Text(text.into()));
                }
                '\n' => break,
                '\\' => match next.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, same @ ('\\' | '"'))) => text.push(same),
                    _ => return self.error(begin + offset, "after `\\` comes one of n, t, r, \\ and \""),
                },
                other => text.push(other),
            }
        }
        self.error(begin, "the text does not end on its line")
    }

    /// The text of a template up to the next expression, or to its end.
    fn template_piece(&mut self) -> Result<(SharedText, bool), ScriptError> {
        let begin = self.at;
        let Some(length) = self.rest().char_indices().find(|(at, letter)| *letter == '`' || self.rest()[*at..].starts_with("${")) else {
            return self.error(begin.saturating_sub(1), "the template does not end");
        };
        let (length, open) = (length.0, length.1 == '$');
        let text = self.rest()[..length].into();
        self.at += length + if open { 2 } else { 1 };
        if open {
            self.braces.push(0);
        }
        Ok((text, open))
    }
}
