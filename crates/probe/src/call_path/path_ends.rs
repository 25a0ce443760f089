//! Notes about code at which call paths end early, because nothing tells who called it.

use crate::breakable_lock::BreakableLock;
use crate::process;
use crate::unwinder::UndescribedCode;

/// Most files that are noted.
const MAX_NOTES: usize = 8;

static NOTED: BreakableLock<Vec<String>> = BreakableLock::new(Vec::new());

/// Notes that a path ends at this code, once for each file.
pub(super) fn note(code: UndescribedCode) {
    let text = match code {
        UndescribedCode::InFile(file) => format!("call paths end in {file}: it has code without unwind tables (.eh_frame)"),
        UndescribedCode::Generated => "call paths end in generated code: it has no unwind tables".to_owned(),
    };
    let Some(mut noted) = NOTED.lock() else { return };
    if noted.len() < MAX_NOTES && !noted.contains(&text) {
        process::note(&text);
        noted.push(text);
    }
}
