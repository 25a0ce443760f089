//! Samples of the stacks of threads, by the time they run on a processor.
//!
//! The kernel writes samples of each thread to a ring ([`sample_ring`]). A thread of the probe, which otherwise sleeps, takes them out some
//! ten times a second, unwinds the copies of the stacks, and writes one number for each. The threads of the program are not interrupted,
//! and do nothing for it. In a Python program, and on request where the kernel has no such event, a timer and a signal take its place
//! ([`timer`]).

mod frame_tree;
mod sample_ring;
mod timer;

use std::sync::Arc;
use std::time::Duration;

use sintonia_recording::definitions::{DefinitionRecord, SamplingDefinition};
use sintonia_recording::raw::samples::{MAGIC, RECORD_WORDS, RawSample, RawSampleRecord, python_address};

use self::frame_tree::FrameTree;
use self::sample_ring::{SampleMode, SampleRing, StackSnapshot};
use self::timer::SampleTimer;
use crate::breakable_lock::BreakableLock;
use crate::clock::{self, nanoseconds, ticks};
use crate::counters::{self, EventGroup, GroupReading};
use crate::process::{self, ProcessState};
use crate::python::{self, PythonInterpreter, SampledPythonFrame, line_numbers};
use crate::record_stream::RecordStream;
use crate::settings::{self, SamplingSetting, settings};
use crate::stub;
use crate::thread_exit::ThreadExitHook;
use crate::unwinder::{LoadedFiles, StackUnwinder, while_loaded};

/// Samples per second on the processor. Not a divisor of the frequencies of other timers.
const DEFAULT_HERTZ: u32 = 99;
const MAX_HERTZ: u32 = 10_000;
/// Samples of a thread between two drains, at most; a ring holds some fifteen.
const SAMPLES_PER_DRAIN: u64 = 8;

static SAMPLER: BreakableLock<Option<Sampler>> = BreakableLock::new(None);

/// Samples the threads of this process.
struct Sampler {
    source: SamplingMechanism,
    threads: Vec<ThreadSampler>,
    unwinder: StackUnwinder,
    tree: FrameTree,
    /// Files loaded, and modules defined, when a frame was defined last.
    loaded: LoadedFiles,
    modules: u32,
    stream: RecordStream<RECORD_WORDS>,
    /// Stacks of a drain.
    stacks: Vec<UnwoundStack>,
    has_stacks: bool,
}

/// Where samples come from.
#[derive(Clone, Copy)]
enum SamplingMechanism {
    /// An event of the kernel.
    Event(SampleMode),
    /// A timer with this period. Its handler can read the frames of Python as well.
    Timer { period_ns: u64, interpreter: Option<&'static PythonInterpreter> },
}

impl SamplingMechanism {
    /// What the kernel and the settings allow.
    fn find(period_ns: u64, may_signal: bool) -> Result<SamplingMechanism, &'static str> {
        let loaded = while_loaded(|loaded| loaded.loaded).unwrap_or(0);
        let interpreter = python::interpreter(loaded);
        if interpreter.is_some() && timer::install() {
            return Ok(SamplingMechanism::Timer { period_ns, interpreter });
        }
        match SampleMode::find(period_ns) {
            Some(mode) => Ok(SamplingMechanism::Event(mode)),
            None if !may_signal => {
                Err("the kernel does not allow it without signals (see kernel.perf_event_paranoid); with --sample 99 it uses a timer")
            }
            None if timer::install() => Ok(SamplingMechanism::Timer { period_ns, interpreter }),
            None => Err("the kernel does not allow it (see kernel.perf_event_paranoid), and the program uses the signal of the timer"),
        }
    }
}

struct ThreadSampler {
    /// The system's id.
    id: libc::pid_t,
    /// That of an event is opened at the first drain, so that a thread that ends soon costs nothing.
    ring: Option<SampleRing>,
    /// The timer, if samples come from one.
    timer: Option<SampleTimer>,
    /// The counters that samples have, if they come from an event.
    counters: Option<Arc<EventGroup>>,
    /// For how long the counters were not counted when the ring was opened.
    not_counted_ns: u64,
    /// The counters of the last sample.
    last_reading: Option<GroupReading>,
}

impl ThreadSampler {
    /// The calling thread. Its timer can only be started by itself.
    fn current(source: SamplingMechanism) -> ThreadSampler {
        let started = match source {
            SamplingMechanism::Event(_) => None,
            SamplingMechanism::Timer { period_ns, interpreter } => SampleTimer::start(period_ns, interpreter),
        };
        let (timer, ring) = started.map(|(timer, ring)| (timer, SampleRing::of_handler(ring))).unzip();
        ThreadSampler { id: thread_id(), ring, timer, counters: None, not_counted_ns: 0, last_reading: None }
    }

    /// Opens the ring of the event, if there is none yet.
    fn open(&mut self, source: SamplingMechanism) {
        if let SamplingMechanism::Event(mode) = source
            && self.ring.is_none()
        {
            self.open_with(mode, counters::open_group(self.id));
        }
    }

    /// Opens the ring with counters, or without if the event of the samples cannot be counted together with them.
    fn open_with(&mut self, mode: SampleMode, counters: Option<Arc<EventGroup>>) {
        self.ring = SampleRing::open(mode, self.id, counters.as_deref());
        self.counters = counters.filter(|_| self.ring.is_some());
        if self.ring.is_none() {
            self.ring = SampleRing::open(mode, self.id, None);
        }
        self.not_counted_ns = self.counters.as_ref().and_then(|group| group.read_file()).map_or(0, |reading| reading.not_counted_ns);
        self.last_reading = None;
    }

    /// Whether the counters were not counted for some time, of which there are no samples that would tell.
    fn has_lost_counters(&self) -> bool {
        let reading = self.counters.as_ref().and_then(|group| group.read_file());
        reading.is_some_and(|reading| reading.not_counted_ns > self.not_counted_ns)
    }

    /// Goes on without counters: the event of the samples is a member of their group, and takes none while the group is not counted.
    fn reopen_without_counters(&mut self, source: SamplingMechanism) {
        if let (SamplingMechanism::Event(mode), Some(ring)) = (source, self.ring.take()) {
            ring.close();
            self.counters = None;
            self.ring = SampleRing::open(mode, self.id, None);
        }
    }
}

struct UnwoundStack {
    time_ns: u64,
    counters: Option<GroupReading>,
    in_kernel: bool,
    in_mpi: bool,
    is_truncated: bool,
    /// Native frames, innermost first.
    addresses: Vec<u64>,
    /// Frames of Python that called them.
    python: Vec<SampledPythonFrame>,
}

/// Calls a function with the sampler, if there is one.
fn with_sampler(action: impl FnOnce(&mut Sampler)) {
    if let Some(mut sampler) = SAMPLER.lock()
        && let Some(sampler) = sampler.as_mut()
    {
        action(sampler);
    }
}

/// Starts sampling, with the calling thread; call once, after the time source is selected.
pub(crate) fn start() {
    let hertz = match settings().sampling {
        SamplingSetting::Off => return,
        // Tuning compares times of the program: nothing is added to them without being asked for.
        SamplingSetting::Automatic if settings::is_tuned() => return,
        SamplingSetting::Automatic => DEFAULT_HERTZ,
        SamplingSetting::Hertz(hertz) => hertz.clamp(1, MAX_HERTZ),
    };
    let period_ns = 1_000_000_000 / u64::from(hertz);
    let source = match SamplingMechanism::find(period_ns, settings().sampling != SamplingSetting::Automatic) {
        Ok(source) => source,
        Err(why) => return process::note(&format!("threads were not sampled: {why}")),
    };
    let mut started = Sampler::new(source);
    let mut first = ThreadSampler::current(source);
    first.open(source);
    let stacks = first.ring.as_ref().is_some_and(SampleRing::has_stacks);
    started.threads.push(first);
    started.note_missing_stacks(stacks);
    let kernel = matches!(source, SamplingMechanism::Event(mode) if mode.kernel);
    process::define(&DefinitionRecord::Sampling(SamplingDefinition { period_ns, kernel, stacks }));
    let Some(mut sampler) = SAMPLER.lock() else { return };
    *sampler = Some(started);
    drop(sampler);
    remove_at_thread_exit();
    start_drain_thread(Duration::from_nanos(SAMPLES_PER_DRAIN * period_ns));
}

/// Starts the thread that takes samples out of the rings. Signals of the program are not delivered to it.
fn start_drain_thread(interval: Duration) {
    let all = signal_set_of_all();
    let mut previous = all;
    // SAFETY: both sets are valid. The mask of the calling thread is restored below; a new thread inherits it.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut previous) };
    let thread = std::thread::Builder::new().name("sintonia".into()).stack_size(256 << 10);
    let spawned = thread.spawn(move || {
        while process::state() == ProcessState::Recording {
            std::thread::sleep(interval);
            if process::state() == ProcessState::Recording {
                with_sampler(Sampler::drain_all);
            }
        }
    });
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &previous, std::ptr::null_mut()) };
    if spawned.is_err() {
        if let Some(mut sampler) = SAMPLER.lock() {
            *sampler = None;
        }
        process::note("threads were not sampled: no thread could be created");
    }
}

fn signal_set_of_all() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is initialised by the call.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn thread_id() -> libc::pid_t {
    // SAFETY: only queries the thread id.
    unsafe { libc::gettid() }
}

/// Begins to sample the calling thread, if it is not sampled yet.
pub(crate) fn attach() {
    if process::state() != ProcessState::Recording {
        return;
    }
    let id = thread_id();
    with_sampler(|sampler| {
        if sampler.add_thread(id, REMOVE.is_registered()) {
            remove_at_thread_exit();
        }
    });
}

/// Ends the samples of a thread when it ends.
static REMOVE: ThreadExitHook = ThreadExitHook::new(remove);

/// Has [`remove`] called at the end of the calling thread. The value only has to be different from null.
fn remove_at_thread_exit() {
    REMOVE.register(std::ptr::dangling_mut::<u64>().cast());
}

unsafe extern "C" fn remove(_: *mut libc::c_void) {
    // Not in a forked child, where the lock may be held by a thread that is not there.
    if process::state() != ProcessState::Recording {
        return;
    }
    let _ = std::panic::catch_unwind(|| with_sampler(|sampler| sampler.remove(thread_id())));
}

/// Takes out what is left and writes what would be lost with the process.
pub(crate) fn finish() {
    with_sampler(|sampler| {
        sampler.threads.iter().filter_map(|thread| thread.timer.as_ref()).for_each(SampleTimer::stop_from_elsewhere);
        sampler.drain_all();
        sampler.stream.finish();
    });
}

impl Sampler {
    fn new(source: SamplingMechanism) -> Sampler {
        Sampler {
            source,
            threads: Vec::new(),
            unwinder: StackUnwinder::new(),
            tree: FrameTree::default(),
            loaded: LoadedFiles::default(),
            modules: 0,
            stream: RecordStream::new("samples", MAGIC, "samples".into()),
            stacks: Vec::new(),
            has_stacks: true,
        }
    }

    /// Begins to sample the calling thread; `false` if it is sampled. An earlier thread with the same id may not have been removed: the lock
    /// was not released for long when it ended.
    fn add_thread(&mut self, id: libc::pid_t, is_sampled: bool) -> bool {
        if is_sampled {
            return false;
        }
        self.remove(id);
        self.threads.push(ThreadSampler::current(self.source));
        true
    }

    /// Ends the samples of a thread that ends.
    fn remove(&mut self, id: libc::pid_t) {
        let Some(index) = self.threads.iter().position(|thread| thread.id == id) else { return };
        self.drain(index);
        let thread = self.threads.swap_remove(index);
        // First, because the handler writes to the ring.
        if let Some(timer) = thread.timer {
            timer.stop();
        }
        if let Some(ring) = thread.ring {
            ring.close();
        }
    }

    fn drain_all(&mut self) {
        for index in 0..self.threads.len() {
            let thread = &mut self.threads[index];
            thread.open(self.source);
            let has_stacks = thread.ring.as_ref().is_none_or(SampleRing::has_stacks);
            self.note_missing_stacks(has_stacks);
            self.drain(index);
        }
    }

    fn note_missing_stacks(&mut self, has_stacks: bool) {
        if self.has_stacks && !has_stacks {
            self.has_stacks = false;
            process::note("samples of some threads have no stacks: there is no more locked memory for them (see ulimit -l)");
        }
    }

    /// Takes the samples of a thread out of its ring and writes them.
    fn drain(&mut self, index: usize) {
        if self.threads[index].ring.as_ref().is_some_and(SampleRing::is_empty) && self.threads[index].has_lost_counters() {
            self.continue_without_counters(index);
        }
        let ThreadSampler { id, ring: Some(ring), .. } = &mut self.threads[index] else { return };
        if ring.is_empty() {
            return;
        }
        let (unwinder, stacks, thread) = (&mut self.unwinder, &mut self.stacks, *id as u32);
        let lost = while_loaded(|loaded| {
            unwinder.update(loaded);
            ring.drain(|sample| stacks.extend(unwind(unwinder, sample)))
        });
        let (now_ns, now_ticks) = (nanoseconds(libc::CLOCK_MONOTONIC), ticks());
        self.define_files();
        let interpreter = match self.source {
            SamplingMechanism::Timer { interpreter, .. } => interpreter,
            SamplingMechanism::Event(_) => None,
        };
        let mut is_interrupted = false;
        for stack in self.stacks.drain(..).filter(|_| !process::is_recording_off()) {
            let stream = &mut self.stream;
            let define = |frame| stream.append(RawSampleRecord::Frame(frame).to_words());
            let frames = joined_frames(&stack, interpreter);
            let Some(frame) = self.tree.number_of(&frames, self.modules, define) else { continue };
            let UnwoundStack { in_kernel, in_mpi, is_truncated, .. } = stack;
            let is_truncated = is_truncated && stack.python.is_empty();
            let ticks = clock::ticks_at(stack.time_ns, now_ns, now_ticks);
            self.stream.append(RawSampleRecord::Sample(RawSample { ticks, thread, frame, in_kernel, in_mpi, is_truncated }).to_words());
            let Some(now) = stack.counters else { continue };
            let before = self.threads[index].last_reading.replace(now);
            match before.map(|before| now.since(&before)) {
                Some(Some(counts)) => self.stream.append(RawSampleRecord::Counts(counts).to_words()),
                Some(None) => is_interrupted = true,
                None => {}
            }
        }
        if is_interrupted {
            self.continue_without_counters(index);
        }
        if let Some(lost @ 1..) = lost {
            let samples = lost.min(u32::MAX.into()) as u32;
            self.stream.append(RawSampleRecord::Lost { ticks: now_ticks, thread, samples }.to_words());
        }
    }

    fn continue_without_counters(&mut self, index: usize) {
        process::note("samples of some threads have no counters: other tools use the counters of the processor");
        self.threads[index].reopen_without_counters(self.source);
    }

    /// Defines files before the frames in them.
    fn define_files(&mut self) {
        let loaded = self.unwinder.loaded();
        if self.loaded == loaded {
            return;
        }
        if self.loaded.unloaded != loaded.unloaded {
            self.tree.forget();
            process::forget_modules();
        }
        self.modules = process::define_modules();
        self.loaded = loaded;
    }
}

/// Unwinds a stack. What is inside an MPI function is left out, and so are functions of the probe.
fn unwind(unwinder: &mut StackUnwinder, sample: &StackSnapshot) -> Option<UnwoundStack> {
    let mut is_truncated = false;
    let frames = unwinder.unwind(sample.registers, |address| {
        let word = sample.read_stack(address);
        is_truncated |= word.is_none();
        word
    });
    // An address outside of all files is that of generated code, or no address: what is above it is not certain.
    let is_code = |address: &&u64| unwinder.code_at(**address).is_some();
    let certain = 1 + frames.addresses()[1..].iter().take_while(is_code).count();
    let addresses = &frames.addresses()[..certain];
    is_truncated |= frames.is_full() || certain < frames.addresses().len();
    let call = addresses.iter().rposition(|address| stub::is_in_call(*address));
    let outer = call.map_or(addresses, |call| &addresses[call + 1..]);
    let own_code = unwinder.code_at(unwind as *const () as u64);
    let in_program = outer.iter().enumerate().filter(|(_, address)| own_code.is_none_or(|code| !code.contains(address)));
    // The innermost frame is an instruction; the others follow a call.
    let addresses = in_program.map(|(index, address)| address + u64::from(index == 0 && call.is_none())).collect();
    let StackSnapshot { time_ns, in_kernel, counters, .. } = *sample;
    let in_mpi = call.is_some();
    Some(UnwoundStack { time_ns, counters, in_kernel, in_mpi, is_truncated, addresses, python: sample.python_frames().collect() })
}

/// The frames of a stack, innermost first: native ones up to the interpreter, then those of Python.
fn joined_frames(stack: &UnwoundStack, interpreter: Option<&PythonInterpreter>) -> Vec<u64> {
    let Some(interpreter) = interpreter.filter(|_| !stack.python.is_empty()) else { return stack.addresses.clone() };
    let below = interpreter.frames_below_python(stack.addresses.iter().copied());
    let lines = stack.python.iter().filter_map(|frame| interpreter.sampled_line(*frame));
    below.chain(lines.filter_map(line_numbers::number_of).map(python_address)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_event::TASK_CLOCK;

    fn open_group() -> Option<Arc<EventGroup>> {
        EventGroup::open(&[TASK_CLOCK], 0).ok().map(Arc::new)
    }

    #[test]
    fn a_thread_that_was_not_removed_is_replaced_by_the_next_one_with_its_id() {
        let Some(mode) = SampleMode::find(1_000_000) else { return };
        let mut sampler = Sampler::new(SamplingMechanism::Event(mode));
        let id = thread_id();
        assert!(sampler.add_thread(id, false));
        sampler.threads[0].open_with(mode, None);
        assert!(!sampler.add_thread(id, true) && sampler.threads[0].ring.is_some(), "the same thread");
        assert!(sampler.add_thread(id, false));
        assert_eq!(sampler.threads.len(), 1);
        assert!(sampler.threads[0].ring.is_none(), "its ring is opened anew");
    }

    #[test]
    fn samples_go_on_without_counters_that_they_cannot_have() {
        let Some(mode) = SampleMode::find(1_000_000) else { return };
        // A group takes events of its own thread only.
        let Some(of_another_thread) = std::thread::spawn(open_group).join().unwrap() else { return };
        let mut thread = ThreadSampler::current(SamplingMechanism::Event(mode));
        thread.open_with(mode, Some(of_another_thread));
        assert!(thread.ring.is_some() && thread.counters.is_none());
        thread.open_with(mode, open_group());
        assert!(thread.ring.is_some() && thread.counters.is_some());
        assert!(!thread.has_lost_counters());
    }
}
