//! Which classes there are, with the types of their fields and methods, before any of them is read.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::types;
use crate::error::Wrong;
use crate::file::Text;
use crate::routine::Type;

/// How deep classes may stand inside each other.
const MOST_DEPTH: usize = 50;

/// The classes of all files.
#[derive(Default)]
pub(super) struct Classes<'t> {
    members: Vec<Member<'t>>,
    /// The class that each class extends.
    above: HashMap<String, String>,
    /// The class that each class is inside of.
    around: HashMap<String, String>,
    fields: HashMap<(String, String), Type>,
    methods: HashMap<(String, String), Vec<Signature>>,
    by_node: HashMap<usize, Signature>,
    names: HashSet<String>,
}

/// Something that stands in a class.
pub(super) struct Member<'t> {
    pub(super) class: String,
    pub(super) node: Node<'t>,
    pub(super) text: &'t Text,
}

/// How a method is called.
#[derive(Debug, Clone)]
pub(super) struct Signature {
    /// The name of the routine; methods of the same name have different ones.
    pub(super) routine: String,
    pub(super) parameters: Vec<(String, Type)>,
    pub(super) returns: Option<Type>,
}

impl<'t> Classes<'t> {
    /// Adds the classes of a file.
    pub(super) fn learn(&mut self, text: &'t Text, root: Node<'t>) -> Result<(), Wrong> {
        self.inside(text, root, None, 0)
    }

    fn inside(&mut self, text: &'t Text, node: Node<'t>, class: Option<&str>, depth: usize) -> Result<(), Wrong> {
        if depth > MOST_DEPTH {
            let problem = format!("classes stand more than {MOST_DEPTH} deep inside each other");
            return Err(Wrong::at(text.place(node.start_byte()), problem).in_text(&text.text));
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match (child.kind(), class) {
                ("class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration", _) => {
                    self.class(text, child, class, depth)?;
                }
                ("enum_body_declarations", Some(_)) => self.inside(text, child, class, depth + 1)?,
                ("field_declaration" | "constant_declaration", Some(class)) => self.field(text, child, class),
                ("method_declaration" | "constructor_declaration", Some(class)) => self.method(text, child, class)?,
                ("static_initializer" | "block", Some(class)) => self.members.push(Member { class: class.to_owned(), node: child, text }),
                _ => {}
            }
        }
        Ok(())
    }

    fn class(&mut self, text: &'t Text, node: Node<'t>, around: Option<&str>, depth: usize) -> Result<(), Wrong> {
        let source = |node: Node<'_>| text.text.get(node.byte_range()).unwrap_or_default();
        let Some(name) = node.child_by_field_name("name").map(source) else { return Ok(()) };
        let extends = node.child_by_field_name("superclass").map(|above| source(above).trim_start_matches("extends").trim());
        let extends = extends.map(|above| above.split('<').next().unwrap_or(above).to_owned());
        self.names.insert(name.to_owned());
        self.above.extend(extends.map(|above| (name.to_owned(), above)));
        self.around.extend(around.map(|around| (name.to_owned(), around.to_owned())));
        match node.child_by_field_name("body") {
            Some(body) => self.inside(text, body, Some(name), depth + 1),
            None => Ok(()),
        }
    }

    fn field(&mut self, text: &'t Text, node: Node<'t>, class: &str) {
        let base = node.child_by_field_name("type").map_or_else(types::unknown, |of| types::read(text, of));
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let Some(name) = declarator.child_by_field_name("name").and_then(|name| text.text.get(name.byte_range())) else { continue };
            let of = types::with_dimensions(text, base.clone(), declarator.child_by_field_name("dimensions"));
            self.fields.insert((class.to_owned(), name.to_owned()), of);
        }
        self.members.push(Member { class: class.to_owned(), node, text });
    }

    fn method(&mut self, text: &'t Text, node: Node<'t>, class: &str) -> Result<(), Wrong> {
        let source = |node: Node<'_>| text.text.get(node.byte_range()).unwrap_or_default();
        let constructor = node.kind() == "constructor_declaration";
        let written = node.child_by_field_name("name").map(source).unwrap_or_default();
        if constructor && written != class {
            let problem = format!("expected a type before `{written}`");
            let hint = "a method has the type of what it returns, or `void`";
            let at = node.child_by_field_name("name").unwrap_or(node).start_byte();
            return Err(Wrong::at(text.place(at), problem).in_text(&text.text).hint(hint));
        }
        let name = if constructor { "new" } else { written };
        let parameters = node.child_by_field_name("parameters").map(|list| parameters(text, list)).unwrap_or_default();
        let returns = match node.child_by_field_name("type") {
            Some(of) if of.kind() != "void_type" => {
                Some(types::with_dimensions(text, types::read(text, of), node.child_by_field_name("dimensions")))
            }
            _ if constructor => Some(Type::Other(class.to_owned())),
            _ => None,
        };
        let overloads = self.methods.entry((class.to_owned(), name.to_owned())).or_default();
        let number = if overloads.is_empty() { String::new() } else { format!("_{}", overloads.len() + 1) };
        let signature = Signature { routine: format!("{class}.{name}{number}"), parameters, returns };
        self.by_node.insert(node.id(), signature.clone());
        overloads.push(signature);
        self.members.push(Member { class: class.to_owned(), node, text });
        Ok(())
    }

    pub(super) fn members(&self) -> &[Member<'t>] {
        &self.members
    }

    /// Whether there is a class of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The method that a node declares.
    pub(super) fn signature_at(&self, node: usize) -> Option<&Signature> {
        self.by_node.get(&node)
    }

    /// The field of this name that a class sees, or has itself: where it stands, and its type.
    pub(super) fn field_of(&self, class: &str, name: &str, whose: Whose) -> Option<(String, &Type)> {
        self.searched(class, whose).into_iter().find_map(|class| {
            let of = self.fields.get(&(class.clone(), name.to_owned()))?;
            Some((format!("{class}.{name}"), of))
        })
    }

    /// The method of this name that a class sees, or has itself, and that fits best what it is given.
    pub(super) fn method_of(&self, class: &str, name: &str, given: &[Type], whose: Whose) -> Option<&Signature> {
        self.searched(class, whose).into_iter().find_map(|class| {
            let overloads = self.methods.get(&(class, name.to_owned()))?;
            let fitting = overloads.iter().filter_map(|signature| Some((fit(&signature.parameters, given)?, signature)));
            fitting.max_by_key(|(fit, signature)| (*fit, std::cmp::Reverse(signature.routine.len()))).map(|(_, signature)| signature)
        })
    }

    /// The class that a class extends.
    pub(super) fn above(&self, class: &str) -> Option<&str> {
        self.above.get(class).map(String::as_str)
    }

    /// The classes in which names are looked for, each once.
    fn searched(&self, class: &str, whose: Whose) -> Vec<String> {
        let mut list = vec![class.to_owned()];
        let mut next = 0;
        while let Some(class) = list.get(next) {
            let around = self.around.get(class).filter(|_| whose == Whose::Seen);
            let more: Vec<String> =
                self.above.get(class).into_iter().chain(around).filter(|other| !list.contains(other)).cloned().collect();
            list.extend(more);
            next += 1;
        }
        list
    }
}

/// Where a name is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// In the class, those that it extends, and those around it: as names are seen from inside.
    Seen,
    /// In the class and those that it extends: as members of an object are.
    Own,
}

/// How well arguments fit parameters; nothing if they do not.
fn fit(parameters: &[(String, Type)], given: &[Type]) -> Option<usize> {
    if parameters.len() != given.len() {
        return None;
    }
    parameters.iter().zip(given).map(|((_, of), given)| fit_of_one(of, given)).sum()
}

fn fit_of_one(of: &Type, given: &Type) -> Option<usize> {
    match (of, given) {
        _ if of == given => Some(4),
        (Type::Scalar(of), Type::Scalar(given)) => (given < of).then(|| 3usize.saturating_sub(*of as usize - *given as usize)),
        // Nothing is known of the argument, or it may be of a class that extends another.
        (_, Type::Other(name)) if name.is_empty() => Some(0),
        (Type::Other(_), Type::Other(_) | Type::Array(_)) => Some(0),
        (Type::Other(name), Type::Scalar(_)) => (name != "String").then_some(0),
        _ => None,
    }
}

fn parameters(text: &Text, list: Node<'_>) -> Vec<(String, Type)> {
    let mut cursor = list.walk();
    let formal = list.named_children(&mut cursor).filter(|child| matches!(child.kind(), "formal_parameter" | "spread_parameter"));
    let mut found = Vec::new();
    for node in formal {
        let spread = node.kind() == "spread_parameter";
        let mut inner = node.walk();
        let declarator = node.named_children(&mut inner).find(|child| child.kind() == "variable_declarator");
        let name = node.child_by_field_name("name").or_else(|| declarator.and_then(|declarator| declarator.child_by_field_name("name")));
        let mut types_cursor = node.walk();
        let written = node
            .child_by_field_name("type")
            .or_else(|| node.named_children(&mut types_cursor).find(|child| !matches!(child.kind(), "modifiers" | "variable_declarator")));
        let of = written.map_or_else(types::unknown, |of| types::read(text, of));
        let of = types::with_dimensions(text, of, node.child_by_field_name("dimensions"));
        let of = if spread { Type::Array(Box::new(of)) } else { of };
        let name = name.and_then(|name| text.text.get(name.byte_range())).unwrap_or_default();
        found.push((name.to_owned(), of));
    }
    found
}
