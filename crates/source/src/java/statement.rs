//! Statements of Java.

use tree_sitter::Node;

use super::expression::{first_two, inside};
use super::{BOOLEAN, Reader, types};
use crate::error::Wrong;
use crate::routine::{Action, Computation, Expression, Statement, Type, Variable};

/// How many statements the cases of a `switch` may have together, with those that they fall through to: beyond, nobody wrote them.
const MOST_FALLEN: usize = 10_000;

impl<'t> Reader<'t, '_> {
    /// The statements of a block, or a statement alone.
    pub(super) fn statements(&mut self, node: Node<'t>) -> Result<Vec<Statement>, Wrong> {
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

    fn body(&mut self, node: Node<'t>) -> Result<Vec<Statement>, Wrong> {
        node.child_by_field_name("body").map_or(Ok(Vec::new()), |body| self.statements(body))
    }

    fn statement(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), Wrong> {
        self.deeper(node, |reader| reader.statement_inside(node, list))
    }

    fn statement_inside(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), Wrong> {
        let place = self.place(node);
        let what = match node.kind() {
            "local_variable_declaration" => {
                for variable in self.declarators(node)? {
                    list.push(Statement { place: variable.place.clone(), what: Action::Declare(variable) });
                }
                return Ok(());
            }
            "expression_statement" => match inside(node) {
                Some(child) => return self.effect(child, list),
                None => return Ok(()),
            },
            "block" => Action::Block(self.statements(node)?),
            "if_statement" => self.condition(node)?,
            "for_statement" => return self.counted(node, None, list),
            "while_statement" | "do_statement" => self.while_loop(node, None)?,
            "enhanced_for_statement" => self.for_each(node, None)?,
            "labeled_statement" => return self.labeled(node, list),
            "switch_expression" => self.switch(node)?,
            "return_statement" => Action::Return(inside(node).map(|value| self.expression(value)).transpose()?),
            "throw_statement" => Action::Leave(None),
            "break_statement" => self.jump(node, Action::Break, Action::Return(None)),
            "continue_statement" => self.jump(node, Action::Continue, Action::Break),
            "synchronized_statement" => Action::Block(self.body(node)?),
            "try_statement" | "try_with_resources_statement" => Action::Block(self.tried(node)?),
            _ => return Ok(()),
        };
        list.push(Statement { what, place });
        Ok(())
    }

    /// An expression whose value nobody uses.
    fn effect(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), Wrong> {
        if node.kind() == "switch_expression" {
            return self.statement(node, list);
        }
        let expression = self.effect_expression(node)?;
        list.push(Statement { place: expression.place.clone(), what: Action::Compute(expression) });
        Ok(())
    }

    fn effect_expression(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        if node.kind() == "update_expression" { self.update(node, false) } else { self.expression(node) }
    }

    /// A condition without the parentheses around it.
    fn asked(&mut self, node: Node<'t>) -> Result<Option<Expression>, Wrong> {
        node.child_by_field_name("condition").map(|condition| self.expression(condition)).transpose()
    }

    fn certain(&self, node: Node<'t>) -> Expression {
        self.expression_of(node, Computation::Number("1".to_owned()), BOOLEAN)
    }

    fn condition(&mut self, node: Node<'t>) -> Result<Action, Wrong> {
        let condition = self.asked(node)?.unwrap_or_else(|| self.certain(node));
        let part = |reader: &mut Self, name| node.child_by_field_name(name).map_or(Ok(Vec::new()), |part| reader.statements(part));
        let then = part(self, "consequence")?;
        let otherwise = part(self, "alternative")?;
        Ok(Action::If { condition, then, otherwise })
    }

    fn counted(&mut self, node: Node<'t>, label: Option<String>, list: &mut Vec<Statement>) -> Result<(), Wrong> {
        self.locals.push(Default::default());
        let mut before = Vec::new();
        let mut cursor = node.walk();
        for init in node.children_by_field_name("init", &mut cursor) {
            if init.kind() == "local_variable_declaration" {
                self.statement(init, &mut before)?;
            } else {
                self.effect(init, &mut before)?;
            }
        }
        let condition = self.asked(node)?;
        let mut after = Vec::new();
        let mut cursor = node.walk();
        for update in node.children_by_field_name("update", &mut cursor) {
            after.push(self.effect_expression(update)?);
        }
        let body = self.looped(node, label)?;
        self.locals.pop();
        list.push(Statement { what: Action::Loop { before, condition, after, body, once_at_least: false }, place: self.place(node) });
        Ok(())
    }

    fn looped(&mut self, node: Node<'t>, label: Option<String>) -> Result<Vec<Statement>, Wrong> {
        self.loops.push(label);
        let body = self.body(node)?;
        self.loops.pop();
        Ok(body)
    }

    fn while_loop(&mut self, node: Node<'t>, label: Option<String>) -> Result<Action, Wrong> {
        let condition = self.asked(node)?;
        let body = self.looped(node, label)?;
        Ok(Action::Loop { before: Vec::new(), condition, after: Vec::new(), body, once_at_least: node.kind() == "do_statement" })
    }

    fn for_each(&mut self, node: Node<'t>, label: Option<String>) -> Result<Action, Wrong> {
        let of = match node.child_by_field_name("value") {
            Some(value) => self.expression(value)?,
            None => self.certain(node),
        };
        let written = node.child_by_field_name("type");
        let element = match (&of.of, written) {
            (Type::Array(element), Some(written)) if self.source(written) == "var" => (**element).clone(),
            (_, Some(written)) => {
                types::with_dimensions(self.text, types::read(self.text, written), node.child_by_field_name("dimensions"))
            }
            _ => types::unknown(),
        };
        let name = node.child_by_field_name("name").map(|name| self.source(name)).unwrap_or_default().to_owned();
        self.locals.push([(name.clone(), element.clone())].into());
        let body = self.looped(node, label)?;
        self.locals.pop();
        let variable = Variable { name, of: element, value: None, constant: false, place: self.place(node) };
        Ok(Action::ForEach { variable, of, body })
    }

    fn labeled(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), Wrong> {
        let [Some(label), Some(statement)] = first_two(node) else { return Ok(()) };
        let label = Some(self.source(label).to_owned());
        let what = match statement.kind() {
            "for_statement" => return self.counted(statement, label, list),
            "while_statement" | "do_statement" => self.while_loop(statement, label)?,
            "enhanced_for_statement" => self.for_each(statement, label)?,
            _ => return self.statement(statement, list),
        };
        list.push(Statement { what, place: self.place(statement) });
        Ok(())
    }

    /// A jump that names an outer loop leaves the inner ones: for their costs it is like the jump one farther.
    fn jump(&self, node: Node<'t>, near: Action, far: Action) -> Action {
        let label = inside(node).map(|label| self.source(label));
        let innermost = self.loops.last().and_then(Option::as_deref);
        if label.is_none() || label == innermost { near } else { far }
    }

    /// What is tried, and what is done in the end; exceptions are taken not to happen.
    fn tried(&mut self, node: Node<'t>) -> Result<Vec<Statement>, Wrong> {
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
            if let Some(block) = inside(clause) {
                let place = self.place(block);
                list.push(Statement { what: Action::Block(self.statements(block)?), place });
            }
        }
        self.locals.pop();
        Ok(list)
    }

    fn resource(&mut self, node: Node<'t>, list: &mut Vec<Statement>) -> Result<(), Wrong> {
        let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else { return Ok(()) };
        let value = self.expression(value)?;
        let of = node.child_by_field_name("type").map_or_else(|| value.of.clone(), |of| types::read(self.text, of));
        let name = self.source(name).to_owned();
        self.declare(&name, &of);
        let variable = Variable { name, of, value: Some(value), constant: true, place: self.place(node) };
        list.push(Statement { place: variable.place.clone(), what: Action::Declare(variable) });
        Ok(())
    }

    fn switch(&mut self, node: Node<'t>) -> Result<Action, Wrong> {
        let of = self.asked(node)?.unwrap_or_else(|| self.certain(node));
        let mut groups: Vec<(Vec<Statement>, bool)> = Vec::new();
        let mut has_default = false;
        let Some(block) = node.child_by_field_name("body") else { return Ok(Action::Switch { of, cases: Vec::new() }) };
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
            // Labels without statements belong to the next ones.
            if !statements.is_empty() || !falls {
                groups.push((statements, falls));
            }
        }
        self.locals.pop();
        let Some(mut cases) = fallen(&groups) else {
            let problem = "the cases of this `switch` fall through into too many others";
            return Err(Wrong::at(self.place(node), problem).in_text(&self.text.text));
        };
        if !has_default {
            cases.push(Vec::new());
        }
        Ok(Action::Switch { of, cases })
    }
}

/// The statements of each case with those that it falls through to; nothing if that is too much to write down.
fn fallen(groups: &[(Vec<Statement>, bool)]) -> Option<Vec<Vec<Statement>>> {
    let mut cases: Vec<Vec<Statement>> = Vec::new();
    let mut all = 0;
    for (statements, falls) in groups.iter().rev() {
        let leaves = matches!(
            statements.last().map(|statement| &statement.what),
            Some(Action::Break | Action::Return(_) | Action::Continue | Action::Leave(_))
        );
        let following = cases.last().filter(|_| *falls && !leaves).map_or(&[][..], Vec::as_slice);
        let case = || statements.iter().chain(following);
        all += 1 + case().map(Statement::weight).sum::<usize>();
        if all > MOST_FALLEN {
            return None;
        }
        let case = case().cloned().collect();
        cases.push(case);
    }
    cases.reverse();
    Some(cases)
}
