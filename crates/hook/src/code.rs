//! The first instructions of a function, taken out of their place: which must go to make room for a jump, whether that can be done, and
//! how they read elsewhere.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionBlock, InstructionInfoFactory,
    OpAccess, OpKind, Register,
};

/// The bytes of a jump to an address nearby.
pub const JUMP: usize = 5;

/// Marks where an indirect jump may land; it can be passed over.
const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// Why a function cannot be hooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no room for a jump.
    #[error("it is too short: only {0} bytes, and a hook needs 5")]
    TooShort(usize),
    /// Its first instruction is jumped to from within.
    #[error("it begins with the head of a loop: every round would look like a call")]
    LoopHead,
    /// An instruction that has to go is jumped to from within.
    #[error("code further down jumps into its first 5 bytes")]
    JumpInside,
    /// It leaves before the jump would end.
    #[error("it ends or jumps away within its first 5 bytes")]
    EndsEarly,
    /// An instruction that has to go calls another function, and more follow that have to go.
    #[error("it calls another function within its first 5 bytes")]
    CallsEarly,
    /// Bytes that are no instructions.
    #[error("its first bytes are no instructions")]
    NoCode,
    /// The instructions cannot be written elsewhere.
    #[error("its first instructions mean something else at another place")]
    NotMovable,
    /// It returns twice, or looks at who called it.
    #[error("it depends on the stack frame of its caller")]
    DependsOnCaller,
}

/// Where a function may leave results besides the first register for whole numbers. Where it leaves none, its callers may keep something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Results {
    /// In the second register for whole numbers.
    pub second_word: bool,
    /// In the first two for floating numbers.
    pub floats: bool,
}

impl Results {
    /// What can be seen in the code of a function: what it does not write is no result. What it calls may leave any.
    pub fn of(address: u64, body: &[u8]) -> Results {
        let mut results = Results { second_word: false, floats: false };
        let mut factory = InstructionInfoFactory::new();
        let own = address..address + body.len() as u64;
        for instruction in Decoder::with_ip(64, body, address, DecoderOptions::NONE) {
            let stays = match instruction.flow_control() {
                FlowControl::Next | FlowControl::Return => true,
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => own.contains(&instruction.near_branch_target()),
                _ => false,
            };
            if !stays {
                return Results { second_word: true, floats: true };
            }
            let is_written = |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            for used in factory.info(&instruction).used_registers().iter().filter(|used| is_written(used.access())) {
                let register = used.register();
                results.second_word |= register.full_register() == Register::RDX;
                results.floats |= register.is_vector_register() && register.number() < 2;
            }
        }
        results
    }
}

/// The instructions at the beginning of a function that have to go.
#[derive(Debug, Clone)]
pub struct Beginning {
    /// Where the jump will stand.
    pub address: u64,
    /// How many bytes are replaced.
    pub length: usize,
    instructions: Vec<Instruction>,
}

/// The same instructions at another place, followed by the way back.
#[derive(Debug, Clone)]
pub struct Moved {
    /// The code.
    pub bytes: Vec<u8>,
    /// Where each instruction was, and where it is now.
    pub places: Vec<(u64, u64)>,
}

impl Beginning {
    /// The beginning of a function at `address` whose code is `body`, followed in memory by `padding`: bytes up to the next function.
    pub fn of(address: u64, body: &[u8], padding: &[u8]) -> Result<Beginning, Refusal> {
        let skipped = if body.starts_with(&LANDING) { LANDING.len() } else { 0 };
        let address = address + skipped as u64;
        let body = &body[skipped..];
        let mut decoder = Decoder::with_ip(64, body, address, DecoderOptions::NONE);
        let mut instructions = Vec::new();
        let mut length = 0;
        while length < JUMP && decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return Err(Refusal::NoCode);
            }
            length += instruction.len();
            let ends = is_end(&instruction);
            instructions.push(instruction);
            if ends && length < JUMP {
                break;
            }
        }
        if length < JUMP {
            // Nothing is ever run in the padding behind a function that has ended, so the jump may lie on it.
            let free = padding.iter().take_while(|byte| matches!(byte, 0x90 | 0xcc)).count();
            let whole = length == body.len() && instructions.last().is_some_and(is_end);
            match whole && length + free >= JUMP {
                true => length = JUMP,
                false if length == body.len() => return Err(Refusal::TooShort(length)),
                false => return Err(Refusal::EndsEarly),
            }
        }
        let beginning = Beginning { address, length, instructions };
        beginning.not_jumped_into(body)?;
        beginning.calls_only_last()?;
        Ok(beginning)
    }

    fn not_jumped_into(&self, body: &[u8]) -> Result<(), Refusal> {
        let inside = self.address + 1..self.address + self.length as u64;
        for instruction in Decoder::with_ip(64, body, self.address, DecoderOptions::NONE) {
            let jumps = matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
            if !jumps || instruction.op0_kind() != OpKind::NearBranch64 {
                continue;
            }
            let target = instruction.near_branch_target();
            if target == self.address {
                return Err(Refusal::LoopHead);
            }
            if inside.contains(&target) {
                return Err(Refusal::JumpInside);
            }
        }
        Ok(())
    }

    fn calls_only_last(&self) -> Result<(), Refusal> {
        let Some((_, before)) = self.instructions.split_last() else { return Err(Refusal::NoCode) };
        let calls = |instruction: &Instruction| matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        if before.iter().any(calls) { Err(Refusal::CallsEarly) } else { Ok(()) }
    }

    /// How many bytes the moved code takes at most.
    pub const MOST_BYTES: usize = 192;

    /// The instructions as they read at `place`, with a jump back behind them.
    pub fn moved_to(&self, place: u64) -> Result<Moved, Refusal> {
        let (last, before) = self.instructions.split_last().ok_or(Refusal::NoCode)?;
        let back = self.address + self.length as u64;
        let is_call = matches!(last.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        let mut list = if is_call { before.to_vec() } else { self.instructions.clone() };
        if !is_call && !is_end(last) {
            list.push(Instruction::with_branch(Code::Jmp_rel32_64, back).map_err(|_| Refusal::NotMovable)?);
        }
        if is_call && last.flow_control() == FlowControl::IndirectCall {
            list.extend(push_word(back)?);
            list.push(jump_where_called(last)?);
        }
        let Moved { mut bytes, mut places } = encode(&list, &self.instructions, place)?;
        if last.flow_control() == FlowControl::Call {
            // The callee must return to where it was called from, not to here: unwinders know that place only.
            places.push((last.ip(), place + bytes.len() as u64));
            bytes.extend(push_and_jump(back, last.near_branch_target()));
        }
        if bytes.len() > Self::MOST_BYTES {
            return Err(Refusal::NotMovable);
        }
        Ok(Moved { bytes, places })
    }

    /// Whether a thread can stand between two of the instructions that go.
    pub fn has_inner_places(&self) -> bool {
        self.instructions.len() > 1
    }
}

/// The instructions encoded for a place, and the new places of those that come from `original`.
fn encode(list: &[Instruction], original: &[Instruction], place: u64) -> Result<Moved, Refusal> {
    if list.is_empty() {
        return Ok(Moved { bytes: Vec::new(), places: Vec::new() });
    }
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let encoded = BlockEncoder::encode(64, InstructionBlock::new(list, place), options).map_err(|_| Refusal::NotMovable)?;
    let offsets = original.iter().zip(&encoded.new_instruction_offsets);
    if encoded.new_instruction_offsets.contains(&u32::MAX) {
        return Err(Refusal::NotMovable);
    }
    let places = offsets.map(|(instruction, offset)| (instruction.ip(), place + u64::from(*offset))).collect();
    Ok(Moved { bytes: encoded.code_buffer, places })
}

/// Puts a word on the stack without changing a register: the lower half extended by its sign, then the upper half over it.
fn push_word(word: u64) -> Result<[Instruction; 2], Refusal> {
    let push = Instruction::with1(Code::Pushq_imm32, word as u32 as i32).map_err(|_| Refusal::NotMovable)?;
    let upper = iced_x86::MemoryOperand::with_base_displ(Register::RSP, 4);
    let fill = Instruction::with2(Code::Mov_rm32_imm32, upper, (word >> 32) as u32).map_err(|_| Refusal::NotMovable)?;
    Ok([push, fill])
}

/// A jump to where an indirect call would have gone. The return address is on the stack already, so what is read relative to the stack
/// pointer would be read at another place: such calls are not moved.
fn jump_where_called(call: &Instruction) -> Result<Instruction, Refusal> {
    if call.memory_base() == Register::RSP || call.op0_register() == Register::RSP {
        return Err(Refusal::NotMovable);
    }
    let mut jump = *call;
    jump.set_code(match call.code() {
        Code::Call_rm64 => Code::Jmp_rm64,
        _ => return Err(Refusal::NotMovable),
    });
    Ok(jump)
}

/// `push [return address]; jmp [target]`, with both words behind.
fn push_and_jump(return_address: u64, target: u64) -> Vec<u8> {
    let mut bytes = vec![0xff, 0x35, 6, 0, 0, 0, 0xff, 0x25, 8, 0, 0, 0];
    bytes.extend(return_address.to_le_bytes());
    bytes.extend(target.to_le_bytes());
    bytes
}

/// Whether nothing behind this instruction is run after it.
fn is_end(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0x40_1000;

    fn beginning(body: &[u8]) -> Result<Beginning, Refusal> {
        Beginning::of(AT, body, &[])
    }

    #[test]
    fn what_a_function_does_not_write_is_no_result() {
        let of = |body: &[u8]| {
            let Results { second_word, floats } = Results::of(AT, body);
            (second_word, floats)
        };
        assert_eq!(of(&[0x8d, 0x04, 0x7f, 0xc3]), (false, false), "lea eax, [rdi + rdi * 2]; ret");
        assert_eq!(of(&[0x99, 0xf7, 0xfe, 0xc3]), (true, false), "cdq; idiv esi; ret");
        assert_eq!(of(&[0xf2, 0x0f, 0x58, 0xc1, 0xc3]), (false, true), "addsd xmm0, xmm1; ret");
        assert_eq!(of(&[0xe8, 0, 0, 0, 0, 0xc3]), (true, true), "what is called may leave a result");
        assert_eq!(of(&[0xe9, 0, 1, 0, 0]), (true, true), "what is jumped to may leave a result");
        assert_eq!(of(&[0x74, 0x01, 0x90, 0xc3]), (false, false), "je over a nop; ret");
    }

    /// push rbp; mov rbp, rsp; sub rsp, 16; leave; ret
    const USUAL: [u8; 10] = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc9, 0xc3];

    #[test]
    fn whole_instructions_that_cover_five_bytes_go() {
        let beginning = beginning(&USUAL).expect("can be hooked");
        assert_eq!((beginning.address, beginning.length), (AT, 8));
        let moved = beginning.moved_to(AT + 0x1000).expect("can be moved");
        assert_eq!(moved.bytes[..8], USUAL[..8]);
        assert_eq!(moved.bytes[8], 0xe9, "a jump back follows");
        let offset = i32::from_le_bytes(moved.bytes[9..13].try_into().expect("four bytes"));
        assert_eq!((AT + 0x1000 + 13).wrapping_add_signed(offset.into()), AT + 8);
        assert_eq!(moved.places, [(AT, AT + 0x1000), (AT + 1, AT + 0x1001), (AT + 4, AT + 0x1004)]);
    }

    #[test]
    fn a_landing_mark_stays_where_it_is() {
        let mut body = LANDING.to_vec();
        body.extend(USUAL);
        assert_eq!(beginning(&body).expect("can be hooked").address, AT + 4);
    }

    #[test]
    fn what_is_read_relative_to_the_place_is_read_at_the_same_address() {
        // mov eax, [rip + 0x100]; ret
        let moved = beginning(&[0x8b, 0x05, 0, 1, 0, 0, 0xc3]).and_then(|beginning| beginning.moved_to(AT + 0x2000)).expect("can be moved");
        let instruction = Decoder::with_ip(64, &moved.bytes, AT + 0x2000, DecoderOptions::NONE).decode();
        assert_eq!(instruction.ip_rel_memory_address(), AT + 6 + 0x100);
    }

    #[test]
    fn a_call_that_goes_returns_to_its_old_place() {
        // call +0x50; ret
        let moved = beginning(&[0xe8, 0x50, 0, 0, 0, 0xc3]).and_then(|beginning| beginning.moved_to(AT + 0x2000)).expect("can be moved");
        assert_eq!(moved.bytes[12..20], (AT + 5).to_le_bytes());
        assert_eq!(moved.bytes[20..28], (AT + 5 + 0x50).to_le_bytes());
        assert_eq!(moved.places, [(AT, AT + 0x2000)]);
    }

    #[test]
    fn an_indirect_call_that_goes_returns_to_its_old_place() {
        // push rbx; call [rip + 0x1000]; ret
        let moved = beginning(&[0x53, 0xff, 0x15, 0, 0x10, 0, 0, 0xc3])
            .and_then(|beginning| beginning.moved_to(AT + 0x2000))
            .expect("can be moved");
        let list: Vec<Instruction> = Decoder::with_ip(64, &moved.bytes, AT + 0x2000, DecoderOptions::NONE).iter().collect();
        let codes: Vec<Code> = list.iter().map(Instruction::code).collect();
        assert_eq!(codes, [Code::Push_r64, Code::Pushq_imm32, Code::Mov_rm32_imm32, Code::Jmp_rm64]);
        assert_eq!(list[1].immediate32(), AT as u32 + 7);
        assert_eq!(list[3].ip_rel_memory_address(), AT + 7 + 0x1000);
    }

    #[test]
    fn an_indirect_call_through_the_stack_is_refused() {
        // push rbx; call [rsp + 8]; ret
        let moved = beginning(&[0x53, 0xff, 0x54, 0x24, 8, 0xc3]).and_then(|beginning| beginning.moved_to(AT + 0x2000));
        assert_eq!(moved.expect_err("refused"), Refusal::NotMovable);
    }

    #[test]
    fn a_short_function_is_hooked_only_where_padding_follows() {
        // xor eax, eax; ret
        let body = [0x31, 0xc0, 0xc3];
        assert_eq!(beginning(&body).expect_err("refused"), Refusal::TooShort(3));
        let padded = Beginning::of(AT, &body, &[0x90, 0xcc]).expect("fits");
        assert_eq!(padded.length, 5);
        assert_eq!(padded.moved_to(AT + 64).expect("can be moved").bytes, body);
    }

    #[test]
    fn loops_to_the_first_bytes_are_refused() {
        // dec edi; dec esi; dec edx; jnz to an instruction; ret
        let to = |place: i8| [0xff, 0xcf, 0xff, 0xce, 0xff, 0xca, 0x75, (place - 8) as u8, 0xc3];
        assert_eq!(beginning(&to(0)).expect_err("refused"), Refusal::LoopHead);
        assert_eq!(beginning(&to(4)).expect_err("refused"), Refusal::JumpInside);
        assert!(beginning(&to(6)).is_ok());
    }

    #[test]
    fn a_function_that_leaves_early_is_refused() {
        // jmp +2; nop; nop; nop; ret
        assert_eq!(beginning(&[0xeb, 2, 0x90, 0x90, 0x90, 0xc3]).expect_err("refused"), Refusal::EndsEarly);
    }

    #[test]
    fn any_bytes_give_a_beginning_or_a_refusal() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let body: Vec<u8> = (0..24)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            if let Ok(beginning) = Beginning::of(AT, &body[..(state % 25) as usize], &body) {
                let _ = beginning.moved_to(AT + 0x7000_0000);
            }
        }
    }
}
