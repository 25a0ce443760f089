//! Expressions of Java with their types.

use tree_sitter::Node;

use super::classes::LookupScope;
use super::types::{self, NumericPromotion, common_type};
use super::{BOOLEAN, DOUBLE, INT, JavaLowering};
use crate::error::SourceDiagnostic;
use crate::ir::{BinaryOp, DataType, ExprKind, ScalarType, TypedExpr, UnaryOp};

impl<'t> JavaLowering<'t, '_> {
    pub(super) fn expression(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        self.nested(node, |reader| reader.expression_unchecked(node))
    }

    fn expression_unchecked(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let source = self.source(node);
        Ok(match node.kind() {
            "parenthesized_expression" => match first_child(node) {
                Some(child) => self.expression(child)?,
                None => self.opaque(node),
            },
            "identifier" => self.name(node),
            "decimal_integer_literal" | "hex_integer_literal" | "octal_integer_literal" | "binary_integer_literal" => {
                let digits = source.replace('_', "");
                let long = digits.ends_with(['l', 'L']);
                let digits = digits.trim_end_matches(['l', 'L']).to_owned();
                self.typed_expr(node, ExprKind::Number(digits), if long { DataType::Scalar(ScalarType::Long) } else { INT })
            }
            "decimal_floating_point_literal" => {
                let digits = source.replace('_', "");
                let float = digits.ends_with(['f', 'F']);
                let digits = digits.trim_end_matches(['f', 'F', 'd', 'D']).to_owned();
                self.typed_expr(node, ExprKind::Number(digits), if float { DataType::Scalar(ScalarType::Float) } else { DOUBLE })
            }
            "hex_floating_point_literal" => self.typed_expr(node, ExprKind::StringLiteral(source.to_owned()), DOUBLE),
            "true" => self.typed_expr(node, ExprKind::Number("1".to_owned()), BOOLEAN),
            "false" => self.typed_expr(node, ExprKind::Number("0".to_owned()), BOOLEAN),
            "character_literal" => self.character(node),
            "string_literal" => self.typed_expr(node, ExprKind::StringLiteral(source.to_owned()), types::string_type()),
            "unary_expression" => self.unary(node)?,
            "update_expression" => self.update(node, true)?,
            "binary_expression" => self.binary(node)?,
            "assignment_expression" => self.assignment(node)?,
            "ternary_expression" => self.conditional(node)?,
            "cast_expression" => self.cast(node)?,
            "array_access" => {
                let (Some(array), Some(index)) = (node.child_by_field_name("array"), node.child_by_field_name("index")) else {
                    return Ok(self.opaque(node));
                };
                let (array, index) = (self.expression(array)?, self.expression(index)?);
                let of = if let DataType::Array(element) = &array.data_type { (**element).clone() } else { types::unknown_type() };
                self.typed_expr(node, ExprKind::Index(Box::new(array), Box::new(index)), of)
            }
            "field_access" => self.field(node)?,
            "method_invocation" => self.invocation(node)?,
            "array_creation_expression" => self.array_creation(node)?,
            "object_creation_expression" => self.object_creation(node)?,
            "switch_expression" => self.switch_value(node)?,
            "instanceof_expression" => {
                let what = ExprKind::Call("instanceof".to_owned(), Vec::new());
                self.typed_expr(node, what, BOOLEAN)
            }
            "this" => self.typed_expr(node, ExprKind::StringLiteral("this".to_owned()), DataType::Named(self.class.clone())),
            _ => self.opaque(node),
        })
    }

    /// Something without cost and of unknown value: `null`, a lambda, a class.
    fn opaque(&self, node: Node<'t>) -> TypedExpr {
        self.typed_expr(node, ExprKind::StringLiteral(String::new()), types::unknown_type())
    }

    fn name(&self, node: Node<'t>) -> TypedExpr {
        let name = self.source(node);
        if let Some(of) = self.local(name) {
            return self.typed_expr(node, ExprKind::Variable(name.to_owned()), of.clone());
        }
        match self.classes.field_of(&self.class, name, LookupScope::Lexical) {
            Some((field, of)) => self.typed_expr(node, ExprKind::Variable(field), of.clone()),
            None => self.opaque(node),
        }
    }

    fn character(&self, node: Node<'t>) -> TypedExpr {
        let letters = self.source(node).trim_matches('\'');
        let code = match letters.strip_prefix('\\') {
            None => letters.chars().next().map(u32::from),
            Some(escape) => match escape.chars().next() {
                Some('n') => Some(10),
                Some('t') => Some(9),
                Some('r') => Some(13),
                Some('b') => Some(8),
                Some('f') => Some(12),
                Some('s') => Some(32),
                Some('u') => u32::from_str_radix(escape.trim_start_matches('u'), 16).ok(),
                Some('0'..='7') => u32::from_str_radix(escape, 8).ok(),
                other => other.map(u32::from),
            },
        };
        self.typed_expr(node, ExprKind::Number(code.unwrap_or(0).to_string()), DataType::Scalar(ScalarType::Short))
    }

    fn unary(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let Some(operand) = node.child_by_field_name("operand") else { return Ok(self.opaque(node)) };
        let operand = self.expression(operand)?;
        let operation = match node.child_by_field_name("operator").map(|operator| operator.kind()) {
            Some("-") => UnaryOp::Negate,
            Some("!") => UnaryOp::Not,
            Some("~") => UnaryOp::Complement,
            _ => return Ok(operand),
        };
        let of = if operation == UnaryOp::Not { BOOLEAN } else { common_type(&operand.data_type, &INT).unwrap_or(INT) };
        let operand = operand.promote_to(&of);
        Ok(self.typed_expr(node, ExprKind::Unary(operation, Box::new(operand)), of))
    }

    /// `i++` and `--i`. If the value of a postfix operator is used, it is the old one.
    pub(super) fn update(&mut self, node: Node<'t>, used: bool) -> Result<TypedExpr, SourceDiagnostic> {
        let Some(operand) = first_child(node) else { return Ok(self.opaque(node)) };
        let behind = node.child(0).is_some_and(|first| first.id() == operand.id());
        let down = self.source(node).trim_start().starts_with("--") || self.source(node).trim_end().ends_with("--");
        let target = self.expression(operand)?;
        let of = target.data_type.clone();
        let (forth, back) = if down { (BinaryOp::Subtract, BinaryOp::Add) } else { (BinaryOp::Add, BinaryOp::Subtract) };
        let one = self.typed_expr(node, ExprKind::Number("1".to_owned()), of.clone());
        let assign = ExprKind::Assign { target: Box::new(target), operator: Some(forth), value: Box::new(one.clone()) };
        let assign = self.typed_expr(node, assign, of.clone());
        if used && behind {
            return Ok(self.typed_expr(node, ExprKind::Binary(back, Box::new(assign), Box::new(one)), of));
        }
        Ok(assign)
    }

    fn binary(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return Ok(self.opaque(node));
        };
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let sign = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
        let Some(operation) = BinaryOp::from_operator(sign) else { return Ok(self.opaque(node)) };
        Ok(self.binary_expr(node, operation, left, right))
    }

    fn binary_expr(&self, node: Node<'t>, operation: BinaryOp, left: TypedExpr, right: TypedExpr) -> TypedExpr {
        if operation == BinaryOp::Add && (left.data_type == types::string_type() || right.data_type == types::string_type()) {
            return self.typed_expr(node, ExprKind::Call("String.concat".to_owned(), vec![left, right]), types::string_type());
        }
        let both = |of: DataType, result: DataType, left: TypedExpr, right: TypedExpr| {
            let (left, right) = (left.promote_to(&of), right.promote_to(&of));
            self.typed_expr(node, ExprKind::Binary(operation, Box::new(left), Box::new(right)), result)
        };
        let shared = common_type(&left.data_type, &right.data_type);
        match operation {
            BinaryOp::And | BinaryOp::Or => both(BOOLEAN, BOOLEAN, left, right),
            BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual => {
                if left.data_type == BOOLEAN && right.data_type == BOOLEAN {
                    return both(BOOLEAN, BOOLEAN, left, right);
                }
                both(shared.unwrap_or(INT), BOOLEAN, left, right)
            }
            BinaryOp::Bitwise(_) if left.data_type == BOOLEAN && right.data_type == BOOLEAN => both(BOOLEAN, BOOLEAN, left, right),
            BinaryOp::Shift(_) => {
                let of = common_type(&left.data_type, &INT).unwrap_or(INT);
                let left = left.promote_to(&of);
                self.typed_expr(node, ExprKind::Binary(operation, Box::new(left), Box::new(right)), of)
            }
            _ => {
                let of = shared.unwrap_or_else(types::unknown_type);
                both(of.clone(), of, left, right)
            }
        }
    }

    fn assignment(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return Ok(self.opaque(node));
        };
        let (target, value) = (self.expression(left)?, self.expression(right)?);
        let sign = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
        let with = BinaryOp::from_operator(sign.trim_end_matches('='));
        let of = target.data_type.clone();
        let value = match with {
            Some(BinaryOp::Add) if of == types::string_type() => {
                let value = self.typed_expr(node, ExprKind::Call("String.concat".to_owned(), vec![value]), types::string_type());
                return Ok(self.assignment_expr(node, target, None, value));
            }
            // The operation is done in the wider type.
            Some(BinaryOp::Shift(_)) => value,
            Some(_) => match common_type(&of, &value.data_type) {
                Some(wide) => value.promote_to(&wide),
                None => value,
            },
            None => value.promote_to(&of),
        };
        Ok(self.assignment_expr(node, target, with, value))
    }

    fn assignment_expr(&self, node: Node<'t>, target: TypedExpr, with: Option<BinaryOp>, value: TypedExpr) -> TypedExpr {
        let of = target.data_type.clone();
        self.typed_expr(node, ExprKind::Assign { target: Box::new(target), operator: with, value: Box::new(value) }, of)
    }

    fn conditional(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let part = |name| node.child_by_field_name(name);
        let (Some(condition), Some(then), Some(otherwise)) = (part("condition"), part("consequence"), part("alternative")) else {
            return Ok(self.opaque(node));
        };
        let (condition, then, otherwise) = (self.expression(condition)?, self.expression(then)?, self.expression(otherwise)?);
        Ok(self.conditional_expr(node, condition, then, otherwise))
    }

    fn conditional_expr(&self, node: Node<'t>, condition: TypedExpr, then: TypedExpr, otherwise: TypedExpr) -> TypedExpr {
        let of = if then.data_type == otherwise.data_type {
            then.data_type.clone()
        } else {
            common_type(&then.data_type, &otherwise.data_type).unwrap_or_else(|| then.data_type.clone())
        };
        let (then, otherwise) = (then.promote_to(&of), otherwise.promote_to(&of));
        self.typed_expr(node, ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise)), of)
    }

    fn cast(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let (Some(of), Some(value)) = (node.child_by_field_name("type"), node.child_by_field_name("value")) else {
            return Ok(self.opaque(node));
        };
        let (of, value) = (types::type_from_node(self.text, of), self.expression(value)?);
        Ok(match (&of, &value.data_type) {
            (DataType::Scalar(_), DataType::Scalar(_)) => value.promote_to(&of),
            _ => TypedExpr { data_type: of, ..value },
        })
    }

    fn field(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let (Some(object), Some(field)) = (node.child_by_field_name("object"), node.child_by_field_name("field")) else {
            return Ok(self.opaque(node));
        };
        let (whole, name) = (self.source(node), self.source(field));
        if let Some((digits, of)) = predefined_constant(whole) {
            return Ok(self.typed_expr(node, ExprKind::Number(digits.to_owned()), of));
        }
        let class = match object.kind() {
            "this" => Some(self.class.as_str()),
            "identifier" if self.local(self.source(object)).is_none() && self.classes.contains(self.source(object)) => {
                Some(self.source(object))
            }
            _ => None,
        };
        if let Some(class) = class {
            return Ok(match self.classes.field_of(class, name, LookupScope::Members) {
                Some((field, of)) => self.typed_expr(node, ExprKind::Variable(field), of.clone()),
                None => self.opaque(node),
            });
        }
        let object = self.expression(object)?;
        let of = match &object.data_type {
            DataType::Array(_) if name == "length" => INT,
            DataType::Named(class) => match self.classes.field_of(class, name, LookupScope::Members) {
                Some((_, of)) => of.clone(),
                None => return Ok(self.opaque(node)),
            },
            _ => types::unknown_type(),
        };
        Ok(self.typed_expr(node, ExprKind::Field(Box::new(object), name.to_owned()), of))
    }

    fn arguments(&mut self, node: Node<'t>) -> Result<Vec<TypedExpr>, SourceDiagnostic> {
        let Some(list) = node.child_by_field_name("arguments") else { return Ok(Vec::new()) };
        let mut cursor = list.walk();
        let children: Vec<Node<'t>> = list.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        children.into_iter().map(|child| self.expression(child)).collect()
    }

    fn invocation(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let name = node.child_by_field_name("name").map(|name| self.source(name)).unwrap_or_default();
        let object = node.child_by_field_name("object");
        let mut arguments = self.arguments(node)?;
        let given: Vec<DataType> = arguments.iter().map(|argument| argument.data_type.clone()).collect();
        let named_class = object.filter(|object| object.kind() == "identifier" && self.local(self.source(*object)).is_none());
        let mut receiver = None;
        let class = match object {
            None => self.class.clone(),
            Some(object) if object.kind() == "this" => self.class.clone(),
            Some(object) if object.kind() == "super" => self.classes.superclass(&self.class).unwrap_or("super").to_owned(),
            Some(object)
                if named_class.is_some() && self.classes.field_of(&self.class, self.source(object), LookupScope::Lexical).is_none() =>
            {
                self.source(object).to_owned()
            }
            Some(object) => {
                let value = self.expression(object)?;
                let class = match &value.data_type {
                    DataType::Named(class) if !class.is_empty() => class.clone(),
                    _ => self.source(object).chars().take_while(|letter| letter.is_alphanumeric() || matches!(letter, '.' | '_')).collect(),
                };
                receiver = Some(value);
                class
            }
        };
        let whose = if object.is_none() { LookupScope::Lexical } else { LookupScope::Members };
        if let Some(signature) = self.classes.method_of(&class, name, &given, whose) {
            let returns = signature.return_type.clone().unwrap_or_else(types::unknown_type);
            let routine = signature.routine.clone();
            let fitted = arguments.into_iter().zip(&signature.parameters).map(|(argument, (_, of))| argument.promote_to(of)).collect();
            return Ok(self.typed_expr(node, ExprKind::Call(routine, fitted), returns));
        }
        if class == "Math" || class == "StrictMath" {
            return Ok(self.math_call(node, name, arguments));
        }
        // The receiver may be a call with a cost of its own.
        arguments.extend(receiver.filter(|receiver| matches!(receiver.kind, ExprKind::Call(..))));
        let of = library_return_type(&class, name);
        Ok(self.typed_expr(node, ExprKind::Call(format!("{class}.{name}"), arguments), of))
    }

    /// A function of `Math`, with its arguments converted.
    fn math_call(&self, node: Node<'t>, name: &str, arguments: Vec<TypedExpr>) -> TypedExpr {
        let widest = arguments.iter().fold(INT, |widest, argument| common_type(&widest, &argument.data_type).unwrap_or(widest));
        let (takes, gives) = match name {
            "abs" | "max" | "min" | "floorMod" | "floorDiv" | "addExact" | "multiplyExact" | "subtractExact" => (widest.clone(), widest),
            "round" => {
                let gives = if widest == DataType::Scalar(ScalarType::Float) { INT } else { DataType::Scalar(ScalarType::Long) };
                (widest, gives)
            }
            _ => (DOUBLE, DOUBLE),
        };
        let arguments: Vec<TypedExpr> = arguments.into_iter().map(|argument| argument.promote_to(&takes)).collect();
        let exact = match name {
            "addExact" => Some(BinaryOp::Add),
            "subtractExact" => Some(BinaryOp::Subtract),
            "multiplyExact" => Some(BinaryOp::Multiply),
            _ => None,
        };
        match (exact, <[TypedExpr; 2]>::try_from(arguments)) {
            (Some(operation), Ok([one, two])) => self.typed_expr(node, ExprKind::Binary(operation, Box::new(one), Box::new(two)), gives),
            (_, Ok(arguments)) => self.typed_expr(node, ExprKind::Call(format!("Math.{name}"), arguments.into()), gives),
            (_, Err(arguments)) => self.typed_expr(node, ExprKind::Call(format!("Math.{name}"), arguments), gives),
        }
    }

    fn array_creation(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let mut of = node.child_by_field_name("type").map_or_else(types::unknown_type, |of| types::type_from_node(self.text, of));
        let mut cursor = node.walk();
        let dimensions: Vec<Node<'t>> = node.children_by_field_name("dimensions", &mut cursor).collect();
        let mut lengths = Vec::new();
        for dimension in dimensions {
            match dimension.kind() {
                "dimensions_expr" => {
                    of = DataType::Array(Box::new(of));
                    lengths.extend(first_child(dimension).map(|length| self.expression(length)).transpose()?);
                }
                _ => of = types::with_dimensions(self.text, of, Some(dimension)),
            }
        }
        match node.child_by_field_name("value") {
            Some(value) => self.array_initializer(value, &of),
            None => Ok(self.typed_expr(node, ExprKind::Allocate(lengths), of)),
        }
    }

    /// `{ a, b, … }` as an array of a type.
    pub(super) fn array_initializer(&mut self, node: Node<'t>, of: &DataType) -> Result<TypedExpr, SourceDiagnostic> {
        self.nested(node, |reader| {
            let element = if let DataType::Array(element) = of { (**element).clone() } else { types::unknown_type() };
            let mut cursor = node.walk();
            let mut parts = Vec::new();
            for child in node.named_children(&mut cursor).filter(|child| !child.is_extra()) {
                let part = if child.kind() == "array_initializer" {
                    reader.array_initializer(child, &element)?
                } else {
                    reader.expression(child)?
                };
                parts.push(part.promote_to(&element));
            }
            Ok(reader.typed_expr(node, ExprKind::InitializerList(parts), of.clone()))
        })
    }

    fn object_creation(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let of = node.child_by_field_name("type").map_or_else(types::unknown_type, |of| types::type_from_node(self.text, of));
        let arguments = self.arguments(node)?;
        let class = if let DataType::Named(class) = &of { class.clone() } else { String::new() };
        let given: Vec<DataType> = arguments.iter().map(|argument| argument.data_type.clone()).collect();
        if let Some(signature) =
            self.classes.method_of(&class, "new", &given, LookupScope::Members).filter(|_| self.classes.contains(&class))
        {
            let routine = signature.routine.clone();
            let fitted = arguments.into_iter().zip(&signature.parameters).map(|(argument, (_, of))| argument.promote_to(of)).collect();
            return Ok(self.typed_expr(node, ExprKind::Call(routine, fitted), of));
        }
        if self.classes.contains(&class) {
            return Ok(self.typed_expr(node, ExprKind::Allocate(Vec::new()), of));
        }
        Ok(self.typed_expr(node, ExprKind::Call(format!("{class}.new"), arguments), of))
    }

    /// A `switch` expression, as a chain of conditionals.
    fn switch_value(&mut self, node: Node<'t>) -> Result<TypedExpr, SourceDiagnostic> {
        let (Some(of), Some(body)) = (node.child_by_field_name("condition"), node.child_by_field_name("body")) else {
            return Ok(self.opaque(node));
        };
        let of = self.expression(of)?;
        let mut cursor = body.walk();
        let rules: Vec<Node<'t>> = body.named_children(&mut cursor).filter(|child| child.kind() == "switch_rule").collect();
        // The selector is evaluated once, in the first comparison.
        let at_hand = self.typed_expr(node, ExprKind::StringLiteral(String::new()), of.data_type.clone());
        let mut asked_first = Some(of);
        let mut result: Option<TypedExpr> = None;
        for (position, rule) in rules.into_iter().enumerate().rev() {
            let [Some(label), Some(action)] = first_two_children(rule) else { continue };
            let value = match (action.kind(), first_child(action)) {
                ("expression_statement", Some(value)) => self.expression(value)?,
                _ => self.opaque(action),
            };
            result = Some(match (first_child(label), result) {
                (Some(case), Some(otherwise)) => {
                    let case = self.expression(case)?;
                    let of = if position == 0 { asked_first.take() } else { None };
                    let of = of.unwrap_or_else(|| at_hand.clone());
                    let asked = self.binary_expr(rule, BinaryOp::Equal, of, case);
                    self.conditional_expr(rule, asked, value, otherwise)
                }
                _ => value,
            });
        }
        Ok(result.unwrap_or_else(|| self.opaque(node)))
    }
}

/// The first child that is not a comment.
pub(super) fn first_child(node: Node<'_>) -> Option<Node<'_>> {
    let [first, _] = first_two_children(node);
    first
}

/// The first two children that are not comments.
pub(super) fn first_two_children(node: Node<'_>) -> [Option<Node<'_>>; 2] {
    let mut cursor = node.walk();
    let mut parts = node.named_children(&mut cursor).filter(|child| !child.is_extra());
    [parts.next(), parts.next()]
}

/// Predefined constants of Java.
fn predefined_constant(name: &str) -> Option<(&'static str, DataType)> {
    Some(match name {
        "Math.PI" => ("3.141592653589793", DOUBLE),
        "Math.E" => ("2.718281828459045", DOUBLE),
        "Integer.MAX_VALUE" => ("2147483647", INT),
        "Long.MAX_VALUE" => ("9223372036854775807", DataType::Scalar(ScalarType::Long)),
        _ => return None,
    })
}

/// The return types of standard library methods that numeric programs use.
fn library_return_type(class: &str, name: &str) -> DataType {
    match (class, name) {
        (_, "nanoTime" | "currentTimeMillis" | "parseLong" | "longValue" | "nextLong") => DataType::Scalar(ScalarType::Long),
        (_, "parseInt" | "intValue" | "nextInt" | "size" | "length" | "compareTo" | "hashCode" | "indexOf" | "ordinal") => INT,
        (_, "parseDouble" | "doubleValue" | "nextDouble" | "nextGaussian") => DOUBLE,
        (_, "nextFloat" | "floatValue") => DataType::Scalar(ScalarType::Float),
        (_, "nextBoolean" | "equals" | "isEmpty" | "hasNext" | "contains" | "isNaN" | "isInfinite") => BOOLEAN,
        ("String", "charAt") => DataType::Scalar(ScalarType::Short),
        ("String", "format" | "substring" | "valueOf" | "concat") | (_, "toString") => types::string_type(),
        ("StringBuilder" | "StringBuffer", "append" | "insert" | "reverse") => DataType::Named("StringBuilder".to_owned()),
        _ => types::unknown_type(),
    }
}
