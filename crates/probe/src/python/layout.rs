//! Where each version of CPython keeps frames and code objects, on 64-bit machines.
//!
//! Up to 3.12 that is a table, made from the headers of each version. From 3.13 on the interpreter has a table itself (`_Py_DebugOffsets`
//! at the beginning of `_PyRuntime`), made for debuggers; its own layout is that of a minor version.

use super::memory::ReadMemory;

/// The first version whose interpreter has a table of offsets.
pub(super) const FIRST_WITH_OFFSETS: u32 = 0x030d_0000;
/// The beginning of that table.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
/// Release candidates and releases, as in the version: before that, structures of a minor version still change.
const FIRST_STABLE_LEVEL: u32 = 0xc0;

/// The type in an object.
pub(super) const TYPE: u64 = 8;

/// Offsets in the structures of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PythonLayout {
    /// In the state of a thread: its innermost frame or, with `c_frame`, a structure that has it.
    pub thread_frame: u64,
    /// In that structure.
    pub c_frame: Option<u64>,
    /// In a frame.
    pub previous: u64,
    pub code: u64,
    pub instruction: u64,
    /// In a frame: who owns it, where some are no frames of Python.
    pub owner: Option<u64>,
    /// How the instruction is given.
    pub position: InstructionPosition,
    /// In a code object.
    pub file: u64,
    pub name: u64,
    pub first_line: u64,
    pub line_table: u64,
    /// In a code object: a number that no other one has, in the upper half of this word.
    pub version_word: Option<u64>,
    /// In a text: where the characters of one begin that is ASCII, or not.
    pub ascii_text: u64,
    pub other_text: u64,
}

/// How a frame gives the instruction that it executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionPosition {
    /// A number in units of this many bytes.
    Index(i32),
    /// An address in the code object, whose instructions begin at this offset.
    Address(u64),
}

const TEXT_TO_3_11: (u64, u64) = (48, 72);
const TEXT_FROM_3_12: (u64, u64) = (40, 56);

const PYTHON_3_9: PythonLayout = PythonLayout {
    thread_frame: 24,
    c_frame: None,
    previous: 24,
    code: 32,
    instruction: 104,
    owner: None,
    position: InstructionPosition::Index(1),
    file: 104,
    name: 112,
    first_line: 40,
    line_table: 120,
    version_word: None,
    ascii_text: TEXT_TO_3_11.0,
    other_text: TEXT_TO_3_11.1,
};

const PYTHON_3_10: PythonLayout = PythonLayout { instruction: 96, position: InstructionPosition::Index(2), ..PYTHON_3_9 };

const PYTHON_3_11: PythonLayout = PythonLayout {
    thread_frame: 56,
    c_frame: Some(8),
    previous: 48,
    code: 32,
    instruction: 56,
    owner: None,
    position: InstructionPosition::Address(184),
    file: 112,
    name: 120,
    first_line: 72,
    line_table: 136,
    version_word: None,
    ascii_text: TEXT_TO_3_11.0,
    other_text: TEXT_TO_3_11.1,
};

const PYTHON_3_12: PythonLayout = PythonLayout {
    c_frame: Some(0),
    previous: 8,
    code: 0,
    owner: Some(70),
    position: InstructionPosition::Address(192),
    first_line: 68,
    version_word: Some(88),
    ascii_text: TEXT_FROM_3_12.0,
    other_text: TEXT_FROM_3_12.1,
    ..PYTHON_3_11
};

/// Where the interpreter's own table has the offsets of a version, in words.
struct OffsetTable {
    current_frame: u64,
    previous: u64,
    file: u64,
    object_size: u64,
}

const TABLE_3_13: OffsetTable = OffsetTable { current_frame: 23, previous: 29, file: 35, object_size: 44 };
const TABLE_3_14: OffsetTable = OffsetTable { current_frame: 26, previous: 32, file: 40, object_size: 50 };

impl PythonLayout {
    /// The layout of a version that has no table itself.
    pub(super) fn from_version(version: u32) -> Result<PythonLayout, String> {
        match version >> 16 {
            _ if version & 0xf0 < FIRST_STABLE_LEVEL => Err("a version before its release".into()),
            0x0309 => Ok(PYTHON_3_9),
            0x030a => Ok(PYTHON_3_10),
            0x030b => Ok(PYTHON_3_11),
            0x030c => Ok(PYTHON_3_12),
            _ => Err("the version is unknown".into()),
        }
    }

    /// The layout as the interpreter describes it at the beginning of `_PyRuntime`.
    pub(super) fn from_debug_offsets(memory: &impl ReadMemory, runtime: u64, version: u32) -> Result<PythonLayout, String> {
        let table = match version >> 16 {
            _ if version & 0xf0 < FIRST_STABLE_LEVEL => return Err("a version before its release".into()),
            0x030d => TABLE_3_13,
            0x030e => TABLE_3_14,
            _ => return Err("the version is unknown".into()),
        };
        let word = |index: u64| memory.word(runtime + 8 * index).unwrap_or(0);
        if (word(0), word(1)) != (COOKIE, version.into()) {
            return Err("the interpreter does not describe its structures".into());
        }
        if word(2) != 0 {
            return Err("free-threaded interpreters are not supported".into());
        }
        // The size of an object and the offset of its type: if they are elsewhere, so is everything else.
        if (word(table.object_size), word(table.object_size + 1)) != (16, TYPE) {
            return Err("the interpreter describes its structures in an unknown way".into());
        }
        let layout = PythonLayout {
            thread_frame: word(table.current_frame),
            c_frame: None,
            previous: word(table.previous),
            code: word(table.previous + 1),
            instruction: word(table.previous + 2),
            owner: Some(word(table.previous + 4)),
            position: InstructionPosition::Address(word(table.file + 8)),
            file: word(table.file),
            name: word(table.file + 1),
            first_line: word(table.file + 4),
            line_table: word(table.file + 3),
            // The version is in front of `co_localsplusnames`.
            version_word: word(table.file + 6).checked_sub(8),
            ascii_text: TEXT_FROM_3_12.0,
            other_text: TEXT_FROM_3_12.1,
        };
        let is_plausible = |offset: u64| offset < 1024;
        let offsets = [layout.thread_frame, layout.previous, layout.code, layout.instruction, layout.file, layout.name, layout.line_table];
        if offsets.into_iter().all(is_plausible) {
            Ok(layout)
        } else {
            Err("the interpreter describes its structures in an unknown way".into())
        }
    }
}

/// The version as in `PY_VERSION_HEX` of a text as `3.10.13 (main, ...)`; a release only.
pub(super) fn parse_version(text: &str) -> Option<u32> {
    let numbers: Option<Vec<u32>> = text.split(' ').next()?.split('.').map(|number| number.parse().ok().filter(|n| *n < 256)).collect();
    match numbers?[..] {
        [major, minor, micro] => Some(major << 24 | minor << 16 | micro << 8 | 0xf0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::OwnMemory;
    use super::*;

    #[test]
    fn only_known_versions_have_a_layout() {
        assert_eq!(parse_version("3.10.13 (main, Aug 2023) [GCC]"), Some(0x030a_0df0));
        assert_eq!([parse_version("3.14.0b1"), parse_version("3.9"), parse_version("")], [None; 3]);
        for minor in 9..=12 {
            assert!(PythonLayout::from_version(0x0300_00f0 | minor << 16).is_ok());
        }
        for version in [0x0308_12f0, 0x030d_00f0, 0x030f_00f0, 0x030c_00a1, 0x0209_00f0] {
            assert!(PythonLayout::from_version(version).is_err(), "{version:x}");
        }
    }

    #[test]
    fn a_table_of_the_interpreter_is_checked() {
        let mut table = vec![0u64; 100];
        table[..3].copy_from_slice(&[COOKIE, 0x030d_00f0, 0]);
        table[44..46].copy_from_slice(&[16, 8]);
        table[23] = 72;
        let read = |table: &[u64], version| PythonLayout::from_debug_offsets(&OwnMemory, table.as_ptr() as u64, version);
        assert_eq!(read(&table, 0x030d_00f0).unwrap().thread_frame, 72);
        assert!(read(&table, 0x030e_00f0).is_err());
        assert!(read(&table, 0x030d_01f0).is_err());
        for (index, wrong) in [(0, 1), (1, 5), (2, 1), (44, 17), (45, 0), (35, 5000)] {
            let mut damaged = table.clone();
            damaged[index] = wrong;
            assert!(read(&damaged, 0x030d_00f0).is_err(), "word {index}");
        }
    }
}
