//! The syntax tree of a script. Statements are expressions, most of them without a value.

use super::SharedText;
use super::value::ScriptValue;

/// A function; its variables are numbered, parameters first.
#[derive(Debug)]
pub(super) struct ScriptFunction {
    pub name: SharedText,
    pub parameters: usize,
    /// Most variables at once.
    pub slots: usize,
    pub body: ScriptNode,
}

/// An expression and its byte position.
#[derive(Debug)]
pub(super) struct ScriptNode {
    pub at: usize,
    pub kind: ScriptExpr,
}

#[derive(Debug)]
pub(super) enum ScriptExpr {
    Constant(ScriptValue),
    /// Texts and expressions, to be joined.
    Template(Vec<ScriptNode>),
    Variable(usize),
    This,
    List(Vec<ScriptNode>),
    Map(Vec<(SharedText, ScriptNode)>),
    /// An entry of a map by its name, or of a map or list by a key: a field has a constant key.
    Entry(Box<ScriptNode>, Box<ScriptNode>),
    Call(SharedText, Vec<ScriptNode>),
    Method(Box<ScriptNode>, SharedText, Vec<ScriptNode>),
    Unary(&'static str, Box<ScriptNode>),
    Binary(&'static str, Box<ScriptNode>, Box<ScriptNode>),
    Block(Vec<ScriptNode>),
    If(Box<ScriptNode>, Box<ScriptNode>, Option<Box<ScriptNode>>),
    /// `while`, or `loop` without a condition.
    While(Option<Box<ScriptNode>>, Box<ScriptNode>),
    For(usize, Box<ForRange>, Box<ScriptNode>),
    Let(usize, Option<Box<ScriptNode>>),
    /// The place, the operator before `=` if any, and the value.
    Assign(Box<ScriptNode>, Option<&'static str>, Box<ScriptNode>),
    Break,
    Continue,
    Return(Option<Box<ScriptNode>>),
    Throw(Option<Box<ScriptNode>>),
}

/// What a `for` walks over.
#[derive(Debug)]
pub(super) enum ForRange {
    List(ScriptNode),
    /// From, to, and whether `to` belongs to it.
    Integers(ScriptNode, ScriptNode, bool),
}
