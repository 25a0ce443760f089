//! Attaches to a process: everything possible is prepared in advance; then one thread is borrowed briefly; the rest is done while the
//! program runs.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::InjectError;
use crate::frame::SignalFrame;
use crate::libc_symbols::TargetLibc;
use crate::payload::{self, PayloadParameters, PayloadState, RemotePayload};
use crate::process::{field, is_alive, name, permission_error, status};
use crate::remote_memory::RemoteMemory;
use crate::safe_point;
use crate::tracee::{ProcessMemory, StopReason, ThreadRegisters, Tracee, raise_priority, send_signal};

/// How long to look for a thread that can be borrowed.
const BORROW_SEARCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a stop request: the thread may first wait for a processor, which does not delay it.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for each step of creating the thread. A step takes microseconds, but on a busy host the borrowed thread waits for a processor.
const BORROW_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for loading and connecting the probe.
const LOAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// Parameters of an attach.
#[derive(Debug, Clone, Copy)]
pub struct AttachRequest<'data> {
    /// Contents of the probe library.
    pub probe: &'data [u8],
    /// Directory of the collector's socket.
    pub socket_dir: &'data Path,
    /// The shared secret.
    pub secret: &'data str,
    /// Rank and number of processes.
    pub rank_and_size: (u32, u32),
}

/// Statistics of an attach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttachReport {
    /// The borrowed thread.
    pub thread: u32,
    /// From the stop request until the thread had stopped, including time waiting for a processor.
    pub stop_latency: Duration,
    /// How long it was stopped.
    pub stop_duration: Duration,
    /// Number of stops of threads that could not be borrowed, and their total duration.
    pub failed_attempts: (u32, Duration),
    /// From then until the probe was connected, while the program ran.
    pub load_duration: Duration,
}

/// Loads the probe into a process and connects it to the collector.
pub fn attach(process: u32, request: &AttachRequest) -> Result<AttachReport, InjectError> {
    check(process)?;
    let library = TargetLibc::find(process)?;
    let memory = ProcessMemory::open(process).map_err(|error| permission_error(process, &error))?;
    let parameters = PayloadParameters {
        functions: library.functions,
        socket_dir: request.socket_dir.as_os_str().as_bytes(),
        secret: request.secret,
        rank_and_size: request.rank_and_size,
        ready_signal: unused_signal(&status(process)?),
    };
    // In a separate thread: if a thread of the process does not stop, it is released when this one ends.
    let borrowed = std::thread::scope(|scope| {
        let borrower = scope.spawn(|| borrow(process, &library, &memory, &parameters));
        borrower.join().unwrap_or(Err(InjectError::NoResponse(process)))
    })?;
    let begin = Instant::now();
    let payload = RemotePayload::new(memory, borrowed.code);
    let loaded = serve_payload(process, &payload, request.probe);
    payload.release();
    loaded?;
    let BorrowReport { thread, stop_latency: stopping, stop_duration: stopped, failed_attempts: in_vain, .. } = borrowed;
    Ok(AttachReport { thread, stop_latency: stopping, stop_duration: stopped, failed_attempts: in_vain, load_duration: begin.elapsed() })
}

/// Checks what can be known without touching the process.
fn check(process: u32) -> Result<(), InjectError> {
    let status = status(process)?;
    match field(&status, "State").chars().next() {
        Some('Z' | 'X') => return Err(InjectError::ProcessEnded(process)),
        Some('T') => return Err(InjectError::Stopped(process)),
        _ => {}
    }
    match field(&status, "TracerPid").parse() {
        Ok(0) | Err(_) => Ok(()),
        Ok(tracer) => Err(InjectError::Traced { process, tracer, name: name(tracer) }),
    }
}

/// A signal that the program does not handle and whose default action is to ignore it.
fn unused_signal(status: &str) -> i32 {
    let handled = u64::from_str_radix(field(status, "SigCgt"), 16).unwrap_or(0);
    let free = [libc::SIGURG, libc::SIGWINCH, libc::SIGCONT, libc::SIGCHLD].into_iter().find(|signal| handled >> (signal - 1) & 1 == 0);
    free.unwrap_or(libc::SIGURG)
}

/// Result of borrowing a thread.
struct BorrowReport {
    thread: u32,
    code: u64,
    stop_latency: Duration,
    stop_duration: Duration,
    failed_attempts: (u32, Duration),
}

/// Why a thread was not borrowed.
enum BorrowFailure {
    /// Not now; try again.
    Retry(String),
    /// Not at all.
    Fatal(InjectError),
}

impl From<InjectError> for BorrowFailure {
    fn from(problem: InjectError) -> BorrowFailure {
        BorrowFailure::Fatal(problem)
    }
}

fn borrow(process: u32, library: &TargetLibc, memory: &ProcessMemory, parameters: &PayloadParameters) -> Result<BorrowReport, InjectError> {
    raise_priority();
    let begin = Instant::now();
    let mut in_vain = (0, Duration::ZERO);
    let mut last = String::from("no thread was at a safe point");
    while begin.elapsed() < BORROW_SEARCH_TIMEOUT {
        for thread in safe_point::candidate_threads(process) {
            let asked = Instant::now();
            match try_thread(process, thread, library, memory, parameters) {
                Ok((code, since)) => {
                    return Ok(BorrowReport {
                        thread,
                        code,
                        stop_latency: since - asked,
                        stop_duration: since.elapsed(),
                        failed_attempts: in_vain,
                    });
                }
                Err(BorrowFailure::Fatal(problem)) => return Err(problem),
                Err(BorrowFailure::Retry(why)) => {
                    in_vain = (in_vain.0 + 1, in_vain.1 + asked.elapsed());
                    last = why;
                }
            }
        }
        if !is_alive(process) {
            return Err(InjectError::ProcessEnded(process));
        }
        std::thread::sleep(RETRY_PAUSE);
    }
    Err(InjectError::NoSafePoint { process, seconds: BORROW_SEARCH_TIMEOUT.as_secs(), last })
}

/// Stops a thread and borrows it at a safe point; returns the payload address, and when the thread stopped.
fn try_thread(
    process: u32,
    thread: u32,
    library: &TargetLibc,
    memory: &ProcessMemory,
    parameters: &PayloadParameters,
) -> Result<(u64, Instant), BorrowFailure> {
    let gone = |_| BorrowFailure::Retry("a thread ended".into());
    let tracee = match Tracee::seize(thread) {
        Ok(tracee) => tracee,
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Err(BorrowFailure::Retry("a thread ended".into())),
        Err(error) => return Err(BorrowFailure::Fatal(permission_error(process, &error))),
    };
    tracee.interrupt().map_err(gone)?;
    wait_for_stop(process, &tracee)?;
    let since = Instant::now();
    let registers = tracee.registers().map_err(gone)?;
    let undisturbed = safe_point::resume_registers(process, thread, registers);
    let good = safe_point::check_safe_point(&tracee, &registers, library, memory);
    let done = match good {
        Ok(()) => BorrowedThread::new(process, &tracee, undisturbed, memory).and_then(|borrowed| borrowed.run_payload(library, parameters)),
        Err(why) => tracee.set_registers(&undisturbed).map_err(gone).and(Err(BorrowFailure::Retry(why))),
    };
    tracee.detach().map_err(gone)?;
    let (code, held_back) = done?;
    for signal in held_back {
        send_signal(process, thread, signal);
    }
    Ok((code, since))
}

/// Waits for a thread that was asked to stop.
fn wait_for_stop(process: u32, tracee: &Tracee) -> Result<(), BorrowFailure> {
    loop {
        match tracee.wait(STOP_TIMEOUT) {
            StopReason::Interrupted => return Ok(()),
            StopReason::GroupStop => return Err(InjectError::Stopped(process).into()),
            StopReason::Ended => return Err(BorrowFailure::Retry("a thread ended".into())),
            StopReason::TimedOut => {
                return Err(
                    InjectError::NoSafePoint { process, seconds: 0, last: "a thread does not return from a system call".into() }.into()
                );
            }
            // An earlier signal is delivered first.
            StopReason::Signal(signal) => drop(tracee.resume(signal)),
            StopReason::SystemCall => drop(tracee.resume(0)),
        }
    }
}

/// A thread stopped at a safe point, with everything needed to restore it.
struct BorrowedThread<'process> {
    process: u32,
    tracee: &'process Tracee,
    contents: &'process ProcessMemory,
    registers: ThreadRegisters,
    xstate: Vec<u8>,
    mask: u64,
    held_signals: Vec<i32>,
    is_at_signal: bool,
    /// Address of the signal frame, or 0.
    frame: u64,
}

impl<'process> BorrowedThread<'process> {
    fn new(
        process: u32,
        tracee: &'process Tracee,
        registers: ThreadRegisters,
        memory: &'process ProcessMemory,
    ) -> Result<Self, BorrowFailure> {
        let failed = |source| InjectError::SystemRefused { process, what: "access to a thread's registers", source };
        let wide = tracee.xstate(payload::XSTATE_BYTES).map_err(failed)?;
        let mask = tracee.signal_mask().map_err(failed)?;
        Ok(BorrowedThread {
            process,
            tracee,
            contents: memory,
            registers,
            xstate: wide,
            mask,
            held_signals: Vec::new(),
            is_at_signal: false,
            frame: 0,
        })
    }

    /// Makes the thread run the first part of the payload, and restores it; returns the payload address and the held signals.
    fn run_payload(mut self, library: &TargetLibc, parameters: &PayloadParameters) -> Result<(u64, Vec<i32>), BorrowFailure> {
        let allowed = fault_signals() | 1 << (parameters.ready_signal - 1);
        let done =
            self.tracee.set_signal_mask((self.mask | !allowed) & !allowed).map_err(|source| self.refused("to block signals", source));
        let done = done.and_then(|()| self.start_payload(library, parameters));
        self.restore().map_err(|source| InjectError::SystemRefused { process: self.process, what: "to restore a thread", source })?;
        Ok((done?, self.held_signals))
    }

    fn refused(&self, what: &'static str, source: io::Error) -> InjectError {
        match source.raw_os_error() {
            Some(libc::ESRCH) => InjectError::ProcessEnded(self.process),
            _ => InjectError::SystemRefused { process: self.process, what, source },
        }
    }

    fn start_payload(&mut self, library: &TargetLibc, parameters: &PayloadParameters) -> Result<u64, InjectError> {
        let page = payload::build_page(parameters, &self.registers, self.mask).ok_or_else(|| {
            let too_long = io::Error::new(io::ErrorKind::InvalidInput, "the path of the socket directory is too long");
            self.refused("the payload", too_long)
        })?;
        // Readable, writable and executable until the new thread runs; private, anonymous.
        let room = [0, payload::PAYLOAD_BYTES, 7, 0x22, u64::MAX, 0];
        self.push_signal_frame(library).map_err(|source| self.refused("a signal frame on a thread's stack", source))?;
        let code = self.call(library, libc::SYS_mmap, room).map_err(|source| self.refused("memory for the payload", source))?;
        let written = self.contents.write(code, payload::code());
        let written = written.and_then(|()| self.contents.write(code + payload::CODE_BYTES, &page));
        written
            .and_then(|()| self.contents.write(code + payload::XSTATE_OFFSET, &self.xstate))
            .map_err(|source| self.refused("the payload", source))?;
        let begun = self.run(code, parameters.ready_signal).map_err(|source| self.refused("to run the payload", source));
        let created = begun.and_then(|()| {
            let created = RemotePayload::new(MemoryRef(self.contents), code).thread_create_result().unwrap_or(libc::ESRCH);
            if created == 0 { Ok(code) } else { Err(self.refused("a new thread", io::Error::from_raw_os_error(created))) }
        });
        if created.is_err() {
            let _ = self.call(library, libc::SYS_munmap, [code, payload::PAYLOAD_BYTES, 0, 0, 0, 0]);
        }
        created
    }

    /// Puts a signal frame on the thread's stack, to which the code after a system call returns if nothing stops it there.
    fn push_signal_frame(&mut self, library: &TargetLibc) -> io::Result<()> {
        let frame = SignalFrame::new(&self.registers, &self.xstate, self.mask, library.sigreturn).ok_or(io::ErrorKind::Unsupported)?;
        self.contents.write(frame.address, &frame.bytes)?;
        self.frame = frame.address;
        Ok(())
    }

    /// Makes one system call in the thread.
    fn call(&mut self, library: &TargetLibc, number: libc::c_long, arguments: [u64; 6]) -> io::Result<u64> {
        let mut registers = self.registers;
        let r = &mut registers.0;
        (r.rip, r.rax, r.orig_rax, r.rsp) = (library.syscall_instruction, number as u64, u64::MAX, self.frame);
        [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9] = arguments;
        self.tracee.set_registers(&registers)?;
        // Syscall entry, then syscall exit.
        for _ in 0..2 {
            self.tracee.resume_to_syscall()?;
            self.wait_until(|stop, _| stop == StopReason::SystemCall, Tracee::resume_to_syscall)?;
        }
        let result = self.tracee.registers()?.0.rax as i64;
        if (-4095..0).contains(&result) { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result as u64) }
    }

    /// Runs the first part of the payload, until the signal that ends it.
    fn run(&mut self, code: u64, ready: i32) -> io::Result<()> {
        let mut registers = self.registers;
        let r = &mut registers.0;
        (r.rip, r.rsp, r.orig_rax, r.rbp) = (code, code + payload::PAYLOAD_BYTES - 64, u64::MAX, 0);
        self.tracee.set_registers(&registers)?;
        self.tracee.resume(0)?;
        let is_end = |stop, tracee: &Tracee| {
            let is_in_payload = || tracee.registers().is_ok_and(|now| (code..code + payload::CODE_BYTES).contains(&now.0.rip));
            stop == StopReason::Signal(ready) && is_in_payload()
        };
        self.wait_until(is_end, |tracee| tracee.resume(0))?;
        self.is_at_signal = true;
        Ok(())
    }

    /// Waits for a stop. Signals sent meanwhile are held back.
    fn wait_until(&mut self, is_it: impl Fn(StopReason, &Tracee) -> bool, go_on: impl Fn(&Tracee) -> io::Result<()>) -> io::Result<()> {
        loop {
            match self.tracee.wait(BORROW_TIMEOUT) {
                stop if is_it(stop, self.tracee) => return Ok(()),
                StopReason::Ended => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
                StopReason::TimedOut => return Err(io::ErrorKind::TimedOut.into()),
                StopReason::Signal(signal) if self.tracee.is_fault() => {
                    return Err(io::Error::other(format!("a thread failed with signal {signal} while it was borrowed")));
                }
                StopReason::Signal(signal) => self.held_signals.push(signal),
                StopReason::SystemCall | StopReason::Interrupted | StopReason::GroupStop => {}
            }
            go_on(self.tracee)?;
        }
    }

    /// Restores the thread. The kernel restarts a system call only when the thread resumes from a signal stop or an interrupt.
    fn restore(&mut self) -> io::Result<()> {
        if !self.is_at_signal {
            self.tracee.interrupt()?;
            // A thread that waits for a lock is not stopped; it stops on request.
            let _ = self.tracee.resume(0);
            self.wait_until(|stop, _| stop == StopReason::Interrupted, |tracee| tracee.resume(0))?;
        }
        if self.frame != 0 {
            // Clear it, so that it is not mistaken for a signal frame later.
            self.contents.write(self.frame, &[0; 8])?;
        }
        self.tracee.set_xstate(&self.xstate)?;
        self.tracee.set_registers(&self.registers)?;
        self.tracee.set_signal_mask(self.mask)
    }
}

/// Fault signals are noticed while a thread is borrowed; all others are held back.
fn fault_signals() -> u64 {
    [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV].iter().fold(0, |set, signal| set | 1 << (signal - 1))
}

/// Borrowed access to memory.
struct MemoryRef<'memory>(&'memory ProcessMemory);

impl RemoteMemory for MemoryRef<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read(address, bytes)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(address, bytes)
    }
}

/// Serves the new thread until the probe is connected.
fn serve_payload(process: u32, payload: &RemotePayload<ProcessMemory>, probe: &[u8]) -> Result<(), InjectError> {
    let begin = Instant::now();
    let mut filled = false;
    while begin.elapsed() < LOAD_TIMEOUT {
        match payload.state() {
            Ok(Some(PayloadState::Connected)) => return Ok(()),
            Ok(Some(PayloadState::NotLoaded)) => return Err(InjectError::NotLoaded { process, why: payload.message() }),
            Ok(Some(PayloadState::Refused)) => return Err(InjectError::ProbeRefused { process, why: payload.message() }),
            Ok(Some(PayloadState::WaitsForFile(descriptor))) if !filled => {
                write_probe(process, descriptor, probe)
                    .and_then(|()| payload.set_file_written(descriptor))
                    .map_err(|source| InjectError::SystemRefused { process, what: "a file for the probe", source })?;
                filled = true;
            }
            Ok(Some(PayloadState::Started | PayloadState::WaitsForFile(_))) => {}
            Ok(None) | Err(_) => {
                return Err(if is_alive(process) { InjectError::NoResponse(process) } else { InjectError::ProcessEnded(process) });
            }
        }
        std::thread::sleep(RETRY_PAUSE / 4);
    }
    Err(InjectError::NoResponse(process))
}

/// Writes the probe into the file that the new thread has created.
fn write_probe(process: u32, descriptor: i32, probe: &[u8]) -> io::Result<()> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(-descriptor));
    }
    File::options().write(true).open(format!("/proc/{process}/fd/{descriptor}"))?.write_all(probe)
}
