//! Expressions, each with its type.

use tree_sitter::Node;

use super::library::{mathematics, returned_by};
use super::literal;
use super::reader::{Piece, Reader};
use super::types::CType;
use crate::error::Error;
use crate::place::Place;
use crate::routine::{Binary, Computation, Expression, Scalar, Type, Unary};

/// An expression, and its type in C.
pub(super) struct Typed {
    pub(super) expression: Expression,
    pub(super) of: CType,
}

impl Typed {
    fn new(what: Computation, of: CType, place: Place) -> Typed {
        Typed { expression: Expression { what, of: of.plain(), place }, of }
    }

    fn number(value: impl ToString, scalar: Scalar, place: Place) -> Typed {
        Typed::new(Computation::Number(value.to_string()), CType::Number(scalar), place)
    }

    /// The same as a value of another type, with a conversion where that computes.
    pub(super) fn converted(self, to: &CType) -> Expression {
        let (CType::Number(wanted), CType::Number(own)) = (to, &self.of) else { return self.expression };
        if wanted == own || (is_small(*wanted) && is_small(*own)) {
            return self.expression;
        }
        let of = Type::Scalar(*wanted);
        match self.expression.what {
            Computation::Number(text) => Expression { what: Computation::Number(text), of, place: self.expression.place },
            _ => Expression { place: self.expression.place.clone(), what: Computation::Convert(Box::new(self.expression)), of },
        }
    }
}

/// Whether it is computed with as an `int`.
fn is_small(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Boolean | Scalar::Byte | Scalar::Short | Scalar::Int)
}

/// The type that two numbers are computed in.
fn common(a: Scalar, b: Scalar) -> Scalar {
    let promoted = |scalar| if is_small(scalar) { Scalar::Int } else { scalar };
    promoted(a).max(promoted(b))
}

impl Reader {
    /// An expression.
    pub(super) fn expression(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        self.deeper(node, piece, |reader| reader.any_expression(node, piece))
    }

    fn any_expression(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let text = piece.text_of(node);
        match node.kind() {
            "parenthesized_expression" | "extension_expression" => self.inner(node, piece),
            "identifier" => self.identifier(text, place),
            "number_literal" => match literal::number(text) {
                Some((value, scalar)) => Ok(Typed::number(value, scalar, place)),
                None => piece.refuse(node, format!("`{text}` is no number")),
            },
            "char_literal" => Ok(Typed::number(literal::character(text).unwrap_or(0), Scalar::Int, place)),
            "string_literal" | "concatenated_string" => {
                let of = CType::Pointer(Box::new(CType::Number(Scalar::Byte)));
                Ok(Typed::new(Computation::Text(text.trim_matches('"').to_owned()), of, place))
            }
            "true" => Ok(Typed::number(1, Scalar::Boolean, place)),
            "false" => Ok(Typed::number(0, Scalar::Boolean, place)),
            "null" => Ok(Typed::new(Computation::Number("0".into()), CType::Pointer(Box::new(CType::Nothing)), place)),
            "binary_expression" => self.binary(node, piece),
            "unary_expression" => self.unary(node, piece),
            "update_expression" => self.update(node, piece),
            "assignment_expression" => self.assignment(node, piece),
            "conditional_expression" => self.choice(node, piece),
            "cast_expression" => self.cast(node, piece),
            "sizeof_expression" => self.size_of(node, piece),
            "subscript_expression" => self.element(node, piece),
            "field_expression" => self.field(node, piece),
            "pointer_expression" => self.pointer(node, piece),
            "call_expression" => self.call(node, piece),
            "compound_literal_expression" => {
                let of = self.type_descriptor(child(node, "type"), piece)?;
                let expression = self.list(child(node, "value"), &of, piece)?;
                Ok(Typed { expression, of })
            }
            "comma_expression" => {
                let first = self.expression(child(node, "left"), piece)?;
                let last = self.expression(child(node, "right"), piece)?;
                let of = last.of;
                Ok(Typed::new(Computation::List(vec![first.expression, last.expression]), of, place))
            }
            "alignof_expression" | "offsetof_expression" => Ok(Typed::number(8, Scalar::Long, place)),
            kind => piece.refuse(node, format!("`{}` is not understood in a model", kind.replace('_', " "))),
        }
    }

    fn inner(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let inner = node.named_children(&mut node.walk()).find(|child| child.kind() != "comment");
        match inner {
            Some(inner) if inner.kind() == "compound_statement" => {
                piece.refuse(inner, "statements inside an expression are not understood in a model")
            }
            Some(inner) => self.expression(inner, piece),
            None => piece.refuse(node, "expected an expression"),
        }
    }

    fn identifier(&mut self, name: &str, place: Place) -> Result<Typed, Error> {
        if let Some(of) = self.type_of(name) {
            let of = of.clone();
            return Ok(Typed::new(Computation::Variable(name.to_owned()), of, place));
        }
        if let Some(value) = self.enumerators.get(name) {
            return Ok(Typed::number(value, Scalar::Int, place));
        }
        if let Some(text) = self.macros.constant(name)
            && let Some(found) = self.expanded(name, &text, &place)?
        {
            return Ok(found);
        }
        let of = match name {
            "RAND_MAX" | "INT_MAX" => return Ok(Typed::number(i32::MAX, Scalar::Int, place)),
            "M_PI" => return Ok(Typed::number(std::f64::consts::PI, Scalar::Double, place)),
            "NULL" => CType::Pointer(Box::new(CType::Nothing)),
            _ => CType::Unknown(name.to_owned()),
        };
        Ok(Typed::new(Computation::Variable(name.to_owned()), of, place))
    }

    /// What a macro stands for, if that is an expression.
    pub(super) fn expanded(&mut self, name: &str, text: &str, place: &Place) -> Result<Option<Typed>, Error> {
        self.expansion(name, text, ("int x = (", ");"), place, |reader, root, piece| {
            let value =
                root.named_child(0).and_then(|declaration| declaration.child_by_field_name("declarator")?.child_by_field_name("value"));
            match value {
                Some(value) => reader.expression(value, piece),
                None => piece.refuse(root, format!("the macro `{name}` is no expression")),
            }
        })
    }

    fn binary(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let operator = child(node, "operator").kind();
        let Some(operation) = Binary::of_sign(operator) else { return piece.refuse(node, format!("`{operator}` is not understood")) };
        let a = self.expression(child(node, "left"), piece)?;
        let b = self.expression(child(node, "right"), piece)?;
        Ok(self.operated(operation, a, b, place))
    }

    fn operated(&mut self, operation: Binary, a: Typed, b: Typed, place: Place) -> Typed {
        let pointer = [&a.of, &b.of].into_iter().find(|of| of.element().is_some()).cloned();
        if let (Some(of), Binary::Add | Binary::Subtract) = (pointer, operation) {
            let of = CType::Pointer(Box::new(of.element().cloned().unwrap_or(CType::Nothing)));
            return Typed::new(Computation::Binary(operation, Box::new(a.expression), Box::new(b.expression)), of, place);
        }
        let number = CType::Number(common(a.of.scalar(), b.of.scalar()));
        let (result, operand) = match operation {
            Binary::And | Binary::Or => (CType::Number(Scalar::Int), None),
            Binary::Shift(_) => (CType::Number(common(a.of.scalar(), Scalar::Int)), None),
            _ if operation.is_comparison() => (CType::Number(Scalar::Int), Some(number)),
            _ => (number.clone(), Some(number)),
        };
        let side = |side: Typed| match &operand {
            Some(to) => Box::new(side.converted(to)),
            None => Box::new(side.expression),
        };
        Typed::new(Computation::Binary(operation, side(a), side(b)), result, place)
    }

    fn unary(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let a = self.expression(child(node, "argument"), piece)?;
        let scalar = common(a.of.scalar(), Scalar::Int);
        let (operation, of) = match child(node, "operator").kind() {
            "-" => (Unary::Negative, CType::Number(scalar)),
            "~" => (Unary::Complement, CType::Number(scalar)),
            "!" => (Unary::Not, CType::Number(Scalar::Int)),
            _ => return Ok(a),
        };
        Ok(Typed::new(Computation::Unary(operation, Box::new(a.expression)), of, place))
    }

    fn update(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let target = self.expression(child(node, "argument"), piece)?;
        let with = if child(node, "operator").kind() == "--" { Binary::Subtract } else { Binary::Add };
        let of = target.of;
        let step = if of.element().is_some() { CType::Number(Scalar::Int) } else { of.clone() };
        let one = Expression { what: Computation::Number("1".into()), of: step.plain(), place: place.clone() };
        Ok(Typed::new(Computation::Assign { target: Box::new(target.expression), with: Some(with), value: Box::new(one) }, of, place))
    }

    fn assignment(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let operator = child(node, "operator").kind();
        let with = match operator {
            "=" => None,
            _ => match Binary::of_sign(operator.trim_end_matches('=')) {
                Some(operation) => Some(operation),
                None => return piece.refuse(node, format!("`{operator}` is not understood")),
            },
        };
        let target = self.expression(child(node, "left"), piece)?;
        let value = self.expression(child(node, "right"), piece)?;
        let of = target.of;
        let wider = |of: &CType| matches!((of, &value.of), (CType::Number(a), CType::Number(b)) if common(*a, *b) != common(*a, *a));
        // What is computed in a wider type is narrowed only afterwards; bits are shifted in the type of what is shifted.
        let stays = with.is_some_and(|operation| matches!(operation, Binary::Shift(_)) || wider(&of));
        let value = if stays { value.expression } else { value.converted(&of) };
        Ok(Typed::new(Computation::Assign { target: Box::new(target.expression), with, value: Box::new(value) }, of, place))
    }

    fn choice(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let condition = self.expression(child(node, "condition"), piece)?;
        let a = match node.child_by_field_name("consequence") {
            Some(a) => self.expression(a, piece)?,
            None => self.expression(child(node, "condition"), piece)?,
        };
        let b = self.expression(child(node, "alternative"), piece)?;
        let of = match (&a.of, &b.of) {
            (CType::Number(x), CType::Number(y)) => CType::Number(common(*x, *y)),
            (of, _) => of.clone(),
        };
        let (a, b) = (Box::new(a.converted(&of)), Box::new(b.converted(&of)));
        Ok(Typed::new(Computation::Choice(Box::new(condition.expression), a, b), of, place))
    }

    fn cast(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let of = self.type_descriptor(child(node, "type"), piece)?;
        let value = self.expression(child(node, "value"), piece)?;
        let mut expression = value.converted(&of);
        // What is allocated is counted in bytes, whatever it is used for.
        if !matches!(expression.what, Computation::New(_)) {
            expression.of = of.plain();
        }
        Ok(Typed { expression, of })
    }

    fn size_of(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let of = match (node.child_by_field_name("type"), node.child_by_field_name("value")) {
            (Some(descriptor), _) => self.type_descriptor(descriptor, piece)?,
            (None, Some(value)) => self.size_of_value(value, piece)?,
            (None, None) => CType::Nothing,
        };
        let Some((bytes, lengths)) = self.structures.size(&of) else {
            return Ok(Typed::new(Computation::Variable(format!("sizeof_{}", name_of_type(&of))), CType::Number(Scalar::Long), place));
        };
        let mut product = Typed::number(bytes, Scalar::Long, place.clone());
        for length in lengths {
            let length = Typed { of: CType::Number(Scalar::Int), expression: length };
            product = self.operated(Binary::Multiply, product, length, place.clone());
        }
        Ok(product)
    }

    /// `sizeof x` and `sizeof(x)`, where `x` may be a type that was taken for a variable.
    fn size_of_value(&mut self, value: Node, piece: Piece) -> Result<CType, Error> {
        let name = piece.text_of(value).trim_matches(['(', ')', ' ']);
        match self.type_of(name) {
            None if self.typedefs.contains_key(name) || super::types::number_of_header(name).is_some() => {
                self.named_type(name, piece, value)
            }
            _ => Ok(self.expression(value, piece)?.of),
        }
    }

    fn element(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let array = self.expression(child(node, "argument"), piece)?;
        let index = self.expression(child(node, "index"), piece)?;
        let of = array.of.element().cloned().unwrap_or_else(|| CType::Unknown("element".into()));
        Ok(Typed::new(Computation::Element(Box::new(array.expression), Box::new(index.expression)), of, place))
    }

    fn field(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let name = piece.text_of(child(node, "field")).to_owned();
        let of_what = self.expression(child(node, "argument"), piece)?;
        let of = self.structures.field(&of_what.of, &name).unwrap_or_else(|| CType::Unknown(name.clone()));
        Ok(Typed::new(Computation::Field(Box::new(of_what.expression), name), of, place))
    }

    fn pointer(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let inner = self.expression(child(node, "argument"), piece)?;
        if child(node, "operator").kind() == "&" {
            let of = CType::Pointer(Box::new(inner.of));
            return Ok(Typed::new(Computation::AddressOf(Box::new(inner.expression)), of, place));
        }
        let of = inner.of.element().cloned().unwrap_or_else(|| CType::Unknown("element".into()));
        let first = Expression { what: Computation::Number("0".into()), of: Type::Scalar(Scalar::Int), place: place.clone() };
        Ok(Typed::new(Computation::Element(Box::new(inner.expression), Box::new(first)), of, place))
    }

    fn call(&mut self, node: Node, piece: Piece) -> Result<Typed, Error> {
        let place = piece.place(node);
        let function = child(node, "function");
        let name = piece.text_of(function);
        let list = child(node, "arguments");
        let nodes: Vec<Node> = list.named_children(&mut list.walk()).filter(|child| child.kind() != "comment").collect();
        if function.kind() == "identifier" && self.macros.is_defined(name) {
            let texts: Vec<String> = nodes.iter().map(|&argument| piece.text_of(argument).to_owned()).collect();
            if let Some(text) = self.macros.function(name, &texts)
                && let Some(found) = self.expanded(name, &text, &place)?
            {
                return Ok(found);
            }
        }
        if let Some(of) = self.cast_to(function, piece)?
            && let [value] = nodes.as_slice()
        {
            let expression = self.expression(*value, piece)?.converted(&of);
            return Ok(Typed { expression, of });
        }
        let mut arguments = Vec::new();
        for argument in nodes {
            match argument.kind() {
                "type_descriptor" => {}
                _ => arguments.push(self.expression(argument, piece)?),
            }
        }
        Ok(self.called(name, arguments, place))
    }

    /// The type that `(name)(…)` converts to, which looks like a call until one knows that the name is a type.
    fn cast_to(&mut self, function: Node, piece: Piece) -> Result<Option<CType>, Error> {
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

    fn called(&mut self, name: &str, arguments: Vec<Typed>, place: Place) -> Typed {
        if !self.functions.contains_key(name) {
            if let Some((known, scalar)) = mathematics(name) {
                let to = CType::Number(scalar);
                let arguments = arguments.into_iter().map(|argument| argument.converted(&to)).collect();
                return Typed::new(Computation::Call(known.to_owned(), arguments), to, place);
            }
            if matches!(name, "malloc" | "calloc" | "aligned_alloc") {
                return self.allocated(name, arguments, place);
            }
        }
        let of = self.functions.get(name).cloned().unwrap_or_else(|| returned_by(name));
        let arguments = arguments.into_iter().map(|argument| argument.expression).collect();
        Typed::new(Computation::Call(name.to_owned(), arguments), of, place)
    }

    fn allocated(&mut self, name: &str, mut arguments: Vec<Typed>, place: Place) -> Typed {
        let of = CType::Pointer(Box::new(CType::Number(Scalar::Byte)));
        let bytes = match (name, arguments.pop(), arguments.pop()) {
            ("calloc", Some(size), Some(count)) => self.operated(Binary::Multiply, count, size, place.clone()).expression,
            (_, Some(size), _) => size.expression,
            (_, None, _) => Typed::number(0, Scalar::Long, place.clone()).expression,
        };
        Typed::new(Computation::New(vec![bytes]), of, place)
    }
}

impl Binary {
    fn is_comparison(self) -> bool {
        matches!(self, Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual | Binary::Equal | Binary::NotEqual)
    }
}

/// The child of a role, or the node itself where it has none, which a tree without errors does not show.
fn child<'t>(node: Node<'t>, role: &str) -> Node<'t> {
    node.child_by_field_name(role).unwrap_or(node)
}

fn name_of_type(of: &CType) -> &str {
    match of {
        CType::Structure(name) | CType::Unknown(name) => name,
        _ => "type",
    }
}
