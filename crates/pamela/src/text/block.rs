//! Blocks: sequential or parallel terms, and the comments between them.
//!
//! Error recovery happens here: a term that cannot be parsed is skipped, and the block continues with the next one.

use super::comment;
use super::error::ModelProblem;
use super::lexer::{ModelToken, TokenKind};
use super::parser::{ErrorReported, ModelParser};
use crate::model::{LoopOrder, ModelTerm};

/// The terms of a block.
#[derive(Default)]
struct BlockTerms {
    list: Vec<ModelTerm>,
    /// The index of the last term that is not a comment, while trailing comments still belong to it.
    last: Option<usize>,
    /// The separator of the block, once known.
    order: Option<LoopOrder>,
    /// Whether both separators occur.
    is_mixed: bool,
    /// Whether one of them could not be parsed.
    has_failed: bool,
}

impl BlockTerms {
    /// A block of one term is that term.
    fn into_term(mut self) -> ModelTerm {
        let terms = self.list.iter().filter(|term| !matches!(term, ModelTerm::Comment(_))).count();
        match self.order {
            _ if self.list.len() == 1 => self.list.remove(0),
            Some(LoopOrder::Parallel) if terms > 1 => ModelTerm::Parallel(self.list),
            _ => ModelTerm::Sequence(self.list),
        }
    }
}

impl<'a> ModelParser<'a> {
    /// `{ … }`
    pub(super) fn block(&mut self) -> Result<ModelTerm, ErrorReported> {
        let open = self.expect("{")?;
        let term = self.terms();
        if !self.accept("}") && !self.unclosed_reported {
            self.unclosed_reported = true;
            let hint = match self.line(open.offset) {
                line if line == self.line(self.text.len()) => None,
                line => Some(format!("the block of line {line} extends to the end of the text; a `}}` is missing")),
            };
            self.report(open.offset..open.end(), ModelProblem::Unclosed, hint);
        }
        Ok(term)
    }

    /// The terms up to the end of the block.
    fn terms(&mut self) -> ModelTerm {
        let mut terms = BlockTerms::default();
        let mut separator: Option<(ModelToken<'a>, LoopOrder)> = None;
        loop {
            self.comments(&mut terms);
            if self.lookahead.is("}") || self.lookahead.kind == TokenKind::End {
                if let Some((bar, LoopOrder::Parallel)) = separator {
                    let found = self.lookahead.describe();
                    self.report(bar.offset..bar.end(), ModelProblem::Expected { what: "a term after `||`".into(), found }, None);
                }
                return terms.into_term();
            }
            if let Some((sign, order)) = separator {
                self.check_separator(&mut terms, sign, order);
            }
            terms.last = match self.term() {
                Ok(term) => {
                    terms.list.push(term);
                    Some(terms.list.len() - 1)
                }
                Err(ErrorReported) => {
                    self.skip_term();
                    terms.has_failed = true;
                    None
                }
            };
            self.comments(&mut terms);
            separator = self.separator(terms.has_failed);
        }
    }

    /// The next separator.
    fn separator(&mut self, has_failed: bool) -> Option<(ModelToken<'a>, LoopOrder)> {
        // A closing parenthesis whose opening one was skipped is not another error.
        while has_failed && self.lookahead.is(")") {
            self.advance();
        }
        let token = self.lookahead;
        match token.text {
            ";" => Some((self.advance(), LoopOrder::Sequential)),
            "||" => Some((self.advance(), LoopOrder::Parallel)),
            "}" => None,
            _ if token.kind == TokenKind::End => None,
            _ if self.text[..self.last_end].ends_with('}') => Some((token, LoopOrder::Sequential)),
            _ => {
                let hint = token.is("{").then_some("procedures cannot be nested; is a `}` missing above?");
                self.report_expected("`;`, `||` or `}`", hint);
                self.skip_term();
                self.separator(has_failed)
            }
        }
    }

    /// Checks that a block has only one kind of separator.
    fn check_separator(&mut self, terms: &mut BlockTerms, sign: ModelToken<'a>, order: LoopOrder) {
        let before = *terms.order.get_or_insert(order);
        if before != order && !terms.is_mixed {
            terms.is_mixed = true;
            let hint = "use braces for grouping: { a; b } || c, or a; { b || c }";
            self.report(sign.offset..sign.end(), ModelProblem::MixedSeparators, Some(hint.into()));
        }
    }

    /// Stores the comments at this point. A trailing comment describes the term before it, so it is placed before that term.
    fn comments(&mut self, terms: &mut BlockTerms) {
        for comment in std::mem::take(&mut self.trivia.comments) {
            for line in comment::comment_lines(comment.text) {
                match terms.last.as_mut().filter(|_| comment.trailing) {
                    Some(last) => {
                        terms.list.insert(*last, ModelTerm::Comment(line));
                        *last += 1;
                    }
                    None => terms.list.push(ModelTerm::Comment(line)),
                }
            }
        }
    }
}
