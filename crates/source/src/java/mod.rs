//! Java files, read into routines.
//!
//! The grammar is tree-sitter's. Types are resolved as far as costs depend on them: numbers, arrays, and the classes of the files at hand; what
//! belongs to other classes is a call whose cost is a parameter.

mod classes;
mod expression;
mod statement;
mod syntax;
mod types;

use std::collections::HashMap;

use sintonia_text::near::nearest;
use tree_sitter::Node;

use crate::analysis::MOST_DEPTH;
use crate::error::{Error, Wrong};
use crate::file::Text;
use crate::place::Place;
use crate::routine::{Action, Computation, Expression, Program, Routine, Scalar, Statement, Type, Variable};
use classes::{Classes, Member};
use types::Promotion;

/// The routines of Java files.
pub fn read(texts: &[&Text]) -> Result<Program, Error> {
    let mut trees = Vec::new();
    for text in texts {
        trees.push(syntax::tree(text)?);
    }
    let mut classes = Classes::default();
    for (text, tree) in texts.iter().zip(&trees) {
        classes.learn(text, tree.root_node())?;
    }
    let mut program = Program::default();
    for member in classes.members() {
        let mut reader =
            Reader { text: member.text, classes: &classes, class: member.class.clone(), locals: Vec::new(), loops: Vec::new(), depth: 0 };
        reader.member(member, &mut program)?;
    }
    Ok(program)
}

/// Reads what stands in one class.
struct Reader<'t, 'c> {
    text: &'t Text,
    classes: &'c Classes<'t>,
    class: String,
    /// Variables of the blocks around, the innermost last.
    locals: Vec<HashMap<String, Type>>,
    /// The labels of the loops around, the innermost last.
    loops: Vec<Option<String>>,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    fn member(&mut self, member: &Member<'t>, program: &mut Program) -> Result<(), Wrong> {
        let node = member.node;
        match node.kind() {
            "field_declaration" | "constant_declaration" => {
                let constant = self.has_modifier(node, "final") || node.kind() == "constant_declaration";
                for mut variable in self.declarators(node)? {
                    variable.name = format!("{}.{}", self.class, variable.name);
                    variable.constant = constant;
                    program.globals.push(variable);
                }
            }
            // Nobody calls what initialises a class, but it changes fields.
            "static_initializer" | "block" => {
                let block = if node.kind() == "block" { Some(node) } else { expression::inside(node) };
                let body = block.map_or(Ok(Vec::new()), |block| self.statements(block))?;
                let name = format!("{}.static", self.class);
                program.routines.push(Routine { name, parameters: Vec::new(), returns: None, body, place: self.place(node) });
            }
            _ => program.routines.extend(self.routine(member)?),
        }
        Ok(())
    }

    fn routine(&mut self, member: &Member<'t>) -> Result<Option<Routine>, Wrong> {
        let node = member.node;
        let Some(body) = node.child_by_field_name("body") else { return Ok(None) };
        let Some(signature) = self.classes.signature_at(node.id()) else { return Ok(None) };
        let (name, returns, parameters) = (signature.routine.clone(), signature.returns.clone(), signature.parameters.clone());
        self.locals.push(parameters.iter().cloned().collect());
        let mut statements = Vec::new();
        if node.kind() == "constructor_declaration" {
            let new = self.expression_of(node, Computation::New(Vec::new()), Type::Other(self.class.clone()));
            statements.push(Statement { what: Action::Compute(new), place: self.place(node) });
        }
        statements.extend(self.statements(body)?);
        self.locals.clear();
        let place = self.place(node.child_by_field_name("name").unwrap_or(node));
        let variable = |(name, of): (String, Type)| Variable { name, of, value: None, constant: false, place: place.clone() };
        let parameters = parameters.into_iter().map(variable).collect();
        Ok(Some(Routine { name, parameters, returns, body: statements, place }))
    }

    fn source(&self, node: Node<'t>) -> &'t str {
        self.text.text.get(node.byte_range()).unwrap_or_default()
    }

    fn place(&self, node: Node<'t>) -> Place {
        self.text.place(node.start_byte())
    }

    fn expression_of(&self, node: Node<'t>, what: Computation, of: Type) -> Expression {
        Expression { what, of, place: self.place(node) }
    }

    fn has_modifier(&self, node: Node<'t>, modifier: &str) -> bool {
        let mut cursor = node.walk();
        let modifiers = node.children(&mut cursor).find(|child| child.kind() == "modifiers");
        modifiers.is_some_and(|modifiers| self.source(modifiers).split_whitespace().any(|word| word == modifier))
    }

    /// The variables that a declaration makes, of the same type up to their own brackets.
    fn declarators(&mut self, node: Node<'t>) -> Result<Vec<Variable>, Wrong> {
        let written = node.child_by_field_name("type");
        let base = written.map_or(types::unknown(), |of| types::read(self.text, of));
        if let (Some(written), Type::Other(name)) = (written, &base) {
            self.is_spelt(written, name)?;
        }
        let inferred = written.is_some_and(|of| self.source(of) == "var");
        let constant = self.has_modifier(node, "final");
        let mut cursor = node.walk();
        let mut variables = Vec::new();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let Some(name) = declarator.child_by_field_name("name") else { continue };
            let mut of = types::with_dimensions(self.text, base.clone(), declarator.child_by_field_name("dimensions"));
            let value = declarator.child_by_field_name("value").map(|value| self.initial(value, &of)).transpose()?;
            if let Some(value) = value.as_ref().filter(|_| inferred) {
                of = value.of.clone();
            }
            let value = value.map(|value| value.promoted(&of));
            let name = self.source(name).to_owned();
            self.declare(&name, &of);
            variables.push(Variable { name, of, value, constant, place: self.place(declarator) });
        }
        Ok(variables)
    }

    /// Classes begin with a capital letter, so a type that does not and is none of the language's is one of them misspelt, or a statement.
    fn is_spelt(&self, written: Node<'t>, name: &str) -> Result<(), Wrong> {
        let own = name == "var" || !name.starts_with(char::is_lowercase) || self.classes.has(name);
        let Some(near) = nearest(name, NEAR_TYPES).filter(|_| !own && written.kind() == "type_identifier") else { return Ok(()) };
        let wrong = Wrong::at(self.place(written), format!("expected a type or a statement, found `{name}`"));
        Err(wrong.in_text(&self.text.text).hint(format!("did you mean `{near}`?")))
    }

    fn initial(&mut self, node: Node<'t>, of: &Type) -> Result<Expression, Wrong> {
        if node.kind() == "array_initializer" { self.array_initializer(node, of) } else { self.expression(node) }
    }

    fn declare(&mut self, name: &str, of: &Type) {
        if let Some(block) = self.locals.last_mut() {
            block.insert(name.to_owned(), of.clone());
        }
    }

    fn local(&self, name: &str) -> Option<&Type> {
        self.locals.iter().rev().find_map(|block| block.get(name))
    }

    /// Goes one deeper, up to a limit, so that no text can exhaust the stack.
    fn deeper<T>(&mut self, node: Node<'t>, inside: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        if self.depth >= MOST_DEPTH {
            let problem = format!("statements and expressions stand more than {MOST_DEPTH} deep inside each other");
            return Err(Wrong::at(self.place(node), problem).in_text(&self.text.text));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }
}

/// What a type that nobody declares may have been meant to be.
const NEAR_TYPES: [&str; 12] = ["boolean", "byte", "short", "char", "int", "long", "float", "double", "var", "return", "throw", "assert"];

const INT: Type = Type::Scalar(Scalar::Int);
const BOOLEAN: Type = Type::Scalar(Scalar::Boolean);
const DOUBLE: Type = Type::Scalar(Scalar::Double);
