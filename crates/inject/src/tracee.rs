//! A thread of another process under ptrace control.
//!
//! ptrace is bound to the tracing *thread*: all calls must come from the same one. When that thread ends, its tracees resume.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::remote_memory::RemoteMemory;

/// Kernel return values in `rax` of a thread whose system call was interrupted and is to be restarted.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// The one that is resumed by `restart_syscall`.
const RESTART_BLOCK: i64 = -516;
/// Number of `restart_syscall`.
const RESTART_SYSTEM_CALL: u64 = 219;
/// `NT_X86_XSTATE`: the extended registers.
const WIDE_REGISTERS: usize = 0x202;

/// The registers of a stopped thread.
#[derive(Clone, Copy)]
pub(crate) struct ThreadRegisters(pub libc::user_regs_struct);

impl ThreadRegisters {
    /// The system call that it is in or about to return from.
    pub(crate) fn system_call(&self) -> Option<u64> {
        (self.0.orig_rax as i64 >= 0).then_some(self.0.orig_rax)
    }

    /// Whether that call failed with EINTR and will not be restarted by the kernel.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.system_call().is_some() && self.0.rax as i64 == -i64::from(libc::EINTR)
    }

    /// The registers for repeating that call.
    pub(crate) fn restart_call(mut self) -> ThreadRegisters {
        self.0.rax = self.0.orig_rax;
        self.0.rip -= 2;
        self.0.orig_rax = u64::MAX;
        self
    }

    /// The register values with which the thread resumes, with pending restarts applied as the kernel would. In the order of the payload.
    pub(crate) fn resume_values(&self) -> [u64; 18] {
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
pub(crate) enum StopReason {
    /// By PTRACE_INTERRUPT.
    Interrupted,
    /// At entry or exit of a system call.
    SystemCall,
    /// A signal is about to be delivered.
    Signal(i32),
    /// Group stop of the whole process.
    GroupStop,
    /// It has ended.
    Ended,
    /// It has not stopped in time.
    TimedOut,
}

/// A thread under ptrace control.
#[derive(Debug)]
pub(crate) struct Tracee {
    thread: i32,
    own_thread_only: PhantomData<*const ()>,
}

fn request(request: libc::c_uint, thread: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: every request of this module that writes here is given a valid, sufficiently large buffer.
    match unsafe { libc::ptrace(request, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl Tracee {
    /// Takes control of a thread without stopping it.
    pub(crate) fn seize(thread: u32) -> io::Result<Tracee> {
        request(libc::PTRACE_SEIZE, thread as i32, 0, libc::PTRACE_O_TRACESYSGOOD as usize)?;
        Ok(Tracee { thread: thread as i32, own_thread_only: PhantomData })
    }

    /// Requests a stop.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        request(libc::PTRACE_INTERRUPT, self.thread, 0, 0)
    }

    /// Resumes it, delivering a signal unless it is 0.
    pub(crate) fn resume(&self, signal: i32) -> io::Result<()> {
        request(libc::PTRACE_CONT, self.thread, 0, signal as usize)
    }

    /// Resumes it until its next system call.
    pub(crate) fn resume_to_syscall(&self) -> io::Result<()> {
        request(libc::PTRACE_SYSCALL, self.thread, 0, 0)
    }

    /// Releases it.
    pub(crate) fn detach(self) -> io::Result<()> {
        request(libc::PTRACE_DETACH, self.thread, 0, 0)
    }

    /// Waits until it stops, or until the timeout.
    pub(crate) fn wait(&self, at_most: Duration) -> StopReason {
        let begin = Instant::now();
        loop {
            let mut status = 0;
            // SAFETY: the pointer is valid for the status.
            match unsafe { libc::waitpid(self.thread, &mut status, libc::__WALL | libc::WNOHANG) } {
                0 if begin.elapsed() > at_most => return StopReason::TimedOut,
                0 => std::thread::sleep(Duration::from_micros(5)),
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return StopReason::Ended,
                _ => return decode_stop(status),
            }
        }
    }

    /// Its general registers.
    pub(crate) fn registers(&self) -> io::Result<ThreadRegisters> {
        // SAFETY: a struct of integers, for which zero is valid.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETREGS, self.thread, 0, &raw mut registers as usize)?;
        Ok(ThreadRegisters(registers))
    }

    /// Sets its general registers.
    pub(crate) fn set_registers(&self, registers: &ThreadRegisters) -> io::Result<()> {
        request(libc::PTRACE_SETREGS, self.thread, 0, &raw const registers.0 as usize)
    }

    /// Its extended registers, in XSAVE format.
    pub(crate) fn xstate(&self, max_bytes: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0u8; max_bytes];
        let mut iovec = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_GETREGSET, self.thread, WIDE_REGISTERS, &raw mut iovec as usize)?;
        bytes.truncate(iovec.iov_len);
        Ok(bytes)
    }

    /// Sets its extended registers.
    pub(crate) fn set_xstate(&self, bytes: &[u8]) -> io::Result<()> {
        let mut iovec = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        request(libc::PTRACE_SETREGSET, self.thread, WIDE_REGISTERS, &raw mut iovec as usize)
    }

    /// Its blocked signals.
    pub(crate) fn signal_mask(&self) -> io::Result<u64> {
        let mut mask = 0u64;
        request(libc::PTRACE_GETSIGMASK, self.thread, size_of::<u64>(), &raw mut mask as usize)?;
        Ok(mask)
    }

    /// Sets its blocked signals; blocked ones stay pending.
    pub(crate) fn set_signal_mask(&self, mask: u64) -> io::Result<()> {
        request(libc::PTRACE_SETSIGMASK, self.thread, size_of::<u64>(), &raw const mask as usize)
    }

    /// Whether the current signal is a fault of an instruction, and not sent by a process.
    pub(crate) fn is_fault(&self) -> bool {
        // SAFETY: a struct of integers, for which zero is valid.
        let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETSIGINFO, self.thread, 0, &raw mut information as usize).is_ok() && information.si_code > 0
    }

    /// Address of the thread's rseq (restartable sequences) area, if registered.
    pub(crate) fn rseq_address(&self) -> Option<u64> {
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

fn decode_stop(status: i32) -> StopReason {
    if !libc::WIFSTOPPED(status) {
        return StopReason::Ended;
    }
    match (status >> 16, libc::WSTOPSIG(status)) {
        (libc::PTRACE_EVENT_STOP, libc::SIGTRAP) => StopReason::Interrupted,
        (libc::PTRACE_EVENT_STOP, _) => StopReason::GroupStop,
        (_, signal) if signal == libc::SIGTRAP | 0x80 => StopReason::SystemCall,
        (_, signal) => StopReason::Signal(signal),
    }
}

/// The memory of a process, through `/proc/PID/mem`.
#[derive(Debug)]
pub(crate) struct ProcessMemory(File);

impl ProcessMemory {
    /// Opens it.
    pub(crate) fn open(process: u32) -> io::Result<ProcessMemory> {
        File::options().read(true).write(true).open(format!("/proc/{process}/mem")).map(ProcessMemory)
    }

    /// Reads a word.
    pub(crate) fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads up to `max_bytes` bytes, as far as they are mapped.
    pub(crate) fn read_up_to(&self, address: u64, max_bytes: usize) -> Vec<u8> {
        let mut bytes = vec![0; max_bytes];
        let read = self.0.read_at(&mut bytes, address).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }
}

impl RemoteMemory for ProcessMemory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, address)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}

/// Raises the priority of this thread while another is stopped, as far as permitted.
pub(crate) fn raise_priority() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: affects this thread only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &first);
    }
}

/// Sends a signal to a thread.
pub(crate) fn send_signal(process: u32, thread: u32, signal: i32) {
    // SAFETY: accesses no memory; a thread that has ended gets none.
    unsafe { libc::syscall(libc::SYS_tgkill, process as i32, thread as i32, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(rax: i64, orig_rax: i64) -> ThreadRegisters {
        // SAFETY: a struct of integers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        (registers.rax, registers.orig_rax, registers.rip) = (rax as u64, orig_rax as u64, 0x1000);
        ThreadRegisters(registers)
    }

    #[test]
    fn a_call_that_was_interrupted_is_made_again() {
        let on = |rax, orig_rax| {
            let words = registers(rax, orig_rax).resume_values();
            (words[10] as i64, words[17])
        };
        assert_eq!(on(-512, 0), (0, 0xffe), "read is called again");
        assert_eq!(on(-516, 35), (219, 0xffe), "nanosleep goes on with what is left");
        assert_eq!(on(17, 0), (17, 0x1000), "a call that is done is done");
        assert_eq!(on(-512, -1), (-512, 0x1000), "a number of the program's own");
    }

    #[test]
    fn only_a_call_of_the_system_gives_up() {
        assert!(registers(-4, 232).was_interrupted());
        assert!(!registers(-4, -1).was_interrupted() && !registers(3, 232).was_interrupted());
        let again = registers(-4, 232).restart_call().0;
        assert_eq!((again.rax, again.rip, again.orig_rax), (232, 0xffe, u64::MAX));
    }
}
