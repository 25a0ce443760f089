//! MPI functions used only by benchmarks, looked up on demand, so that a library without one of them still works for the rest.

use std::ffi::{c_int, c_void};

use crate::world::WorldError;
use crate::world::library::{AllToAllFn, Handle, LoadedMpi};

type SendFn = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle) -> c_int;
type IsendFn = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type IrecvFn = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type RootedFn = unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, c_int, Handle) -> c_int;
type ReductionFn = unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle) -> c_int;

pub(super) struct BenchmarkFunctions {
    pub ssend: SendFn,
    pub bsend: SendFn,
    pub rsend: SendFn,
    pub isend: IsendFn,
    pub irecv: IrecvFn,
    pub wait: unsafe extern "C" fn(*mut Handle, *mut c_void) -> c_int,
    pub iprobe: unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut c_void) -> c_int,
    pub buffer_attach: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub buffer_detach: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    pub comm_split: unsafe extern "C" fn(Handle, c_int, c_int, *mut Handle) -> c_int,
    pub comm_free: unsafe extern "C" fn(*mut Handle) -> c_int,
    pub barrier: unsafe extern "C" fn(Handle) -> c_int,
    pub bcast: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int,
    pub reduce: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, Handle, Handle, c_int, Handle) -> c_int,
    pub allreduce: ReductionFn,
    pub scan: ReductionFn,
    pub reduce_scatter_block: ReductionFn,
    pub gather: RootedFn,
    pub scatter: RootedFn,
    pub allgather: AllToAllFn,
    pub alltoall: AllToAllFn,
}

impl BenchmarkFunctions {
    pub(super) fn load(library: &LoadedMpi) -> Result<BenchmarkFunctions, WorldError> {
        // SAFETY: the fields have the types that MPI gives these functions; handles are passed as machine words, of which an ABI with
        // smaller handles reads and writes the lower half.
        unsafe {
            Ok(BenchmarkFunctions {
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
