//! Blocks: terms that follow each other or go on at the same time, and the comments between them.
//!
//! Here reading goes on behind a mistake: a term that cannot be read is passed over, and the block goes on with the next one.

use super::error::Problem;
use super::note;
use super::reader::{Failed, Reader};
use super::token::{Kind, Token};
use crate::model::{Order, Term};

/// The terms of a block.
#[derive(Default)]
struct Terms {
    list: Vec<Term>,
    /// The place of the last one that is no note, as long as what follows on its line belongs to it.
    last: Option<usize>,
    /// How they are separated, as soon as that is told.
    order: Option<Order>,
    /// Whether they are separated in two ways.
    is_mixed: bool,
    /// Whether one of them could not be read.
    has_failed: bool,
}

impl Terms {
    /// A block of one is what is in it.
    fn into_term(mut self) -> Term {
        let terms = self.list.iter().filter(|term| !matches!(term, Term::Note(_))).count();
        match self.order {
            _ if self.list.len() == 1 => self.list.remove(0),
            Some(Order::Parallel) if terms > 1 => Term::Parallel(self.list),
            _ => Term::Sequence(self.list),
        }
    }
}

impl<'a> Reader<'a> {
    /// `{ … }`
    pub(super) fn block(&mut self) -> Result<Term, Failed> {
        let open = self.expect("{")?;
        let term = self.terms();
        if !self.took("}") && !self.end_is_told {
            self.end_is_told = true;
            let hint = match self.line(open.at) {
                line if line == self.line(self.text.len()) => None,
                line => Some(format!("the block of line {line} goes on to the end of the text; a `}}` is missing")),
            };
            self.report(open.at..open.end(), Problem::Unclosed, hint);
        }
        Ok(term)
    }

    /// What stands in a block, up to its end.
    fn terms(&mut self) -> Term {
        let mut terms = Terms::default();
        let mut separator: Option<(Token<'a>, Order)> = None;
        loop {
            self.notes(&mut terms);
            if self.ahead.is("}") || self.ahead.kind == Kind::End {
                if let Some((bar, Order::Parallel)) = separator {
                    let found = self.ahead.found();
                    self.report(bar.at..bar.end(), Problem::Expected { what: "a term behind `||`".into(), found }, None);
                }
                return terms.into_term();
            }
            if let Some((sign, order)) = separator {
                self.join(&mut terms, sign, order);
            }
            terms.last = match self.term() {
                Ok(term) => {
                    terms.list.push(term);
                    Some(terms.list.len() - 1)
                }
                Err(Failed) => {
                    self.skip_term();
                    terms.has_failed = true;
                    None
                }
            };
            self.notes(&mut terms);
            separator = self.separator(terms.has_failed);
        }
    }

    /// How the block goes on.
    fn separator(&mut self, has_failed: bool) -> Option<(Token<'a>, Order)> {
        // A parenthesis whose beginning was passed over is no other mistake.
        while has_failed && self.ahead.is(")") {
            self.take();
        }
        let token = self.ahead;
        match token.text {
            ";" => Some((self.take(), Order::Sequential)),
            "||" => Some((self.take(), Order::Parallel)),
            "}" => None,
            _ if token.kind == Kind::End => None,
            _ if self.text[..self.behind].ends_with('}') => Some((token, Order::Sequential)),
            _ => {
                let hint = token.is("{").then_some("procedures cannot stand in each other; is a `}` missing above?");
                self.report_expected("`;`, `||` or `}`", hint);
                self.skip_term();
                self.separator(has_failed)
            }
        }
    }

    /// Goes on in one way, which must be the only one in the block.
    fn join(&mut self, terms: &mut Terms, sign: Token<'a>, order: Order) {
        let before = *terms.order.get_or_insert(order);
        if before != order && !terms.is_mixed {
            terms.is_mixed = true;
            let hint = "braces show what belongs together: { a; b } || c, or a; { b || c }";
            self.report(sign.at..sign.end(), Problem::Mixed, Some(hint.into()));
        }
    }

    /// Keeps the comments that stand here. One that stands on the line of a term says something of it, so it is put before.
    fn notes(&mut self, terms: &mut Terms) {
        for comment in std::mem::take(&mut self.gap.comments) {
            for line in note::lines(comment.text) {
                match terms.last.as_mut().filter(|_| comment.trailing) {
                    Some(last) => {
                        terms.list.insert(*last, Term::Note(line));
                        *last += 1;
                    }
                    None => terms.list.push(Term::Note(line)),
                }
            }
        }
    }
}
