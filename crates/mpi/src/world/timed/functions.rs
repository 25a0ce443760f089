//! The functions of MPI that only benchmarks call, looked up when one begins: a library that lacks one is no worse for the rest.

use std::ffi::{c_int, c_void};

use crate::world::WorldError;
use crate::world::library::{Everyone, Handle, Library};

type Send = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle) -> c_int;
type StartSend = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type StartReceive = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Rooted = unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, c_int, Handle) -> c_int;
type Reduction = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle) -> c_int;

pub struct Functions {
    pub ssend: Send,
    pub bsend: Send,
    pub rsend: Send,
    pub isend: StartSend,
    pub irecv: StartReceive,
    pub wait: unsafe extern "C" fn(*mut Handle, *mut c_void) -> c_int,
    pub iprobe: unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut c_void) -> c_int,
    pub buffer_attach: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub buffer_detach: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    pub comm_split: unsafe extern "C" fn(Handle, c_int, c_int, *mut Handle) -> c_int,
    pub comm_free: unsafe extern "C" fn(*mut Handle) -> c_int,
    pub barrier: unsafe extern "C" fn(Handle) -> c_int,
    pub bcast: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int,
    pub reduce: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, c_int, Handle) -> c_int,
    pub allreduce: Reduction,
    pub scan: Reduction,
    pub reduce_scatter_block: Reduction,
    pub gather: Rooted,
    pub scatter: Rooted,
    pub allgather: Everyone,
    pub alltoall: Everyone,
}

impl Functions {
    pub fn find(library: &Library) -> Result<Functions, WorldError> {
        // SAFETY (all): the fields have the types that MPI gives these functions; handles are passed as machine words, of which an ABI
        // with smaller ones reads, and writes, the lower half.
        unsafe {
            Ok(Functions {
                ssend: library.function(c"MPI_Ssend")?,
                bsend: library.function(c"MPI_Bsend")?,
                rsend: library.function(c"MPI_Rsend")?,
                isend: library.function(c"MPI_Isend")?,
                irecv: library.function(c"MPI_Irecv")?,
                wait: library.function(c"MPI_Wait")?,
                iprobe: library.function(c"MPI_Iprobe")?,
                buffer_attach: library.function(c"MPI_Buffer_attach")?,
                buffer_detach: library.function(c"MPI_Buffer_detach")?,
                comm_split: library.function(c"MPI_Comm_split")?,
                comm_free: library.function(c"MPI_Comm_free")?,
                barrier: library.function(c"MPI_Barrier")?,
                bcast: library.function(c"MPI_Bcast")?,
                reduce: library.function(c"MPI_Reduce")?,
                allreduce: library.function(c"MPI_Allreduce")?,
                scan: library.function(c"MPI_Scan")?,
                reduce_scatter_block: library.function(c"MPI_Reduce_scatter_block")?,
                gather: library.function(c"MPI_Gather")?,
                scatter: library.function(c"MPI_Scatter")?,
                allgather: library.function(c"MPI_Allgather")?,
                alltoall: library.function(c"MPI_Alltoall")?,
            })
        }
    }
}
