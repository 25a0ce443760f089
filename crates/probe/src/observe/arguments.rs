//! The arguments of a call in any language: C passes scalars by value, Fortran passes everything by reference.

use std::ffi::{CStr, c_char};

use sintonia_mpi::ArgumentSlots;
use sintonia_recording::raw::{self, NO_OBJECT, NONE, pair, part, unpair};

use crate::call_frame::CallFrame;
use crate::communicators::KnownCommunicator;
use crate::library::{Handle, HandleKind, MpiStatus, ProgramMpi};
use crate::stub::BoundFunction;
use crate::thread::ThreadState;

/// A call in progress.
pub(crate) struct CallObserver<'a> {
    /// The called function.
    pub function: &'static BoundFunction,
    /// The MPI library.
    pub library: &'static ProgramMpi,
    /// The calling thread.
    pub thread: &'a mut ThreadState,
    /// Its arguments.
    pub frame: &'a mut CallFrame,
}

impl CallObserver<'_> {
    /// Stages the call with these parts. `requests` is the maximum number of requests it will list.
    #[inline(always)]
    pub(crate) fn stage(&mut self, parts: u16, requests: usize) {
        let site = self.thread.call_path.site_word(self.frame.caller());
        self.thread.recorder.stage(self.function.id.0, parts, self.function.language, site, requests);
    }

    /// Sets one part of a call staged with these parts.
    #[inline(always)]
    pub(crate) fn put(&mut self, parts: u16, part: u16, word: u64) {
        self.thread.recorder.put(parts, part, word);
    }

    #[inline(always)]
    fn is_fortran(&self) -> bool {
        self.function.fortran
    }

    /// Whether MPI returns 1-based indices.
    #[inline(always)]
    pub(crate) fn counts_from_one(&self) -> bool {
        self.is_fortran()
    }

    #[inline(always)]
    fn argument(&self, slot: u8) -> usize {
        self.frame.argument(slot)
    }

    /// A string argument; Fortran passes its length in another argument, and fills it with blanks.
    pub(crate) fn string(&self, slot: u8, length_slot: u8) -> Option<String> {
        let text = self.argument(slot) as *const c_char;
        if text.is_null() {
            return None;
        }
        let bytes = if self.is_fortran() {
            // Old compilers pass 32 bits, and leave the others as they are.
            let length = (self.argument(length_slot) as u32 as usize).min(libc::PATH_MAX as usize);
            // SAFETY: the length is that of the program's variable.
            unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) }.trim_ascii_end()
        } else {
            // SAFETY: a string of C.
            unsafe { CStr::from_ptr(text) }.to_bytes()
        };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// An integer argument.
    #[inline(always)]
    pub(crate) fn int(&self, slot: u8) -> i32 {
        let argument = self.argument(slot);
        // SAFETY: Fortran passes the address of an integer.
        if self.is_fortran() { unsafe { *(argument as *const i32) } } else { argument as i32 }
    }

    /// An integer output argument.
    #[inline(always)]
    pub(crate) fn out_int(&self, slot: u8) -> i32 {
        // SAFETY: the call succeeded, so it wrote to the address.
        unsafe { *(self.argument(slot) as *const i32) }
    }

    /// An array of integers that the call wrote.
    pub(crate) fn out_array(&self, slot: u8) -> *const i32 {
        self.argument(slot) as *const i32
    }

    /// A count, which may be 64 bits wide.
    #[inline(always)]
    fn count(&self, slot: u8) -> i64 {
        let argument = self.argument(slot);
        match (self.is_fortran(), self.function.large) {
            (false, false) => i64::from(argument as i32),
            (false, true) => argument as i64,
            // SAFETY: Fortran passes the address of an integer of that size.
            (true, false) => i64::from(unsafe { *(argument as *const i32) }),
            // SAFETY: as above.
            (true, true) => unsafe { *(argument as *const i64) },
        }
    }

    /// An element of an array of counts.
    pub(crate) fn count_at(&self, slot: u8, place: usize) -> u64 {
        let array = self.argument(slot);
        let count = if self.function.large {
            // SAFETY: the call succeeded with this array, which has one element per process.
            unsafe { *(array as *const i64).add(place) }
        } else {
            // SAFETY: as above.
            i64::from(unsafe { *(array as *const i32).add(place) })
        };
        count.max(0) as u64
    }

    /// The sum of an array of counts.
    pub(crate) fn count_sum(&self, slot: u8, length: usize) -> u64 {
        (0..length).map(|place| self.count_at(slot, place)).sum()
    }

    /// A handle that C passes by value.
    #[inline(always)]
    pub(crate) fn handle(&self, kind: HandleKind, slot: u8) -> Handle {
        let argument = self.argument(slot);
        if self.is_fortran() {
            // SAFETY: Fortran passes the address of an integer (plain, or in a derived type).
            return self.library.c_handle(kind, unsafe { *(argument as *const i32) });
        }
        if matches!(kind, HandleKind::File) { argument } else { self.library.truncate(argument) }
    }

    /// A handle that C passes by address.
    #[inline(always)]
    pub(crate) fn handle_at_address(&self, kind: HandleKind, slot: u8) -> Handle {
        self.handle_in_array(kind, slot, 0)
    }

    /// An element of an array of handles.
    #[inline(always)]
    pub(crate) fn handle_in_array(&self, kind: HandleKind, slot: u8, place: usize) -> Handle {
        let array = self.argument(slot);
        // SAFETY: an array of handles that the program passes to MPI.
        unsafe {
            if self.is_fortran() {
                self.library.c_handle(kind, *(array as *const i32).add(place))
            } else if self.library.layout.handle_bytes == 4 && !matches!(kind, HandleKind::File) {
                *(array as *const u32).add(place) as Handle
            } else {
                *(array as *const usize).add(place)
            }
        }
    }

    /// The address of an element of an array of handles.
    #[inline(always)]
    pub(crate) fn address_in_array(&self, slot: u8, place: usize) -> usize {
        let bytes = if self.is_fortran() { size_of::<i32>() } else { self.library.layout.handle_bytes };
        self.argument(slot) + place * bytes
    }

    /// The message handle of a matched probe or receive; only compared with others of the same language.
    pub(crate) fn message(&self) -> Handle {
        let place = self.argument(self.function.slots.message);
        if self.is_fortran() || self.library.layout.handle_bytes == 4 {
            // SAFETY: the address of a handle of 4 bytes, as always in Fortran.
            unsafe { *(place as *const u32) as Handle }
        } else {
            // SAFETY: the address of a handle of 8 bytes.
            unsafe { *(place as *const Handle) }
        }
    }

    /// Saves a handle for after the call.
    pub(crate) fn keep_handle(&mut self, handle: Handle) {
        self.thread.handles.clear();
        self.thread.handles.push(handle);
    }

    /// The returned error code.
    #[inline(always)]
    pub(crate) fn error(&self) -> i32 {
        if !self.is_fortran() {
            return self.frame.result as i32;
        }
        let place = self.frame.argument(self.function.error_slot);
        // The last argument is optional in mpi_f08.
        // SAFETY: if present, it is the address of an integer that the call wrote.
        if place == 0 { 0 } else { unsafe { *(place as *const i32) } }
    }

    /// A rank argument, with special values normalised across libraries.
    #[inline(always)]
    pub(crate) fn peer(&self, slot: u8) -> i32 {
        if slot == ArgumentSlots::ABSENT { NONE } else { self.normalize_peer(self.int(slot)) }
    }

    #[inline(always)]
    fn normalize_peer(&self, rank: i32) -> i32 {
        let layout = &self.library.layout;
        match rank {
            0.. => rank,
            _ if rank == layout.proc_null => raw::PROC_NULL,
            _ if rank == layout.any_source => raw::ANY,
            _ if rank == layout.root => raw::ROOT,
            _ => NONE,
        }
    }

    /// A tag argument.
    #[inline(always)]
    pub(crate) fn tag(&self, slot: u8) -> i32 {
        self.normalize_tag(self.int(slot))
    }

    #[inline(always)]
    fn normalize_tag(&self, tag: i32) -> i32 {
        if tag >= 0 {
            tag
        } else if tag == self.library.layout.any_tag {
            raw::ANY
        } else {
            NONE
        }
    }

    /// The id of a communicator used before; [`NO_OBJECT`] for one that MPI has not accepted yet.
    #[inline(always)]
    pub(crate) fn known_communicator(&mut self, slot: u8) -> u32 {
        let handle = self.handle(HandleKind::Communicator, slot);
        self.thread.communicators.known(handle).map_or(NO_OBJECT, |c| c.id)
    }

    /// The communicator, after MPI has accepted it.
    #[inline(always)]
    pub(crate) fn communicator(&mut self, slot: u8) -> Option<KnownCommunicator> {
        let handle = self.handle(HandleKind::Communicator, slot);
        self.thread.communicators.get(self.library, handle)
    }

    /// Sets the communicator id if it was unknown before the call.
    #[inline(always)]
    pub(crate) fn put_communicator(&mut self, parts: u16, slot: u8) {
        let (object, peer) = unpair(self.thread.recorder.staged(parts, part::OBJECT));
        if object == NO_OBJECT
            && let Some(communicator) = self.communicator(slot)
        {
            self.put(parts, part::OBJECT, pair(communicator.id, peer));
        }
    }

    /// The size of a datatype argument.
    #[inline(always)]
    pub(crate) fn datatype_size(&mut self, slot: u8) -> u64 {
        let datatype = self.handle(HandleKind::Datatype, slot);
        self.thread.sizes.size(self.library, datatype)
    }

    /// The size of an element of an array of datatypes.
    pub(crate) fn datatype_size_at(&mut self, slot: u8, place: usize) -> u64 {
        let datatype = self.handle_in_array(HandleKind::Datatype, slot, place);
        self.thread.sizes.size(self.library, datatype)
    }

    /// Count times datatype size; 0 if there is no such argument.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, count: u8, datatype: u8) -> u64 {
        if count == ArgumentSlots::ABSENT {
            return 0;
        }
        let count = self.count(count).max(0) as u64;
        if count == 0 { 0 } else { count * self.datatype_size(datatype) }
    }

    /// Number of partitions of a message.
    #[inline(always)]
    pub(crate) fn partitions(&self) -> u64 {
        let slot = self.function.slots.partitions;
        if slot == ArgumentSlots::ABSENT { 1 } else { u64::try_from(self.int(slot)).unwrap_or(1) }
    }

    /// Whether a buffer argument is `MPI_IN_PLACE`.
    pub(crate) fn is_in_place(&self, slot: u8) -> bool {
        if slot == ArgumentSlots::ABSENT {
            return false;
        }
        let mut address = self.argument(slot);
        if self.function.descriptor {
            // SAFETY: a descriptor starts with the base address.
            address = unsafe { *(address as *const usize) };
        }
        self.library.is_in_place(address, self.is_fortran())
    }

    #[inline(always)]
    fn status_bytes(&self) -> usize {
        let layout = &self.library.layout;
        if self.is_fortran() { layout.fortran_status_bytes } else { layout.status_bytes }
    }

    /// Whether the program ignores statuses.
    #[inline(always)]
    pub(crate) fn ignores_status(&self) -> bool {
        self.library.ignores_status(self.argument(self.function.slots.status), self.is_fortran())
    }

    /// Makes MPI write statuses for the probe if the program ignores them.
    #[inline(always)]
    pub(crate) fn request_statuses(&mut self, count: usize) {
        if self.function.slots.status == ArgumentSlots::ABSENT || !self.ignores_status() {
            return;
        }
        let words = (count * self.status_bytes()).div_ceil(8);
        if self.thread.statuses.len() < words {
            self.thread.statuses.resize(words, 0);
        }
        self.frame.status_buffer = self.thread.statuses.as_mut_ptr() as usize;
        self.frame.replace_argument(self.function.slots.status, self.frame.status_buffer);
    }

    /// A status filled by the call; `None` if neither the program nor the probe requested it.
    #[inline(always)]
    pub(crate) fn filled_status(&self, place: usize) -> Option<MpiStatus> {
        let array = self.argument(self.function.slots.status);
        if self.frame.status_buffer == 0 && self.ignores_status() {
            return None;
        }
        // SAFETY: the call succeeded and filled this status.
        let status = unsafe { self.library.status(array + place * self.status_bytes()) };
        Some(MpiStatus { source: self.normalize_peer(status.source), tag: self.normalize_tag(status.tag), ..status })
    }

    /// Replaces the requested source, tag and size by the actual ones.
    #[inline(always)]
    pub(crate) fn put_status(&mut self, parts: u16) {
        let Some(status) = self.filled_status(0) else { return };
        let (id, asked) = unpair(self.thread.recorder.staged(parts, part::OBJECT));
        self.put(parts, part::OBJECT, pair(id, status.source));
        // The receive tag, otherwise used only by a send-receive, marks a wildcard receive.
        self.put(parts, part::TAG, pair(status.tag as u32, if asked == raw::ANY { raw::ANY } else { NONE }));
        self.put(parts, part::RECEIVED, status.bytes);
    }
}
