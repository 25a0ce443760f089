//! Declarations: types, variables and functions.

use tree_sitter::Node;

use super::constant::constant;
use super::reader::{Piece, Reader};
use super::types::{CType, number_of_header, number_of_words};
use crate::error::Error;
use crate::routine::{Action, Expression, Routine, Statement, Variable};

/// What a declarator declares.
struct Declared {
    name: String,
    of: CType,
    is_function: bool,
}

impl Reader {
    /// The variables that a declaration at any level declares; types and functions are taken up.
    pub(super) fn declaration(&mut self, node: Node, piece: Piece) -> Result<Vec<Variable>, Error> {
        let Some(type_node) = node.child_by_field_name("type") else { return Ok(Vec::new()) };
        let base = self.base_type(type_node, piece)?;
        let constant = node.children(&mut node.walk()).any(|child| child.kind() == "type_qualifier" && piece.text_of(child) == "const");
        let mut variables = Vec::new();
        for declarator in node.children_by_field_name("declarator", &mut node.walk()) {
            let (inner, value) = match declarator.kind() {
                "init_declarator" => {
                    (declarator.child_by_field_name("declarator").unwrap_or(declarator), declarator.child_by_field_name("value"))
                }
                _ => (declarator, None),
            };
            let Some(declared) = self.declarator(inner, base.clone(), piece)? else { continue };
            if node.kind() == "type_definition" {
                self.typedefs.insert(declared.name, declared.of);
            } else if declared.is_function {
                self.functions.insert(declared.name, declared.of);
            } else {
                variables.push(self.variable(declared, value, constant, declarator, piece)?);
            }
        }
        Ok(variables)
    }

    fn variable(&mut self, declared: Declared, value: Option<Node>, constant: bool, node: Node, piece: Piece) -> Result<Variable, Error> {
        let Declared { name, of, .. } = declared;
        self.declare(&name, of.clone());
        let value = match value {
            Some(value) if value.kind() == "initializer_list" => Some(self.list(value, &of, piece)?),
            Some(value) => Some(self.expression(value, piece)?.converted(&of)),
            None => None,
        };
        Ok(Variable { name, of: of.plain(), value, constant, place: piece.place(node) })
    }

    /// The statements that a declaration inside a function is.
    pub(super) fn local(&mut self, node: Node, piece: Piece) -> Result<Vec<Statement>, Error> {
        let place = piece.place(node);
        let variables = self.declaration(node, piece)?;
        Ok(variables.into_iter().map(|variable| Statement { what: Action::Declare(variable), place: place.clone() }).collect())
    }

    /// Takes up a function with its body.
    pub(super) fn function(&mut self, node: Node, piece: Piece) -> Result<(), Error> {
        let (Some(type_node), Some(declarator), Some(body)) =
            (node.child_by_field_name("type"), node.child_by_field_name("declarator"), node.child_by_field_name("body"))
        else {
            return piece.refuse(node, "a function without a type");
        };
        let base = self.base_type(type_node, piece)?;
        let Some(declared) = self.declarator(declarator, base, piece)? else { return piece.refuse(node, "a function without a name") };
        let returns = (!matches!(declared.of, CType::Nothing)).then(|| declared.of.plain());
        self.functions.insert(declared.name.clone(), declared.of);
        self.scopes.push(Default::default());
        let parameters = self.parameters(declarator, piece);
        let body = parameters.and_then(|parameters| Ok((parameters, self.block(body, piece)?)));
        self.scopes.pop();
        let (parameters, body) = body?;
        let routine = Routine { name: declared.name, parameters, returns, body, place: piece.place(node) };
        self.program.routines.push(routine);
        Ok(())
    }

    fn parameters(&mut self, declarator: Node, piece: Piece) -> Result<Vec<Variable>, Error> {
        let mut inner = Some(declarator);
        while let Some(node) = inner.filter(|node| node.kind() != "function_declarator") {
            inner = node.child_by_field_name("declarator").or_else(|| node.named_child(0));
        }
        let Some(list) = inner.and_then(|node| node.child_by_field_name("parameters")) else { return Ok(Vec::new()) };
        let mut parameters = Vec::new();
        for node in list.named_children(&mut list.walk()).filter(|node| node.kind() == "parameter_declaration") {
            let Some(type_node) = node.child_by_field_name("type") else { continue };
            let base = self.base_type(type_node, piece)?;
            let declared = match node.child_by_field_name("declarator") {
                Some(declarator) => self.declarator(declarator, base, piece)?,
                None if matches!(base, CType::Nothing) => None,
                None => Some(Declared { name: String::new(), of: base, is_function: false }),
            };
            let Some(Declared { name, of, .. }) = declared else { continue };
            self.declare(&name, of.clone());
            parameters.push(Variable { name, of: of.plain(), value: None, constant: false, place: piece.place(node) });
        }
        Ok(parameters)
    }

    fn declarator(&mut self, node: Node, of: CType, piece: Piece) -> Result<Option<Declared>, Error> {
        self.deeper(node, piece, |reader| {
            let inner = node.child_by_field_name("declarator");
            match node.kind() {
                "identifier" | "field_identifier" | "type_identifier" | "primitive_type" => {
                    Ok(Some(Declared { name: piece.text_of(node).to_owned(), of, is_function: false }))
                }
                "pointer_declarator" | "abstract_pointer_declarator" => reader.declarator_within(inner, of.pointed_to(), piece),
                "array_declarator" | "abstract_array_declarator" => {
                    let length = match node.child_by_field_name("size").filter(|size| size.kind() != "*") {
                        Some(size) => Some(reader.expression(size, piece)?.expression),
                        None => None,
                    };
                    reader.declarator_within(inner, of.times(length), piece)
                }
                "function_declarator" | "abstract_function_declarator" => {
                    let is_pointer = inner.is_some_and(|inner| inner.kind().ends_with("parenthesized_declarator"));
                    let of = if is_pointer { CType::Unknown("function".into()) } else { of };
                    let declared = reader.declarator_within(inner, of, piece)?;
                    Ok(declared.map(|declared| Declared { is_function: !is_pointer, ..declared }))
                }
                _ => {
                    let inner = inner.or_else(|| {
                        node.named_children(&mut node.walk())
                            .find(|child| child.kind().ends_with("declarator") || child.kind() == "identifier")
                    });
                    reader.declarator_within(inner, of, piece)
                }
            }
        })
    }

    fn declarator_within(&mut self, inner: Option<Node>, of: CType, piece: Piece) -> Result<Option<Declared>, Error> {
        match inner {
            Some(inner) => self.declarator(inner, of, piece),
            None => Ok(Some(Declared { name: String::new(), of, is_function: false })),
        }
    }

    /// The type that a cast or `sizeof` names.
    pub(super) fn type_descriptor(&mut self, node: Node, piece: Piece) -> Result<CType, Error> {
        let Some(type_node) = node.child_by_field_name("type") else { return Ok(CType::Unknown(piece.text_of(node).to_owned())) };
        let base = self.base_type(type_node, piece)?;
        match node.child_by_field_name("declarator") {
            Some(declarator) => Ok(self.declarator(declarator, base, piece)?.map_or(CType::Nothing, |declared| declared.of)),
            None => Ok(base),
        }
    }

    /// The type before the declarators.
    pub(super) fn base_type(&mut self, node: Node, piece: Piece) -> Result<CType, Error> {
        let text = piece.text_of(node);
        match node.kind() {
            "struct_specifier" | "union_specifier" => self.structure(node, piece),
            "enum_specifier" => {
                self.enumeration(node, piece)?;
                Ok(CType::Number(crate::routine::Scalar::Int))
            }
            _ => self.named_type(text, piece, node),
        }
    }

    /// The type of a name, or of words as `unsigned long`.
    pub(super) fn named_type(&mut self, name: &str, piece: Piece, node: Node) -> Result<CType, Error> {
        if let Some(known) = number_of_words(name) {
            return Ok(known);
        }
        if let Some(known) = self.typedefs.get(name) {
            return Ok(known.clone());
        }
        if let Some(text) = self.macros.constant(name) {
            if !self.macros.enter(name, &text) {
                return piece.refuse(node, format!("the macro `{name}` stands for more than can be read"));
            }
            let of = self.deeper(node, piece, |reader| reader.named_type(&text, piece, node));
            self.macros.leave();
            return of;
        }
        Ok(number_of_header(name).unwrap_or_else(|| CType::Unknown(name.to_owned())))
    }

    fn structure(&mut self, node: Node, piece: Piece) -> Result<CType, Error> {
        let name = match node.child_by_field_name("name") {
            Some(name) => piece.text_of(name).to_owned(),
            None => {
                self.nameless += 1;
                format!("structure {}", self.nameless)
            }
        };
        if let Some(body) = node.child_by_field_name("body") {
            let mut fields = Vec::new();
            for field in body.named_children(&mut body.walk()).filter(|field| field.kind() == "field_declaration") {
                let Some(type_node) = field.child_by_field_name("type") else { continue };
                let base = self.deeper(field, piece, |reader| reader.base_type(type_node, piece))?;
                for declarator in field.children_by_field_name("declarator", &mut field.walk()) {
                    if let Some(declared) = self.declarator(declarator, base.clone(), piece)? {
                        fields.push((declared.name, declared.of));
                    }
                }
            }
            self.structures.define(&name, fields);
        }
        Ok(CType::Structure(name))
    }

    fn enumeration(&mut self, node: Node, piece: Piece) -> Result<(), Error> {
        let Some(body) = node.child_by_field_name("body") else { return Ok(()) };
        let mut next = 0i64;
        for item in body.named_children(&mut body.walk()).filter(|item| item.kind() == "enumerator") {
            if let Some(value) = item.child_by_field_name("value") {
                next = constant(&self.expression(value, piece)?.expression).unwrap_or(next);
            }
            let name = item.child_by_field_name("name").map_or("", |name| piece.text_of(name));
            self.enumerators.insert(name.to_owned(), next);
            next = next.saturating_add(1);
        }
        Ok(())
    }

    /// `{ a, b, … }`, with the element's or the field's types.
    pub(super) fn list(&mut self, node: Node, of: &CType, piece: Piece) -> Result<Expression, Error> {
        self.deeper(node, piece, |reader| {
            let mut entries = Vec::new();
            for entry in node.named_children(&mut node.walk()).filter(|entry| entry.kind() != "comment") {
                let value = entry.child_by_field_name("value").unwrap_or(entry);
                let inner = of.element().cloned().unwrap_or_else(|| CType::Unknown("field".into()));
                entries.push(match value.kind() {
                    "initializer_list" => reader.list(value, &inner, piece)?,
                    _ => reader.expression(value, piece)?.converted(&inner),
                });
            }
            Ok(Expression { what: crate::routine::Computation::List(entries), of: of.plain(), place: piece.place(node) })
        })
    }
}
