//! Evaluates a function of a script, within limits.

use std::collections::BTreeMap;

use super::syntax::{ForRange, ScriptExpr, ScriptNode};
use super::value::ScriptValue::{self, Bool, Int, List, Map, Text, Unit};
use super::{
    MAX_CALLS, MAX_EVAL_DEPTH, MAX_STEPS, STEPS_PER_CLOCK_CHECK, Script, ScriptError, ScriptHost, SharedText, functions, operators,
};

/// Why evaluation leaves an expression early.
enum Exit {
    Break,
    Continue,
    Return(ScriptValue),
    Error(ScriptError),
}

impl From<ScriptError> for Exit {
    fn from(error: ScriptError) -> Exit {
        Exit::Error(error)
    }
}

/// An error at a node.
fn fail<T>(node: &ScriptNode, reason: impl Into<String>) -> Result<T, Exit> {
    Err(Exit::Error(ScriptError { at: node.at, reason: reason.into() }))
}

/// Gives the reason of a failure its position.
trait AtNode<T> {
    fn at_node(self, node: &ScriptNode) -> Result<T, Exit>;
}

impl<T> AtNode<T> for Result<T, String> {
    fn at_node(self, node: &ScriptNode) -> Result<T, Exit> {
        self.or_else(|reason| fail(node, reason))
    }
}

pub(super) struct Interpreter<'a> {
    script: &'a Script,
    this: &'a mut ScriptValue,
    host: &'a mut dyn ScriptHost,
    steps: u64,
    calls: usize,
    depth: usize,
}

/// A chain of entries: its root, and the keys behind it with their positions.
type PlaceExpr<'n> = (PlaceRoot, Vec<(&'n ScriptNode, ScriptValue)>);

enum PlaceRoot {
    Slot(usize),
    This,
    /// Not stored anywhere.
    Temporary(ScriptValue),
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(script: &'a Script, this: &'a mut ScriptValue, host: &'a mut dyn ScriptHost) -> Interpreter<'a> {
        Interpreter { script, this, host, steps: 0, calls: 0, depth: 0 }
    }

    /// Calls a function of the script, from a byte position.
    pub(super) fn call_function(&mut self, name: &str, at: usize, arguments: Vec<ScriptValue>) -> Result<ScriptValue, ScriptError> {
        let Some(function) = self.script.function(name, arguments.len()) else {
            return Err(ScriptError { at, reason: format!("there is no function `{name}`") });
        };
        if self.calls == MAX_CALLS {
            return Err(ScriptError { at, reason: format!("stack overflow: more than {MAX_CALLS} nested calls") });
        }
        self.calls += 1;
        let mut frame = arguments;
        frame.resize(function.slots, Unit);
        let result = self.eval(&function.body, &mut frame);
        self.calls -= 1;
        match result {
            Ok(value) | Err(Exit::Return(value)) => Ok(value),
            Err(Exit::Error(error)) => Err(error),
            // The parser allows them in loops only.
            Err(Exit::Break | Exit::Continue) => Ok(Unit),
        }
    }

    fn eval(&mut self, node: &ScriptNode, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        self.count_step(node)?;
        self.depth += 1;
        let value = self.eval_kind(node, frame);
        self.depth -= 1;
        value
    }

    fn count_step(&mut self, node: &ScriptNode) -> Result<(), Exit> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return fail(node, format!("it took more than {MAX_STEPS} steps"));
        }
        if self.depth == MAX_EVAL_DEPTH {
            return fail(node, "stack overflow: it is nested too deeply");
        }
        let interruption = if self.steps.is_multiple_of(STEPS_PER_CLOCK_CHECK) { self.host.interruption() } else { None };
        interruption.map_or(Ok(()), |reason| fail(node, reason))
    }

    /// Every case that evaluates others is a function of its own: what this one keeps on the stack counts for each level of nesting.
    fn eval_kind(&mut self, node: &ScriptNode, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        match &node.kind {
            ScriptExpr::Constant(value) => Ok(value.clone()),
            ScriptExpr::Template(parts) => self.template(node, parts, frame),
            ScriptExpr::Variable(slot) => Ok(frame[*slot].clone()),
            ScriptExpr::This => Ok(self.this.clone()),
            ScriptExpr::List(parts) => self.list(node, parts, frame),
            ScriptExpr::Map(parts) => self.map(node, parts, frame),
            ScriptExpr::Entry(..) => self.read_entry(node, frame),
            ScriptExpr::Call(name, arguments) => self.call(node, name, arguments, frame),
            ScriptExpr::Method(receiver, name, arguments) => self.call_method(node, receiver, name, arguments, frame),
            ScriptExpr::Unary(operator, operand) => self.unary(node, operator, operand, frame),
            ScriptExpr::Binary(operator, left, right) => self.binary(node, operator, left, right, frame),
            ScriptExpr::Block(statements) => self.block(statements, frame),
            ScriptExpr::If(condition, then, otherwise) => self.branch(condition, then, otherwise.as_deref(), frame),
            ScriptExpr::While(condition, body) => self.while_loop(condition.as_deref(), body, frame),
            ScriptExpr::For(slot, range, body) => self.for_loop(*slot, range, body, frame),
            ScriptExpr::Let(slot, value) => self.declare(*slot, value.as_deref(), frame),
            ScriptExpr::Assign(place, operator, value) => self.assign(node, place, *operator, value, frame),
            ScriptExpr::Break => Err(Exit::Break),
            ScriptExpr::Continue => Err(Exit::Continue),
            ScriptExpr::Return(value) => self.leave(value.as_deref(), frame, Exit::Return),
            ScriptExpr::Throw(value) => {
                self.leave(value.as_deref(), frame, |value| Exit::Error(ScriptError { at: node.at, reason: value.to_string() }))
            }
        }
    }

    fn list(&mut self, node: &ScriptNode, parts: &[ScriptNode], frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        checked(node, List(self.eval_all(parts, frame)?))
    }

    fn map(&mut self, node: &ScriptNode, parts: &[(SharedText, ScriptNode)], frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        let mut map = BTreeMap::new();
        for (key, value) in parts {
            map.insert(key.clone(), self.eval(value, frame)?);
        }
        checked(node, Map(map))
    }

    fn unary(&mut self, node: &ScriptNode, operator: &str, operand: &ScriptNode, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        operators::unary(operator, &self.eval(operand, frame)?).at_node(node)
    }

    /// The value of a block is that of its last statement.
    fn block(&mut self, statements: &[ScriptNode], frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        let mut value = Unit;
        for statement in statements {
            value = self.eval(statement, frame)?;
        }
        Ok(value)
    }

    fn branch(
        &mut self,
        condition: &ScriptNode,
        then: &ScriptNode,
        otherwise: Option<&ScriptNode>,
        frame: &mut [ScriptValue],
    ) -> Result<ScriptValue, Exit> {
        let branch = if self.condition(condition, frame)? { Some(then) } else { otherwise };
        self.eval_optional(branch, frame)
    }

    fn while_loop(&mut self, condition: Option<&ScriptNode>, body: &ScriptNode, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        while condition.map_or(Ok(true), |condition| self.condition(condition, frame))? {
            if self.run_body(body, frame)? {
                break;
            }
        }
        Ok(Unit)
    }

    fn declare(&mut self, slot: usize, value: Option<&ScriptNode>, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        frame[slot] = self.eval_optional(value, frame)?;
        Ok(Unit)
    }

    fn assign(
        &mut self,
        node: &ScriptNode,
        place: &ScriptNode,
        operator: Option<&str>,
        value: &ScriptNode,
        frame: &mut [ScriptValue],
    ) -> Result<ScriptValue, Exit> {
        let mut value = self.eval(value, frame)?;
        if let Some(operator) = operator {
            let old = self.eval(place, frame)?;
            value = operators::binary(operator, &old, &value).at_node(node)?;
        }
        self.with_place(place, frame, |place| *place = value)?;
        Ok(Unit)
    }

    /// Evaluates a value and leaves with it.
    fn leave(
        &mut self,
        value: Option<&ScriptNode>,
        frame: &mut [ScriptValue],
        exit: impl FnOnce(ScriptValue) -> Exit,
    ) -> Result<ScriptValue, Exit> {
        Err(exit(self.eval_optional(value, frame)?))
    }

    fn eval_optional(&mut self, node: Option<&ScriptNode>, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        node.map_or(Ok(Unit), |node| self.eval(node, frame))
    }

    fn eval_all(&mut self, nodes: &[ScriptNode], frame: &mut [ScriptValue]) -> Result<Vec<ScriptValue>, Exit> {
        nodes.iter().map(|node| self.eval(node, frame)).collect()
    }

    fn template(&mut self, node: &ScriptNode, parts: &[ScriptNode], frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        let mut text = String::new();
        for part in parts {
            text.push_str(&self.eval(part, frame)?.to_string());
        }
        checked(node, Text(text.into()))
    }

    fn condition(&mut self, node: &ScriptNode, frame: &mut [ScriptValue]) -> Result<bool, Exit> {
        match self.eval(node, frame)? {
            Bool(truth) => Ok(truth),
            other => fail(node, format!("expected a bool, found {}", other.type_name())),
        }
    }

    fn binary(
        &mut self,
        node: &ScriptNode,
        operator: &str,
        left: &ScriptNode,
        right: &ScriptNode,
        frame: &mut [ScriptValue],
    ) -> Result<ScriptValue, Exit> {
        match operator {
            "&&" => Ok(Bool(self.condition(left, frame)? && self.condition(right, frame)?)),
            "||" => Ok(Bool(self.condition(left, frame)? || self.condition(right, frame)?)),
            "??" => match self.eval(left, frame)? {
                Unit => self.eval(right, frame),
                value => Ok(value),
            },
            _ => {
                let left = self.eval(left, frame)?;
                let right = self.eval(right, frame)?;
                operators::binary(operator, &left, &right).at_node(node)
            }
        }
    }

    /// Runs the body of a loop once; returns whether the loop ends.
    fn run_body(&mut self, body: &ScriptNode, frame: &mut [ScriptValue]) -> Result<bool, Exit> {
        match self.eval(body, frame) {
            Ok(_) | Err(Exit::Continue) => Ok(false),
            Err(Exit::Break) => Ok(true),
            Err(other) => Err(other),
        }
    }

    fn for_loop(&mut self, slot: usize, range: &ForRange, body: &ScriptNode, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        let values: Box<dyn Iterator<Item = ScriptValue>> = match range {
            ForRange::List(node) => match self.eval(node, frame)? {
                List(list) => Box::new(list.into_iter()),
                other => return fail(node, format!("expected a list or a range, found {}", other.type_name())),
            },
            ForRange::Integers(from, to, inclusive) => match (self.eval(from, frame)?, self.eval(to, frame)?) {
                (Int(from), Int(to)) if *inclusive => Box::new((from..=to).map(Int)),
                (Int(from), Int(to)) => Box::new((from..to).map(Int)),
                _ => return fail(from, "the bounds of a range are integers"),
            },
        };
        for value in values {
            frame[slot] = value;
            if self.run_body(body, frame)? {
                break;
            }
        }
        Ok(Unit)
    }

    fn call(&mut self, node: &ScriptNode, name: &str, arguments: &[ScriptNode], frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        let arguments = self.eval_all(arguments, frame)?;
        self.call_named(node, name, arguments)
    }

    /// Calls a function of the script, the host or the language.
    fn call_named(&mut self, node: &ScriptNode, name: &str, arguments: Vec<ScriptValue>) -> Result<ScriptValue, Exit> {
        if self.script.function(name, arguments.len()).is_some() {
            return Ok(self.call_function(name, node.at, arguments)?);
        }
        let result = self.host.call(name, &arguments).or_else(|| functions::call(name, &arguments));
        result.map_or_else(|| unknown_function(node, name, &arguments), |result| result.at_node(node))
    }

    fn call_method(
        &mut self,
        node: &ScriptNode,
        receiver: &ScriptNode,
        name: &str,
        arguments: &[ScriptNode],
        frame: &mut [ScriptValue],
    ) -> Result<ScriptValue, Exit> {
        let mut arguments = self.eval_all(arguments, frame)?;
        if functions::changes_receiver(name) {
            let result = self.with_place(receiver, frame, |place| functions::change(name, place, &arguments))?;
            return result.map_or_else(|| unknown_function(node, name, &arguments), |result| result.at_node(node));
        }
        // A function of the script has `this` anyway.
        if !(matches!(receiver.kind, ScriptExpr::This) && self.script.function(name, arguments.len()).is_some()) {
            arguments.insert(0, self.eval(receiver, frame)?);
        }
        self.call_named(node, name, arguments)
    }

    /// Evaluates the keys of a chain of entries.
    fn resolve<'n>(&mut self, node: &'n ScriptNode, frame: &mut [ScriptValue]) -> Result<PlaceExpr<'n>, Exit> {
        let (mut keys, mut root) = (Vec::new(), node);
        while let ScriptExpr::Entry(of, key) = &root.kind {
            keys.push((root, self.eval(key, frame)?));
            root = of;
        }
        keys.reverse();
        let root = match &root.kind {
            ScriptExpr::Variable(slot) => PlaceRoot::Slot(*slot),
            ScriptExpr::This => PlaceRoot::This,
            _ => PlaceRoot::Temporary(self.eval(root, frame)?),
        };
        Ok((root, keys))
    }

    fn read_entry(&mut self, node: &ScriptNode, frame: &mut [ScriptValue]) -> Result<ScriptValue, Exit> {
        let (root, keys) = self.resolve(node, frame)?;
        let mut value = match &root {
            PlaceRoot::Slot(slot) => &frame[*slot],
            PlaceRoot::This => &*self.this,
            PlaceRoot::Temporary(value) => value,
        };
        for (at, key) in &keys {
            value = match (value, key) {
                (Map(map), Text(key)) => map.get(key).unwrap_or(&Unit),
                (List(list), Int(index)) => &list[element(at, *index, list.len())?],
                _ => return no_entry(at, value, key),
            };
        }
        Ok(value.clone())
    }

    /// Does something to a variable or entry; a missing entry is made, and the size of the whole checked afterwards.
    fn with_place<T>(&mut self, node: &ScriptNode, frame: &mut [ScriptValue], act: impl FnOnce(&mut ScriptValue) -> T) -> Result<T, Exit> {
        let (mut root, keys) = self.resolve(node, frame)?;
        let whole = match &mut root {
            PlaceRoot::Slot(slot) => &mut frame[*slot],
            PlaceRoot::This => &mut *self.this,
            PlaceRoot::Temporary(value) => value,
        };
        let mut place = &mut *whole;
        for (at, key) in &keys {
            place = match (place, key) {
                (Map(map), Text(key)) => map.entry(key.clone()).or_default(),
                (List(list), Int(index)) => {
                    let index = element(at, *index, list.len())?;
                    &mut list[index]
                }
                (place, _) => return no_entry(at, place, key),
            };
        }
        let result = act(place);
        whole.check_size().at_node(node)?;
        Ok(result)
    }
}

/// A new value that is not too large.
fn checked(node: &ScriptNode, value: ScriptValue) -> Result<ScriptValue, Exit> {
    value.check_size().at_node(node).map(|()| value)
}

fn element(node: &ScriptNode, index: i64, length: usize) -> Result<usize, Exit> {
    functions::index(index, length).map_or_else(|| fail(node, format!("index {index} is out of bounds: the list has {length} entries")), Ok)
}

fn no_entry<T>(node: &ScriptNode, value: &ScriptValue, key: &ScriptValue) -> Result<T, Exit> {
    match key {
        Text(name) => fail(node, format!("{} has no entry `{name}`", value.type_name())),
        key => fail(node, format!("{} has no entry {key}", value.type_name())),
    }
}

fn unknown_function<T>(node: &ScriptNode, name: &str, arguments: &[ScriptValue]) -> Result<T, Exit> {
    let types: Vec<&str> = arguments.iter().map(ScriptValue::type_name).collect();
    fail(node, format!("there is no function `{name}` for ({})", types.join(", ")))
}
