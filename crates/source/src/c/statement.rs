//! Statements.

use tree_sitter::Node;

use super::constant::constant_value;
use super::lowering::{CLowering, SourceFragment};
use crate::error::Error;
use crate::ir::{ExprKind, Statement, StatementKind, TypedExpr};

/// Functions that do not return.
const NORETURN_FUNCTIONS: [&str; 6] = ["exit", "_exit", "_Exit", "abort", "quick_exit", "MPI_Abort"];

/// The maximum number of statements of the cases of a `switch` with fallthrough resolved.
const MAX_SWITCH_STATEMENTS: usize = 20_000;

/// Functions without cost and result.
const IGNORED_FUNCTIONS: [&str; 6] = ["free", "fflush", "setbuf", "setvbuf", "srand", "assert"];

impl CLowering {
    /// The statements of `{ … }`, or a single statement.
    pub(super) fn block(&mut self, node: Node, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        self.scopes.push(Default::default());
        let result = if node.kind() == "compound_statement" { self.statements(node, piece) } else { self.statement(node, piece) };
        self.scopes.pop();
        result
    }

    fn statements(&mut self, parent: Node, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        let mut statements = Vec::new();
        for node in parent.named_children(&mut parent.walk()) {
            statements.extend(self.statement(node, piece)?);
        }
        Ok(statements)
    }

    pub(super) fn statement(&mut self, node: Node, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        self.nested(node, piece, |reader| reader.statement_unchecked(node, piece))
    }

    fn statement_unchecked(&mut self, node: Node, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        let what = match node.kind() {
            "compound_statement" => StatementKind::Block(self.block(node, piece)?),
            "declaration" | "type_definition" => return self.local_declaration(node, piece),
            "expression_statement" => return self.expression_statement(node, piece),
            "if_statement" => self.if_statement(node, piece)?,
            "for_statement" => self.for_statement(node, piece)?,
            "while_statement" | "do_statement" => self.while_statement(node, piece)?,
            "switch_statement" => self.switch(node, piece)?,
            "return_statement" => StatementKind::Return(match first_operand(node) {
                Some(value) => Some(self.expression(value, piece)?.expression),
                None => None,
            }),
            "break_statement" => StatementKind::Break,
            "continue_statement" => StatementKind::Continue,
            // A forward jump skips code; like `exit`, it is assumed not to be taken.
            "goto_statement" if is_forward_goto(node, piece) => StatementKind::Terminate(None),
            "goto_statement" => return piece.error(node, "a backward `goto` cannot be modelled: write it as a loop"),
            "labeled_statement" | "attributed_statement" => {
                let inner = node.named_children(&mut node.walk()).last();
                return inner.map_or(Ok(Vec::new()), |inner| self.statement(inner, piece));
            }
            "struct_specifier" | "union_specifier" | "enum_specifier" => {
                self.base_type(node, piece)?;
                return Ok(Vec::new());
            }
            "function_definition" => return piece.error(node, "nested functions are not supported"),
            "comment" => return Ok(Vec::new()),
            kind if kind.starts_with("preproc_") => {
                self.directive(node, piece);
                return Ok(Vec::new());
            }
            kind => return piece.error(node, format!("`{}` is not supported", kind.replace('_', " "))),
        };
        Ok(vec![Statement { kind: what, pos: piece.pos_of(node) }])
    }

    /// A call, an assignment, or several separated by commas; a macro may expand to statements.
    fn expression_statement(&mut self, node: Node, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        let Some(inner) = first_operand(node) else { return Ok(Vec::new()) };
        if let Some(statements) = self.expanded_statements(inner, piece)? {
            return Ok(statements);
        }
        let place = piece.pos_of(node);
        let mut expressions = Vec::new();
        self.comma_operands(inner, piece, &mut expressions)?;
        expressions.retain(|expression| !matches!(&expression.kind, ExprKind::Call(name, _) if IGNORED_FUNCTIONS.contains(&name.as_str())));
        Ok(expressions.into_iter().map(|expression| Statement { kind: to_statement_kind(expression), pos: place.clone() }).collect())
    }

    /// The operands of comma operators.
    fn comma_operands(&mut self, node: Node, piece: SourceFragment, into: &mut Vec<TypedExpr>) -> Result<(), Error> {
        if node.kind() != "comma_expression" {
            into.push(self.expression(node, piece)?.expression);
            return Ok(());
        }
        for role in ["left", "right"] {
            if let Some(side) = node.child_by_field_name(role) {
                self.nested(side, piece, |reader| reader.comma_operands(side, piece, into))?;
            }
        }
        Ok(())
    }

    fn expanded_statements(&mut self, node: Node, piece: SourceFragment) -> Result<Option<Vec<Statement>>, Error> {
        let function = node.child_by_field_name("function").unwrap_or(node);
        let name = piece.text_of(function);
        if function.kind() != "identifier" || !self.macros.is_defined(name) {
            return Ok(None);
        }
        let text = match node.child_by_field_name("arguments") {
            Some(list) => {
                let texts: Vec<String> = list.named_children(&mut list.walk()).map(|argument| piece.text_of(argument).to_owned()).collect();
                self.macros.expand_function_macro(name, &texts)
            }
            None => self.macros.expand_object_macro(name),
        };
        let Some(text) = text else { return Ok(None) };
        let place = piece.pos_of(node);
        self.parse_expansion(name, &text, ("void f(void) {", ";}"), &place, |reader, root, inner| {
            let body = root.named_child(0).and_then(|function| function.child_by_field_name("body"));
            body.map_or(Ok(Vec::new()), |body| reader.statements(body, inner))
        })
    }

    fn if_statement(&mut self, node: Node, piece: SourceFragment) -> Result<StatementKind, Error> {
        let condition = self.condition_of(node, piece)?;
        let then = self.optional_block(node.child_by_field_name("consequence"), piece)?;
        let alternative = node.child_by_field_name("alternative");
        let inner = alternative.and_then(|other| other.named_children(&mut other.walk()).find(|child| child.kind() != "comment"));
        let otherwise = self.optional_block(inner, piece)?;
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn optional_block(&mut self, node: Option<Node>, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        node.map_or(Ok(Vec::new()), |node| self.block(node, piece))
    }

    fn condition_of(&mut self, node: Node, piece: SourceFragment) -> Result<TypedExpr, Error> {
        match node.child_by_field_name("condition") {
            Some(condition) => Ok(self.expression(condition, piece)?.expression),
            None => piece.error(node, "expected a condition"),
        }
    }

    fn for_statement(&mut self, node: Node, piece: SourceFragment) -> Result<StatementKind, Error> {
        self.scopes.push(Default::default());
        let action = self.for_statement_in_scope(node, piece);
        self.scopes.pop();
        action
    }

    fn for_statement_in_scope(&mut self, node: Node, piece: SourceFragment) -> Result<StatementKind, Error> {
        let before = match node.child_by_field_name("initializer") {
            Some(first) if first.kind() == "declaration" => self.local_declaration(first, piece)?,
            Some(first) => {
                let mut expressions = Vec::new();
                self.comma_operands(first, piece, &mut expressions)?;
                expressions
                    .into_iter()
                    .map(|expression| Statement { pos: expression.pos.clone(), kind: to_statement_kind(expression) })
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
            self.comma_operands(update, piece, &mut after)?;
        }
        let body = self.optional_block(node.child_by_field_name("body"), piece)?;
        Ok(StatementKind::Loop { init: before, condition, update: after, body, is_do_while: false })
    }

    fn while_statement(&mut self, node: Node, piece: SourceFragment) -> Result<StatementKind, Error> {
        let condition = self.condition_of(node, piece)?;
        let body = self.optional_block(node.child_by_field_name("body"), piece)?;
        let is_once = node.kind() == "do_statement" && constant_value(&condition) == Some(0) && !body.iter().any(may_end_iteration);
        if is_once {
            return Ok(StatementKind::Block(body));
        }
        Ok(StatementKind::Loop {
            init: Vec::new(),
            condition: Some(condition),
            update: Vec::new(),
            body,
            is_do_while: node.kind() == "do_statement",
        })
    }

    fn switch(&mut self, node: Node, piece: SourceFragment) -> Result<StatementKind, Error> {
        let of = self.condition_of(node, piece)?;
        let Some(body) = node.child_by_field_name("body") else { return piece.error(node, "expected the cases") };
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
        let Some(mut cases) = resolve_fallthrough(&own) else {
            return piece.error(node, "there is too much fallthrough between the cases");
        };
        if !has_default {
            cases.push(Vec::new());
        }
        Ok(StatementKind::Switch { selector: of, cases })
    }
}

/// Each case with what it falls through to, up to its `break`; `None` if that is too large.
fn resolve_fallthrough(own: &[Vec<Statement>]) -> Option<Vec<Vec<Statement>>> {
    let until_break = |statements: &[Statement]| statements.iter().position(|statement| matches!(statement.kind, StatementKind::Break));
    let mut cases: Vec<Vec<Statement>> = Vec::new();
    let mut following: Vec<Statement> = Vec::new();
    let mut all = 0;
    for statements in own.iter().rev() {
        let case: Vec<Statement> = match until_break(statements) {
            Some(end) => statements[..end].to_vec(),
            None if ends_abruptly(statements) => statements.clone(),
            None => statements.iter().chain(&following).cloned().collect(),
        };
        all += 1 + case.iter().map(statement_count).sum::<usize>();
        if all > MAX_SWITCH_STATEMENTS {
            return None;
        }
        following.clone_from(&case);
        cases.push(case);
    }
    cases.reverse();
    Some(cases)
}

/// The number of statements including nested ones.
fn statement_count(statement: &Statement) -> usize {
    let of = |list: &[Statement]| list.iter().map(statement_count).sum::<usize>();
    1 + match &statement.kind {
        StatementKind::Block(list) => of(list),
        StatementKind::If { then, otherwise, .. } => of(then) + of(otherwise),
        StatementKind::Loop { init: before, body, .. } => of(before) + of(body),
        StatementKind::ForEach { body, .. } => of(body),
        StatementKind::Switch { cases, .. } => cases.iter().map(|case| of(case)).sum(),
        _ => 0,
    }
}

fn ends_abruptly(statements: &[Statement]) -> bool {
    matches!(
        statements.last().map(|last| &last.kind),
        Some(StatementKind::Return(_) | StatementKind::Terminate(_) | StatementKind::Continue)
    )
}

/// Whether a statement may end an iteration of the enclosing loop.
fn may_end_iteration(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Break | StatementKind::Continue => true,
        StatementKind::Block(list) => list.iter().any(may_end_iteration),
        StatementKind::If { then, otherwise, .. } => then.iter().chain(otherwise).any(may_end_iteration),
        StatementKind::Switch { cases, .. } => cases.iter().flatten().any(|inner| matches!(inner.kind, StatementKind::Continue)),
        _ => false,
    }
}

/// Whether the label of a `goto` follows later in the same function.
fn is_forward_goto(node: Node, piece: SourceFragment) -> bool {
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

/// The statement for an expression statement.
fn to_statement_kind(expression: TypedExpr) -> StatementKind {
    match &expression.kind {
        ExprKind::Call(name, _) if NORETURN_FUNCTIONS.contains(&name.as_str()) => StatementKind::Terminate(Some(expression)),
        _ => StatementKind::Evaluate(expression),
    }
}

fn first_operand(node: Node) -> Option<Node> {
    node.named_children(&mut node.walk()).find(|child| child.kind() != "comment")
}
