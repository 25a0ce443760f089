//! Known call paths of a thread, found by the words of the stack that decided their unwinding.
//!
//! Unwinding is a function of the registers at the call and of the words that it reads from the stack. If return address and stack pointer
//! are those of a remembered path and every word that mattered has its value, the path is the same. One call site at one depth of the
//! stack is often reached from several callers in turn, so there are several entries for each.
//!
//! In a thread that runs Python, the frames of Python are compared as well: code object and instruction. Memory of a code object may be
//! used for another one later, so words that tell it from others are compared too.

use super::CallerRegisters;
use super::unwound_path::UnwoundPath;
use crate::python::{PythonFrame, PythonFrameList};

/// Sets of the table, selected by a hash of return address, stack pointer and frames of Python.
const SETS: usize = 256;
/// Entries of a set.
const WAYS: usize = 8;
/// With more words, everything is forgotten: paths that never come again.
const MAX_WORDS: usize = 1 << 18;

/// A word of the stack, relative to the stack pointer.
#[derive(Clone, Copy)]
struct StackWord {
    offset: u32,
    value: u64,
}

/// A remembered path; the first word that tells it from others is in the entry itself.
#[derive(Clone, Copy)]
struct PathEntry {
    return_address: u64,
    stack_pointer: u64,
    first: StackWord,
    /// The frame pointer at the call, if it matters.
    frame_pointer: u64,
    frame_pointer_matters: bool,
    /// Further words, by their place in [`RememberedPaths::words`].
    begin: u32,
    end: u32,
    /// Frames of Python, by their place in [`RememberedPaths::python`], and their fingerprint.
    python_begin: u32,
    python_end: u32,
    fingerprint: u64,
    /// Words of their code objects, by their place in [`RememberedPaths::code_words`].
    code_begin: u32,
    code_end: u32,
    path: u32,
}

impl PathEntry {
    const EMPTY: PathEntry = PathEntry {
        return_address: 0,
        stack_pointer: 0,
        first: StackWord { offset: 0, value: 0 },
        frame_pointer: 0,
        frame_pointer_matters: false,
        begin: 0,
        end: 0,
        python_begin: 0,
        python_end: 0,
        fingerprint: 0,
        code_begin: 0,
        code_end: 0,
        path: 0,
    };
}

/// The paths of a thread.
pub(super) struct RememberedPaths {
    entries: Box<[[PathEntry; WAYS]; SETS]>,
    words: Vec<StackWord>,
    python: Vec<PythonFrame>,
    /// Addresses and values.
    code_words: Vec<(u64, u64)>,
    /// The entry of a full set that is replaced next.
    next_way: usize,
}

impl RememberedPaths {
    pub(super) fn new() -> RememberedPaths {
        let entries: Vec<[PathEntry; WAYS]> = vec![[PathEntry::EMPTY; WAYS]; SETS];
        let Ok(entries) = entries.into_boxed_slice().try_into() else { unreachable!("it has that many sets") };
        RememberedPaths { entries, words: Vec::new(), python: Vec::new(), code_words: Vec::new(), next_way: 0 }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.entries.fill([PathEntry::EMPTY; WAYS]);
        self.words.clear();
        self.python.clear();
        self.code_words.clear();
    }

    /// The number of the path of a call with these frames of Python, if it is remembered.
    #[inline(always)]
    pub(super) fn find(&self, caller: CallerRegisters, python: &PythonFrameList) -> Option<u32> {
        let sp = caller.stack_pointer;
        // SAFETY: the entry was made for the same stack pointer of the same thread, so the word lies in the caller's part of its stack.
        let is_there = |word: &StackWord| unsafe { *((sp + u64::from(word.offset)) as *const u64) } == word.value;
        // SAFETY: a word of a code object of one of the frames, or of an object that it refers to: the words before it are compared first.
        let is_same = |(address, value): &(u64, u64)| unsafe { (*address as *const u64).read_unaligned() } == *value;
        self.entries[set_of(caller, python)].iter().find_map(|entry| {
            if entry.return_address != caller.return_address || entry.stack_pointer != sp || !is_there(&entry.first) {
                return None;
            }
            if entry.fingerprint != python.fingerprint() {
                return None;
            }
            if entry.frame_pointer_matters && entry.frame_pointer != caller.frame_pointer {
                return None;
            }
            let words = self.words.get(entry.begin as usize..entry.end as usize)?;
            let frames = self.python.get(entry.python_begin as usize..entry.python_end as usize)?;
            if !words.iter().all(is_there) || frames != python.as_slice() {
                return None;
            }
            let code_words = self.code_words.get(entry.code_begin as usize..entry.code_end as usize)?;
            code_words.iter().all(is_same).then_some(entry.path)
        })
    }

    /// Remembers a path, with the frames of Python and words of their code objects.
    pub(super) fn insert(
        &mut self,
        caller: CallerRegisters,
        unwound: &UnwoundPath,
        (python, code_words): (&PythonFrameList, &[(u64, u64)]),
        path: u32,
    ) {
        let offset = |address: u64| u32::try_from(address - caller.stack_pointer).ok();
        let mut deciding =
            unwound.deciding_words().iter().map(|(address, value)| Some(StackWord { offset: offset(*address)?, value: *value }));
        // A path without a word to compare would be found for any caller.
        let Some(Some(first)) = deciding.next() else { return };
        if self.words.len().max(self.code_words.len()) > MAX_WORDS {
            self.clear();
        }
        let begin = self.words.len();
        for word in deciding {
            let Some(word) = word else { return self.words.truncate(begin) };
            self.words.push(word);
        }
        let (python_begin, code_begin) = (self.python.len(), self.code_words.len());
        self.python.extend(python.as_slice());
        self.code_words.extend(code_words);
        let entry = PathEntry {
            return_address: caller.return_address,
            stack_pointer: caller.stack_pointer,
            first,
            frame_pointer: caller.frame_pointer,
            frame_pointer_matters: unwound.frame_pointer_matters,
            begin: begin as u32,
            end: self.words.len() as u32,
            python_begin: python_begin as u32,
            python_end: self.python.len() as u32,
            fingerprint: python.fingerprint(),
            code_begin: code_begin as u32,
            code_end: self.code_words.len() as u32,
            path,
        };
        let set = &mut self.entries[set_of(caller, python)];
        let way = set.iter().position(|entry| entry.return_address == 0).unwrap_or_else(|| {
            self.next_way = (self.next_way + 1) % WAYS;
            self.next_way
        });
        set[way] = entry;
    }
}

#[inline(always)]
fn set_of(caller: CallerRegisters, python: &PythonFrameList) -> usize {
    ((caller.return_address ^ caller.stack_pointer.rotate_left(17) ^ python.fingerprint()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56)
        as usize
}

const _: () = assert!(SETS == 1 << 8);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::PythonFrameList;

    fn caller(stack: &[u64], return_address: u64) -> CallerRegisters {
        CallerRegisters { return_address, stack_pointer: stack.as_ptr() as u64, frame_pointer: 5 }
    }

    fn no_python() -> PythonFrameList {
        PythonFrameList::new()
    }

    fn path(stack: &[u64], places: &[usize]) -> UnwoundPath {
        UnwoundPath::for_test(places.iter().map(|place| (&raw const stack[*place] as u64, stack[*place])).collect())
    }

    #[test]
    fn a_path_is_found_until_a_word_that_decided_it_changes() {
        let mut stack = vec![1, 2, 3, 4, 5, 6];
        let mut paths = RememberedPaths::new();
        paths.insert(caller(&stack, 77), &path(&stack, &[1, 3]), (&no_python(), &[]), 9);
        assert_eq!(paths.find(caller(&stack, 77), &no_python()), Some(9));
        assert_eq!(paths.find(caller(&stack, 78), &no_python()), None);
        assert_eq!(paths.find(caller(&stack[1..], 77), &no_python()), None);
        stack[2] = 100;
        assert_eq!(paths.find(caller(&stack, 77), &no_python()), Some(9), "a word that does not matter");
        for place in [1, 3] {
            let old = std::mem::replace(&mut stack[place], 100);
            assert_eq!(paths.find(caller(&stack, 77), &no_python()), None, "word {place}");
            stack[place] = old;
        }
        paths.clear();
        assert_eq!(paths.find(caller(&stack, 77), &no_python()), None);
    }

    #[test]
    fn one_site_is_reached_from_several_callers() {
        let mut stack = vec![0; 4];
        let mut paths = RememberedPaths::new();
        for number in 0..WAYS as u64 {
            stack[1] = number;
            paths.insert(caller(&stack, 77), &path(&stack, &[1]), (&no_python(), &[]), number as u32);
        }
        for number in 0..WAYS as u64 {
            stack[1] = number;
            assert_eq!(paths.find(caller(&stack, 77), &no_python()), Some(number as u32));
        }
        // One more takes the place of one of them.
        stack[1] = 100;
        paths.insert(caller(&stack, 77), &path(&stack, &[1]), (&no_python(), &[]), 100);
        assert_eq!(paths.find(caller(&stack, 77), &no_python()), Some(100));
    }

    #[test]
    fn paths_through_one_native_stack_are_told_apart_by_frames_of_python() {
        let stack = vec![1, 2, 3, 4];
        // A word that tells a code object from others.
        let code = std::cell::Cell::new(51u64);
        let python = |instruction| {
            let mut list = PythonFrameList::new();
            list.push(PythonFrame { code: 0x1000, instruction });
            list
        };
        let mut paths = RememberedPaths::new();
        for instruction in 0..100 {
            let words = [(code.as_ptr() as u64, code.get())];
            paths.insert(caller(&stack, 77), &path(&stack, &[1, 3]), (&python(instruction), &words), instruction as u32);
        }
        for instruction in 0..100 {
            assert_eq!(paths.find(caller(&stack, 77), &python(instruction)), Some(instruction as u32));
        }
        assert_eq!(paths.find(caller(&stack, 77), &no_python()), None);
        assert_eq!(paths.find(caller(&stack, 77), &python(100)), None);
        code.set(52);
        assert_eq!(paths.find(caller(&stack, 77), &python(5)), None, "another code object at the same address");
    }

    #[test]
    fn a_path_without_a_deciding_word_is_not_remembered() {
        let stack = vec![0; 4];
        let mut paths = RememberedPaths::new();
        paths.insert(caller(&stack, 77), &path(&stack, &[]), (&no_python(), &[]), 1);
        assert_eq!(paths.find(caller(&stack, 77), &no_python()), None);
    }
}
