//! The tree of call paths of this process: each node is a return address, or a line of Python, under the path of its caller.

use std::collections::HashMap;
use std::sync::Mutex;

use sintonia_recording::definitions::{CallPathDefinition, DefinitionRecord};

use crate::cancellation::CancellationGuard;
use crate::process;
use crate::python::{PythonLine, line_numbers};
use crate::unwinder::LoadedFiles;

/// Most nodes. A program that recurses to ever new depths would fill the memory.
const MAX_NODES: u32 = 200_000;

static TREE: Mutex<Option<PathTree>> = Mutex::new(None);

/// A frame of a path.
pub(super) enum PathFrame {
    /// A return address.
    Native(u64),
    /// A line of Python.
    Python(PythonLine),
}

/// What a node is, under its caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum NodeKind {
    Address(u64),
    /// A line of Python, by its number.
    Python(u32),
}

#[derive(Default)]
struct PathTree {
    /// Numbers of nodes by caller and kind.
    nodes: HashMap<(Option<u32>, NodeKind), u32>,
    /// Number of the next node.
    next: u32,
    /// The files that were loaded when nodes were defined last.
    loaded: LoadedFiles,
    is_full: bool,
}

/// The number of a path, given by its frames, innermost first. `None` if there are too many.
pub(super) fn number_of(frames: Vec<PathFrame>, loaded: LoadedFiles) -> Option<u32> {
    let _guard = CancellationGuard::new();
    // Held by another thread: its path is found at the next call.
    let mut tree = TREE.try_lock().ok()?;
    let tree = tree.get_or_insert_default();
    tree.update(loaded);
    let mut caller = None;
    for frame in frames.into_iter().rev() {
        let kind = match frame {
            PathFrame::Native(address) => NodeKind::Address(address),
            PathFrame::Python(line) => NodeKind::Python(line_numbers::number_of(line)?),
        };
        caller = Some(tree.node(caller, kind)?);
    }
    caller
}

impl PathTree {
    /// Defines files before the paths through them. Once one was unloaded, an address may be in another file, and is another node.
    fn update(&mut self, loaded: LoadedFiles) {
        if self.loaded == loaded {
            return;
        }
        if self.loaded.unloaded != loaded.unloaded {
            self.nodes.clear();
            process::forget_modules();
        }
        process::define_modules();
        self.loaded = loaded;
    }

    fn node(&mut self, caller: Option<u32>, kind: NodeKind) -> Option<u32> {
        if let Some(number) = self.nodes.get(&(caller, kind)) {
            return Some(*number);
        }
        if self.next >= MAX_NODES {
            if !std::mem::replace(&mut self.is_full, true) {
                process::note("there are more call paths than can be recorded; of further ones only the call site is known");
            }
            return None;
        }
        let id = self.next;
        self.next += 1;
        self.nodes.insert((caller, kind), id);
        let (address, python) = match kind {
            NodeKind::Address(address) => (address, None),
            NodeKind::Python(line) => (0, Some(line)),
        };
        process::define(&DefinitionRecord::CallPath(CallPathDefinition { id, caller, address, python }));
        Some(id)
    }
}
