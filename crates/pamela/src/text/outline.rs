//! What a model declares, found before anything else is read: whether a name is a call depends on it, and procedures may stand in any order.

use std::collections::HashMap;

use super::token::{Kind, Lexer, Token};

/// The names that a text declares.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    /// The parameters of the model, and where each is declared first.
    pub(super) parameters: HashMap<&'a str, usize>,
    /// The resources, likewise.
    pub(super) resources: HashMap<&'a str, usize>,
    /// The procedures.
    pub(super) procedures: Vec<Header<'a>>,
    places: HashMap<&'a str, usize>,
    /// Whether every brace has its other.
    pub(super) is_balanced: bool,
}

/// How a procedure begins.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) name: &'a str,
    /// Where the name stands.
    pub(super) at: usize,
    /// How many parameters it has.
    pub(super) takes: usize,
}

impl<'a> Outline<'a> {
    pub(super) fn of(text: &'a str) -> Outline<'a> {
        let mut outline = Outline { is_balanced: true, ..Outline::default() };
        let mut words = Words(Lexer::new(text));
        loop {
            let token = words.next();
            match token.kind {
                Kind::End => return outline,
                Kind::Name => outline.declaration(token, &mut words),
                Kind::Sign => outline.sign(token, &mut words),
                _ => {}
            }
        }
    }

    /// The place of a procedure among the others.
    pub(super) fn procedure(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    pub(super) fn procedure_names(&self) -> impl Iterator<Item = &'a str> {
        self.procedures.iter().map(|header| header.name)
    }

    /// A declaration behind its first word, up to its end.
    fn declaration(&mut self, first: Token<'a>, words: &mut Words<'a>) {
        let mut next = words.next();
        match first.text {
            "parameter" => _ = self.parameters.entry(next.text).or_insert(next.at),
            "resource" => _ = self.resources.entry(next.text).or_insert(next.at),
            "language" => {}
            name => {
                let takes = if next.is("(") { words.names_up_to_parenthesis() } else { 0 };
                self.places.entry(name).or_insert(self.procedures.len());
                self.procedures.push(Header { name, at: first.at, takes });
            }
        }
        while !next.is(";") && next.kind != Kind::End {
            if next.is("{") || next.is("}") {
                return self.sign(next, words);
            }
            next = words.next();
        }
    }

    /// Braces outside of procedures: what they enclose is passed over.
    fn sign(&mut self, sign: Token<'a>, words: &mut Words<'a>) {
        match sign.text {
            "}" => self.is_balanced = false,
            "{" => self.is_balanced &= words.close(),
            _ => {}
        }
    }
}

/// The words of a text, without comments.
struct Words<'a>(Lexer<'a>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Token<'a> {
        self.0.next().1
    }

    fn names_up_to_parenthesis(&mut self) -> usize {
        let mut names = 0;
        loop {
            let mut ahead = Words(self.0.clone());
            let token = ahead.next();
            if token.is(")") || token.is("{") || token.is("}") || token.kind == Kind::End {
                return names;
            }
            names += usize::from(token.kind == Kind::Name);
            *self = ahead;
        }
    }

    /// Goes behind the brace that closes the one before; whether there is one.
    fn close(&mut self) -> bool {
        let mut open = 1;
        while open > 0 {
            match self.next() {
                token if token.is("{") => open += 1,
                token if token.is("}") => open -= 1,
                token if token.kind == Kind::End => return false,
                _ => {}
            }
        }
        true
    }
}
