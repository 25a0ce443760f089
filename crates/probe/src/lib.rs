//! The library inside the running program.
//!
//! It is preloaded into every process of the recorded command, and does nothing in processes that never call MPI. [`binding`] redirects MPI
//! calls through [`stub`]s to [`call`], which records their times; [`lifecycle`] has the order of start-up and shut-down; [`observe`] reads
//! their arguments, and [`recorder`] writes them. The program comes first: in case of doubt a call is passed through.

mod attached;
mod binding;
mod block_region;
mod breakable_lock;
mod call;
mod call_frame;
mod call_path;
mod cancellation;
mod clock;
mod communicators;
mod control_group;
mod counters;
mod datatypes;
mod file_counters;
mod file_io;
mod heap;
mod host_description;
mod hosts;
mod job;
mod library;
mod lifecycle;
mod non_local_exit;
mod observe;
mod off_cpu;
mod openmp;
mod perf_event;
mod process;
mod process_memory;
mod processor_set;
mod profile;
mod python;
mod record_stream;
mod recorder;
mod requests;
mod sampling;
mod settings;
mod stack_bounds;
mod stub;
mod system_files;
mod thread;
mod thread_exit;
mod thread_start;
mod thread_usage;
mod trampoline;
mod tuning;
mod unwinder;
mod wrapper;
mod wrapper_table;

/// Runs when the probe is loaded, before the program's own code.
extern "C" fn on_load() {
    if settings::read() {
        std::panic::set_hook(Box::new(|_| {}));
        let _ = std::panic::catch_unwind(binding::start);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;
