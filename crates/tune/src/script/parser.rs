//! Tokens to functions, by recursive descent. Variables are resolved here: one that is unknown is an error before the script runs.

use super::lexer::{ScriptToken, tokens};
use super::syntax::{ForRange, ScriptExpr, ScriptFunction, ScriptNode};
use super::value::ScriptValue;
use super::{MAX_PARSE_DEPTH, ScriptError, SharedText};

/// Words that cannot be names.
const KEYWORDS: [&str; 15] =
    ["let", "if", "else", "while", "loop", "for", "in", "break", "continue", "return", "throw", "fn", "this", "true", "false"];
/// Words of Rhai that this subset does not have; they stay reserved, so that they are not mistaken for functions.
const UNSUPPORTED: [&str; 13] =
    ["const", "switch", "do", "until", "try", "catch", "import", "export", "as", "eval", "private", "global", "Fn"];

/// Binary operators by precedence, the weakest first; those in a row bind equally.
const OPERATORS: [&[&str]; 9] =
    [&["||"], &["&&"], &["==", "!="], &["in"], &["<", "<=", ">", ">="], &["??"], &["+", "-"], &["*", "/", "%"], &["**"]];

/// The functions of a script.
pub(super) fn parse(text: &str) -> Result<Vec<ScriptFunction>, ScriptError> {
    let tokens = tokens(text)?;
    let mut parser = ScriptParser { tokens: &tokens, next: 0, scope: Vec::new(), slots: 0, loops: 0, depth: 0 };
    let mut functions: Vec<ScriptFunction> = Vec::new();
    while *parser.peek() != ScriptToken::End {
        let at = parser.at();
        let function = parser.function()?;
        if functions.iter().any(|other| other.name == function.name && other.parameters == function.parameters) {
            return Err(ScriptError { at, reason: format!("the function `{}` is already defined", function.name) });
        }
        functions.push(function);
    }
    Ok(functions)
}

struct ScriptParser<'a> {
    tokens: &'a [(usize, ScriptToken)],
    next: usize,
    /// Visible variables; the index is the slot.
    scope: Vec<SharedText>,
    /// Most variables at once in this function.
    slots: usize,
    /// Loops around the current statement.
    loops: usize,
    depth: usize,
}

type NodeResult = Result<ScriptNode, ScriptError>;

impl ScriptParser<'_> {
    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    fn peek(&self) -> &ScriptToken {
        &self.tokens[self.next].1
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T, ScriptError> {
        Err(ScriptError { at: self.at(), reason: reason.into() })
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, ScriptError> {
        let found = match self.peek() {
            ScriptToken::Name(name) if UNSUPPORTED.contains(&&**name) => return self.error(format!("scripts have no `{name}`")),
            ScriptToken::Name(name) => format!("`{name}`"),
            ScriptToken::Symbol(symbol) => format!("`{symbol}`"),
            ScriptToken::Int(whole) => format!("{whole}"),
            ScriptToken::Float(number) => format!("{number}"),
            ScriptToken::End => "the end".into(),
            ScriptToken::Text(_) | ScriptToken::TemplateStart { .. } => "a text".into(),
            ScriptToken::TemplateRest { .. } => "`}`".into(),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    /// Takes a symbol or keyword if it is next.
    fn take(&mut self, word: &str) -> bool {
        let is_next = match self.peek() {
            ScriptToken::Symbol(symbol) => *symbol == word,
            ScriptToken::Name(name) => &**name == word,
            _ => false,
        };
        if is_next {
            self.advance();
        }
        is_next
    }

    fn expect(&mut self, word: &str) -> Result<(), ScriptError> {
        if self.take(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    fn name(&mut self) -> Result<SharedText, ScriptError> {
        match self.peek() {
            ScriptToken::Name(name) if !KEYWORDS.contains(&&**name) && !UNSUPPORTED.contains(&&**name) => {
                let name = name.clone();
                self.advance();
                Ok(name)
            }
            _ => self.unexpected("a name"),
        }
    }

    /// Items up to a closing symbol, separated by commas.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T, ScriptError>) -> Result<Vec<T>, ScriptError> {
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(item(self)?);
            if !self.take(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    /// Guards recursion, of the parser and of what walks the tree.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, ScriptError>) -> Result<T, ScriptError> {
        if self.depth >= MAX_PARSE_DEPTH {
            return self.error("it is nested too deeply");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn declare(&mut self, name: SharedText) -> usize {
        self.scope.push(name);
        self.slots = self.slots.max(self.scope.len());
        self.scope.len() - 1
    }

    fn function(&mut self) -> Result<ScriptFunction, ScriptError> {
        if !self.take("fn") {
            return self.unexpected("`fn`: a script consists of functions");
        }
        let name = self.name()?;
        self.expect("(")?;
        self.scope = self.list(")", Self::name)?;
        let parameters = self.scope.len();
        self.slots = parameters;
        let body = self.block()?;
        Ok(ScriptFunction { name, parameters, slots: self.slots, body })
    }

    fn block(&mut self) -> NodeResult {
        self.nested(|parser| {
            let at = parser.at();
            parser.expect("{")?;
            let outside = parser.scope.len();
            let mut statements = Vec::new();
            while !parser.take("}") {
                if parser.take(";") {
                    continue;
                }
                let statement = parser.statement()?;
                let ends_itself =
                    matches!(statement.kind, ScriptExpr::If(..) | ScriptExpr::While(..) | ScriptExpr::For(..) | ScriptExpr::Block(..));
                statements.push(statement);
                if !ends_itself && !parser.take(";") && *parser.peek() != ScriptToken::Symbol("}") {
                    return parser.unexpected("`;`");
                }
            }
            parser.scope.truncate(outside);
            Ok(ScriptNode { at, kind: ScriptExpr::Block(statements) })
        })
    }

    fn statement(&mut self) -> NodeResult {
        let at = self.at();
        let ScriptToken::Name(word) = self.peek() else { return self.expression_or_assignment() };
        let word = word.clone();
        let kind = match &*word {
            "let" => {
                self.advance();
                let name = self.name()?;
                // The value is that of the variable outside, if it has the same name.
                let value = if self.take("=") { Some(Box::new(self.expression()?)) } else { None };
                ScriptExpr::Let(self.declare(name), value)
            }
            "while" => {
                self.advance();
                let condition = self.expression()?;
                ScriptExpr::While(Some(Box::new(condition)), self.loop_body()?)
            }
            "loop" => {
                self.advance();
                ScriptExpr::While(None, self.loop_body()?)
            }
            "for" => self.for_loop()?,
            "break" | "continue" if self.loops == 0 => return self.error(format!("`{word}` is outside of a loop")),
            "break" => {
                self.advance();
                ScriptExpr::Break
            }
            "continue" => {
                self.advance();
                ScriptExpr::Continue
            }
            "return" => ScriptExpr::Return(self.optional_value()?),
            "throw" => ScriptExpr::Throw(self.optional_value()?),
            // Not the beginning of an expression: what follows its block is the next statement.
            "if" => return self.conditional(),
            _ => return self.expression_or_assignment(),
        };
        Ok(ScriptNode { at, kind })
    }

    fn optional_value(&mut self) -> Result<Option<Box<ScriptNode>>, ScriptError> {
        self.advance();
        let ends = matches!(self.peek(), ScriptToken::Symbol(";" | "}"));
        if ends { Ok(None) } else { self.expression().map(|value| Some(Box::new(value))) }
    }

    fn loop_body(&mut self) -> Result<Box<ScriptNode>, ScriptError> {
        self.loops += 1;
        let body = self.block();
        self.loops -= 1;
        body.map(Box::new)
    }

    fn for_loop(&mut self) -> Result<ScriptExpr, ScriptError> {
        self.advance();
        let name = self.name()?;
        self.expect("in")?;
        let first = self.expression()?;
        let range = if self.take("..") {
            ForRange::Integers(first, self.expression()?, false)
        } else if self.take("..=") {
            ForRange::Integers(first, self.expression()?, true)
        } else {
            ForRange::List(first)
        };
        let slot = self.declare(name);
        let body = self.loop_body()?;
        self.scope.pop();
        Ok(ScriptExpr::For(slot, Box::new(range), body))
    }

    fn conditional(&mut self) -> NodeResult {
        self.nested(|parser| {
            let at = parser.at();
            parser.expect("if")?;
            let condition = Box::new(parser.expression()?);
            let then = Box::new(parser.block()?);
            let otherwise = match parser.take("else") {
                false => None,
                true if *parser.peek() == ScriptToken::Name("if".into()) => Some(Box::new(parser.conditional()?)),
                true => Some(Box::new(parser.block()?)),
            };
            Ok(ScriptNode { at, kind: ScriptExpr::If(condition, then, otherwise) })
        })
    }

    fn expression_or_assignment(&mut self) -> NodeResult {
        let place = self.expression()?;
        let at = self.at();
        let operator = match self.peek() {
            ScriptToken::Symbol("=") => None,
            ScriptToken::Symbol(symbol @ ("+=" | "-=" | "*=" | "/=" | "%=" | "**=")) => Some(&symbol[..symbol.len() - 1]),
            _ => return Ok(place),
        };
        if !is_place(&place) {
            return self.error("only a variable or an entry of one can be assigned to");
        }
        self.advance();
        let value = self.expression()?;
        Ok(ScriptNode { at, kind: ScriptExpr::Assign(Box::new(place), operator, Box::new(value)) })
    }

    fn expression(&mut self) -> NodeResult {
        self.nested(|parser| parser.binary(0))
    }

    /// The operator that is next, and its precedence.
    fn operator(&self) -> Option<(usize, &'static str)> {
        let word = match self.peek() {
            ScriptToken::Symbol(symbol) => symbol,
            ScriptToken::Name(name) => &**name,
            _ => return None,
        };
        let known = |(precedence, row): (usize, &&'static [&'static str])| Some((precedence, *row.iter().find(|known| **known == word)?));
        OPERATORS.iter().enumerate().find_map(known)
    }

    /// Operators of at least this precedence; each adds a level to the tree, hence to the depth.
    fn binary(&mut self, least: usize) -> NodeResult {
        let mut left = self.unary()?;
        let outside = self.depth;
        while let Some((precedence, operator)) = self.operator().filter(|(precedence, _)| *precedence >= least) {
            let at = self.at();
            self.advance();
            // `**` groups to the right: 2 ** 3 ** 2 is 2 ** 9.
            let right = self.nested(|parser| parser.binary(precedence + usize::from(operator != "**")))?;
            self.depth += 1;
            left = ScriptNode { at, kind: ScriptExpr::Binary(operator, Box::new(left), Box::new(right)) };
        }
        self.depth = outside;
        Ok(left)
    }

    fn unary(&mut self) -> NodeResult {
        let at = self.at();
        for operator in ["-", "!", "+"] {
            if self.take(operator) {
                let operand = self.nested(Self::unary)?;
                return Ok(ScriptNode { at, kind: ScriptExpr::Unary(operator, Box::new(operand)) });
            }
        }
        self.postfix()
    }

    /// A value with fields, keys and calls behind it.
    fn postfix(&mut self) -> NodeResult {
        let mut value = self.primary()?;
        let outside = self.depth;
        loop {
            let at = self.at();
            if self.take("[") {
                let key = self.expression()?;
                self.expect("]")?;
                value = ScriptNode { at, kind: ScriptExpr::Entry(Box::new(value), Box::new(key)) };
            } else if self.take(".") {
                let at = self.at();
                let name = self.name()?;
                let kind = if self.take("(") {
                    ScriptExpr::Method(Box::new(value), name, self.list(")", Self::expression)?)
                } else {
                    let key = ScriptNode { at, kind: ScriptExpr::Constant(ScriptValue::Text(name)) };
                    ScriptExpr::Entry(Box::new(value), Box::new(key))
                };
                value = ScriptNode { at, kind };
            } else {
                break;
            }
            self.depth += 1;
            self.nested(|_| Ok(()))?;
        }
        self.depth = outside;
        Ok(value)
    }

    fn primary(&mut self) -> NodeResult {
        let at = self.at();
        let kind = match self.peek().clone() {
            ScriptToken::Int(whole) => self.constant(ScriptValue::Int(whole)),
            ScriptToken::Float(number) => self.constant(ScriptValue::Float(number)),
            ScriptToken::Text(text) => self.constant(ScriptValue::Text(text)),
            ScriptToken::TemplateStart { text, open } => self.template(text, open)?,
            ScriptToken::Symbol("{") => return self.block(),
            ScriptToken::Symbol("[") => {
                self.advance();
                ScriptExpr::List(self.list("]", Self::expression)?)
            }
            ScriptToken::Symbol("#{") => {
                self.advance();
                ScriptExpr::Map(self.list("}", Self::map_entry)?)
            }
            ScriptToken::Symbol("(") => {
                self.advance();
                if self.take(")") {
                    ScriptExpr::Constant(ScriptValue::Unit)
                } else {
                    let inner = self.expression()?;
                    self.expect(")")?;
                    return Ok(inner);
                }
            }
            ScriptToken::Name(name) => return self.named(name),
            _ => return self.unexpected("an expression"),
        };
        Ok(ScriptNode { at, kind })
    }

    fn named(&mut self, name: SharedText) -> NodeResult {
        let at = self.at();
        let kind = match &*name {
            "true" => self.constant(ScriptValue::Bool(true)),
            "false" => self.constant(ScriptValue::Bool(false)),
            "if" => return self.conditional(),
            "this" => {
                self.advance();
                ScriptExpr::This
            }
            _ => {
                let name = self.name()?;
                if self.take("(") {
                    ScriptExpr::Call(name, self.list(")", Self::expression)?)
                } else {
                    match self.scope.iter().rposition(|known| *known == name) {
                        Some(slot) => ScriptExpr::Variable(slot),
                        None => return Err(ScriptError { at, reason: format!("there is no variable `{name}` here") }),
                    }
                }
            }
        };
        Ok(ScriptNode { at, kind })
    }

    fn constant(&mut self, value: ScriptValue) -> ScriptExpr {
        self.advance();
        ScriptExpr::Constant(value)
    }

    fn map_entry(&mut self) -> Result<(SharedText, ScriptNode), ScriptError> {
        let key = match self.peek().clone() {
            ScriptToken::Text(text) => {
                self.advance();
                text
            }
            _ => self.name()?,
        };
        self.expect(":")?;
        Ok((key, self.expression()?))
    }

    fn template(&mut self, text: SharedText, open: bool) -> Result<ScriptExpr, ScriptError> {
        let piece = |at, text| ScriptNode { at, kind: ScriptExpr::Constant(ScriptValue::Text(text)) };
        let mut parts = vec![piece(self.at(), text)];
        let mut open = open;
        self.advance();
        while open {
            parts.push(self.expression()?);
            let ScriptToken::TemplateRest { text, open: more } = self.peek().clone() else { return self.unexpected("`}`") };
            parts.push(piece(self.at(), text));
            open = more;
            self.advance();
        }
        Ok(ScriptExpr::Template(parts))
    }
}

/// Whether a value can be stored there: a variable, `this`, or an entry of them.
fn is_place(node: &ScriptNode) -> bool {
    match &node.kind {
        ScriptExpr::Variable(_) | ScriptExpr::This => true,
        ScriptExpr::Entry(of, _) => is_place(of),
        _ => false,
    }
}
