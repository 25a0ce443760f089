//! The functions whose calls are observed, and where their arguments are.
//!
//! All take integers and pointers only, but for `fprintf`. `fscanf`, `mmap`, asynchronous I/O and functions that name a file without opening
//! it are not among them.

use sintonia_recording::raw::file_io::{FileInterface, FileOperation};

use crate::wrapper::WrappedFunction;

/// An observed function.
pub(super) struct FileFunction {
    name: &'static str,
    pub operation: FileOperation,
    pub target: Target,
    pub size: Size,
    /// The argument with the offset in the file, if it has one.
    pub offset: Option<u8>,
}

/// Which file a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The first argument is a file descriptor.
    Descriptor,
    /// This argument is a stream.
    Stream(u8),
    /// The result is a file descriptor; the argument has the flags, if there are any.
    NewDescriptor(Option<u8>),
    /// The result is a stream.
    NewStream,
    /// The stream of this argument is closed, and opened again with another file.
    Reopened(u8),
    /// The descriptor of the second argument gets another meaning.
    Replaced,
}

impl Target {
    /// The functions to which it belongs.
    pub(super) fn interface(self) -> FileInterface {
        match self {
            Target::Descriptor | Target::NewDescriptor(_) | Target::Replaced => FileInterface::Posix,
            Target::Stream(_) | Target::NewStream | Target::Reopened(_) => FileInterface::Stdio,
        }
    }
}

/// How many bytes a call reads or writes, and whether it has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// None; the result is negative if it failed.
    Status,
    /// None; it cannot fail.
    Nothing,
    /// The result; negative if it failed.
    Result,
    /// The result times this argument; the next argument has the largest possible result.
    Items(u8),
    /// The length of the text of this argument; the result is negative if it failed.
    Text(u8),
    /// The length of the text of this argument if the result is not null; the other argument has the most that is read.
    Line(u8, u8),
    /// One, or an end of the file: the result is negative.
    Byte,
}

use FileOperation::{Close, Open, Read, Resize, Seek, Sync, Write};
use Size::{Byte, Items, Line, Nothing, Result as Returned, Status, Text};
use Target::{Descriptor, NewDescriptor, NewStream, Reopened, Replaced, Stream};

const fn function(name: &'static str, operation: FileOperation, target: Target, size: Size) -> FileFunction {
    FileFunction { name, operation, target, size, offset: None }
}

const fn at_offset(name: &'static str, operation: FileOperation, offset: u8) -> FileFunction {
    FileFunction { offset: Some(offset), ..function(name, operation, Descriptor, Returned) }
}

/// Number of functions.
pub(super) const COUNT: usize = 90;

pub(super) static FUNCTIONS: [FileFunction; COUNT] = [
    function("open", Open, NewDescriptor(Some(1)), Status),
    function("open64", Open, NewDescriptor(Some(1)), Status),
    function("__open_2", Open, NewDescriptor(Some(1)), Status),
    function("__open64_2", Open, NewDescriptor(Some(1)), Status),
    function("openat", Open, NewDescriptor(Some(2)), Status),
    function("openat64", Open, NewDescriptor(Some(2)), Status),
    function("__openat_2", Open, NewDescriptor(Some(2)), Status),
    function("__openat64_2", Open, NewDescriptor(Some(2)), Status),
    function("creat", Open, NewDescriptor(None), Status),
    function("creat64", Open, NewDescriptor(None), Status),
    function("mkstemp", Open, NewDescriptor(None), Status),
    function("mkstemp64", Open, NewDescriptor(None), Status),
    function("mkostemp", Open, NewDescriptor(None), Status),
    function("mkostemp64", Open, NewDescriptor(None), Status),
    function("mkstemps", Open, NewDescriptor(None), Status),
    function("mkstemps64", Open, NewDescriptor(None), Status),
    function("mkostemps", Open, NewDescriptor(None), Status),
    function("mkostemps64", Open, NewDescriptor(None), Status),
    function("close", Close, Descriptor, Status),
    function("dup2", Close, Replaced, Status),
    function("dup3", Close, Replaced, Status),
    function("read", Read, Descriptor, Returned),
    function("__read_chk", Read, Descriptor, Returned),
    function("readv", Read, Descriptor, Returned),
    at_offset("pread", Read, 3),
    at_offset("pread64", Read, 3),
    at_offset("__pread_chk", Read, 3),
    at_offset("__pread64_chk", Read, 3),
    at_offset("preadv", Read, 3),
    at_offset("preadv64", Read, 3),
    at_offset("preadv2", Read, 3),
    at_offset("preadv64v2", Read, 3),
    function("write", Write, Descriptor, Returned),
    function("writev", Write, Descriptor, Returned),
    at_offset("pwrite", Write, 3),
    at_offset("pwrite64", Write, 3),
    at_offset("pwritev", Write, 3),
    at_offset("pwritev64", Write, 3),
    at_offset("pwritev2", Write, 3),
    at_offset("pwritev64v2", Write, 3),
    function("lseek", Seek, Descriptor, Status),
    function("lseek64", Seek, Descriptor, Status),
    function("fsync", Sync, Descriptor, Status),
    function("fdatasync", Sync, Descriptor, Status),
    function("ftruncate", Resize, Descriptor, Status),
    function("ftruncate64", Resize, Descriptor, Status),
    function("fallocate", Resize, Descriptor, Status),
    function("fallocate64", Resize, Descriptor, Status),
    function("posix_fallocate", Resize, Descriptor, Nothing),
    function("posix_fallocate64", Resize, Descriptor, Nothing),
    function("fopen", Open, NewStream, Status),
    function("fopen64", Open, NewStream, Status),
    function("freopen", Open, Reopened(2), Status),
    function("freopen64", Open, Reopened(2), Status),
    function("fclose", Close, Stream(0), Status),
    function("fflush", Sync, Stream(0), Status),
    function("fflush_unlocked", Sync, Stream(0), Status),
    function("fwrite", Write, Stream(3), Items(1)),
    function("fwrite_unlocked", Write, Stream(3), Items(1)),
    function("fread", Read, Stream(3), Items(1)),
    function("fread_unlocked", Read, Stream(3), Items(1)),
    function("__fread_chk", Read, Stream(4), Items(2)),
    function("__fread_unlocked_chk", Read, Stream(4), Items(2)),
    function("fputs", Write, Stream(1), Text(0)),
    function("fputs_unlocked", Write, Stream(1), Text(0)),
    function("fgets", Read, Stream(2), Line(0, 1)),
    function("fgets_unlocked", Read, Stream(2), Line(0, 1)),
    function("__fgets_chk", Read, Stream(3), Line(0, 2)),
    function("__fgets_unlocked_chk", Read, Stream(3), Line(0, 2)),
    function("getline", Read, Stream(2), Returned),
    function("getdelim", Read, Stream(3), Returned),
    function("__getdelim", Read, Stream(3), Returned),
    function("fputc", Write, Stream(1), Byte),
    function("putc", Write, Stream(1), Byte),
    function("_IO_putc", Write, Stream(1), Byte),
    function("fputc_unlocked", Write, Stream(1), Byte),
    function("fgetc", Read, Stream(0), Byte),
    function("getc", Read, Stream(0), Byte),
    function("_IO_getc", Read, Stream(0), Byte),
    function("fgetc_unlocked", Read, Stream(0), Byte),
    function("fseek", Seek, Stream(0), Status),
    function("fseeko", Seek, Stream(0), Status),
    function("fseeko64", Seek, Stream(0), Status),
    function("fsetpos", Seek, Stream(0), Status),
    function("fsetpos64", Seek, Stream(0), Status),
    function("rewind", Seek, Stream(0), Nothing),
    function("vfprintf", Write, Stream(0), Returned),
    function("__vfprintf_chk", Write, Stream(0), Returned),
    function("fprintf", Write, Stream(0), Returned),
    function("__fprintf_chk", Write, Stream(0), Returned),
];

/// Indices of the functions whose stubs call the one above with a list of the arguments.
pub(super) const FPRINTF: usize = COUNT - 2;
pub(super) const FPRINTF_CHK: usize = COUNT - 1;

/// Bytes of a stub.
pub(super) const STUB_BYTES: usize = 16;

unsafe extern "C" {
    static sintonia_file_stubs: [u8; COUNT * STUB_BYTES];
}

/// The functions with their stubs.
pub(crate) static WRAPPED: [WrappedFunction; COUNT] = wrapped(&raw const sintonia_file_stubs);

/// Whether an address is that of a stub.
pub(crate) fn is_stub(address: usize) -> bool {
    let first = &raw const sintonia_file_stubs as usize;
    (first..first + COUNT * STUB_BYTES).contains(&address)
}

const fn wrapped(stubs: *const [u8; COUNT * STUB_BYTES]) -> [WrappedFunction; COUNT] {
    let mut all = [const { WrappedFunction::new("", std::ptr::null()) }; COUNT];
    let mut index = 0;
    while index < COUNT {
        // SAFETY: each function has a stub.
        let stub = unsafe { stubs.cast::<u8>().add(index * STUB_BYTES) };
        all[index] = WrappedFunction::new(FUNCTIONS[index].name, stub.cast());
        index += 1;
    }
    all
}
