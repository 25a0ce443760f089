//! Before and after a call that uses a file.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_recording::raw::file_io::{CounterKey, FileInterface, FileOperation, OTHER_THREADS};

use super::descriptors::{self, Descriptor};
use super::functions::{FPRINTF, FPRINTF_CHK, FUNCTIONS, FileFunction, Size, Target, WRAPPED};
use super::signal_context::may_allocate;
use super::stdio_stream::{self, StdioStream};
use crate::breakable_lock::BreakableLock;
use crate::call_frame::encloses;
use crate::call_path::CallerRegisters;
use crate::clock::ticks;
use crate::file_counters::{BufferedPlace, FileCall, ThreadFileCounters};
use crate::process::{self, ProcessState};
use crate::thread::{self, ThreadState};

/// Whether calls are observed.
pub(super) static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Counters of all threads that have not called MPI.
static OTHERS: BreakableLock<Option<ThreadFileCounters>> = BreakableLock::new(None);

/// What [`FileCallFrame::begin`] is for a call that is observed, but not timed.
const NOT_TIMED: u64 = 1;

/// Stack frame of a call. The assembly of [`super::stubs`] knows all fields.
#[repr(C)]
pub(super) struct FileCallFrame {
    /// Ticks at entry; [`NOT_TIMED`]; 0 if the call is not observed.
    begin: u64,
    /// The descriptor, or -1.
    descriptor: i32,
    /// The number of a file that is being closed plus one, or 0.
    closed_file: u32,
    unused: u64,
    /// Result of the function.
    result: usize,
    rax: usize,
    function: usize,
    arguments: [usize; 6],
    frame_pointer: usize,
    return_address: usize,
}

const _: () = assert!(size_of::<FileCallFrame>() == 96 + 16);

impl FileCallFrame {
    fn address(&self) -> usize {
        &raw const *self as usize
    }

    /// Where unwinding begins.
    fn caller(&self) -> CallerRegisters {
        CallerRegisters {
            return_address: self.return_address as u64,
            stack_pointer: (self.address() + size_of::<FileCallFrame>()) as u64,
            frame_pointer: self.frame_pointer as u64,
        }
    }

    fn argument(&self, index: u8) -> usize {
        self.arguments[usize::from(index)]
    }
}

unsafe extern "C" {
    // Only their addresses are used.
    fn fprintf();
    fn vfprintf();
    fn __fprintf_chk();
    fn __vfprintf_chk();
}

/// Runs before the function; returns its address.
pub(super) unsafe extern "C" fn enter(frame: *mut FileCallFrame) -> usize {
    // SAFETY: the stub passes the frame on its stack.
    let frame = unsafe { &mut *frame };
    frame.begin = 0;
    let original = WRAPPED[frame.function].original();
    if !IS_ACTIVE.load(Ordering::Acquire) || process::state() != ProcessState::Recording {
        return original;
    }
    let listed = match frame.function {
        FPRINTF => Some((fprintf as *const () as usize, vfprintf as *const () as usize)),
        FPRINTF_CHK => Some((__fprintf_chk as *const () as usize, __vfprintf_chk as *const () as usize)),
        _ => None,
    };
    if listed.is_some_and(|(variadic, _)| variadic != original) {
        return original;
    }
    prepare(frame, &FUNCTIONS[frame.function]);
    match listed {
        Some((_, with_list)) if frame.begin != 0 => with_list,
        _ => original,
    }
}

#[inline]
fn prepare(frame: &mut FileCallFrame, function: &FileFunction) {
    frame.descriptor = match function.target {
        Target::Descriptor => frame.arguments[0] as c_int,
        Target::Stream(stream) | Target::Reopened(stream) => stream_descriptor(frame.argument(stream)),
        Target::Replaced => frame.arguments[1] as c_int,
        Target::NewDescriptor(_) | Target::NewStream => -1,
    };
    let is_closed = function.operation == FileOperation::Close || matches!(function.target, Target::Reopened(_));
    frame.closed_file = if is_closed { descriptors::forget(frame.descriptor).map_or(0, |file| file + 1) } else { 0 };
    let inside_mpi = thread::existing().and_then(|thread| thread.current_call).is_some_and(|call| encloses(call, frame.address()));
    let is_known = match function.operation {
        FileOperation::Open => true,
        FileOperation::Close => frame.closed_file != 0,
        _ => descriptors::descriptor(frame.descriptor).is_some(),
    };
    if !is_known || inside_mpi || function.target == Target::Replaced {
        return;
    }
    frame.begin = match buffered(frame, function) {
        Buffered::Exactly(bytes) => return keeping_errno(|| count_buffered(frame, function, bytes)),
        Buffered::AtMost => NOT_TIMED,
        Buffered::No => ticks(),
    };
}

/// Whether a call of stdio gets along with the buffer of its stream: then reading the clock would take longer than the call.
enum Buffered {
    No,
    /// Up to a number of bytes.
    AtMost,
    /// It cannot fail, and this is what it will read or write: it is counted before the call, which is then jumped to.
    Exactly(u64),
}

fn stream_descriptor(address: usize) -> c_int {
    StdioStream::from_address(address).map_or(-1, StdioStream::descriptor)
}

#[inline]
fn buffered(frame: &FileCallFrame, function: &FileFunction) -> Buffered {
    let Target::Stream(stream) = function.target else { return Buffered::No };
    let Some(stream) = StdioStream::from_address(frame.argument(stream)) else { return Buffered::No };
    let available = if function.operation == FileOperation::Write { stream.writable() } else { stream.readable() };
    if available == 0 {
        return Buffered::No;
    }
    let bytes = match function.size {
        Size::Byte => 1,
        Size::Items(size) => (frame.argument(size) as u64).saturating_mul(frame.argument(size + 1) as u64),
        Size::Text(text) => text_length(frame.argument(text)),
        Size::Line(_, most) if u64::try_from(frame.argument(most) as c_int).is_ok_and(|most| most <= available as u64) => {
            return Buffered::AtMost;
        }
        _ => return Buffered::No,
    };
    if bytes > 0 && bytes <= available as u64 { Buffered::Exactly(bytes) } else { Buffered::No }
}

/// Counts a call that only uses the buffer of its stream.
#[inline]
fn count_buffered(frame: &FileCallFrame, function: &FileFunction, bytes: u64) {
    let counted = catch_unwind(AssertUnwindSafe(|| {
        let Some(descriptor) = descriptors::descriptor(frame.descriptor) else { return };
        let look_up = || descriptor.look_up(frame.descriptor, |_| position_of(frame, function).unwrap_or(0));
        let Some(file) = descriptor.file().or_else(look_up) else { return };
        let transfer = descriptor.transfer(function.operation, None, bytes);
        let place = BufferedPlace {
            file,
            is_write: function.operation == FileOperation::Write,
            return_address: frame.return_address as u64,
            stack_pointer: frame.address() as u64,
        };
        let is_counted = |thread: &mut ThreadState| thread.files.count_buffered(place, bytes, &transfer);
        if process::is_recording_off() || thread::existing().is_some_and(is_counted) {
            return;
        }
        count(frame, |thread, site| FileCall {
            key: CounterKey { file, operation: function.operation, interface: FileInterface::Stdio, thread, site },
            begin: 0,
            end: 0,
            bytes: Some(bytes),
            transfer: Some(transfer),
        });
        if let Some(thread) = thread::existing() {
            thread.files.remember_buffered(place);
        }
    }));
    if counted.is_err() {
        IS_ACTIVE.store(false, Ordering::Relaxed);
    }
}

#[inline]
fn keeping_errno<T>(run: impl FnOnce() -> T) -> T {
    // SAFETY: the address of this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let kept = unsafe { *errno };
    let result = run();
    // SAFETY: as above.
    unsafe { *errno = kept };
    result
}

/// Runs after the function.
pub(super) unsafe extern "C" fn leave(frame: *mut FileCallFrame) {
    // SAFETY: the stub passes the frame on its stack.
    let frame = unsafe { &mut *frame };
    let end = if frame.begin == NOT_TIMED { 0 } else { ticks() };
    keeping_errno(|| {
        if catch_unwind(AssertUnwindSafe(|| record(frame, end))).is_err() {
            IS_ACTIVE.store(false, Ordering::Relaxed);
        }
    });
}

#[inline]
fn record(frame: &FileCallFrame, end: u64) {
    let function = &FUNCTIONS[frame.function];
    let bytes = transferred(frame, function.size);
    let (file, transfer) = match function.operation {
        FileOperation::Open => (opened_file(frame, function), None),
        FileOperation::Close => (frame.closed_file.checked_sub(1), None),
        operation => {
            let Some(descriptor) = descriptors::descriptor(frame.descriptor) else { return };
            let file = descriptor.file().or_else(|| look_up_used(descriptor, frame, function, bytes.unwrap_or(0)));
            match operation {
                FileOperation::Read | FileOperation::Write => {
                    let offset = function.offset.map(|offset| frame.argument(offset) as u64).filter(|offset| *offset != u64::MAX);
                    (file, bytes.map(|bytes| descriptor.transfer(operation, offset, bytes)))
                }
                FileOperation::Seek if bytes.is_some() => {
                    descriptor.seek(new_position(frame, function));
                    (file, None)
                }
                _ => (file, None),
            }
        }
    };
    let Some(file) = file.filter(|_| !process::is_recording_off()) else { return };
    let begin = if frame.begin == NOT_TIMED { 0 } else { frame.begin };
    count(frame, |thread, site| FileCall {
        key: CounterKey { file, operation: function.operation, interface: function.target.interface(), thread, site },
        begin,
        end,
        bytes,
        transfer,
    });
}

/// Counts an access for this thread.
#[inline]
fn count(frame: &FileCallFrame, access: impl FnOnce(u16, u64) -> FileCall) {
    if let Some(thread) = thread::existing() {
        let site = call_site(thread, frame);
        return thread.files.count(&access(thread.files.thread(), site), may_allocate);
    }
    if !may_allocate() {
        return;
    }
    let Some(mut others) = OTHERS.lock() else { return };
    let others = others.get_or_insert_with(|| ThreadFileCounters::new(OTHER_THREADS));
    others.count(&access(OTHER_THREADS, frame.return_address as u64), || true);
}

/// The call path, or the return address where it is not known and cannot be unwound here.
#[inline]
fn call_site(thread: &mut ThreadState, frame: &FileCallFrame) -> u64 {
    let caller = frame.caller();
    match thread.call_path.known_site_word(caller) {
        Some(word) => word as u64,
        None if may_allocate() => thread.call_path.site_word(caller) as u64,
        None => caller.return_address,
    }
}

/// Bytes that a call read or wrote; `None` if it failed.
#[inline]
fn transferred(frame: &FileCallFrame, size: Size) -> Option<u64> {
    let result = frame.result;
    match size {
        // For a function that returns `int` the upper half is not defined; null is the failure of one that returns a stream.
        Size::Status => match FUNCTIONS[frame.function].target {
            Target::NewStream | Target::Reopened(_) => (result != 0).then_some(0),
            Target::Descriptor if FUNCTIONS[frame.function].operation == FileOperation::Seek => (result as i64 >= 0).then_some(0),
            _ => (result as c_int >= 0).then_some(0),
        },
        Size::Nothing => Some(0),
        Size::Result if frame.function >= FPRINTF - 2 => u64::try_from(result as c_int).ok(),
        Size::Result => u64::try_from(result as i64).ok(),
        Size::Items(size) => Some((result as u64).saturating_mul(frame.argument(size) as u64)),
        Size::Text(text) => (result as c_int >= 0).then(|| text_length(frame.argument(text))),
        Size::Line(text, _) => Some(if result == 0 { 0 } else { text_length(frame.argument(text)) }),
        Size::Byte => Some(u64::from(result as c_int >= 0)),
    }
}

fn text_length(address: usize) -> u64 {
    // SAFETY: the program passes a text to a function that reads or has written it.
    unsafe { CStr::from_ptr(address as *const c_char) }.count_bytes() as u64
}

/// The file that a call has opened.
#[cold]
fn opened_file(frame: &FileCallFrame, function: &FileFunction) -> Option<u32> {
    let (number, appends) = match function.target {
        Target::NewDescriptor(flags) => {
            (frame.result as c_int, flags.is_some_and(|flags| frame.argument(flags) as c_int & libc::O_APPEND != 0))
        }
        _ => (stream_descriptor(frame.result), false),
    };
    descriptors::forget(number);
    descriptors::descriptor(number)?.look_up(number, |size| if appends { size } else { 0 })
}

/// The file of a descriptor that is used for the first time: its position before this call follows from that after it.
#[cold]
fn look_up_used(descriptor: &Descriptor, frame: &FileCallFrame, function: &FileFunction, bytes: u64) -> Option<u32> {
    let position = position_of(frame, function);
    let moved = if function.offset.is_none() { bytes } else { 0 };
    descriptor.look_up(frame.descriptor, |_| position.unwrap_or(0).saturating_sub(moved))
}

/// The current position in the file.
fn position_of(frame: &FileCallFrame, function: &FileFunction) -> Option<u64> {
    match function.target {
        Target::Stream(stream) => stdio_stream::position(frame.argument(stream)),
        // SAFETY: asks for the position of a descriptor of the program.
        _ => u64::try_from(unsafe { libc::lseek64(frame.descriptor, 0, libc::SEEK_CUR) }).ok(),
    }
}

/// The position after a call that has changed it.
fn new_position(frame: &FileCallFrame, function: &FileFunction) -> u64 {
    match function.target {
        Target::Stream(stream) => stdio_stream::position(frame.argument(stream)).unwrap_or(0),
        _ => frame.result as u64,
    }
}
