//! When recording starts and ends: the order in which the parts of the probe come up and go down.
//!
//! This module alone knows all of them; what they share is below them, in [`crate::process`]. The order, and why:
//!
//! 1. When the probe is loaded, `on_load` reads the settings and binds MPI calls to stubs. Nothing else: most processes never call MPI.
//! 2. The first MPI call gets to [`begin`], one thread at a time. The MPI library is opened first: it tells whether MPI is initialised. If
//!    it is not, and this call does not initialise it, the call is passed through and the next one tries again.
//! 3. The time source is selected before any time is read.
//! 4. The file of definitions is created, because every later step may write to it. Process, host, limits, library, clock and modules
//!    are defined. How it is found out when threads are off the processor, and what is counted, is selected before the first thread is
//!    attached.
//! 5. The handlers for exit and fork are registered: from here on there is something to finish.
//! 6. The state becomes `Recording` before tuning starts: a function that a tuning command calls may call MPI, and must not wait for
//!    [`begin`], which is waiting for that command. Then threads are sampled.
//! 7. Tuning connects, and holds the program until its first commands are executed: some must come before `MPI_Init`.
//! 8. When `MPI_Init` has succeeded ([`on_initialized`]), requests are prepared for threads and the predefined communicators registered, so
//!    that they have their ids before any other communicator is created.
//! 9. Hosts are compared: the first messages, and only if all ranks are recorded.
//! 10. Tuning is given the rank, and holds the program until its hooks are in place. It needs the ids of step 8.
//! 11. World, clock and modules are defined, with what `MPI_Init` has loaded. The affinity of the calling thread is read again: some
//!     libraries bind processes inside `MPI_Init`. The size of the process is read. From here on, calls that use files are observed.
//! 12. Before `MPI_Finalize` ([`before_finalize`]) tuning ends, then hosts are compared again and files sent: the last messages. A process
//!     that sends its files ends its recording first (step 13).
//! 13. After `MPI_Finalize`, at exit, or before `MPI_Abort` ([`end`]), the load of the host, what threads used, the memory of the process,
//!     whether their times off the processor are known, the last clock reading, the modules and the end are defined. Then the state becomes
//!     `Ended`, so that no thread begins another call (not before `MPI_Abort`, which may return). Then threads write their blocks, and last
//!     the memory that is not mapped is written.
//!
//! A process in which MPI was initialised unseen skips steps 8 to 11 and registers its communicators and its world in [`begin`], without
//! messages. With sessions, [`on_session_initialized`] takes the place of steps 8 to 11, also without messages.
//!
//! In a program that was attached to, nothing is recorded: there are no files and no messages. The tuning thread binds MPI calls
//! ([`crate::attached`]), and the first of them gets to [`begin`], which asks MPI for its world: in a thread of the program, where it calls
//! MPI itself.

use std::sync::Mutex;

use sintonia_mpi::{FUNCTIONS, FunctionRole};
use sintonia_recording::definitions::{
    DefinitionRecord, EndDefinition, FORMAT_VERSION, LibraryDefinition, ProcessDefinition, WorldDefinition,
};

use crate::call_frame;
use crate::cancellation::CancellationGuard;
use crate::clock;
use crate::communicators;
use crate::counters;
use crate::file_io;
use crate::host_description;
use crate::hosts;
use crate::job;
use crate::library::{self, Handle, ProgramMpi};
use crate::off_cpu;
use crate::openmp;
use crate::process::{self, ProcessState};
use crate::process_memory;
use crate::requests::REQUESTS;
use crate::sampling;
use crate::settings::settings;
use crate::stub;
use crate::thread;
use crate::thread_usage;
use crate::tuning;

/// Steps 2 to 7: starts recording if this call can start it; `false` if the call is not recorded.
#[cold]
pub(crate) fn begin(role: FunctionRole) -> bool {
    let _cancellation = CancellationGuard::new();
    // If MPI was initialised unseen, several threads may get here concurrently.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match process::state() {
        ProcessState::Waiting => {}
        ProcessState::Recording => return true,
        ProcessState::Ended => return false,
    }
    let Some(library) = library::open() else {
        process::set_state(ProcessState::Ended);
        return false;
    };
    let starts = matches!(role, FunctionRole::Init | FunctionRole::SessionInit);
    if !starts && !library.initialized() {
        return false;
    }
    if settings().is_attached {
        if !starts {
            register_world(library);
        }
        process::set_state(ProcessState::Recording);
        return true;
    }
    if !open_files(library) {
        process::set_state(ProcessState::Ended);
        stub::disable_all();
        return false;
    }
    process::set_state(ProcessState::Recording);
    sampling::start();
    tuning::start();
    if !starts {
        // MPI was initialised unseen; other processes may be at another point, so no messages can be exchanged.
        process::note("MPI was initialised before the probe could see it; earlier calls are not recorded");
        register_world(library);
        define_world(library, hosts::WorldSummary::local(library));
        file_io::start();
    }
    true
}

/// MPI was initialised unseen: communicators are asked for, and earlier requests stay unknown.
fn register_world(library: &ProgramMpi) {
    REQUESTS.set_multithreaded();
    REQUESTS.set_earlier_unseen();
    communicators::register_predefined(library);
}

/// Steps 3 to 5.
fn open_files(library: &ProgramMpi) -> bool {
    clock::select_source();
    let host = process::host_name();
    let pid = std::process::id();
    let folder = hosts::local_dir(settings());
    if std::fs::create_dir_all(&folder).is_err() || !process::create_definitions(folder, &host, pid) {
        return false;
    }
    process::define(&DefinitionRecord::Process(ProcessDefinition {
        format: FORMAT_VERSION,
        functions: FUNCTIONS.len(),
        host: host.clone(),
        pid,
        arguments: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        time_stamp_counter: clock::uses_tsc(),
        profile: settings().profile,
    }));
    host_description::define(&host);
    process::define(&DefinitionRecord::Library(LibraryDefinition {
        version: library.version.clone(),
        abi: library.abi.name().into(),
        path: library.path.clone(),
    }));
    process::define(&DefinitionRecord::Clock(clock::reading()));
    process::define_modules();
    off_cpu::start();
    counters::start();
    // SAFETY: both functions stay loaded for the life of the process.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(in_child));
    }
    true
}

/// Steps 8 to 11: `MPI_Init` has succeeded.
pub(crate) fn on_initialized(library: &ProgramMpi) {
    let _guard = CancellationGuard::new();
    if library.allows_threads() {
        REQUESTS.set_multithreaded();
    }
    communicators::register_predefined(library);
    if settings().is_attached {
        return;
    }
    let world = hosts::connect(library);
    if let Some(world) = &world {
        tuning::initialized(world.rank as u32, world.size as u32);
    }
    define_world(library, world);
    thread_usage::initialized();
    process_memory::initialized();
    process::define(&DefinitionRecord::Clock(clock::reading()));
    process::define_modules();
    file_io::start();
}

fn define_world(library: &ProgramMpi, world: Option<hosts::WorldSummary>) {
    let Some(world) = world else { return };
    let spawned = library.spawned();
    process::define(&DefinitionRecord::World(WorldDefinition {
        id: world.id,
        rank: world.rank,
        size: world.size,
        spawned,
        spawn_root: job::spawn_root().filter(|_| spawned),
        hosts: world.hosts,
    }));
}

/// `MPI_Session_init` has succeeded.
pub(crate) fn on_session_initialized(library: &ProgramMpi, session: Handle) {
    REQUESTS.set_multithreaded();
    communicators::register_session(library, session);
    if let Some((size, rank)) = communicators::world_from_group(library) {
        let id = job::job_id();
        process::define(&DefinitionRecord::World(WorldDefinition { id, rank, size, spawned: false, spawn_root: None, hosts: 1 }));
    }
    process::define_modules();
    file_io::start();
}

/// Step 12: `MPI_Finalize` is about to be called: the last opportunity to exchange messages.
pub(crate) fn before_finalize() {
    let _guard = CancellationGuard::new();
    tuning::before_finalize();
    if let Some(library) = library::library() {
        hosts::disconnect(library, || end("finalized"));
    }
}

/// Step 13: ends recording.
pub(crate) fn end(how: &str) {
    if process::state() != ProcessState::Recording {
        return;
    }
    if settings().is_attached {
        return process::set_state(if how == "aborted" { ProcessState::Recording } else { ProcessState::Ended });
    }
    let _guard = CancellationGuard::new();
    host_description::define_end();
    thread_usage::define_all();
    process_memory::define();
    if let Some(thread) = thread::existing() {
        thread.off_cpu.verify();
    }
    process::define(&DefinitionRecord::Clock(clock::reading()));
    process::define_modules();
    process::define(&DefinitionRecord::End(EndDefinition { how: how.into(), ticks: clock::ticks() }));
    if how != "aborted" {
        process::set_state(ProcessState::Ended);
    }
    thread::finish_all();
    sampling::finish();
    openmp::finish();
    process::write_memory();
}

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| {
        call_frame::on_process_exit();
        end("exited");
    });
}

/// In a forked child: the parent goes on recording; the child must not touch shared memory.
extern "C" fn in_child() {
    process::set_state(ProcessState::Ended);
    stub::disable_all();
    thread::forget();
    tuning::after_fork_in_child();
}
