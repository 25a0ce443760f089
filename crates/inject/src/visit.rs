//! Bringing the probe into a process: everything that can be done before is done before; then one thread is borrowed for a moment; the rest
//! is done while the program runs.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::errand::{self, Errand, Memory, State, Task};
use crate::frame::Frame;
use crate::library::Library;
use crate::moment;
use crate::problem::Problem;
use crate::process::{field, is_there, name, not_allowed, status};
use crate::tracee::{Contents, Registers, Stop, Tracee, hurry, send};

/// A thread that can be borrowed is looked for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// A thread that was asked to stop may wait for a processor before it does; that takes nothing from it.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// A thread is made within this time, or something holds it up.
const BORROW_PATIENCE: Duration = Duration::from_millis(500);
/// The probe is loaded and has met the other end within this time.
const LOAD_PATIENCE: Duration = Duration::from_secs(15);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(1);

/// What a process is visited for.
#[derive(Debug, Clone, Copy)]
pub struct Message<'data> {
    /// The probe, as a file.
    pub probe: &'data [u8],
    /// Where the probe is to go.
    pub door: &'data Path,
    /// What it must know there.
    pub secret: &'data str,
    /// The rank of the process, and how many there are.
    pub place: (u32, u32),
}

/// How a visit went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visit {
    /// The thread that was borrowed.
    pub thread: u32,
    /// From the moment it was asked to stop until it had: if it ran it may have waited for a processor.
    pub stopping: Duration,
    /// How long it was stopped.
    pub stopped: Duration,
    /// How often a thread was stopped before at a moment that was not good, and for how long altogether.
    pub in_vain: (u32, Duration),
    /// From then until the probe had met the other end, while the program ran.
    pub loading: Duration,
}

/// Brings the probe into a process and sends it to a door.
pub fn enter(process: u32, message: &Message) -> Result<Visit, Problem> {
    check(process)?;
    let library = Library::of(process)?;
    let contents = Contents::of(process).map_err(|error| not_allowed(process, &error))?;
    let task = Task {
        functions: library.functions,
        door: message.door.as_os_str().as_bytes(),
        secret: message.secret,
        place: message.place,
        ready: ready(&status(process)?),
    };
    // A thread of its own: should a thread of the process not stop, it is free again when this one ends.
    let borrowed = std::thread::scope(|scope| {
        let borrower = scope.spawn(|| borrow(process, &library, &contents, &task));
        borrower.join().unwrap_or(Err(Problem::Silent(process)))
    })?;
    let begin = Instant::now();
    let errand = Errand::at(contents, borrowed.code);
    let loaded = serve(process, &errand, message.probe);
    errand.may_go();
    loaded?;
    let Borrowed { thread, stopping, stopped, in_vain, .. } = borrowed;
    Ok(Visit { thread, stopping, stopped, in_vain, loading: begin.elapsed() })
}

/// What can be known before anything is touched.
fn check(process: u32) -> Result<(), Problem> {
    let status = status(process)?;
    match field(&status, "State").chars().next() {
        Some('Z' | 'X') => return Err(Problem::Ended(process)),
        Some('T') => return Err(Problem::Stopped(process)),
        _ => {}
    }
    match field(&status, "TracerPid").parse() {
        Ok(0) | Err(_) => Ok(()),
        Ok(tracer) => Err(Problem::Traced { process, tracer, name: name(tracer) }),
    }
}

/// A signal that nobody handles, and that does nothing then.
fn ready(status: &str) -> i32 {
    let handled = u64::from_str_radix(field(status, "SigCgt"), 16).unwrap_or(0);
    let free = [libc::SIGURG, libc::SIGWINCH, libc::SIGCONT, libc::SIGCHLD].into_iter().find(|signal| handled >> (signal - 1) & 1 == 0);
    free.unwrap_or(libc::SIGURG)
}

/// What came of borrowing a thread.
struct Borrowed {
    thread: u32,
    code: u64,
    stopping: Duration,
    stopped: Duration,
    in_vain: (u32, Duration),
}

/// Why a thread was not borrowed.
enum Missed {
    /// Not now.
    NotNow(String),
    /// Not at all.
    Never(Problem),
}

impl From<Problem> for Missed {
    fn from(problem: Problem) -> Missed {
        Missed::Never(problem)
    }
}

fn borrow(process: u32, library: &Library, contents: &Contents, task: &Task) -> Result<Borrowed, Problem> {
    hurry();
    let begin = Instant::now();
    let mut in_vain = (0, Duration::ZERO);
    let mut last = String::from("all were where they cannot be interrupted");
    while begin.elapsed() < PATIENCE {
        for thread in moment::threads(process) {
            let asked = Instant::now();
            match try_thread(process, thread, library, contents, task) {
                Ok((code, since)) => {
                    return Ok(Borrowed { thread, code, stopping: since - asked, stopped: since.elapsed(), in_vain });
                }
                Err(Missed::Never(problem)) => return Err(problem),
                Err(Missed::NotNow(why)) => {
                    in_vain = (in_vain.0 + 1, in_vain.1 + asked.elapsed());
                    last = why;
                }
            }
        }
        if !is_there(process) {
            return Err(Problem::Ended(process));
        }
        std::thread::sleep(PAUSE);
    }
    Err(Problem::NoMoment { process, seconds: PATIENCE.as_secs(), last })
}

/// Stops a thread, and borrows it if the moment is good; where the errand is, and since when it was stopped.
fn try_thread(process: u32, thread: u32, library: &Library, contents: &Contents, task: &Task) -> Result<(u64, Instant), Missed> {
    let gone = |_| Missed::NotNow("a thread ended".into());
    let tracee = match Tracee::seize(thread) {
        Ok(tracee) => tracee,
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Err(Missed::NotNow("a thread ended".into())),
        Err(error) => return Err(Missed::Never(not_allowed(process, &error))),
    };
    tracee.interrupt().map_err(gone)?;
    stop(process, &tracee)?;
    let since = Instant::now();
    let registers = tracee.registers().map_err(gone)?;
    let undisturbed = moment::undisturbed(process, thread, registers);
    let good = moment::is_good(&tracee, &registers, library, contents);
    let done = match good {
        Ok(()) => Loan::take(process, &tracee, undisturbed, contents).and_then(|loan| loan.use_for(library, task)),
        Err(why) => tracee.set_registers(&undisturbed).map_err(gone).and(Err(Missed::NotNow(why))),
    };
    tracee.let_go().map_err(gone)?;
    let (code, held_back) = done?;
    for signal in held_back {
        send(process, thread, signal);
    }
    Ok((code, since))
}

/// Waits for a thread that was asked to stop.
fn stop(process: u32, tracee: &Tracee) -> Result<(), Missed> {
    loop {
        match tracee.wait(STOP_PATIENCE) {
            Stop::Asked => return Ok(()),
            Stop::Group => return Err(Problem::Stopped(process).into()),
            Stop::Ended => return Err(Missed::NotNow("a thread ended".into())),
            Stop::NotYet => {
                return Err(Problem::NoMoment {
                    process,
                    seconds: 0,
                    last: "a thread does not come back from a call of the system".into(),
                }
                .into());
            }
            // A signal that came before is delivered first.
            Stop::Signal(signal) => drop(tracee.go_on(signal)),
            Stop::SystemCall => drop(tracee.go_on(0)),
        }
    }
}

/// A thread that is stopped at a good moment, with all that is needed to put it back.
struct Loan<'process> {
    process: u32,
    tracee: &'process Tracee,
    contents: &'process Contents,
    registers: Registers,
    wide: Vec<u8>,
    mask: u64,
    held_back: Vec<i32>,
    is_at_signal: bool,
    /// Where the frame stands, once it does.
    frame: u64,
}

impl<'process> Loan<'process> {
    fn take(process: u32, tracee: &'process Tracee, registers: Registers, contents: &'process Contents) -> Result<Self, Missed> {
        let failed = |source| Problem::Refused { process, what: "a look at a thread's registers", source };
        let wide = tracee.wide(errand::WIDE_BYTES).map_err(failed)?;
        let mask = tracee.mask().map_err(failed)?;
        Ok(Loan { process, tracee, contents, registers, wide, mask, held_back: Vec::new(), is_at_signal: false, frame: 0 })
    }

    /// Makes the thread do the errand's first part, and puts it back; where the errand is, and the signals that were held back.
    fn use_for(mut self, library: &Library, task: &Task) -> Result<(u64, Vec<i32>), Missed> {
        let allowed = faults() | 1 << (task.ready - 1);
        let done = self.tracee.set_mask((self.mask | !allowed) & !allowed).map_err(|source| self.refused("to hold signals back", source));
        let done = done.and_then(|()| self.begin_errand(library, task));
        self.put_back().map_err(|source| Problem::Refused { process: self.process, what: "to put a thread back", source })?;
        Ok((done?, self.held_back))
    }

    fn refused(&self, what: &'static str, source: io::Error) -> Problem {
        match source.raw_os_error() {
            Some(libc::ESRCH) => Problem::Ended(self.process),
            _ => Problem::Refused { process: self.process, what, source },
        }
    }

    fn begin_errand(&mut self, library: &Library, task: &Task) -> Result<u64, Problem> {
        let page = errand::page(task, &self.registers, self.mask).ok_or_else(|| {
            let too_long = io::Error::new(io::ErrorKind::InvalidInput, "the path of the door is too long");
            self.refused("the errand", too_long)
        })?;
        // Readable, writable and executable until the new thread runs, private, no file.
        let room = [0, errand::BYTES, 7, 0x22, u64::MAX, 0];
        self.lay_frame(library).map_err(|source| self.refused("a frame on a thread's stack", source))?;
        let code = self.call(library, libc::SYS_mmap, room).map_err(|source| self.refused("memory for the errand", source))?;
        let written = self.contents.write(code, errand::code());
        let written = written.and_then(|()| self.contents.write(code + errand::CODE_BYTES, &page));
        written.and_then(|()| self.contents.write(code + errand::WIDE, &self.wide)).map_err(|source| self.refused("the errand", source))?;
        let begun = self.run(code, task.ready).map_err(|source| self.refused("to run the errand", source));
        let created = begun.and_then(|()| {
            let created = Errand::at(Borrowing(self.contents), code).created().unwrap_or(libc::ESRCH);
            if created == 0 { Ok(code) } else { Err(self.refused("a new thread", io::Error::from_raw_os_error(created))) }
        });
        if created.is_err() {
            let _ = self.call(library, libc::SYS_munmap, [code, errand::BYTES, 0, 0, 0, 0]);
        }
        created
    }

    /// Puts a frame on the thread's stack to which the instructions behind a call of the system return, should nobody stop it there.
    fn lay_frame(&mut self, library: &Library) -> io::Result<()> {
        let frame = Frame::of(&self.registers, &self.wide, self.mask, library.after_signal).ok_or(io::ErrorKind::Unsupported)?;
        self.contents.write(frame.address, &frame.bytes)?;
        self.frame = frame.address;
        Ok(())
    }

    /// Makes one call of the system in the thread.
    fn call(&mut self, library: &Library, number: libc::c_long, arguments: [u64; 6]) -> io::Result<u64> {
        let mut registers = self.registers;
        let r = &mut registers.0;
        (r.rip, r.rax, r.orig_rax, r.rsp) = (library.system_call, number as u64, u64::MAX, self.frame);
        [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9] = arguments;
        self.tracee.set_registers(&registers)?;
        // Into the call, and out of it.
        for _ in 0..2 {
            self.tracee.to_next_call()?;
            self.until(|stop, _| stop == Stop::SystemCall, Tracee::to_next_call)?;
        }
        let result = self.tracee.registers()?.0.rax as i64;
        if (-4095..0).contains(&result) { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result as u64) }
    }

    /// Runs the errand's first part, until the signal that ends it.
    fn run(&mut self, code: u64, ready: i32) -> io::Result<()> {
        let mut registers = self.registers;
        let r = &mut registers.0;
        (r.rip, r.rsp, r.orig_rax, r.rbp) = (code, code + errand::BYTES - 64, u64::MAX, 0);
        self.tracee.set_registers(&registers)?;
        self.tracee.go_on(0)?;
        let is_end = |stop, tracee: &Tracee| {
            let is_in_errand = || tracee.registers().is_ok_and(|now| (code..code + errand::CODE_BYTES).contains(&now.0.rip));
            stop == Stop::Signal(ready) && is_in_errand()
        };
        self.until(is_end, |tracee| tracee.go_on(0))?;
        self.is_at_signal = true;
        Ok(())
    }

    /// Waits for a stop. Signals that somebody sends meanwhile are held back.
    fn until(&mut self, is_it: impl Fn(Stop, &Tracee) -> bool, go_on: impl Fn(&Tracee) -> io::Result<()>) -> io::Result<()> {
        loop {
            match self.tracee.wait(BORROW_PATIENCE) {
                stop if is_it(stop, self.tracee) => return Ok(()),
                Stop::Ended => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
                Stop::NotYet => return Err(io::ErrorKind::TimedOut.into()),
                Stop::Signal(signal) if self.tracee.is_fault() => {
                    return Err(io::Error::other(format!("a thread failed with signal {signal} while it was borrowed")));
                }
                Stop::Signal(signal) => self.held_back.push(signal),
                Stop::SystemCall | Stop::Asked | Stop::Group => {}
            }
            go_on(self.tracee)?;
        }
    }

    /// Puts the thread back as it was. Only on the way from a stop for a signal, or from one that it was asked for, the system looks whether
    /// a call is to be made again.
    fn put_back(&mut self) -> io::Result<()> {
        if !self.is_at_signal {
            self.tracee.interrupt()?;
            // A thread that waits for a lock is not stopped; it stops when it is asked.
            let _ = self.tracee.go_on(0);
            self.until(|stop, _| stop == Stop::Asked, |tracee| tracee.go_on(0))?;
        }
        if self.frame != 0 {
            // Nobody is to take it for the frame of a signal later.
            self.contents.write(self.frame, &[0; 8])?;
        }
        self.tracee.set_wide(&self.wide)?;
        self.tracee.set_registers(&self.registers)?;
        self.tracee.set_mask(self.mask)
    }
}

/// The signals of instructions that fail: they are noticed while a thread is borrowed, all others wait.
fn faults() -> u64 {
    [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV].iter().fold(0, |set, signal| set | 1 << (signal - 1))
}

/// Memory that belongs to another.
struct Borrowing<'memory>(&'memory Contents);

impl Memory for Borrowing<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read(address, bytes)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write(address, bytes)
    }
}

/// Gives the new thread what it needs, until the probe has met the other end.
fn serve(process: u32, errand: &Errand<Contents>, probe: &[u8]) -> Result<(), Problem> {
    let begin = Instant::now();
    let mut filled = false;
    while begin.elapsed() < LOAD_PATIENCE {
        match errand.state() {
            Ok(Some(State::Met)) => return Ok(()),
            Ok(Some(State::NotLoaded)) => return Err(Problem::NotLoaded { process, why: errand.said() }),
            Ok(Some(State::Unwilling)) => return Err(Problem::Unwilling { process, why: errand.said() }),
            Ok(Some(State::WaitsForFile(descriptor))) if !filled => {
                fill(process, descriptor, probe).and_then(|()| errand.file_is_filled(descriptor)).map_err(|source| Problem::Refused {
                    process,
                    what: "a file for the probe",
                    source,
                })?;
                filled = true;
            }
            Ok(Some(State::Begun | State::WaitsForFile(_))) => {}
            Ok(None) | Err(_) => return Err(if is_there(process) { Problem::Silent(process) } else { Problem::Ended(process) }),
        }
        std::thread::sleep(PAUSE / 4);
    }
    Err(Problem::Silent(process))
}

/// Writes the probe into the file that the new thread has made.
fn fill(process: u32, descriptor: i32, probe: &[u8]) -> io::Result<()> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(-descriptor));
    }
    File::options().write(true).open(format!("/proc/{process}/fd/{descriptor}"))?.write_all(probe)
}
