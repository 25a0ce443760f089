//! Expressions of Java, with their types.

use tree_sitter::Node;

use super::classes::Whose;
use super::types::{self, Promotion, common};
use super::{BOOLEAN, DOUBLE, INT, Reader};
use crate::error::Wrong;
use crate::routine::{Binary, Computation, Expression, Scalar, Type, Unary};

impl<'t> Reader<'t, '_> {
    pub(super) fn expression(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        self.deeper(node, |reader| reader.expression_inside(node))
    }

    fn expression_inside(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let source = self.source(node);
        Ok(match node.kind() {
            "parenthesized_expression" => match inside(node) {
                Some(child) => self.expression(child)?,
                None => self.nothing(node),
            },
            "identifier" => self.name(node),
            "decimal_integer_literal" | "hex_integer_literal" | "octal_integer_literal" | "binary_integer_literal" => {
                let digits = source.replace('_', "");
                let long = digits.ends_with(['l', 'L']);
                let digits = digits.trim_end_matches(['l', 'L']).to_owned();
                self.expression_of(node, Computation::Number(digits), if long { Type::Scalar(Scalar::Long) } else { INT })
            }
            "decimal_floating_point_literal" => {
                let digits = source.replace('_', "");
                let float = digits.ends_with(['f', 'F']);
                let digits = digits.trim_end_matches(['f', 'F', 'd', 'D']).to_owned();
                self.expression_of(node, Computation::Number(digits), if float { Type::Scalar(Scalar::Float) } else { DOUBLE })
            }
            "hex_floating_point_literal" => self.expression_of(node, Computation::Text(source.to_owned()), DOUBLE),
            "true" => self.expression_of(node, Computation::Number("1".to_owned()), BOOLEAN),
            "false" => self.expression_of(node, Computation::Number("0".to_owned()), BOOLEAN),
            "character_literal" => self.character(node),
            "string_literal" => self.expression_of(node, Computation::Text(source.to_owned()), types::text_type()),
            "unary_expression" => self.unary(node)?,
            "update_expression" => self.update(node, true)?,
            "binary_expression" => self.binary(node)?,
            "assignment_expression" => self.assignment(node)?,
            "ternary_expression" => self.choice(node)?,
            "cast_expression" => self.cast(node)?,
            "array_access" => {
                let (Some(array), Some(index)) = (node.child_by_field_name("array"), node.child_by_field_name("index")) else {
                    return Ok(self.nothing(node));
                };
                let (array, index) = (self.expression(array)?, self.expression(index)?);
                let of = if let Type::Array(element) = &array.of { (**element).clone() } else { types::unknown() };
                self.expression_of(node, Computation::Element(Box::new(array), Box::new(index)), of)
            }
            "field_access" => self.field(node)?,
            "method_invocation" => self.invocation(node)?,
            "array_creation_expression" => self.array_creation(node)?,
            "object_creation_expression" => self.object_creation(node)?,
            "switch_expression" => self.switch_value(node)?,
            "instanceof_expression" => {
                let what = Computation::Call("instanceof".to_owned(), Vec::new());
                self.expression_of(node, what, BOOLEAN)
            }
            "this" => self.expression_of(node, Computation::Text("this".to_owned()), Type::Other(self.class.clone())),
            _ => self.nothing(node),
        })
    }

    /// Something that costs nothing by itself and of which nothing is known: `null`, a lambda, a class.
    fn nothing(&self, node: Node<'t>) -> Expression {
        self.expression_of(node, Computation::Text(String::new()), types::unknown())
    }

    fn name(&self, node: Node<'t>) -> Expression {
        let name = self.source(node);
        if let Some(of) = self.local(name) {
            return self.expression_of(node, Computation::Variable(name.to_owned()), of.clone());
        }
        match self.classes.field_of(&self.class, name, Whose::Seen) {
            Some((field, of)) => self.expression_of(node, Computation::Variable(field), of.clone()),
            None => self.nothing(node),
        }
    }

    fn character(&self, node: Node<'t>) -> Expression {
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
        self.expression_of(node, Computation::Number(code.unwrap_or(0).to_string()), Type::Scalar(Scalar::Short))
    }

    fn unary(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let Some(operand) = node.child_by_field_name("operand") else { return Ok(self.nothing(node)) };
        let operand = self.expression(operand)?;
        let operation = match node.child_by_field_name("operator").map(|operator| operator.kind()) {
            Some("-") => Unary::Negative,
            Some("!") => Unary::Not,
            Some("~") => Unary::Complement,
            _ => return Ok(operand),
        };
        let of = if operation == Unary::Not { BOOLEAN } else { common(&operand.of, &INT).unwrap_or(INT) };
        let operand = operand.promoted(&of);
        Ok(self.expression_of(node, Computation::Unary(operation, Box::new(operand)), of))
    }

    /// `i++` and `--i`. Where the value is used and the sign stands behind, the value is the one from before.
    pub(super) fn update(&mut self, node: Node<'t>, used: bool) -> Result<Expression, Wrong> {
        let Some(operand) = inside(node) else { return Ok(self.nothing(node)) };
        let behind = node.child(0).is_some_and(|first| first.id() == operand.id());
        let down = self.source(node).trim_start().starts_with("--") || self.source(node).trim_end().ends_with("--");
        let target = self.expression(operand)?;
        let of = target.of.clone();
        let (forth, back) = if down { (Binary::Subtract, Binary::Add) } else { (Binary::Add, Binary::Subtract) };
        let one = self.expression_of(node, Computation::Number("1".to_owned()), of.clone());
        let assign = Computation::Assign { target: Box::new(target), with: Some(forth), value: Box::new(one.clone()) };
        let assign = self.expression_of(node, assign, of.clone());
        if used && behind {
            return Ok(self.expression_of(node, Computation::Binary(back, Box::new(assign), Box::new(one)), of));
        }
        Ok(assign)
    }

    fn binary(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return Ok(self.nothing(node));
        };
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let sign = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
        let Some(operation) = Binary::of_sign(sign) else { return Ok(self.nothing(node)) };
        Ok(self.computed(node, operation, left, right))
    }

    fn computed(&self, node: Node<'t>, operation: Binary, left: Expression, right: Expression) -> Expression {
        if operation == Binary::Add && (left.of == types::text_type() || right.of == types::text_type()) {
            return self.expression_of(node, Computation::Call("String.concat".to_owned(), vec![left, right]), types::text_type());
        }
        let both = |of: Type, result: Type, left: Expression, right: Expression| {
            let (left, right) = (left.promoted(&of), right.promoted(&of));
            self.expression_of(node, Computation::Binary(operation, Box::new(left), Box::new(right)), result)
        };
        let shared = common(&left.of, &right.of);
        match operation {
            Binary::And | Binary::Or => both(BOOLEAN, BOOLEAN, left, right),
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual | Binary::Equal | Binary::NotEqual => {
                if left.of == BOOLEAN && right.of == BOOLEAN {
                    return both(BOOLEAN, BOOLEAN, left, right);
                }
                both(shared.unwrap_or(INT), BOOLEAN, left, right)
            }
            Binary::Bits(_) if left.of == BOOLEAN && right.of == BOOLEAN => both(BOOLEAN, BOOLEAN, left, right),
            Binary::Shift(_) => {
                let of = common(&left.of, &INT).unwrap_or(INT);
                let left = left.promoted(&of);
                self.expression_of(node, Computation::Binary(operation, Box::new(left), Box::new(right)), of)
            }
            _ => {
                let of = shared.unwrap_or_else(types::unknown);
                both(of.clone(), of, left, right)
            }
        }
    }

    fn assignment(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return Ok(self.nothing(node));
        };
        let (target, value) = (self.expression(left)?, self.expression(right)?);
        let sign = node.child_by_field_name("operator").map_or("", |operator| operator.kind());
        let with = Binary::of_sign(sign.trim_end_matches('='));
        let of = target.of.clone();
        let value = match with {
            Some(Binary::Add) if of == types::text_type() => {
                let value = self.expression_of(node, Computation::Call("String.concat".to_owned(), vec![value]), types::text_type());
                return Ok(self.assigned(node, target, None, value));
            }
            // The wider of both types is computed with.
            Some(Binary::Shift(_)) => value,
            Some(_) => match common(&of, &value.of) {
                Some(wide) => value.promoted(&wide),
                None => value,
            },
            None => value.promoted(&of),
        };
        Ok(self.assigned(node, target, with, value))
    }

    fn assigned(&self, node: Node<'t>, target: Expression, with: Option<Binary>, value: Expression) -> Expression {
        let of = target.of.clone();
        self.expression_of(node, Computation::Assign { target: Box::new(target), with, value: Box::new(value) }, of)
    }

    fn choice(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let part = |name| node.child_by_field_name(name);
        let (Some(condition), Some(then), Some(otherwise)) = (part("condition"), part("consequence"), part("alternative")) else {
            return Ok(self.nothing(node));
        };
        let (condition, then, otherwise) = (self.expression(condition)?, self.expression(then)?, self.expression(otherwise)?);
        Ok(self.chosen(node, condition, then, otherwise))
    }

    fn chosen(&self, node: Node<'t>, condition: Expression, then: Expression, otherwise: Expression) -> Expression {
        let of = if then.of == otherwise.of { then.of.clone() } else { common(&then.of, &otherwise.of).unwrap_or_else(|| then.of.clone()) };
        let (then, otherwise) = (then.promoted(&of), otherwise.promoted(&of));
        self.expression_of(node, Computation::Choice(Box::new(condition), Box::new(then), Box::new(otherwise)), of)
    }

    fn cast(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let (Some(of), Some(value)) = (node.child_by_field_name("type"), node.child_by_field_name("value")) else {
            return Ok(self.nothing(node));
        };
        let (of, value) = (types::read(self.text, of), self.expression(value)?);
        Ok(match (&of, &value.of) {
            (Type::Scalar(_), Type::Scalar(_)) => value.promoted(&of),
            _ => Expression { of, ..value },
        })
    }

    fn field(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let (Some(object), Some(field)) = (node.child_by_field_name("object"), node.child_by_field_name("field")) else {
            return Ok(self.nothing(node));
        };
        let (whole, name) = (self.source(node), self.source(field));
        if let Some((digits, of)) = well_known(whole) {
            return Ok(self.expression_of(node, Computation::Number(digits.to_owned()), of));
        }
        let class = match object.kind() {
            "this" => Some(self.class.as_str()),
            "identifier" if self.local(self.source(object)).is_none() && self.classes.has(self.source(object)) => Some(self.source(object)),
            _ => None,
        };
        if let Some(class) = class {
            return Ok(match self.classes.field_of(class, name, Whose::Own) {
                Some((field, of)) => self.expression_of(node, Computation::Variable(field), of.clone()),
                None => self.nothing(node),
            });
        }
        let object = self.expression(object)?;
        let of = match &object.of {
            Type::Array(_) if name == "length" => INT,
            Type::Other(class) => match self.classes.field_of(class, name, Whose::Own) {
                Some((_, of)) => of.clone(),
                None => return Ok(self.nothing(node)),
            },
            _ => types::unknown(),
        };
        Ok(self.expression_of(node, Computation::Field(Box::new(object), name.to_owned()), of))
    }

    fn arguments(&mut self, node: Node<'t>) -> Result<Vec<Expression>, Wrong> {
        let Some(list) = node.child_by_field_name("arguments") else { return Ok(Vec::new()) };
        let mut cursor = list.walk();
        let children: Vec<Node<'t>> = list.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        children.into_iter().map(|child| self.expression(child)).collect()
    }

    fn invocation(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let name = node.child_by_field_name("name").map(|name| self.source(name)).unwrap_or_default();
        let object = node.child_by_field_name("object");
        let mut arguments = self.arguments(node)?;
        let given: Vec<Type> = arguments.iter().map(|argument| argument.of.clone()).collect();
        let named_class = object.filter(|object| object.kind() == "identifier" && self.local(self.source(*object)).is_none());
        let mut receiver = None;
        let class = match object {
            None => self.class.clone(),
            Some(object) if object.kind() == "this" => self.class.clone(),
            Some(object) if object.kind() == "super" => self.classes.above(&self.class).unwrap_or("super").to_owned(),
            Some(object) if named_class.is_some() && self.classes.field_of(&self.class, self.source(object), Whose::Seen).is_none() => {
                self.source(object).to_owned()
            }
            Some(object) => {
                let value = self.expression(object)?;
                let class = match &value.of {
                    Type::Other(class) if !class.is_empty() => class.clone(),
                    _ => self.source(object).chars().take_while(|letter| letter.is_alphanumeric() || matches!(letter, '.' | '_')).collect(),
                };
                receiver = Some(value);
                class
            }
        };
        let whose = if object.is_none() { Whose::Seen } else { Whose::Own };
        if let Some(signature) = self.classes.method_of(&class, name, &given, whose) {
            let returns = signature.returns.clone().unwrap_or_else(types::unknown);
            let routine = signature.routine.clone();
            let fitted = arguments.into_iter().zip(&signature.parameters).map(|(argument, (_, of))| argument.promoted(of)).collect();
            return Ok(self.expression_of(node, Computation::Call(routine, fitted), returns));
        }
        if class == "Math" || class == "StrictMath" {
            return Ok(self.of_numbers(node, name, arguments));
        }
        // What stands before the point may be a call with a cost of its own.
        arguments.extend(receiver.filter(|receiver| matches!(receiver.what, Computation::Call(..))));
        let of = returned(&class, name);
        Ok(self.expression_of(node, Computation::Call(format!("{class}.{name}"), arguments), of))
    }

    /// A function of `Math`, with what it is given in the type that it works on.
    fn of_numbers(&self, node: Node<'t>, name: &str, arguments: Vec<Expression>) -> Expression {
        let widest = arguments.iter().fold(INT, |widest, argument| common(&widest, &argument.of).unwrap_or(widest));
        let (takes, gives) = match name {
            "abs" | "max" | "min" | "floorMod" | "floorDiv" | "addExact" | "multiplyExact" | "subtractExact" => (widest.clone(), widest),
            "round" => {
                let gives = if widest == Type::Scalar(Scalar::Float) { INT } else { Type::Scalar(Scalar::Long) };
                (widest, gives)
            }
            _ => (DOUBLE, DOUBLE),
        };
        let arguments: Vec<Expression> = arguments.into_iter().map(|argument| argument.promoted(&takes)).collect();
        let exact = match name {
            "addExact" => Some(Binary::Add),
            "subtractExact" => Some(Binary::Subtract),
            "multiplyExact" => Some(Binary::Multiply),
            _ => None,
        };
        match (exact, <[Expression; 2]>::try_from(arguments)) {
            (Some(operation), Ok([one, two])) => {
                self.expression_of(node, Computation::Binary(operation, Box::new(one), Box::new(two)), gives)
            }
            (_, Ok(arguments)) => self.expression_of(node, Computation::Call(format!("Math.{name}"), arguments.into()), gives),
            (_, Err(arguments)) => self.expression_of(node, Computation::Call(format!("Math.{name}"), arguments), gives),
        }
    }

    fn array_creation(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let mut of = node.child_by_field_name("type").map_or_else(types::unknown, |of| types::read(self.text, of));
        let mut cursor = node.walk();
        let dimensions: Vec<Node<'t>> = node.children_by_field_name("dimensions", &mut cursor).collect();
        let mut lengths = Vec::new();
        for dimension in dimensions {
            match dimension.kind() {
                "dimensions_expr" => {
                    of = Type::Array(Box::new(of));
                    lengths.extend(inside(dimension).map(|length| self.expression(length)).transpose()?);
                }
                _ => of = types::with_dimensions(self.text, of, Some(dimension)),
            }
        }
        match node.child_by_field_name("value") {
            Some(value) => self.array_initializer(value, &of),
            None => Ok(self.expression_of(node, Computation::New(lengths), of)),
        }
    }

    /// `{ a, b, … }` as an array of a type.
    pub(super) fn array_initializer(&mut self, node: Node<'t>, of: &Type) -> Result<Expression, Wrong> {
        self.deeper(node, |reader| {
            let element = if let Type::Array(element) = of { (**element).clone() } else { types::unknown() };
            let mut cursor = node.walk();
            let mut parts = Vec::new();
            for child in node.named_children(&mut cursor).filter(|child| !child.is_extra()) {
                let part = if child.kind() == "array_initializer" {
                    reader.array_initializer(child, &element)?
                } else {
                    reader.expression(child)?
                };
                parts.push(part.promoted(&element));
            }
            Ok(reader.expression_of(node, Computation::List(parts), of.clone()))
        })
    }

    fn object_creation(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let of = node.child_by_field_name("type").map_or_else(types::unknown, |of| types::read(self.text, of));
        let arguments = self.arguments(node)?;
        let class = if let Type::Other(class) = &of { class.clone() } else { String::new() };
        let given: Vec<Type> = arguments.iter().map(|argument| argument.of.clone()).collect();
        if let Some(signature) = self.classes.method_of(&class, "new", &given, Whose::Own).filter(|_| self.classes.has(&class)) {
            let routine = signature.routine.clone();
            let fitted = arguments.into_iter().zip(&signature.parameters).map(|(argument, (_, of))| argument.promoted(of)).collect();
            return Ok(self.expression_of(node, Computation::Call(routine, fitted), of));
        }
        if self.classes.has(&class) {
            return Ok(self.expression_of(node, Computation::New(Vec::new()), of));
        }
        Ok(self.expression_of(node, Computation::Call(format!("{class}.new"), arguments), of))
    }

    /// A `switch` that is a value, as one choice after the other.
    fn switch_value(&mut self, node: Node<'t>) -> Result<Expression, Wrong> {
        let (Some(of), Some(body)) = (node.child_by_field_name("condition"), node.child_by_field_name("body")) else {
            return Ok(self.nothing(node));
        };
        let of = self.expression(of)?;
        let mut cursor = body.walk();
        let rules: Vec<Node<'t>> = body.named_children(&mut cursor).filter(|child| child.kind() == "switch_rule").collect();
        // What is asked is computed once; after the first comparison it is at hand.
        let at_hand = self.expression_of(node, Computation::Text(String::new()), of.of.clone());
        let mut asked_first = Some(of);
        let mut result: Option<Expression> = None;
        for (position, rule) in rules.into_iter().enumerate().rev() {
            let [Some(label), Some(action)] = first_two(rule) else { continue };
            let value = match (action.kind(), inside(action)) {
                ("expression_statement", Some(value)) => self.expression(value)?,
                _ => self.nothing(action),
            };
            result = Some(match (inside(label), result) {
                (Some(case), Some(otherwise)) => {
                    let case = self.expression(case)?;
                    let of = if position == 0 { asked_first.take() } else { None };
                    let of = of.unwrap_or_else(|| at_hand.clone());
                    let asked = self.computed(rule, Binary::Equal, of, case);
                    self.chosen(rule, asked, value, otherwise)
                }
                _ => value,
            });
        }
        Ok(result.unwrap_or_else(|| self.nothing(node)))
    }
}

/// The first part of something that is no comment: what stands between parentheses, what is returned.
pub(super) fn inside(node: Node<'_>) -> Option<Node<'_>> {
    let [first, _] = first_two(node);
    first
}

/// The first two parts of something that are no comments.
pub(super) fn first_two(node: Node<'_>) -> [Option<Node<'_>>; 2] {
    let mut cursor = node.walk();
    let mut parts = node.named_children(&mut cursor).filter(|child| !child.is_extra());
    [parts.next(), parts.next()]
}

/// Numbers that the language itself has names for.
fn well_known(name: &str) -> Option<(&'static str, Type)> {
    Some(match name {
        "Math.PI" => ("3.141592653589793", DOUBLE),
        "Math.E" => ("2.718281828459045", DOUBLE),
        "Integer.MAX_VALUE" => ("2147483647", INT),
        "Long.MAX_VALUE" => ("9223372036854775807", Type::Scalar(Scalar::Long)),
        _ => return None,
    })
}

/// What methods of the language's own classes return, for those that numeric programs use.
fn returned(class: &str, name: &str) -> Type {
    match (class, name) {
        (_, "nanoTime" | "currentTimeMillis" | "parseLong" | "longValue" | "nextLong") => Type::Scalar(Scalar::Long),
        (_, "parseInt" | "intValue" | "nextInt" | "size" | "length" | "compareTo" | "hashCode" | "indexOf" | "ordinal") => INT,
        (_, "parseDouble" | "doubleValue" | "nextDouble" | "nextGaussian") => DOUBLE,
        (_, "nextFloat" | "floatValue") => Type::Scalar(Scalar::Float),
        (_, "nextBoolean" | "equals" | "isEmpty" | "hasNext" | "contains" | "isNaN" | "isInfinite") => BOOLEAN,
        ("String", "charAt") => Type::Scalar(Scalar::Short),
        ("String", "format" | "substring" | "valueOf" | "concat") | (_, "toString") => types::text_type(),
        ("StringBuilder" | "StringBuffer", "append" | "insert" | "reverse") => Type::Other("StringBuilder".to_owned()),
        _ => types::unknown(),
    }
}
