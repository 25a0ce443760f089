//! A thread of another process under this thread's control: stopped, looked at, borrowed, put back.
//!
//! The system knows who controls by the *thread*: all of it must be done by one. When that thread ends, whatever it controls runs on.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::errand::Memory;

/// What the system puts into `rax` of a thread whose call was interrupted and is to be made again.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// The one of these that goes on where it was, by a call of its own.
const RESTART_BLOCK: i64 = -516;
/// Calls of the system by number.
const RESTART_SYSTEM_CALL: u64 = 219;
/// `NT_X86_XSTATE`: the wide registers.
const WIDE_REGISTERS: usize = 0x202;

/// The registers of a thread that is stopped.
#[derive(Clone, Copy)]
pub struct Registers(pub libc::user_regs_struct);

impl Registers {
    /// The call of the system that it is in or was about to return from.
    pub fn system_call(&self) -> Option<u64> {
        (self.0.orig_rax as i64 >= 0).then_some(self.0.orig_rax)
    }

    /// Whether that call says that it was interrupted, and will not be made again by itself.
    pub fn gave_up(&self) -> bool {
        self.system_call().is_some() && self.0.rax as i64 == -i64::from(libc::EINTR)
    }

    /// The same, about to make its call once more.
    pub fn calling_again(mut self) -> Registers {
        self.0.rax = self.0.orig_rax;
        self.0.rip -= 2;
        self.0.orig_rax = u64::MAX;
        self
    }

    /// What the thread goes on with: as the system would set them for a call that is to be made again. In the order of the errand.
    pub fn as_program_would_go_on(&self) -> [u64; 18] {
        let mut r = self.0;
        if self.system_call().is_some() && RESTARTS.contains(&(r.rax as i64)) {
            r.rax = if r.rax as i64 == RESTART_BLOCK { RESTART_SYSTEM_CALL } else { r.orig_rax };
            r.rip -= 2;
        }
        [r.r15, r.r14, r.r13, r.r12, r.rbp, r.rbx, r.r11, r.r10, r.r9, r.r8, r.rax, r.rcx, r.rdx, r.rsi, r.rdi, r.eflags, r.rsp, r.rip]
    }
}

/// Why a thread has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It was asked to.
    Asked,
    /// It enters or leaves a call of the system.
    SystemCall,
    /// A signal is about to be delivered.
    Signal(i32),
    /// The whole process is stopped.
    Group,
    /// It has ended.
    Ended,
    /// It has not stopped in time.
    NotYet,
}

/// A thread under control.
#[derive(Debug)]
pub struct Tracee {
    thread: i32,
    own_thread_only: PhantomData<*const ()>,
}

fn request(request: libc::c_uint, thread: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: every request of this module that writes here is given a place that lives and is large enough.
    match unsafe { libc::ptrace(request, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Tracee {
    /// Takes control of a thread, which runs on.
    pub fn seize(thread: u32) -> io::Result<Tracee> {
        request(libc::PTRACE_SEIZE, thread as i32, 0, libc::PTRACE_O_TRACESYSGOOD as usize)?;
        Ok(Tracee { thread: thread as i32, own_thread_only: PhantomData })
    }

    /// Asks it to stop.
    pub fn interrupt(&self) -> io::Result<()> {
        request(libc::PTRACE_INTERRUPT, self.thread, 0, 0)
    }

    /// Lets it run, delivering a signal if one is given.
    pub fn go_on(&self, signal: i32) -> io::Result<()> {
        request(libc::PTRACE_CONT, self.thread, 0, signal as usize)
    }

    /// Lets it run until its next call of the system.
    pub fn to_next_call(&self) -> io::Result<()> {
        request(libc::PTRACE_SYSCALL, self.thread, 0, 0)
    }

    /// Gives it back.
    pub fn let_go(self) -> io::Result<()> {
        request(libc::PTRACE_DETACH, self.thread, 0, 0)
    }

    /// Waits until it stops; not for longer than it is given.
    pub fn wait(&self, at_most: Duration) -> Stop {
        let begin = Instant::now();
        loop {
            let mut status = 0;
            // SAFETY: the status is a valid place to write to.
            match unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL | libc::WNOHANG) } {
                0 if begin.elapsed() > at_most => return Stop::NotYet,
                0 => std::thread::sleep(Duration::from_micros(5)),
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return Stop::Ended,
                _ => return stop(status),
            }
        }
    }

    /// Its registers.
    pub fn registers(&self) -> io::Result<Registers> {
        // SAFETY: a structure of numbers, for which zero is a value.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETREGS, self.thread, 0, &raw mut registers as usize)?;
        Ok(Registers(registers))
    }

    /// Changes its registers.
    pub fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        request(libc::PTRACE_SETREGS, self.thread, 0, &raw const registers.0 as usize)
    }

    /// Its wide registers, in the form in which the processor keeps them.
    pub fn wide(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0u8; most];
        let mut place = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_GETREGSET, self.thread, WIDE_REGISTERS, &raw mut place as usize)?;
        bytes.truncate(place.iov_len);
        Ok(bytes)
    }

    /// Changes its wide registers.
    pub fn set_wide(&self, bytes: &[u8]) -> io::Result<()> {
        let mut place = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_SETREGSET, self.thread, WIDE_REGISTERS, &raw mut place as usize)
    }

    /// The signals that it blocks.
    pub fn mask(&self) -> io::Result<u64> {
        let mut mask = 0u64;
        request(libc::PTRACE_GETSIGMASK, self.thread, size_of::<u64>(), &raw mut mask as usize)?;
        Ok(mask)
    }

    /// Changes them; the others stay pending until they are allowed again.
    pub fn set_mask(&self, mask: u64) -> io::Result<()> {
        request(libc::PTRACE_SETSIGMASK, self.thread, size_of::<u64>(), &raw const mask as usize)
    }

    /// Whether the signal that it stops for is the fault of an instruction, and was not sent by anybody.
    pub fn is_fault(&self) -> bool {
        // SAFETY: a structure of numbers, for which zero is a value.
        let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETSIGINFO, self.thread, 0, &raw mut information as usize).is_ok() && information.si_code > 0
    }

    /// The address of what the thread and the system agree on for sequences that must not be interrupted, if they do.
    pub fn sequences(&self) -> Option<u64> {
        const GET_CONFIGURATION: libc::c_uint = 0x420f;
        #[repr(C)]
        struct Configuration {
            address: u64,
            rest: [u32; 4],
        }
        let mut configuration = Configuration { address: 0, rest: [0; 4] };
        request(GET_CONFIGURATION, self.thread, size_of::<Configuration>(), &raw mut configuration as usize).ok()?;
        (configuration.address != 0).then_some(configuration.address)
    }
}

fn stop(status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Ended;
    }
    match (status >> 16, libc::WSTOPSIG(status)) {
        (libc::PTRACE_EVENT_STOP, libc::SIGTRAP) => Stop::Asked,
        (libc::PTRACE_EVENT_STOP, _) => Stop::Group,
        (_, signal) if signal == libc::SIGTRAP | 0x80 => Stop::SystemCall,
        (_, signal) => Stop::Signal(signal),
    }
}

/// The memory of a process, as a file.
#[derive(Debug)]
pub struct Contents(File);

impl Contents {
    /// Opens it.
    pub fn of(process: u32) -> io::Result<Contents> {
        File::options().read(true).write(true).open(format!("/proc/{process}/mem")).map(Contents)
    }

    /// A word.
    pub fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// As much as there is, up to so many bytes.
    pub fn some(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let read = self.0.read_at(&mut bytes, address).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }
}

impl Memory for Contents {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, address)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

/// Lets this thread react quickly while another is stopped; where that is not allowed, as quickly as it may.
pub fn hurry() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: asks for this thread only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &first);
    }
}

/// Sends a signal to a thread that was held back from it.
pub fn send(process: u32, thread: u32, signal: i32) {
    // SAFETY: no memory is touched; a thread that has ended gets none.
    unsafe { libc::syscall(libc::SYS_tgkill, process as i32, thread as i32, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(rax: i64, orig_rax: i64) -> Registers {
        // SAFETY: a structure of numbers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        (registers.rax, registers.orig_rax, registers.rip) = (rax as u64, orig_rax as u64, 0x1000);
        Registers(registers)
    }

    #[test]
    fn a_call_that_was_interrupted_is_made_again() {
        let on = |rax, orig_rax| {
            let words = registers(rax, orig_rax).as_program_would_go_on();
            (words[10] as i64, words[17])
        };
        assert_eq!(on(-512, 0), (0, 0xffe), "read is called again");
        assert_eq!(on(-516, 35), (219, 0xffe), "nanosleep goes on with what is left");
        assert_eq!(on(17, 0), (17, 0x1000), "a call that is done is done");
        assert_eq!(on(-512, -1), (-512, 0x1000), "a number of the program's own");
    }

    #[test]
    fn only_a_call_of_the_system_gives_up() {
        assert!(registers(-4, 232).gave_up());
        assert!(!registers(-4, -1).gave_up() && !registers(3, 232).gave_up());
        let again = registers(-4, 232).calling_again().0;
        assert_eq!((again.rax, again.rip, again.orig_rax), (232, 0xffe, u64::MAX));
    }
}
