//! Java front end: files are lowered to the IR.
//!
//! The grammar is tree-sitter's. Types are resolved as far as costs depend on them: scalars, arrays, and the classes of the given files; a
//! call into another class has a parameter for its cost.

mod classes;
mod expression;
mod statement;
mod syntax;
mod types;

use std::collections::HashMap;

use sintonia_text::suggestion::nearest_name;
use tree_sitter::Node;

use crate::error::{Error, SourceDiagnostic};
use crate::file_pos::FilePos;
use crate::ir::{DataType, ExprKind, IrProgram, IrRoutine, IrVariable, MAX_DEPTH, ScalarType, Statement, StatementKind, TypedExpr};
use crate::source_file::SourceFile;
use classes::{ClassMember, ClassTable};
use types::NumericPromotion;

/// Lowers Java files to the IR.
pub fn read(texts: &[&SourceFile]) -> Result<IrProgram, Error> {
    let mut trees = Vec::new();
    for text in texts {
        trees.push(syntax::parse_tree(text)?);
    }
    let mut classes = ClassTable::default();
    for (text, tree) in texts.iter().zip(&trees) {
        classes.collect(text, tree.root_node())?;
    }
    let mut program = IrProgram::default();
    for member in classes.members() {
        let mut reader = JavaLowering {
            text: member.text,
            classes: &classes,
            class: member.class.clone(),
            locals: Vec::new(),
            loops: Vec::new(),
            depth: 0,
        };
        reader.member(member, &mut program)?;
    }
    Ok(program)
}

/// Lowers the members of one class.
struct JavaLowering<'t, 'c> {
    text: &'t SourceFile,
    classes: &'c ClassTable<'t>,
    class: String,
    /// The variables of the enclosing blocks, the innermost last.
    locals: Vec<HashMap<String, DataType>>,
    /// The labels of the enclosing loops, the innermost last.
    loops: Vec<Option<String>>,
    depth: usize,
}

impl<'t> JavaLowering<'t, '_> {
    fn member(&mut self, member: &ClassMember<'t>, program: &mut IrProgram) -> Result<(), SourceDiagnostic> {
        let node = member.node;
        match node.kind() {
            "field_declaration" | "constant_declaration" => {
                let constant = self.has_modifier(node, "final") || node.kind() == "constant_declaration";
                for mut variable in self.declarators(node)? {
                    variable.name = format!("{}.{}", self.class, variable.name);
                    variable.is_constant = constant;
                    program.globals.push(variable);
                }
            }
            // Initializers are never called, but they write fields.
            "static_initializer" | "block" => {
                let block = if node.kind() == "block" { Some(node) } else { expression::first_child(node) };
                let body = block.map_or(Ok(Vec::new()), |block| self.statements(block))?;
                let name = format!("{}.static", self.class);
                program.routines.push(IrRoutine { name, parameters: Vec::new(), return_type: None, body, pos: self.pos_of(node) });
            }
            _ => program.routines.extend(self.routine(member)?),
        }
        Ok(())
    }

    fn routine(&mut self, member: &ClassMember<'t>) -> Result<Option<IrRoutine>, SourceDiagnostic> {
        let node = member.node;
        let Some(body) = node.child_by_field_name("body") else { return Ok(None) };
        let Some(signature) = self.classes.signature_at(node.id()) else { return Ok(None) };
        let (name, returns, parameters) = (signature.routine.clone(), signature.return_type.clone(), signature.parameters.clone());
        self.locals.push(parameters.iter().cloned().collect());
        let mut statements = Vec::new();
        if node.kind() == "constructor_declaration" {
            let new = self.typed_expr(node, ExprKind::Allocate(Vec::new()), DataType::Named(self.class.clone()));
            statements.push(Statement { kind: StatementKind::Evaluate(new), pos: self.pos_of(node) });
        }
        statements.extend(self.statements(body)?);
        self.locals.clear();
        let place = self.pos_of(node.child_by_field_name("name").unwrap_or(node));
        let variable =
            |(name, of): (String, DataType)| IrVariable { name, data_type: of, initializer: None, is_constant: false, pos: place.clone() };
        let parameters = parameters.into_iter().map(variable).collect();
        Ok(Some(IrRoutine { name, parameters, return_type: returns, body: statements, pos: place }))
    }

    fn source(&self, node: Node<'t>) -> &'t str {
        self.text.text.get(node.byte_range()).unwrap_or_default()
    }

    fn pos_of(&self, node: Node<'t>) -> FilePos {
        self.text.pos_at(node.start_byte())
    }

    fn typed_expr(&self, node: Node<'t>, what: ExprKind, of: DataType) -> TypedExpr {
        TypedExpr { kind: what, data_type: of, pos: self.pos_of(node) }
    }

    fn has_modifier(&self, node: Node<'t>, modifier: &str) -> bool {
        let mut cursor = node.walk();
        let modifiers = node.children(&mut cursor).find(|child| child.kind() == "modifiers");
        modifiers.is_some_and(|modifiers| self.source(modifiers).split_whitespace().any(|word| word == modifier))
    }

    /// The variables of a declaration; each may have brackets of its own.
    fn declarators(&mut self, node: Node<'t>) -> Result<Vec<IrVariable>, SourceDiagnostic> {
        let written = node.child_by_field_name("type");
        let base = written.map_or(types::unknown_type(), |of| types::type_from_node(self.text, of));
        if let (Some(written), DataType::Named(name)) = (written, &base) {
            self.check_type_spelling(written, name)?;
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
                of = value.data_type.clone();
            }
            let value = value.map(|value| value.promote_to(&of));
            let name = self.source(name).to_owned();
            self.declare(&name, &of);
            variables.push(IrVariable { name, data_type: of, initializer: value, is_constant: constant, pos: self.pos_of(declarator) });
        }
        Ok(variables)
    }

    /// Class names start with a capital letter, so an unknown lowercase type is a misspelled primitive type or statement.
    fn check_type_spelling(&self, written: Node<'t>, name: &str) -> Result<(), SourceDiagnostic> {
        let own = name == "var" || !name.starts_with(char::is_lowercase) || self.classes.contains(name);
        let Some(near) = nearest_name(name, NEAR_TYPES).filter(|_| !own && written.kind() == "type_identifier") else { return Ok(()) };
        let wrong = SourceDiagnostic::new(self.pos_of(written), format!("expected a type or a statement, found `{name}`"));
        Err(wrong.with_source_line(&self.text.text).with_hint(format!("did you mean `{near}`?")))
    }

    fn initial(&mut self, node: Node<'t>, of: &DataType) -> Result<TypedExpr, SourceDiagnostic> {
        if node.kind() == "array_initializer" { self.array_initializer(node, of) } else { self.expression(node) }
    }

    fn declare(&mut self, name: &str, of: &DataType) {
        if let Some(block) = self.locals.last_mut() {
            block.insert(name.to_owned(), of.clone());
        }
    }

    fn local(&self, name: &str) -> Option<&DataType> {
        self.locals.iter().rev().find_map(|block| block.get(name))
    }

    /// Runs something one level deeper, up to a limit, so that no text can exhaust the stack.
    fn nested<T>(&mut self, node: Node<'t>, inside: impl FnOnce(&mut Self) -> Result<T, SourceDiagnostic>) -> Result<T, SourceDiagnostic> {
        if self.depth >= MAX_DEPTH {
            let problem = format!("statements and expressions are nested more than {MAX_DEPTH} deep");
            return Err(SourceDiagnostic::new(self.pos_of(node), problem).with_source_line(&self.text.text));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }
}

/// What an unknown type may have been meant to be.
const NEAR_TYPES: [&str; 12] = ["boolean", "byte", "short", "char", "int", "long", "float", "double", "var", "return", "throw", "assert"];

const INT: DataType = DataType::Scalar(ScalarType::Int);
const BOOLEAN: DataType = DataType::Scalar(ScalarType::Boolean);
const DOUBLE: DataType = DataType::Scalar(ScalarType::Double);
