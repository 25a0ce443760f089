//! The arguments of a call, however the language passes them: C passes scalars by value, Fortran passes everything by reference.

use sintonia_mpi::Slots;
use sintonia_recording::raw::{self, NO_OBJECT, NONE, pair, part, unpair};

use crate::communicators::Communicator;
use crate::library::{Handle, Kind, Library, Status};
use crate::stub::{About, Frame};
use crate::thread::Thread;

/// A call under way.
pub struct Call<'a> {
    /// What is known of the function.
    pub about: &'static About,
    /// The MPI library.
    pub library: &'static Library,
    /// The thread that calls.
    pub thread: &'a mut Thread,
    /// Its arguments.
    pub frame: &'a mut Frame,
}

impl Call<'_> {
    /// Stages the call with these parts. `requests` is how many it may list at its end.
    #[inline(always)]
    pub fn stage(&mut self, parts: u16, requests: usize) {
        self.thread.recorder.stage(self.about.operation.0, parts, self.about.language, self.frame.return_address(), requests);
    }

    /// Fills one part of a call that was staged with these parts.
    #[inline(always)]
    pub fn put(&mut self, parts: u16, part: u16, word: u64) {
        self.thread.recorder.put(parts, part, word);
    }

    #[inline(always)]
    fn is_fortran(&self) -> bool {
        self.about.fortran
    }

    /// Whether indices that MPI gives count from 1.
    #[inline(always)]
    pub fn counts_from_one(&self) -> bool {
        self.is_fortran()
    }

    #[inline(always)]
    fn argument(&self, slot: u8) -> usize {
        self.frame.argument(slot)
    }

    /// An integer argument.
    #[inline(always)]
    pub fn int(&self, slot: u8) -> i32 {
        let argument = self.argument(slot);
        // SAFETY: Fortran passes the address of an integer.
        if self.is_fortran() { unsafe { *(argument as *const i32) } } else { argument as i32 }
    }

    /// An integer that the call wrote to the address it was given.
    #[inline(always)]
    pub fn out_int(&self, slot: u8) -> i32 {
        // SAFETY: the call succeeded, so it wrote to the address.
        unsafe { *(self.argument(slot) as *const i32) }
    }

    /// An array of integers that the call wrote.
    pub fn out_array(&self, slot: u8) -> *const i32 {
        self.argument(slot) as *const i32
    }

    /// A count, which may be 64 bits wide.
    #[inline(always)]
    fn count(&self, slot: u8) -> i64 {
        let argument = self.argument(slot);
        match (self.is_fortran(), self.about.large) {
            (false, false) => i64::from(argument as i32),
            (false, true) => argument as i64,
            // SAFETY: Fortran passes the address of an integer of that size.
            (true, false) => i64::from(unsafe { *(argument as *const i32) }),
            (true, true) => unsafe { *(argument as *const i64) },
        }
    }

    /// An element of an array of counts.
    pub fn count_at(&self, slot: u8, place: usize) -> u64 {
        let array = self.argument(slot);
        // SAFETY: the call succeeded with this array, which has an element per process.
        let count = if self.about.large {
            unsafe { *(array as *const i64).add(place) }
        } else {
            i64::from(unsafe { *(array as *const i32).add(place) })
        };
        count.max(0) as u64
    }

    /// The sum of an array of counts.
    pub fn sum(&self, slot: u8, length: usize) -> u64 {
        (0..length).map(|place| self.count_at(slot, place)).sum()
    }

    /// A handle that is passed by value in C.
    #[inline(always)]
    pub fn handle(&self, kind: Kind, slot: u8) -> Handle {
        let argument = self.argument(slot);
        if self.is_fortran() {
            // SAFETY: Fortran passes the address of an integer (alone, or in a derived type).
            return self.library.c_handle(kind, unsafe { *(argument as *const i32) });
        }
        if matches!(kind, Kind::File) { argument } else { self.library.truncate(argument) }
    }

    /// A handle whose address is passed in C too.
    #[inline(always)]
    pub fn place_handle(&self, kind: Kind, slot: u8) -> Handle {
        self.place_handle_at(kind, slot, 0)
    }

    /// An element of an array of handles.
    #[inline(always)]
    pub fn place_handle_at(&self, kind: Kind, slot: u8, place: usize) -> Handle {
        let array = self.argument(slot);
        // SAFETY: an array of handles that the program passes to MPI.
        unsafe {
            if self.is_fortran() {
                self.library.c_handle(kind, *(array as *const i32).add(place))
            } else if self.library.layout.handle_bytes == 4 && !matches!(kind, Kind::File) {
                *(array as *const u32).add(place) as Handle
            } else {
                *(array as *const usize).add(place)
            }
        }
    }

    /// The handle of a message that a matched probe takes or that is received; only ever compared with others of the same language.
    pub fn message(&self) -> Handle {
        let place = self.argument(self.about.slots.message);
        // SAFETY: the address of a handle, which is 4 bytes long in Fortran.
        if self.is_fortran() || self.library.layout.handle_bytes == 4 {
            unsafe { *(place as *const u32) as Handle }
        } else {
            unsafe { *(place as *const Handle) }
        }
    }

    /// Keeps a handle from before the call for after it.
    pub fn keep_handle(&mut self, handle: Handle) {
        self.thread.handles.clear();
        self.thread.handles.push(handle);
    }

    /// The error code that the call returned.
    #[inline(always)]
    pub fn error(&self) -> i32 {
        if !self.is_fortran() {
            return self.frame.result as i32;
        }
        let place = self.frame.argument(self.about.error);
        // The last argument is optional in mpi_f08.
        // SAFETY: if it is there, it is the address of an integer that the call wrote.
        if place == 0 { 0 } else { unsafe { *(place as *const i32) } }
    }

    /// A rank argument, with MPI's special values made the same for all libraries.
    #[inline(always)]
    pub fn peer(&self, slot: u8) -> i32 {
        if slot == Slots::ABSENT { NONE } else { self.normal_peer(self.int(slot)) }
    }

    #[inline(always)]
    fn normal_peer(&self, rank: i32) -> i32 {
        let layout = &self.library.layout;
        match rank {
            0.. => rank,
            _ if rank == layout.proc_null => raw::PROC_NULL,
            _ if rank == layout.any_source => raw::ANY,
            _ if rank == layout.root => raw::ROOT_HERE,
            _ => NONE,
        }
    }

    /// A tag argument.
    #[inline(always)]
    pub fn tag(&self, slot: u8) -> i32 {
        self.normal_tag(self.int(slot))
    }

    #[inline(always)]
    fn normal_tag(&self, tag: i32) -> i32 {
        if tag >= 0 {
            tag
        } else if tag == self.library.layout.any_tag {
            raw::ANY
        } else {
            NONE
        }
    }

    /// The number of a communicator that was used before; [`NO_OBJECT`] for one that MPI has yet to accept.
    #[inline(always)]
    pub fn known_communicator(&mut self, slot: u8) -> u32 {
        let handle = self.handle(Kind::Communicator, slot);
        self.thread.communicators.known(handle).map_or(NO_OBJECT, |c| c.id)
    }

    /// The communicator, now that MPI has accepted it.
    #[inline(always)]
    pub fn communicator(&mut self, slot: u8) -> Option<Communicator> {
        let handle = self.handle(Kind::Communicator, slot);
        self.thread.communicators.get(self.library, handle)
    }

    /// Puts the number of the communicator in its place if it was not known before the call.
    #[inline(always)]
    pub fn name_communicator(&mut self, parts: u16, slot: u8) {
        let (object, peer) = unpair(self.thread.recorder.staged(parts, part::OBJECT));
        if object == NO_OBJECT
            && let Some(communicator) = self.communicator(slot)
        {
            self.put(parts, part::OBJECT, pair(communicator.id, peer));
        }
    }

    /// The size of a datatype argument.
    #[inline(always)]
    pub fn datatype_size(&mut self, slot: u8) -> u64 {
        let datatype = self.handle(Kind::Datatype, slot);
        self.thread.sizes.size(self.library, datatype)
    }

    /// The size of an element of an array of datatypes.
    pub fn datatype_size_at(&mut self, slot: u8, place: usize) -> u64 {
        let datatype = self.place_handle_at(Kind::Datatype, slot, place);
        self.thread.sizes.size(self.library, datatype)
    }

    /// Count times size of the datatype; 0 where there is no such argument.
    #[inline(always)]
    pub fn bytes(&mut self, count: u8, datatype: u8) -> u64 {
        if count == Slots::ABSENT {
            return 0;
        }
        let count = self.count(count).max(0) as u64;
        if count == 0 { 0 } else { count * self.datatype_size(datatype) }
    }

    /// How many partitions a message has.
    #[inline(always)]
    pub fn partitions(&self) -> u64 {
        let slot = self.about.slots.partitions;
        if slot == Slots::ABSENT { 1 } else { u64::try_from(self.int(slot)).unwrap_or(1) }
    }

    /// Whether a buffer argument is `MPI_IN_PLACE`.
    pub fn is_in_place(&self, slot: u8) -> bool {
        if slot == Slots::ABSENT {
            return false;
        }
        let mut address = self.argument(slot);
        if self.about.descriptor {
            // SAFETY: a descriptor begins with the address of what it describes.
            address = unsafe { *(address as *const usize) };
        }
        self.library.is_in_place(address, self.is_fortran())
    }

    #[inline(always)]
    fn status_bytes(&self) -> usize {
        let layout = &self.library.layout;
        if self.is_fortran() { layout.fortran_status_bytes } else { layout.status_bytes }
    }

    /// Whether the program does not want to see statuses.
    #[inline(always)]
    pub fn ignores_status(&self) -> bool {
        self.library.ignores_status(self.argument(self.about.slots.status), self.is_fortran())
    }

    /// Has MPI write statuses for the probe where the program does not want them.
    #[inline(always)]
    pub fn want_status(&mut self, count: usize) {
        if self.about.slots.status == Slots::ABSENT || !self.ignores_status() {
            return;
        }
        let words = (count * self.status_bytes()).div_ceil(8);
        if self.thread.statuses.len() < words {
            self.thread.statuses.resize(words, 0);
        }
        self.frame.own_status = self.thread.statuses.as_mut_ptr() as usize;
        self.frame.replace_argument(self.about.slots.status, self.frame.own_status);
    }

    /// What a status that the call filled says; `None` if neither the program nor the probe wanted it.
    #[inline(always)]
    pub fn filled_status(&self, place: usize) -> Option<Status> {
        let array = self.argument(self.about.slots.status);
        if self.frame.own_status == 0 && self.ignores_status() {
            return None;
        }
        // SAFETY: the call succeeded and filled this status.
        let status = unsafe { self.library.status(array + place * self.status_bytes()) };
        Some(Status { source: self.normal_peer(status.source), tag: self.normal_tag(status.tag), ..status })
    }

    /// Puts what the status says in place of what was asked for.
    #[inline(always)]
    pub fn put_status(&mut self, parts: u16) {
        let Some(status) = self.filled_status(0) else { return };
        let (id, asked) = unpair(self.thread.recorder.staged(parts, part::OBJECT));
        self.put(parts, part::OBJECT, pair(id, status.source));
        // The half of the word that only a send-receive needs says whether anyone would have done.
        self.put(parts, part::TAG, pair(status.tag as u32, if asked == raw::ANY { raw::ANY } else { NONE }));
        self.put(parts, part::RECEIVED, status.bytes);
    }
}
