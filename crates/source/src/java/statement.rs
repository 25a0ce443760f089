//! Statements of Java.

use tree_sitter::Node;

use super::expression::{first_child, first_two_children};
use super::{BOOLEAN, JavaLowering, types};
use crate::error::SourceDiagnostic;
use crate::ir::{DataType, ExprKind, IrVariable, Statement, StatementKind, TypedExpr};

/// The maximum number of statements of the cases of a `switch` with fallthrough resolved.
const MAX_SWITCH_STATEMENTS: usize = 10_000;

impl<'t> JavaLowering<'t, '_> {
    /// The statements of a block, or a single statement.
    pub(super) fn statements(&mut self, node: Node<'t>) -> Result<Vec<Statement>, SourceDiagnostic> {
        self.locals.push(Default::default());
        let mut list = Vec::new();
        if matches!(node.kind(), "block" | "constructor_body") {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                self.statement(child, &mut list)?;
            }
        } else {
            self.statement(node, &mut list)?;
        }
        self.locals.pop();
        Ok(list)
    }

    fn body(&mut self, node: Node<'t>) -> Result<Vec<Statement>, SourceDiagnostic> {
        node.child_by_field_name("body").map_or(Ok(Vec::new()), |body| self.statements(body))
    }

    fn statement(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), SourceDiagnostic> {
        self.nested(node, |reader| reader.statement_unchecked(node, list))
    }

    fn statement_unchecked(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), SourceDiagnostic> {
        let place = self.pos_of(node);
        let what = match node.kind() {
            "local_variable_declaration" => {
                for variable in self.declarators(node)? {
                    list.push(Statement { pos: variable.pos.clone(), kind: StatementKind::Declare(variable) });
                }
                return Ok(());
            }
            "expression_statement" => match first_child(node) {
                Some(child) => return self.expression_statement(child, list),
                None => return Ok(()),
            },
            "block" => StatementKind::Block(self.statements(node)?),
            "if_statement" => self.if_statement(node)?,
            "for_statement" => return self.for_loop(node, None, list),
            "while_statement" | "do_statement" => self.while_loop(node, None)?,
            "enhanced_for_statement" => self.for_each(node, None)?,
            "labeled_statement" => return self.labeled(node, list),
            "switch_expression" => self.switch(node)?,
            "return_statement" => StatementKind::Return(first_child(node).map(|value| self.expression(value)).transpose()?),
            "throw_statement" => StatementKind::Terminate(None),
            "break_statement" => self.jump(node, StatementKind::Break, StatementKind::Return(None)),
            "continue_statement" => self.jump(node, StatementKind::Continue, StatementKind::Break),
            "synchronized_statement" => StatementKind::Block(self.body(node)?),
            "try_statement" | "try_with_resources_statement" => StatementKind::Block(self.try_block(node)?),
            _ => return Ok(()),
        };
        list.push(Statement { kind: what, pos: place });
        Ok(())
    }

    /// An expression whose value is not used.
    fn expression_statement(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), SourceDiagnostic> {
        if node.kind() == "switch_expression" {
            return self.statement(node, list);
        }
        let expression = self.discarded_expression(node)?;
        list.push(Statement { pos: expression.pos.clone(), kind: StatementKind::Evaluate(expression) });
        Ok(())
    }

    fn discarded_expression(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        if node.kind() == "update_expression" { self.update(node, false) } else { self.expression(node) }
    }

    fn condition_of(&mut self, node: Node<'t>) -> Result<Option<TypedExpr>, SourceDiagnostic> {
        node.child_by_field_name("condition").map(|condition| self.expression(condition)).transpose()
    }

    fn true_literal(&self, node: Node<'t>) -> TypedExpr {
        self.typed_expr(node, ExprKind::Number("1".to_owned()), BOOLEAN)
    }

    fn if_statement(&mut self, node: Node<'t>) -> Result<StatementKind, SourceDiagnostic> {
        let condition = self.condition_of(node)?.unwrap_or_else(|| self.true_literal(node));
        let part = |reader: &mut Self, name| node.child_by_field_name(name).map_or(Ok(Vec::new()), |part| reader.statements(part));
        let then = part(self, "consequence")?;
        let otherwise = part(self, "alternative")?;
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn for_loop(&mut self, node: Node<'t>, label: Option<String>, list: &mut Vec<Statement>) -> Result<(), SourceDiagnostic> {
        self.locals.push(Default::default());
        let mut before = Vec::new();
        let mut cursor = node.walk();
        for init in node.children_by_field_name("init", &mut cursor) {
            if init.kind() == "local_variable_declaration" {
                self.statement(init, &mut before)?;
            } else {
                self.expression_statement(init, &mut before)?;
            }
        }
        let condition = self.condition_of(node)?;
        let mut after = Vec::new();
        let mut cursor = node.walk();
        for update in node.children_by_field_name("update", &mut cursor) {
            after.push(self.discarded_expression(update)?);
        }
        let body = self.loop_body(node, label)?;
        self.locals.pop();
        list.push(Statement {
            kind: StatementKind::Loop { init: before, condition, update: after, body, is_do_while: false },
            pos: self.pos_of(node),
        });
        Ok(())
    }

    fn loop_body(&mut self, node: Node<'t>, label: Option<String>) -> Result<Vec<Statement>, SourceDiagnostic> {
        self.loops.push(label);
        let body = self.body(node)?;
        self.loops.pop();
        Ok(body)
    }

    fn while_loop(&mut self, node: Node<'t>, label: Option<String>) -> Result<StatementKind, SourceDiagnostic> {
        let condition = self.condition_of(node)?;
        let body = self.loop_body(node, label)?;
        Ok(StatementKind::Loop { init: Vec::new(), condition, update: Vec::new(), body, is_do_while: node.kind() == "do_statement" })
    }

    fn for_each(&mut self, node: Node<'t>, label: Option<String>) -> Result<StatementKind, SourceDiagnostic> {
        let of = match node.child_by_field_name("value") {
            Some(value) => self.expression(value)?,
            None => self.true_literal(node),
        };
        let written = node.child_by_field_name("type");
        let element = match (&of.data_type, written) {
            (DataType::Array(element), Some(written)) if self.source(written) == "var" => (**element).clone(),
            (_, Some(written)) => {
                types::with_dimensions(self.text, types::type_from_node(self.text, written), node.child_by_field_name("dimensions"))
            }
            _ => types::unknown_type(),
        };
        let name = node.child_by_field_name("name").map(|name| self.source(name)).unwrap_or_default().to_owned();
        self.locals.push([(name.clone(), element.clone())].into());
        let body = self.loop_body(node, label)?;
        self.locals.pop();
        let variable = IrVariable { name, data_type: element, initializer: None, is_constant: false, pos: self.pos_of(node) };
        Ok(StatementKind::ForEach { variable, array: of, body })
    }

    fn labeled(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), SourceDiagnostic> {
        let [Some(label), Some(statement)] = first_two_children(node) else { return Ok(()) };
        let label = Some(self.source(label).to_owned());
        let what = match statement.kind() {
            "for_statement" => return self.for_loop(statement, label, list),
            "while_statement" | "do_statement" => self.while_loop(statement, label)?,
            "enhanced_for_statement" => self.for_each(statement, label)?,
            _ => return self.statement(statement, list),
        };
        list.push(Statement { kind: what, pos: self.pos_of(statement) });
        Ok(())
    }

    /// A jump to an outer loop also leaves the inner ones: for their cost it is like the next stronger jump.
    fn jump(&self, node: Node<'t>, near: StatementKind, far: StatementKind) -> StatementKind {
        let label = first_child(node).map(|label| self.source(label));
        let innermost = self.loops.last().and_then(Option::as_deref);
        if label.is_none() || label == innermost { near } else { far }
    }

    /// A `try` with its `finally`; exceptions are assumed not to happen.
    fn try_block(&mut self, node: Node<'t>) -> Result<Vec<Statement>, SourceDiagnostic> {
        self.locals.push(Default::default());
        let mut list = Vec::new();
        if let Some(resources) = node.child_by_field_name("resources") {
            let mut cursor = resources.walk();
            for resource in resources.named_children(&mut cursor) {
                self.resource(resource, &mut list)?;
            }
        }
        list.extend(self.body(node)?);
        let mut cursor = node.walk();
        for clause in node.named_children(&mut cursor).filter(|child| child.kind() == "finally_clause") {
            if let Some(block) = first_child(clause) {
                let place = self.pos_of(block);
                list.push(Statement { kind: StatementKind::Block(self.statements(block)?), pos: place });
            }
        }
        self.locals.pop();
        Ok(list)
    }

    fn resource(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), SourceDiagnostic> {
        let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else { return Ok(()) };
        let value = self.expression(value)?;
        let of = node.child_by_field_name("type").map_or_else(|| value.data_type.clone(), |of| types::type_from_node(self.text, of));
        let name = self.source(name).to_owned();
        self.declare(&name, &of);
        let variable = IrVariable { name, data_type: of, initializer: Some(value), is_constant: true, pos: self.pos_of(node) };
        list.push(Statement { pos: variable.pos.clone(), kind: StatementKind::Declare(variable) });
        Ok(())
    }

    fn switch(&mut self, node: Node<'t>) -> Result<StatementKind, SourceDiagnostic> {
        let of = self.condition_of(node)?.unwrap_or_else(|| self.true_literal(node));
        let mut groups: Vec<(Vec<Statement>, bool)> = Vec::new();
        let mut has_default = false;
        let Some(block) = node.child_by_field_name("body") else { return Ok(StatementKind::Switch { selector: of, cases: Vec::new() }) };
        let mut cursor = block.walk();
        self.locals.push(Default::default());
        for group in block.named_children(&mut cursor) {
            let falls = group.kind() == "switch_block_statement_group";
            let mut statements = Vec::new();
            let mut inner = group.walk();
            for child in group.named_children(&mut inner) {
                if child.kind() == "switch_label" {
                    has_default |= self.source(child).trim_start().starts_with("default");
                } else {
                    self.statement(child, &mut statements)?;
                }
            }
            // Labels without statements belong to the next group.
            if !statements.is_empty() || !falls {
                groups.push((statements, falls));
            }
        }
        self.locals.pop();
        let Some(mut cases) = resolve_fallthrough(&groups) else {
            let problem = "this `switch` has too much fallthrough";
            return Err(SourceDiagnostic::new(self.pos_of(node), problem).with_source_line(&self.text.text));
        };
        if !has_default {
            cases.push(Vec::new());
        }
        Ok(StatementKind::Switch { selector: of, cases })
    }
}

/// Each case with what it falls through to; `None` if that is too large.
fn resolve_fallthrough(groups: &[(Vec<Statement>, bool)]) -> Option<Vec<Vec<Statement>>> {
    let mut cases: Vec<Vec<Statement>> = Vec::new();
    let mut all = 0;
    for (statements, falls) in groups.iter().rev() {
        let leaves = matches!(
            statements.last().map(|statement| &statement.kind),
            Some(StatementKind::Break | StatementKind::Return(_) | StatementKind::Continue | StatementKind::Terminate(_))
        );
        let following = cases.last().filter(|_| *falls && !leaves).map_or(&[][..], Vec::as_slice);
        let case = || statements.iter().chain(following);
        all += 1 + case().map(Statement::statement_count).sum::<usize>();
        if all > MAX_SWITCH_STATEMENTS {
            return None;
        }
        let case = case().cloned().collect();
        cases.push(case);
    }
    cases.reverse();
    Some(cases)
}
