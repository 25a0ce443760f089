//! The state of lowering C to the IR: names, types, macros.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tree_sitter::Node;

use super::macro_definition::MacroDefinition;
use super::macros::MacroTable;
use super::syntax;
use super::types::{CType, StructTable};
use crate::error::{Error, SourceDiagnostic};
use crate::file_pos::FilePos;
use crate::ir::IrProgram;
use crate::source_file::SourceFile;

/// Maximum nesting depth of statements and expressions.
const MAX_NESTING: usize = 200;

/// Maximum include depth.
const MAX_INCLUDE_DEPTH: usize = 30;

/// A text being parsed: a file, or a macro expansion.
#[derive(Clone, Copy)]
pub(super) struct SourceFragment<'a> {
    /// The text.
    pub text: &'a str,
    /// The file that contains it.
    pub file: &'a Arc<str>,
    /// Where a macro is used; everything in its expansion has that position.
    pub expansion_pos: Option<&'a FilePos>,
}

impl<'a> SourceFragment<'a> {
    /// The text of a node.
    pub(super) fn text_of(&self, node: Node) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The position of a node.
    pub(super) fn pos_of(&self, node: Node) -> FilePos {
        self.expansion_pos.cloned().unwrap_or_else(|| syntax::node_pos(node, self.text, self.file))
    }

    /// An error at a node.
    pub(super) fn error<T>(&self, node: Node, why: impl Into<String>) -> Result<T, Error> {
        Err(SourceDiagnostic::new(self.pos_of(node), why).into())
    }
}

/// Lowers C programs to the IR.
#[derive(Default)]
pub(super) struct CLowering {
    pub(super) program: IrProgram,
    pub(super) macros: MacroTable,
    pub(super) typedefs: HashMap<String, CType>,
    pub(super) structures: StructTable,
    pub(super) enumerators: HashMap<String, i64>,
    pub(super) functions: HashMap<String, CType>,
    pub(super) scopes: Vec<HashMap<String, CType>>,
    pub(super) n_anonymous_structs: usize,
    /// The files read, for messages.
    pub(super) texts: Vec<SourceFile>,
    included: HashSet<PathBuf>,
    include_depth: usize,
    depth: usize,
}

impl CLowering {
    /// Reads the files of a program with macro definitions from the command line.
    pub(super) fn files<P: AsRef<Path>>(&mut self, paths: &[P], definitions: &[MacroDefinition]) -> Result<(), Error> {
        definitions.iter().try_for_each(|definition| self.text("-D", &definition.define_line()))?;
        paths.iter().try_for_each(|path| self.file(path.as_ref()))
    }

    /// Reads a file and its quoted includes, as far as they exist.
    pub(super) fn file(&mut self, path: &Path) -> Result<(), Error> {
        self.included.insert(path.to_owned());
        let text = SourceFile::read(path)?;
        self.text(&text.name, &text.text)
    }

    /// Parses a text; its name is used in messages and to find includes.
    pub(super) fn text(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let text = SourceFile::new(name, text);
        let result = self.parse_unit(&text.name, &text.text);
        self.texts.push(text);
        result.map_err(|error| error.with_source_line(&self.texts))
    }

    fn parse_unit(&mut self, file: &Arc<str>, text: &str) -> Result<(), Error> {
        if self.scopes.is_empty() {
            self.scopes.push(HashMap::new());
        }
        let text = self.preprocess(file, text)?;
        let Some((text, tree)) = syntax::parse_tolerant(&text) else {
            return Err(SourceDiagnostic::new(FilePos { file: file.clone(), line: 1, column: 1 }, "the file is too large").into());
        };
        if let Some(error) = syntax::first_error(&tree, &text, file) {
            return Err(error.into());
        }
        self.items(tree.root_node(), SourceFragment { text: &text, file, expansion_pos: None })
    }

    /// All items at the top level.
    pub(super) fn items(&mut self, parent: Node, piece: SourceFragment) -> Result<(), Error> {
        for node in parent.named_children(&mut parent.walk()) {
            self.nested(node, piece, |reader| reader.item(node, piece))?;
        }
        Ok(())
    }

    fn item(&mut self, node: Node, piece: SourceFragment) -> Result<(), Error> {
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

    /// Reads a header if it exists and has not been read before.
    pub(super) fn header(&mut self, path: &Path) -> Result<(), Error> {
        if !path.is_file() || self.included.contains(path) || self.include_depth >= MAX_INCLUDE_DEPTH {
            return Ok(());
        }
        self.include_depth += 1;
        let result = self.file(path);
        self.include_depth -= 1;
        result
    }

    /// Runs something one level deeper, up to the maximum depth.
    pub(super) fn nested<T>(
        &mut self,
        node: Node,
        piece: SourceFragment,
        then: impl FnOnce(&mut CLowering) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth >= MAX_NESTING {
            return piece.error(node, format!("this is nested more than {MAX_NESTING} levels deep"));
        }
        self.depth += 1;
        let result = then(self);
        self.depth -= 1;
        result
    }

    /// Parses a macro expansion within the text of `around`.
    pub(super) fn parse_expansion<T>(
        &mut self,
        name: &str,
        text: &str,
        around: (&str, &str),
        place: &FilePos,
        then: impl FnOnce(&mut CLowering, Node, SourceFragment) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let whole = format!("{}{text}{}", around.0, around.1);
        let Some(tree) = syntax::parse_tree(&whole).filter(|tree| !tree.root_node().has_error()) else { return Ok(None) };
        if !self.macros.begin_expansion(name, &whole) {
            return Err(SourceDiagnostic::new(place.clone(), format!("the expansion of the macro `{name}` is too large")).into());
        }
        let piece = SourceFragment { text: &whole, file: &place.file, expansion_pos: Some(place) };
        let result = self.nested(tree.root_node(), piece, |reader| then(reader, tree.root_node(), piece));
        self.macros.end_expansion();
        result.map(Some)
    }

    /// The type of a variable.
    pub(super) fn type_of(&self, name: &str) -> Option<&CType> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Declares a variable.
    pub(super) fn declare(&mut self, name: &str, of: CType) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), of);
        }
    }
}
