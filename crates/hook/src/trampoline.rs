//! The assembly of the stubs: it reads the table of hooks, and calls into the ring, the sums, the actions, the pending returns and the access to
//! variables.

use crate::action::act;
use crate::pending_return::{self, PENDING_RETURNS, SAVED_REGISTERS};
use crate::ring::next_chunk;
use crate::stub::{HOOKS, STATE_BYTES, STATE_PARTS};
use crate::sums;
use crate::variable_access::{NULL_POINTER, compute};

core::arch::global_asm!(
    include_str!("stub.s"),
    compute = sym compute,
    null_pointer = const NULL_POINTER,
    hooks = sym HOOKS,
    state_bytes = sym STATE_BYTES,
    state_parts = sym STATE_PARTS,
    next_chunk = sym next_chunk,
    act = sym act,
    pending = sym PENDING_RETURNS,
    saved_registers = sym SAVED_REGISTERS,
    claim_sums = sym sums::claim,
    claim_pending = sym pending_return::claim,
    options(att_syntax)
);
