//! Statements.

use tree_sitter::Node;

use super::constant::constant;
use super::reader::{Piece, Reader};
use crate::error::Error;
use crate::routine::{Action, Computation, Expression, Statement};

/// Calls after which nothing follows.
const ENDS: [&str; 6] = ["exit", "_exit", "_Exit", "abort", "quick_exit", "MPI_Abort"];

/// How many statements the cases of a `switch` may have when each has what it falls through to.
const MOST_CASES: usize = 20_000;

/// Calls that cost nothing worth counting and give nothing.
const NOTHING: [&str; 6] = ["free", "fflush", "setbuf", "setvbuf", "srand", "assert"];

impl Reader {
    /// The statements of `{ … }`, or of one that stands alone.
    pub(super) fn block(&mut self, node: Node, piece: Piece) -> Result<Vec<Statement>, Error> {
        self.scopes.push(Default::default());
        let result = if node.kind() == "compound_statement" { self.statements(node, piece) } else { self.statement(node, piece) };
        self.scopes.pop();
        result
    }

    fn statements(&mut self, parent: Node, piece: Piece) -> Result<Vec<Statement>, Error> {
        let mut statements = Vec::new();
        for node in parent.named_children(&mut parent.walk()) {
            statements.extend(self.statement(node, piece)?);
        }
        Ok(statements)
    }

    pub(super) fn statement(&mut self, node: Node, piece: Piece) -> Result<Vec<Statement>, Error> {
        self.deeper(node, piece, |reader| reader.any_statement(node, piece))
    }

    fn any_statement(&mut self, node: Node, piece: Piece) -> Result<Vec<Statement>, Error> {
        let what = match node.kind() {
            "compound_statement" => Action::Block(self.block(node, piece)?),
            "declaration" | "type_definition" => return self.local(node, piece),
            "expression_statement" => return self.computed(node, piece),
            "if_statement" => self.branch(node, piece)?,
            "for_statement" => self.counted(node, piece)?,
            "while_statement" | "do_statement" => self.repeated(node, piece)?,
            "switch_statement" => self.switch(node, piece)?,
            "return_statement" => Action::Return(match value_of(node) {
                Some(value) => Some(self.expression(value, piece)?.expression),
                None => None,
            }),
            "break_statement" => Action::Break,
            "continue_statement" => Action::Continue,
            // Who jumps ahead gives up what is between; like `exit`, that is a way that is not meant to be taken.
            "goto_statement" if jumps_ahead(node, piece) => Action::Leave(None),
            "goto_statement" => return piece.refuse(node, "a `goto` that goes back cannot be modelled: write it as a loop"),
            "labeled_statement" | "attributed_statement" => {
                let inner = node.named_children(&mut node.walk()).last();
                return inner.map_or(Ok(Vec::new()), |inner| self.statement(inner, piece));
            }
            "struct_specifier" | "union_specifier" | "enum_specifier" => {
                self.base_type(node, piece)?;
                return Ok(Vec::new());
            }
            "function_definition" => return piece.refuse(node, "a function inside a function is not understood"),
            "comment" => return Ok(Vec::new()),
            kind if kind.starts_with("preproc_") => {
                self.directive(node, piece);
                return Ok(Vec::new());
            }
            kind => return piece.refuse(node, format!("`{}` is not understood in a model", kind.replace('_', " "))),
        };
        Ok(vec![Statement { what, place: piece.place(node) }])
    }

    /// A call, an assignment, or several with commas between them; a macro may stand for statements.
    fn computed(&mut self, node: Node, piece: Piece) -> Result<Vec<Statement>, Error> {
        let Some(inner) = value_of(node) else { return Ok(Vec::new()) };
        if let Some(statements) = self.expanded_statements(inner, piece)? {
            return Ok(statements);
        }
        let place = piece.place(node);
        let mut expressions = Vec::new();
        self.each(inner, piece, &mut expressions)?;
        expressions.retain(|expression| !matches!(&expression.what, Computation::Call(name, _) if NOTHING.contains(&name.as_str())));
        Ok(expressions.into_iter().map(|expression| Statement { what: action_of(expression), place: place.clone() }).collect())
    }

    /// What stands between commas.
    fn each(&mut self, node: Node, piece: Piece, into: &mut Vec<Expression>) -> Result<(), Error> {
        if node.kind() != "comma_expression" {
            into.push(self.expression(node, piece)?.expression);
            return Ok(());
        }
        for role in ["left", "right"] {
            if let Some(side) = node.child_by_field_name(role) {
                self.deeper(side, piece, |reader| reader.each(side, piece, into))?;
            }
        }
        Ok(())
    }

    fn expanded_statements(&mut self, node: Node, piece: Piece) -> Result<Option<Vec<Statement>>, Error> {
        let function = node.child_by_field_name("function").unwrap_or(node);
        let name = piece.text_of(function);
        if function.kind() != "identifier" || !self.macros.is_defined(name) {
            return Ok(None);
        }
        let text = match node.child_by_field_name("arguments") {
            Some(list) => {
                let texts: Vec<String> = list.named_children(&mut list.walk()).map(|argument| piece.text_of(argument).to_owned()).collect();
                self.macros.function(name, &texts)
            }
            None => self.macros.constant(name),
        };
        let Some(text) = text else { return Ok(None) };
        let place = piece.place(node);
        self.expansion(name, &text, ("void f(void) {", ";}"), &place, |reader, root, inner| {
            let body = root.named_child(0).and_then(|function| function.child_by_field_name("body"));
            body.map_or(Ok(Vec::new()), |body| reader.statements(body, inner))
        })
    }

    fn branch(&mut self, node: Node, piece: Piece) -> Result<Action, Error> {
        let condition = self.condition_of(node, piece)?;
        let then = self.part(node.child_by_field_name("consequence"), piece)?;
        let alternative = node.child_by_field_name("alternative");
        let inner = alternative.and_then(|other| other.named_children(&mut other.walk()).find(|child| child.kind() != "comment"));
        let otherwise = self.part(inner, piece)?;
        Ok(Action::If { condition, then, otherwise })
    }

    fn part(&mut self, node: Option<Node>, piece: Piece) -> Result<Vec<Statement>, Error> {
        node.map_or(Ok(Vec::new()), |node| self.block(node, piece))
    }

    fn condition_of(&mut self, node: Node, piece: Piece) -> Result<Expression, Error> {
        match node.child_by_field_name("condition") {
            Some(condition) => Ok(self.expression(condition, piece)?.expression),
            None => piece.refuse(node, "expected a condition"),
        }
    }

    fn counted(&mut self, node: Node, piece: Piece) -> Result<Action, Error> {
        self.scopes.push(Default::default());
        let action = self.counted_here(node, piece);
        self.scopes.pop();
        action
    }

    fn counted_here(&mut self, node: Node, piece: Piece) -> Result<Action, Error> {
        let before = match node.child_by_field_name("initializer") {
            Some(first) if first.kind() == "declaration" => self.local(first, piece)?,
            Some(first) => {
                let mut expressions = Vec::new();
                self.each(first, piece, &mut expressions)?;
                expressions
                    .into_iter()
                    .map(|expression| Statement { place: expression.place.clone(), what: action_of(expression) })
                    .collect()
            }
            None => Vec::new(),
        };
        let condition = match node.child_by_field_name("condition") {
            Some(condition) => Some(self.expression(condition, piece)?.expression),
            None => None,
        };
        let mut after = Vec::new();
        if let Some(update) = node.child_by_field_name("update") {
            self.each(update, piece, &mut after)?;
        }
        let body = self.part(node.child_by_field_name("body"), piece)?;
        Ok(Action::Loop { before, condition, after, body, once_at_least: false })
    }

    fn repeated(&mut self, node: Node, piece: Piece) -> Result<Action, Error> {
        let condition = self.condition_of(node, piece)?;
        let body = self.part(node.child_by_field_name("body"), piece)?;
        let is_once = node.kind() == "do_statement" && constant(&condition) == Some(0) && !body.iter().any(cuts_short);
        if is_once {
            return Ok(Action::Block(body));
        }
        Ok(Action::Loop {
            before: Vec::new(),
            condition: Some(condition),
            after: Vec::new(),
            body,
            once_at_least: node.kind() == "do_statement",
        })
    }

    fn switch(&mut self, node: Node, piece: Piece) -> Result<Action, Error> {
        let of = self.condition_of(node, piece)?;
        let Some(body) = node.child_by_field_name("body") else { return piece.refuse(node, "expected the cases") };
        let mut own: Vec<Vec<Statement>> = Vec::new();
        let mut has_default = false;
        for case in body.named_children(&mut body.walk()).filter(|case| case.kind() == "case_statement") {
            let value = case.child_by_field_name("value");
            has_default |= value.is_none();
            let mut statements = Vec::new();
            for inner in case.named_children(&mut case.walk()).filter(|inner| Some(*inner) != value) {
                statements.extend(self.statement(inner, piece)?);
            }
            own.push(statements);
        }
        let Some(mut cases) = fallen_through(&own) else { return piece.refuse(node, "the cases fall through into too many others") };
        if !has_default {
            cases.push(Vec::new());
        }
        Ok(Action::Switch { of, cases })
    }
}

/// Each case with what it falls through to, up to the `break` that ends it; nothing if that is too much to write down.
fn fallen_through(own: &[Vec<Statement>]) -> Option<Vec<Vec<Statement>>> {
    let until_break = |statements: &[Statement]| statements.iter().position(|statement| matches!(statement.what, Action::Break));
    let mut cases: Vec<Vec<Statement>> = Vec::new();
    let mut following: Vec<Statement> = Vec::new();
    let mut all = 0;
    for statements in own.iter().rev() {
        let case: Vec<Statement> = match until_break(statements) {
            Some(end) => statements[..end].to_vec(),
            None if ends(statements) => statements.clone(),
            None => statements.iter().chain(&following).cloned().collect(),
        };
        all += 1 + case.iter().map(weight).sum::<usize>();
        if all > MOST_CASES {
            return None;
        }
        following.clone_from(&case);
        cases.push(case);
    }
    cases.reverse();
    Some(cases)
}

/// How many statements a statement is.
fn weight(statement: &Statement) -> usize {
    let of = |list: &[Statement]| list.iter().map(weight).sum::<usize>();
    1 + match &statement.what {
        Action::Block(list) => of(list),
        Action::If { then, otherwise, .. } => of(then) + of(otherwise),
        Action::Loop { before, body, .. } => of(before) + of(body),
        Action::ForEach { body, .. } => of(body),
        Action::Switch { cases, .. } => cases.iter().map(|case| of(case)).sum(),
        _ => 0,
    }
}

fn ends(statements: &[Statement]) -> bool {
    matches!(statements.last().map(|last| &last.what), Some(Action::Return(_) | Action::Leave(_) | Action::Continue))
}

/// Whether a statement may end a round of the loop around it.
fn cuts_short(statement: &Statement) -> bool {
    match &statement.what {
        Action::Break | Action::Continue => true,
        Action::Block(list) => list.iter().any(cuts_short),
        Action::If { then, otherwise, .. } => then.iter().chain(otherwise).any(cuts_short),
        Action::Switch { cases, .. } => cases.iter().flatten().any(|inner| matches!(inner.what, Action::Continue)),
        _ => false,
    }
}

/// Whether the label of a `goto` stands later in the same function.
fn jumps_ahead(node: Node, piece: Piece) -> bool {
    let Some(label) = node.child_by_field_name("label").map(|label| piece.text_of(label)) else { return false };
    let mut around = node;
    while let Some(parent) = around.parent().filter(|_| around.kind() != "function_definition") {
        let mut later = parent
            .named_children(&mut parent.walk())
            .filter(|child| child.start_byte() > node.start_byte())
            .collect::<Vec<_>>()
            .into_iter();
        let is_it = |child: Node| {
            child.kind() == "labeled_statement" && child.child_by_field_name("label").is_some_and(|found| piece.text_of(found) == label)
        };
        if later.any(is_it) {
            return true;
        }
        around = parent;
    }
    false
}

/// What an expression that stands as a statement does.
fn action_of(expression: Expression) -> Action {
    match &expression.what {
        Computation::Call(name, _) if ENDS.contains(&name.as_str()) => Action::Leave(Some(expression)),
        _ => Action::Compute(expression),
    }
}

fn value_of(node: Node) -> Option<Node> {
    node.named_children(&mut node.walk()).find(|child| child.kind() != "comment")
}
