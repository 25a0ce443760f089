//! A call of the system that our question has interrupted is made again, as if nobody had asked.
//!
//! Threads that sleep are not asked. One that was seen running may go to sleep before the question comes; the system then lets some calls
//! fail although handlers ask for restarting (`nanosleep`, `epoll_wait`, `poll` with a limit). The question comes within microseconds, so a
//! time that begins anew is as good as the one before. A signal of the program's own that comes just then is handled first and the call is
//! made afterwards: the program has to expect that anyway, as if the signal had come a moment before the call.

/// The machine code of a call of the system, and of the instruction that most often says which: `mov eax, NUMBER`.
const CALL: [u8; 2] = [0x0f, 0x05];
const WHICH: u8 = 0xb8;
const WHICH_BYTES: usize = 5;
const LENGTH: usize = WHICH_BYTES + CALL.len();
/// No page is smaller.
const PAGE: usize = 4096;

/// Has a call of the system made again if the context of a handler is that of one which was just interrupted.
///
/// # Safety
/// `context` must be what the system passed to a handler.
pub unsafe fn make_again(context: &mut libc::ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    let next = registers[libc::REG_RIP as usize];
    if registers[libc::REG_RAX as usize] != -i64::from(libc::EINTR) {
        return;
    }
    // What stands before an instruction may be in another page, and that may not be there.
    if next as usize % PAGE < LENGTH {
        return;
    }
    // SAFETY: it is the page of an instruction that was about to run.
    let code = unsafe { (next as *const [u8; LENGTH]).sub(1).read() };
    if code[0] == WHICH && code[WHICH_BYTES..] == CALL {
        let which = u32::from_le_bytes([code[1], code[2], code[3], code[4]]);
        registers[libc::REG_RAX as usize] = i64::from(which);
        registers[libc::REG_RIP as usize] = next - CALL.len() as i64;
    }
}
