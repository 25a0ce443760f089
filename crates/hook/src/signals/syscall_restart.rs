//! Restarts a system call that our query interrupted.
//!
//! Sleeping threads are not queried, but a thread seen running may go to sleep before the query arrives; some calls then fail with EINTR
//! despite SA_RESTART (`nanosleep`, `epoll_wait`, `poll` with a timeout). The query arrives within microseconds, so restarting a timeout is
//! harmless. If a signal of the program arrives at the same time, it is handled first and the call is made afterwards; the program must
//! expect that anyway, as if the signal had arrived just before the call.

/// Machine code of `syscall`, and of the instruction that usually sets its number: `mov eax, NUMBER`.
const CALL: [u8; 2] = [0x0f, 0x05];
const WHICH: u8 = 0xb8;
const WHICH_BYTES: usize = 5;
const LENGTH: usize = WHICH_BYTES + CALL.len();
/// Minimum page size.
const PAGE: usize = 4096;

/// Restarts a system call if the context of a handler shows that it was just interrupted.
///
/// # Safety
/// `context` must be what the kernel passed to a handler.
pub(super) unsafe fn restart_interrupted(context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    let next = registers[libc::REG_RIP as usize];
    if registers[libc::REG_RAX as usize] != -i64::from(libc::EINTR) {
        return;
    }
    // The bytes before the instruction may be on another page, which may be unmapped.
    if next as usize % PAGE < LENGTH {
        return;
    }
    // SAFETY: on the page of an instruction that was about to run.
    let code = unsafe { (next as *const [u8; LENGTH]).sub(1).read() };
    if code[0] == WHICH && code[WHICH_BYTES..] == CALL {
        let which = u32::from_le_bytes([code[1], code[2], code[3], code[4]]);
        registers[libc::REG_RAX as usize] = i64::from(which);
        registers[libc::REG_RIP as usize] = next - CALL.len() as i64;
    }
}
