//! What is known while a C program is read: names, types, macros. The other files of this folder read with it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tree_sitter::Node;

use super::definition::Definition;
use super::macros::Macros;
use super::syntax;
use super::types::{CType, Structures};
use crate::error::{Error, Wrong};
use crate::file::Text;
use crate::place::Place;
use crate::routine::Program;

/// How deep statements and expressions may stand in each other.
const DEEPEST: usize = 200;

/// How deep headers may include each other.
const MOST_HEADERS: usize = 30;

/// A text that is being read: a file, or what a macro stands for.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The text.
    pub text: &'a str,
    /// The file it stands in.
    pub file: &'a Arc<str>,
    /// Where a macro is used: all that it stands for is there.
    pub used_at: Option<&'a Place>,
}

impl<'a> Piece<'a> {
    /// The text of a node.
    pub fn text_of(&self, node: Node) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The place of a node.
    pub fn place(&self, node: Node) -> Place {
        self.used_at.cloned().unwrap_or_else(|| syntax::place_of(node, self.text, self.file))
    }

    /// Refuses what stands at a node.
    pub fn refuse<T>(&self, node: Node, why: impl Into<String>) -> Result<T, Error> {
        Err(Wrong::at(self.place(node), why).into())
    }
}

/// Reads C programs.
#[derive(Default)]
pub struct Reader {
    pub(super) program: Program,
    pub(super) macros: Macros,
    pub(super) typedefs: HashMap<String, CType>,
    pub(super) structures: Structures,
    pub(super) enumerators: HashMap<String, i64>,
    pub(super) functions: HashMap<String, CType>,
    pub(super) scopes: Vec<HashMap<String, CType>>,
    pub(super) nameless: usize,
    /// What was read, for messages.
    pub(super) texts: Vec<Text>,
    included: HashSet<PathBuf>,
    headers: usize,
    depth: usize,
}

impl Reader {
    /// Reads the files of a program in which some macros are defined from outside.
    pub fn files<P: AsRef<Path>>(&mut self, paths: &[P], definitions: &[Definition]) -> Result<(), Error> {
        definitions.iter().try_for_each(|definition| self.text("-D", &definition.line()))?;
        paths.iter().try_for_each(|path| self.file(path.as_ref()))
    }

    /// Reads a file, and what it includes in quotation marks as far as that is there.
    pub fn file(&mut self, path: &Path) -> Result<(), Error> {
        self.included.insert(path.to_owned());
        let text = Text::read(path)?;
        self.text(&text.file, &text.text)
    }

    /// Reads a text; the name says what it is called in messages, and where what it includes is searched.
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let text = Text::new(name, text);
        let result = self.parsed(&text.file, &text.text);
        self.texts.push(text);
        result.map_err(|error| error.in_texts(&self.texts))
    }

    fn parsed(&mut self, file: &Arc<str>, text: &str) -> Result<(), Error> {
        if self.scopes.is_empty() {
            self.scopes.push(HashMap::new());
        }
        let text = self.compiled(file, text)?;
        let Some((text, tree)) = syntax::understood(&text) else {
            return Err(Wrong::at(Place { file: file.clone(), line: 1, column: 1 }, "the file is too large").into());
        };
        if let Some(error) = syntax::first_error(&tree, &text, file) {
            return Err(error.into());
        }
        self.items(tree.root_node(), Piece { text: &text, file, used_at: None })
    }

    /// Everything that stands at the outermost level.
    pub(super) fn items(&mut self, parent: Node, piece: Piece) -> Result<(), Error> {
        for node in parent.named_children(&mut parent.walk()) {
            self.deeper(node, piece, |reader| reader.item(node, piece))?;
        }
        Ok(())
    }

    fn item(&mut self, node: Node, piece: Piece) -> Result<(), Error> {
        match node.kind() {
            "function_definition" => self.function(node, piece),
            "declaration" | "type_definition" => {
                let variables = self.declaration(node, piece)?;
                self.program.globals.extend(variables);
                Ok(())
            }
            "struct_specifier" | "union_specifier" | "enum_specifier" => self.base_type(node, piece).map(drop),
            "linkage_specification" | "declaration_list" => self.items(node, piece),
            kind if kind.starts_with("preproc_") => {
                self.directive(node, piece);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reads a header, if it is there and was not read before.
    pub(super) fn header(&mut self, path: &Path) -> Result<(), Error> {
        if !path.is_file() || self.included.contains(path) || self.headers >= MOST_HEADERS {
            return Ok(());
        }
        self.headers += 1;
        let result = self.file(path);
        self.headers -= 1;
        result
    }

    /// Does something one level deeper, as long as that is not too deep.
    pub(super) fn deeper<T>(&mut self, node: Node, piece: Piece, then: impl FnOnce(&mut Reader) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= DEEPEST {
            return piece.refuse(node, format!("this stands more than {DEEPEST} levels deep"));
        }
        self.depth += 1;
        let result = then(self);
        self.depth -= 1;
        result
    }

    /// Reads what a macro stands for, within `before` and `after`.
    pub(super) fn expansion<T>(
        &mut self,
        name: &str,
        text: &str,
        around: (&str, &str),
        place: &Place,
        then: impl FnOnce(&mut Reader, Node, Piece) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let whole = format!("{}{text}{}", around.0, around.1);
        let Some(tree) = syntax::tree(&whole).filter(|tree| !tree.root_node().has_error()) else { return Ok(None) };
        if !self.macros.enter(name, &whole) {
            return Err(Wrong::at(place.clone(), format!("the macro `{name}` stands for more than can be read")).into());
        }
        let piece = Piece { text: &whole, file: &place.file, used_at: Some(place) };
        let result = self.deeper(tree.root_node(), piece, |reader| then(reader, tree.root_node(), piece));
        self.macros.leave();
        result.map(Some)
    }

    /// The type of a variable.
    pub(super) fn type_of(&self, name: &str) -> Option<&CType> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Takes up a variable.
    pub(super) fn declare(&mut self, name: &str, of: CType) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), of);
        }
    }
}
