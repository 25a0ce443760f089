//! Expressions with their types.

use tree_sitter::Node;

use super::library::{math_function, return_type};
use super::literal;
use super::lowering::{CLowering, SourceFragment};
use super::types::CType;
use crate::error::Error;
use crate::file_pos::FilePos;
use crate::ir::{BinaryOp, DataType, ExprKind, ScalarType, TypedExpr, UnaryOp};

/// An expression and its C type.
pub(super) struct CExpr {
    pub(super) expression: TypedExpr,
    pub(super) c_type: CType,
}

impl CExpr {
    fn new(what: ExprKind, c_type: CType, place: FilePos) -> CExpr {
        CExpr { expression: TypedExpr { kind: what, data_type: c_type.to_data_type(), pos: place }, c_type }
    }

    fn number(value: impl ToString, scalar: ScalarType, place: FilePos) -> CExpr {
        CExpr::new(ExprKind::Number(value.to_string()), CType::Number(scalar), place)
    }

    /// Converts to another type, with a cast where that has a cost.
    pub(super) fn convert_to(self, to: &CType) -> TypedExpr {
        let (CType::Number(wanted), CType::Number(own)) = (to, &self.c_type) else { return self.expression };
        if wanted == own || (promotes_to_int(*wanted) && promotes_to_int(*own)) {
            return self.expression;
        }
        let of = DataType::Scalar(*wanted);
        match self.expression.kind {
            ExprKind::Number(text) => TypedExpr { kind: ExprKind::Number(text), data_type: of, pos: self.expression.pos },
            _ => TypedExpr { pos: self.expression.pos.clone(), kind: ExprKind::Cast(Box::new(self.expression)), data_type: of },
        }
    }
}

/// Whether integer promotion makes it an `int`.
fn promotes_to_int(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::Boolean | ScalarType::Byte | ScalarType::Short | ScalarType::Int)
}

/// The type after the usual arithmetic conversions.
fn common_type(a: ScalarType, b: ScalarType) -> ScalarType {
    let promoted = |scalar| if promotes_to_int(scalar) { ScalarType::Int } else { scalar };
    promoted(a).max(promoted(b))
}

impl CLowering {
    pub(super) fn expression(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        self.nested(node, piece, |reader| reader.expression_unchecked(node, piece))
    }

    fn expression_unchecked(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let text = piece.text_of(node);
        match node.kind() {
            "parenthesized_expression" | "extension_expression" => self.parenthesized(node, piece),
            "identifier" => self.identifier(text, place),
            "number_literal" => match literal::number(text) {
                Some((value, scalar)) => Ok(CExpr::number(value, scalar, place)),
                None => piece.error(node, format!("`{text}` is not a number")),
            },
            "char_literal" => Ok(CExpr::number(literal::character(text).unwrap_or(0), ScalarType::Int, place)),
            "string_literal" | "concatenated_string" => {
                let of = CType::Pointer(Box::new(CType::Number(ScalarType::Byte)));
                Ok(CExpr::new(ExprKind::StringLiteral(text.trim_matches('"').to_owned()), of, place))
            }
            "true" => Ok(CExpr::number(1, ScalarType::Boolean, place)),
            "false" => Ok(CExpr::number(0, ScalarType::Boolean, place)),
            "null" => Ok(CExpr::new(ExprKind::Number("0".into()), CType::Pointer(Box::new(CType::Void)), place)),
            "binary_expression" => self.binary(node, piece),
            "unary_expression" => self.unary(node, piece),
            "update_expression" => self.update(node, piece),
            "assignment_expression" => self.assignment(node, piece),
            "conditional_expression" => self.conditional(node, piece),
            "cast_expression" => self.cast(node, piece),
            "sizeof_expression" => self.sizeof_expr(node, piece),
            "subscript_expression" => self.element(node, piece),
            "field_expression" => self.field(node, piece),
            "pointer_expression" => self.pointer(node, piece),
            "call_expression" => self.call(node, piece),
            "compound_literal_expression" => {
                let of = self.type_descriptor(child(node, "type"), piece)?;
                let expression = self.initializer_list(child(node, "value"), &of, piece)?;
                Ok(CExpr { expression, c_type: of })
            }
            "comma_expression" => {
                let first = self.expression(child(node, "left"), piece)?;
                let last = self.expression(child(node, "right"), piece)?;
                let of = last.c_type;
                Ok(CExpr::new(ExprKind::InitializerList(vec![first.expression, last.expression]), of, place))
            }
            "alignof_expression" | "offsetof_expression" => Ok(CExpr::number(8, ScalarType::Long, place)),
            kind => piece.error(node, format!("`{}` is not supported", kind.replace('_', " "))),
        }
    }

    fn parenthesized(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let inner = node.named_children(&mut node.walk()).find(|child| child.kind() != "comment");
        match inner {
            Some(inner) if inner.kind() == "compound_statement" => piece.error(inner, "statement expressions are not supported"),
            Some(inner) => self.expression(inner, piece),
            None => piece.error(node, "expected an expression"),
        }
    }

    fn identifier(&mut self, name: &str, place: FilePos) -> Result<CExpr, Error> {
        if let Some(of) = self.type_of(name) {
            let of = of.clone();
            return Ok(CExpr::new(ExprKind::Variable(name.to_owned()), of, place));
        }
        if let Some(value) = self.enumerators.get(name) {
            return Ok(CExpr::number(value, ScalarType::Int, place));
        }
        if let Some(text) = self.macros.expand_object_macro(name)
            && let Some(found) = self.expand_expression(name, &text, &place)?
        {
            return Ok(found);
        }
        let of = match name {
            "RAND_MAX" | "INT_MAX" => return Ok(CExpr::number(i32::MAX, ScalarType::Int, place)),
            "M_PI" => return Ok(CExpr::number(std::f64::consts::PI, ScalarType::Double, place)),
            "NULL" => CType::Pointer(Box::new(CType::Void)),
            _ => CType::Unknown(name.to_owned()),
        };
        Ok(CExpr::new(ExprKind::Variable(name.to_owned()), of, place))
    }

    /// The expansion of a macro, if it is an expression.
    pub(super) fn expand_expression(&mut self, name: &str, text: &str, place: &FilePos) -> Result<Option<CExpr>, Error> {
        self.parse_expansion(name, text, ("int x = (", ");"), place, |reader, root, piece| {
            let value =
                root.named_child(0).and_then(|declaration| declaration.child_by_field_name("declarator")?.child_by_field_name("value"));
            match value {
                Some(value) => reader.expression(value, piece),
                None => piece.error(root, format!("the macro `{name}` is not an expression")),
            }
        })
    }

    fn binary(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let operator = child(node, "operator").kind();
        let Some(operation) = BinaryOp::from_operator(operator) else {
            return piece.error(node, format!("the operator `{operator}` is not supported"));
        };
        let a = self.expression(child(node, "left"), piece)?;
        let b = self.expression(child(node, "right"), piece)?;
        Ok(self.binary_expr(operation, a, b, place))
    }

    fn binary_expr(&mut self, operation: BinaryOp, a: CExpr, b: CExpr, place: FilePos) -> CExpr {
        let pointer = [&a.c_type, &b.c_type].into_iter().find(|of| of.element().is_some()).cloned();
        if let (Some(of), BinaryOp::Add | BinaryOp::Subtract) = (pointer, operation) {
            let of = CType::Pointer(Box::new(of.element().cloned().unwrap_or(CType::Void)));
            return CExpr::new(ExprKind::Binary(operation, Box::new(a.expression), Box::new(b.expression)), of, place);
        }
        let number = CType::Number(common_type(a.c_type.scalar(), b.c_type.scalar()));
        let (result, operand) = match operation {
            BinaryOp::And | BinaryOp::Or => (CType::Number(ScalarType::Int), None),
            BinaryOp::Shift(_) => (CType::Number(common_type(a.c_type.scalar(), ScalarType::Int)), None),
            _ if operation.is_comparison() => (CType::Number(ScalarType::Int), Some(number)),
            _ => (number.clone(), Some(number)),
        };
        let side = |side: CExpr| match &operand {
            Some(to) => Box::new(side.convert_to(to)),
            None => Box::new(side.expression),
        };
        CExpr::new(ExprKind::Binary(operation, side(a), side(b)), result, place)
    }

    fn unary(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let a = self.expression(child(node, "argument"), piece)?;
        let scalar = common_type(a.c_type.scalar(), ScalarType::Int);
        let (operation, of) = match child(node, "operator").kind() {
            "-" => (UnaryOp::Negate, CType::Number(scalar)),
            "~" => (UnaryOp::Complement, CType::Number(scalar)),
            "!" => (UnaryOp::Not, CType::Number(ScalarType::Int)),
            _ => return Ok(a),
        };
        Ok(CExpr::new(ExprKind::Unary(operation, Box::new(a.expression)), of, place))
    }

    fn update(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let target = self.expression(child(node, "argument"), piece)?;
        let with = if child(node, "operator").kind() == "--" { BinaryOp::Subtract } else { BinaryOp::Add };
        let of = target.c_type;
        let step = if of.element().is_some() { CType::Number(ScalarType::Int) } else { of.clone() };
        let one = TypedExpr { kind: ExprKind::Number("1".into()), data_type: step.to_data_type(), pos: place.clone() };
        Ok(CExpr::new(ExprKind::Assign { target: Box::new(target.expression), operator: Some(with), value: Box::new(one) }, of, place))
    }

    fn assignment(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let operator = child(node, "operator").kind();
        let with = match operator {
            "=" => None,
            _ => match BinaryOp::from_operator(operator.trim_end_matches('=')) {
                Some(operation) => Some(operation),
                None => return piece.error(node, format!("the operator `{operator}` is not supported")),
            },
        };
        let target = self.expression(child(node, "left"), piece)?;
        let value = self.expression(child(node, "right"), piece)?;
        let of = target.c_type;
        let wider =
            |of: &CType| matches!((of, &value.c_type), (CType::Number(a), CType::Number(b)) if common_type(*a, *b) != common_type(*a, *a));
        // A result of a wider type is narrowed only afterwards; shifts use the type of the shifted operand.
        let stays = with.is_some_and(|operation| matches!(operation, BinaryOp::Shift(_)) || wider(&of));
        let value = if stays { value.expression } else { value.convert_to(&of) };
        Ok(CExpr::new(ExprKind::Assign { target: Box::new(target.expression), operator: with, value: Box::new(value) }, of, place))
    }

    fn conditional(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let condition = self.expression(child(node, "condition"), piece)?;
        let a = match node.child_by_field_name("consequence") {
            Some(a) => self.expression(a, piece)?,
            None => self.expression(child(node, "condition"), piece)?,
        };
        let b = self.expression(child(node, "alternative"), piece)?;
        let of = match (&a.c_type, &b.c_type) {
            (CType::Number(x), CType::Number(y)) => CType::Number(common_type(*x, *y)),
            (of, _) => of.clone(),
        };
        let (a, b) = (Box::new(a.convert_to(&of)), Box::new(b.convert_to(&of)));
        Ok(CExpr::new(ExprKind::Conditional(Box::new(condition.expression), a, b), of, place))
    }

    fn cast(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let of = self.type_descriptor(child(node, "type"), piece)?;
        let value = self.expression(child(node, "value"), piece)?;
        let mut expression = value.convert_to(&of);
        // Allocations are counted in bytes, whatever the pointer type.
        if !matches!(expression.kind, ExprKind::Allocate(_)) {
            expression.data_type = of.to_data_type();
        }
        Ok(CExpr { expression, c_type: of })
    }

    fn sizeof_expr(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let of = match (node.child_by_field_name("type"), node.child_by_field_name("value")) {
            (Some(descriptor), _) => self.type_descriptor(descriptor, piece)?,
            (None, Some(value)) => self.sizeof_operand(value, piece)?,
            (None, None) => CType::Void,
        };
        let Some((bytes, lengths)) = self.structures.size(&of) else {
            return Ok(CExpr::new(ExprKind::Variable(format!("sizeof_{}", type_name(&of))), CType::Number(ScalarType::Long), place));
        };
        let mut product = CExpr::number(bytes, ScalarType::Long, place.clone());
        for length in lengths {
            let length = CExpr { c_type: CType::Number(ScalarType::Int), expression: length };
            product = self.binary_expr(BinaryOp::Multiply, product, length, place.clone());
        }
        Ok(product)
    }

    /// `sizeof x` and `sizeof(x)`, where `x` may be a type that was parsed as a variable.
    fn sizeof_operand(&mut self, value: Node, piece: SourceFragment) -> Result<CType, Error> {
        let name = piece.text_of(value).trim_matches(['(', ')', ' ']);
        match self.type_of(name) {
            None if self.typedefs.contains_key(name) || super::types::header_type(name).is_some() => self.named_type(name, piece, value),
            _ => Ok(self.expression(value, piece)?.c_type),
        }
    }

    fn element(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let array = self.expression(child(node, "argument"), piece)?;
        let index = self.expression(child(node, "index"), piece)?;
        let of = array.c_type.element().cloned().unwrap_or_else(|| CType::Unknown("element".into()));
        Ok(CExpr::new(ExprKind::Index(Box::new(array.expression), Box::new(index.expression)), of, place))
    }

    fn field(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let name = piece.text_of(child(node, "field")).to_owned();
        let of_what = self.expression(child(node, "argument"), piece)?;
        let of = self.structures.field(&of_what.c_type, &name).unwrap_or_else(|| CType::Unknown(name.clone()));
        Ok(CExpr::new(ExprKind::Field(Box::new(of_what.expression), name), of, place))
    }

    fn pointer(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let inner = self.expression(child(node, "argument"), piece)?;
        if child(node, "operator").kind() == "&" {
            let of = CType::Pointer(Box::new(inner.c_type));
            return Ok(CExpr::new(ExprKind::AddressOf(Box::new(inner.expression)), of, place));
        }
        let of = inner.c_type.element().cloned().unwrap_or_else(|| CType::Unknown("element".into()));
        let first = TypedExpr { kind: ExprKind::Number("0".into()), data_type: DataType::Scalar(ScalarType::Int), pos: place.clone() };
        Ok(CExpr::new(ExprKind::Index(Box::new(inner.expression), Box::new(first)), of, place))
    }

    fn call(&mut self, node: Node, piece: SourceFragment) -> Result<CExpr, Error> {
        let place = piece.pos_of(node);
        let function = child(node, "function");
        let name = piece.text_of(function);
        let list = child(node, "arguments");
        let nodes: Vec<Node> = list.named_children(&mut list.walk()).filter(|child| child.kind() != "comment").collect();
        if function.kind() == "identifier" && self.macros.is_defined(name) {
            let texts: Vec<String> = nodes.iter().map(|&argument| piece.text_of(argument).to_owned()).collect();
            if let Some(text) = self.macros.expand_function_macro(name, &texts)
                && let Some(found) = self.expand_expression(name, &text, &place)?
            {
                return Ok(found);
            }
        }
        if let Some(of) = self.cast_to(function, piece)?
            && let [value] = nodes.as_slice()
        {
            let expression = self.expression(*value, piece)?.convert_to(&of);
            return Ok(CExpr { expression, c_type: of });
        }
        let mut arguments = Vec::new();
        for argument in nodes {
            match argument.kind() {
                "type_descriptor" => {}
                _ => arguments.push(self.expression(argument, piece)?),
            }
        }
        Ok(self.function_call(name, arguments, place))
    }

    /// The type of a cast `(name)(…)`, which is parsed as a call as long as the name is not known to be a type.
    fn cast_to(&mut self, function: Node, piece: SourceFragment) -> Result<Option<CType>, Error> {
        if function.kind() != "parenthesized_expression" {
            return Ok(None);
        }
        let name = piece.text_of(function).trim_matches(['(', ')', ' ']);
        if self.type_of(name).is_some() || self.functions.contains_key(name) {
            return Ok(None);
        }
        Ok(match self.named_type(name, piece, function)? {
            CType::Unknown(_) => None,
            of => Some(of),
        })
    }

    fn function_call(&mut self, name: &str, arguments: Vec<CExpr>, place: FilePos) -> CExpr {
        if !self.functions.contains_key(name) {
            if let Some((known, scalar)) = math_function(name) {
                let to = CType::Number(scalar);
                let arguments = arguments.into_iter().map(|argument| argument.convert_to(&to)).collect();
                return CExpr::new(ExprKind::Call(known.to_owned(), arguments), to, place);
            }
            if matches!(name, "malloc" | "calloc" | "aligned_alloc") {
                return self.allocation(name, arguments, place);
            }
        }
        let of = self.functions.get(name).cloned().unwrap_or_else(|| return_type(name));
        let arguments = arguments.into_iter().map(|argument| argument.expression).collect();
        CExpr::new(ExprKind::Call(name.to_owned(), arguments), of, place)
    }

    fn allocation(&mut self, name: &str, mut arguments: Vec<CExpr>, place: FilePos) -> CExpr {
        let of = CType::Pointer(Box::new(CType::Number(ScalarType::Byte)));
        let bytes = match (name, arguments.pop(), arguments.pop()) {
            ("calloc", Some(size), Some(count)) => self.binary_expr(BinaryOp::Multiply, count, size, place.clone()).expression,
            (_, Some(size), _) => size.expression,
            (_, None, _) => CExpr::number(0, ScalarType::Long, place.clone()).expression,
        };
        CExpr::new(ExprKind::Allocate(vec![bytes]), of, place)
    }
}

impl BinaryOp {
    fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual | BinaryOp::Equal | BinaryOp::NotEqual
        )
    }
}

/// The child with a field name, or the node itself if it is missing, which only happens in trees with errors.
fn child<'t>(node: Node<'t>, role: &str) -> Node<'t> {
    node.child_by_field_name(role).unwrap_or(node)
}

fn type_name(of: &CType) -> &str {
    match of {
        CType::Struct(name) | CType::Unknown(name) => name,
        _ => "type",
    }
}
