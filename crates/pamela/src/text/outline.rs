//! A first pass over the declarations: whether a name is a call depends on them, and procedures may be in any order.

use std::collections::HashMap;

use super::lexer::{Lexer, ModelToken, TokenKind};

/// The names that a text declares.
#[derive(Debug, Default)]
pub(super) struct DeclarationOutline<'a> {
    /// The parameters of the model and the offsets of their declarations.
    pub(super) parameters: HashMap<&'a str, usize>,
    /// The resources and the offsets of their declarations.
    pub(super) resources: HashMap<&'a str, usize>,
    /// The procedures.
    pub(super) procedures: Vec<ProcedureHeader<'a>>,
    procedure_indices: HashMap<&'a str, usize>,
    /// Whether all braces are balanced.
    pub(super) is_balanced: bool,
}

/// The header of a procedure.
#[derive(Debug)]
pub(super) struct ProcedureHeader<'a> {
    pub(super) name: &'a str,
    /// The offset of the name.
    pub(super) offset: usize,
    pub(super) n_parameters: usize,
}

impl<'a> DeclarationOutline<'a> {
    pub(super) fn scan(text: &'a str) -> DeclarationOutline<'a> {
        let mut outline = DeclarationOutline { is_balanced: true, ..DeclarationOutline::default() };
        let mut words = TokenStream(Lexer::new(text));
        loop {
            let token = words.next();
            match token.kind {
                TokenKind::End => return outline,
                TokenKind::Name => outline.declaration(token, &mut words),
                TokenKind::Punct => outline.brace(token, &mut words),
                _ => {}
            }
        }
    }

    /// The index of a procedure.
    pub(super) fn procedure(&self, name: &str) -> Option<usize> {
        self.procedure_indices.get(name).copied()
    }

    pub(super) fn procedure_names(&self) -> impl Iterator<Item = &'a str> {
        self.procedures.iter().map(|header| header.name)
    }

    /// A declaration behind its first token, up to its end.
    fn declaration(&mut self, first: ModelToken<'a>, words: &mut TokenStream<'a>) {
        let mut next = words.next();
        match first.text {
            "parameter" => _ = self.parameters.entry(next.text).or_insert(next.offset),
            "resource" => _ = self.resources.entry(next.text).or_insert(next.offset),
            "language" => {}
            name => {
                let takes = if next.is("(") { words.names_up_to_parenthesis() } else { 0 };
                self.procedure_indices.entry(name).or_insert(self.procedures.len());
                self.procedures.push(ProcedureHeader { name, offset: first.offset, n_parameters: takes });
            }
        }
        while !next.is(";") && next.kind != TokenKind::End {
            if next.is("{") || next.is("}") {
                return self.brace(next, words);
            }
            next = words.next();
        }
    }

    /// Braces outside of procedures: their content is skipped.
    fn brace(&mut self, sign: ModelToken<'a>, words: &mut TokenStream<'a>) {
        match sign.text {
            "}" => self.is_balanced = false,
            "{" => self.is_balanced &= words.skip_block(),
            _ => {}
        }
    }
}

/// The tokens of a text, without comments.
struct TokenStream<'a>(Lexer<'a>);

impl<'a> TokenStream<'a> {
    fn next(&mut self) -> ModelToken<'a> {
        self.0.next().1
    }

    fn names_up_to_parenthesis(&mut self) -> usize {
        let mut names = 0;
        loop {
            let mut ahead = TokenStream(self.0.clone());
            let token = ahead.next();
            if token.is(")") || token.is("{") || token.is("}") || token.kind == TokenKind::End {
                return names;
            }
            names += usize::from(token.kind == TokenKind::Name);
            *self = ahead;
        }
    }

    /// Skips to behind the matching closing brace; returns whether there is one.
    fn skip_block(&mut self) -> bool {
        let mut open = 1;
        while open > 0 {
            match self.next() {
                token if token.is("{") => open += 1,
                token if token.is("}") => open -= 1,
                token if token.kind == TokenKind::End => return false,
                _ => {}
            }
        }
        true
    }
}
