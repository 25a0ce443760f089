//! Declarations: types, variables and functions.

use tree_sitter::Node;

use super::constant::constant_value;
use super::lowering::{CLowering, SourceFragment};
use super::types::{CType, builtin_type, header_type};
use crate::error::Error;
use crate::ir::{IrRoutine, IrVariable, Statement, StatementKind, TypedExpr};

/// What a declarator declares.
struct CDeclarator {
    name: String,
    c_type: CType,
    is_function: bool,
}

impl CLowering {
    /// The variables of a declaration at any level; types and functions are recorded.
    pub(super) fn declaration(&mut self, node: Node, piece: SourceFragment) -> Result<Vec<IrVariable>, Error> {
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
                self.typedefs.insert(declared.name, declared.c_type);
            } else if declared.is_function {
                self.functions.insert(declared.name, declared.c_type);
            } else {
                variables.push(self.variable(declared, value, constant, declarator, piece)?);
            }
        }
        Ok(variables)
    }

    fn variable(
        &mut self,
        declared: CDeclarator,
        value: Option<Node>,
        constant: bool,
        node: Node,
        piece: SourceFragment,
    ) -> Result<IrVariable, Error> {
        let CDeclarator { name, c_type: of, .. } = declared;
        self.declare(&name, of.clone());
        let value = match value {
            Some(value) if value.kind() == "initializer_list" => Some(self.initializer_list(value, &of, piece)?),
            Some(value) => Some(self.expression(value, piece)?.convert_to(&of)),
            None => None,
        };
        Ok(IrVariable { name, data_type: of.to_data_type(), initializer: value, is_constant: constant, pos: piece.pos_of(node) })
    }

    /// A declaration inside a function as statements.
    pub(super) fn local_declaration(&mut self, node: Node, piece: SourceFragment) -> Result<Vec<Statement>, Error> {
        let place = piece.pos_of(node);
        let variables = self.declaration(node, piece)?;
        Ok(variables.into_iter().map(|variable| Statement { kind: StatementKind::Declare(variable), pos: place.clone() }).collect())
    }

    /// Adds a function definition to the program.
    pub(super) fn function(&mut self, node: Node, piece: SourceFragment) -> Result<(), Error> {
        let (Some(type_node), Some(declarator), Some(body)) =
            (node.child_by_field_name("type"), node.child_by_field_name("declarator"), node.child_by_field_name("body"))
        else {
            return piece.error(node, "a function without a type");
        };
        let base = self.base_type(type_node, piece)?;
        let Some(declared) = self.declarator(declarator, base, piece)? else { return piece.error(node, "a function without a name") };
        let returns = (!matches!(declared.c_type, CType::Void)).then(|| declared.c_type.to_data_type());
        self.functions.insert(declared.name.clone(), declared.c_type);
        self.scopes.push(Default::default());
        let parameters = self.parameters(declarator, piece);
        let body = parameters.and_then(|parameters| Ok((parameters, self.block(body, piece)?)));
        self.scopes.pop();
        let (parameters, body) = body?;
        let routine = IrRoutine { name: declared.name, parameters, return_type: returns, body, pos: piece.pos_of(node) };
        self.program.routines.push(routine);
        Ok(())
    }

    fn parameters(&mut self, declarator: Node, piece: SourceFragment) -> Result<Vec<IrVariable>, Error> {
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
                None if matches!(base, CType::Void) => None,
                None => Some(CDeclarator { name: String::new(), c_type: base, is_function: false }),
            };
            let Some(CDeclarator { name, c_type: of, .. }) = declared else { continue };
            self.declare(&name, of.clone());
            parameters.push(IrVariable {
                name,
                data_type: of.to_data_type(),
                initializer: None,
                is_constant: false,
                pos: piece.pos_of(node),
            });
        }
        Ok(parameters)
    }

    fn declarator(&mut self, node: Node, of: CType, piece: SourceFragment) -> Result<Option<CDeclarator>, Error> {
        self.nested(node, piece, |reader| {
            let inner = node.child_by_field_name("declarator");
            match node.kind() {
                "identifier" | "field_identifier" | "type_identifier" | "primitive_type" => {
                    Ok(Some(CDeclarator { name: piece.text_of(node).to_owned(), c_type: of, is_function: false }))
                }
                "pointer_declarator" | "abstract_pointer_declarator" => reader.declarator_within(inner, of.into_pointer(), piece),
                "array_declarator" | "abstract_array_declarator" => {
                    let length = match node.child_by_field_name("size").filter(|size| size.kind() != "*") {
                        Some(size) => Some(reader.expression(size, piece)?.expression),
                        None => None,
                    };
                    reader.declarator_within(inner, of.into_array(length), piece)
                }
                "function_declarator" | "abstract_function_declarator" => {
                    let is_pointer = inner.is_some_and(|inner| inner.kind().ends_with("parenthesized_declarator"));
                    let of = if is_pointer { CType::Unknown("function".into()) } else { of };
                    let declared = reader.declarator_within(inner, of, piece)?;
                    Ok(declared.map(|declared| CDeclarator { is_function: !is_pointer, ..declared }))
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

    fn declarator_within(&mut self, inner: Option<Node>, of: CType, piece: SourceFragment) -> Result<Option<CDeclarator>, Error> {
        match inner {
            Some(inner) => self.declarator(inner, of, piece),
            None => Ok(Some(CDeclarator { name: String::new(), c_type: of, is_function: false })),
        }
    }

    /// The type of a cast or `sizeof`.
    pub(super) fn type_descriptor(&mut self, node: Node, piece: SourceFragment) -> Result<CType, Error> {
        let Some(type_node) = node.child_by_field_name("type") else { return Ok(CType::Unknown(piece.text_of(node).to_owned())) };
        let base = self.base_type(type_node, piece)?;
        match node.child_by_field_name("declarator") {
            Some(declarator) => Ok(self.declarator(declarator, base, piece)?.map_or(CType::Void, |declared| declared.c_type)),
            None => Ok(base),
        }
    }

    /// The type specifier of a declaration.
    pub(super) fn base_type(&mut self, node: Node, piece: SourceFragment) -> Result<CType, Error> {
        let text = piece.text_of(node);
        match node.kind() {
            "struct_specifier" | "union_specifier" => self.structure(node, piece),
            "enum_specifier" => {
                self.enumeration(node, piece)?;
                Ok(CType::Number(crate::ir::ScalarType::Int))
            }
            _ => self.named_type(text, piece, node),
        }
    }

    /// The type of a name, or of words such as `unsigned long`.
    pub(super) fn named_type(&mut self, name: &str, piece: SourceFragment, node: Node) -> Result<CType, Error> {
        if let Some(known) = builtin_type(name) {
            return Ok(known);
        }
        if let Some(known) = self.typedefs.get(name) {
            return Ok(known.clone());
        }
        if let Some(text) = self.macros.expand_object_macro(name) {
            if !self.macros.begin_expansion(name, &text) {
                return piece.error(node, format!("the expansion of the macro `{name}` is too large"));
            }
            let of = self.nested(node, piece, |reader| reader.named_type(&text, piece, node));
            self.macros.end_expansion();
            return of;
        }
        Ok(header_type(name).unwrap_or_else(|| CType::Unknown(name.to_owned())))
    }

    fn structure(&mut self, node: Node, piece: SourceFragment) -> Result<CType, Error> {
        let name = match node.child_by_field_name("name") {
            Some(name) => piece.text_of(name).to_owned(),
            None => {
                self.n_anonymous_structs += 1;
                format!("structure {}", self.n_anonymous_structs)
            }
        };
        if let Some(body) = node.child_by_field_name("body") {
            let mut fields = Vec::new();
            for field in body.named_children(&mut body.walk()).filter(|field| field.kind() == "field_declaration") {
                let Some(type_node) = field.child_by_field_name("type") else { continue };
                let base = self.nested(field, piece, |reader| reader.base_type(type_node, piece))?;
                for declarator in field.children_by_field_name("declarator", &mut field.walk()) {
                    if let Some(declared) = self.declarator(declarator, base.clone(), piece)? {
                        fields.push((declared.name, declared.c_type));
                    }
                }
            }
            self.structures.define(&name, fields);
        }
        Ok(CType::Struct(name))
    }

    fn enumeration(&mut self, node: Node, piece: SourceFragment) -> Result<(), Error> {
        let Some(body) = node.child_by_field_name("body") else { return Ok(()) };
        let mut next = 0i64;
        for item in body.named_children(&mut body.walk()).filter(|item| item.kind() == "enumerator") {
            if let Some(value) = item.child_by_field_name("value") {
                next = constant_value(&self.expression(value, piece)?.expression).unwrap_or(next);
            }
            let name = item.child_by_field_name("name").map_or("", |name| piece.text_of(name));
            self.enumerators.insert(name.to_owned(), next);
            next = next.saturating_add(1);
        }
        Ok(())
    }

    /// `{ a, b, … }`, with the types of the elements or fields.
    pub(super) fn initializer_list(&mut self, node: Node, of: &CType, piece: SourceFragment) -> Result<TypedExpr, Error> {
        self.nested(node, piece, |reader| {
            let mut entries = Vec::new();
            for entry in node.named_children(&mut node.walk()).filter(|entry| entry.kind() != "comment") {
                let value = entry.child_by_field_name("value").unwrap_or(entry);
                let inner = of.element().cloned().unwrap_or_else(|| CType::Unknown("field".into()));
                entries.push(match value.kind() {
                    "initializer_list" => reader.initializer_list(value, &inner, piece)?,
                    _ => reader.expression(value, piece)?.convert_to(&inner),
                });
            }
            Ok(TypedExpr { kind: crate::ir::ExprKind::InitializerList(entries), data_type: of.to_data_type(), pos: piece.pos_of(node) })
        })
    }
}
