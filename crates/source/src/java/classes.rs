//! A first pass over all classes, with the types of their fields and methods.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::types;
use crate::error::SourceDiagnostic;
use crate::ir::DataType;
use crate::source_file::SourceFile;

/// Maximum nesting depth of classes.
const MAX_DEPTH: usize = 50;

/// The classes of all files.
#[derive(Default)]
pub(super) struct ClassTable<'t> {
    members: Vec<ClassMember<'t>>,
    /// The superclass of each class.
    superclasses: HashMap<String, String>,
    /// The enclosing class of each class.
    outer_classes: HashMap<String, String>,
    fields: HashMap<(String, String), DataType>,
    methods: HashMap<(String, String), Vec<MethodSignature>>,
    by_node: HashMap<usize, MethodSignature>,
    names: HashSet<String>,
}

/// A member of a class.
pub(super) struct ClassMember<'t> {
    pub(super) class: String,
    pub(super) node: Node<'t>,
    pub(super) text: &'t SourceFile,
}

/// The signature of a method.
#[derive(Debug, Clone)]
pub(super) struct MethodSignature {
    /// The name of the routine; overloads have different ones.
    pub(super) routine: String,
    pub(super) parameters: Vec<(String, DataType)>,
    pub(super) return_type: Option<DataType>,
}

impl<'t> ClassTable<'t> {
    /// Adds the classes of a file.
    pub(super) fn collect(&mut self, text: &'t SourceFile, root: Node<'t>) -> Result<(), SourceDiagnostic> {
        self.collect_body(text, root, None, 0)
    }

    fn collect_body(&mut self, text: &'t SourceFile, node: Node<'t>, class: Option<&str>, depth: usize) -> Result<(), SourceDiagnostic> {
        if depth > MAX_DEPTH {
            let problem = format!("classes are nested more than {MAX_DEPTH} deep");
            return Err(SourceDiagnostic::new(text.pos_at(node.start_byte()), problem).with_source_line(&text.text));
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match (child.kind(), class) {
                ("class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration", _) => {
                    self.class(text, child, class, depth)?;
                }
                ("enum_body_declarations", Some(_)) => self.collect_body(text, child, class, depth + 1)?,
                ("field_declaration" | "constant_declaration", Some(class)) => self.field(text, child, class),
                ("method_declaration" | "constructor_declaration", Some(class)) => self.method(text, child, class)?,
                ("static_initializer" | "block", Some(class)) => {
                    self.members.push(ClassMember { class: class.to_owned(), node: child, text })
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn class(&mut self, text: &'t SourceFile, node: Node<'t>, around: Option<&str>, depth: usize) -> Result<(), SourceDiagnostic> {
        let source = |node: Node<'_>| text.text.get(node.byte_range()).unwrap_or_default();
        let Some(name) = node.child_by_field_name("name").map(source) else { return Ok(()) };
        let extends = node.child_by_field_name("superclass").map(|above| source(above).trim_start_matches("extends").trim());
        let extends = extends.map(|above| above.split('<').next().unwrap_or(above).to_owned());
        self.names.insert(name.to_owned());
        self.superclasses.extend(extends.map(|above| (name.to_owned(), above)));
        self.outer_classes.extend(around.map(|around| (name.to_owned(), around.to_owned())));
        match node.child_by_field_name("body") {
            Some(body) => self.collect_body(text, body, Some(name), depth + 1),
            None => Ok(()),
        }
    }

    fn field(&mut self, text: &'t SourceFile, node: Node<'t>, class: &str) {
        let base = node.child_by_field_name("type").map_or_else(types::unknown_type, |of| types::type_from_node(text, of));
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let Some(name) = declarator.child_by_field_name("name").and_then(|name| text.text.get(name.byte_range())) else { continue };
            let of = types::with_dimensions(text, base.clone(), declarator.child_by_field_name("dimensions"));
            self.fields.insert((class.to_owned(), name.to_owned()), of);
        }
        self.members.push(ClassMember { class: class.to_owned(), node, text });
    }

    fn method(&mut self, text: &'t SourceFile, node: Node<'t>, class: &str) -> Result<(), SourceDiagnostic> {
        let source = |node: Node<'_>| text.text.get(node.byte_range()).unwrap_or_default();
        let constructor = node.kind() == "constructor_declaration";
        let written = node.child_by_field_name("name").map(source).unwrap_or_default();
        if constructor && written != class {
            let problem = format!("expected a type before `{written}`");
            let hint = "a method needs a return type, or `void`";
            let at = node.child_by_field_name("name").unwrap_or(node).start_byte();
            return Err(SourceDiagnostic::new(text.pos_at(at), problem).with_source_line(&text.text).with_hint(hint));
        }
        let name = if constructor { "new" } else { written };
        let parameters = node.child_by_field_name("parameters").map(|list| parameters(text, list)).unwrap_or_default();
        let returns = match node.child_by_field_name("type") {
            Some(of) if of.kind() != "void_type" => {
                Some(types::with_dimensions(text, types::type_from_node(text, of), node.child_by_field_name("dimensions")))
            }
            _ if constructor => Some(DataType::Named(class.to_owned())),
            _ => None,
        };
        let overloads = self.methods.entry((class.to_owned(), name.to_owned())).or_default();
        let number = if overloads.is_empty() { String::new() } else { format!("_{}", overloads.len() + 1) };
        let signature = MethodSignature { routine: format!("{class}.{name}{number}"), parameters, return_type: returns };
        self.by_node.insert(node.id(), signature.clone());
        overloads.push(signature);
        self.members.push(ClassMember { class: class.to_owned(), node, text });
        Ok(())
    }

    pub(super) fn members(&self) -> &[ClassMember<'t>] {
        &self.members
    }

    /// Whether a class exists.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The method that a node declares.
    pub(super) fn signature_at(&self, node: usize) -> Option<&MethodSignature> {
        self.by_node.get(&node)
    }

    /// The field of this name in the given scope: its qualified name and type.
    pub(super) fn field_of(&self, class: &str, name: &str, whose: LookupScope) -> Option<(String, &DataType)> {
        self.lookup_classes(class, whose).into_iter().find_map(|class| {
            let of = self.fields.get(&(class.clone(), name.to_owned()))?;
            Some((format!("{class}.{name}"), of))
        })
    }

    /// The best matching method of this name in the given scope.
    pub(super) fn method_of(&self, class: &str, name: &str, given: &[DataType], whose: LookupScope) -> Option<&MethodSignature> {
        self.lookup_classes(class, whose).into_iter().find_map(|class| {
            let overloads = self.methods.get(&(class, name.to_owned()))?;
            let fitting = overloads.iter().filter_map(|signature| Some((match_score(&signature.parameters, given)?, signature)));
            fitting.max_by_key(|(fit, signature)| (*fit, std::cmp::Reverse(signature.routine.len()))).map(|(_, signature)| signature)
        })
    }

    /// The superclass of a class.
    pub(super) fn superclass(&self, class: &str) -> Option<&str> {
        self.superclasses.get(class).map(String::as_str)
    }

    /// The classes in which names are looked up, each once.
    fn lookup_classes(&self, class: &str, whose: LookupScope) -> Vec<String> {
        let mut list = vec![class.to_owned()];
        let mut next = 0;
        while let Some(class) = list.get(next) {
            let around = self.outer_classes.get(class).filter(|_| whose == LookupScope::Lexical);
            let more: Vec<String> =
                self.superclasses.get(class).into_iter().chain(around).filter(|other| !list.contains(other)).cloned().collect();
            list.extend(more);
            next += 1;
        }
        list
    }
}

/// Where a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupScope {
    /// In the class, its superclasses and its enclosing classes: unqualified names.
    Lexical,
    /// In the class and its superclasses: qualified names.
    Members,
}

/// How well arguments match parameters; `None` if they do not.
fn match_score(parameters: &[(String, DataType)], given: &[DataType]) -> Option<usize> {
    if parameters.len() != given.len() {
        return None;
    }
    parameters.iter().zip(given).map(|((_, of), given)| parameter_match_score(of, given)).sum()
}

fn parameter_match_score(of: &DataType, given: &DataType) -> Option<usize> {
    match (of, given) {
        _ if of == given => Some(4),
        (DataType::Scalar(of), DataType::Scalar(given)) => (given < of).then(|| 3usize.saturating_sub(*of as usize - *given as usize)),
        // The argument's type is unknown, or it may be a subclass.
        (_, DataType::Named(name)) if name.is_empty() => Some(0),
        (DataType::Named(_), DataType::Named(_) | DataType::Array(_)) => Some(0),
        (DataType::Named(name), DataType::Scalar(_)) => (name != "String").then_some(0),
        _ => None,
    }
}

fn parameters(text: &SourceFile, list: Node<'_>) -> Vec<(String, DataType)> {
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
        let of = written.map_or_else(types::unknown_type, |of| types::type_from_node(text, of));
        let of = types::with_dimensions(text, of, node.child_by_field_name("dimensions"));
        let of = if spread { DataType::Array(Box::new(of)) } else { of };
        let name = name.and_then(|name| text.text.get(name.byte_range())).unwrap_or_default();
        found.push((name.to_owned(), of));
    }
    found
}
