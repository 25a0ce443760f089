//! The first instructions of a function: which of them must make room for a jump, whether they can be relocated, and their relocated code.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionBlock, InstructionInfoFactory,
    OpAccess, OpKind, Register,
};

/// Length of a near jump.
pub(crate) const JUMP_BYTES: usize = 5;

/// `endbr64`: marks a target of indirect jumps; the hook goes after it.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// Why a function cannot be hooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HookRefusal {
    /// Too short for a jump.
    #[error("it is too short: only {0} bytes, and a hook needs 5")]
    TooShort(usize),
    /// Its first instruction is a jump target within the function.
    #[error("it starts with a loop head: every iteration would look like a call")]
    LoopHead,
    /// A replaced instruction is a jump target within the function.
    #[error("code further down jumps into its first 5 bytes")]
    JumpInside,
    /// It returns or jumps away within the replaced bytes.
    #[error("it ends or jumps away within its first 5 bytes")]
    EndsEarly,
    /// A call is among the replaced instructions, and is not the last of them.
    #[error("it calls another function within its first 5 bytes")]
    CallsEarly,
    /// The bytes do not decode.
    #[error("its first bytes are not instructions")]
    NoCode,
    /// The instructions cannot be relocated.
    #[error("its first instructions cannot be relocated")]
    NotMovable,
    /// It returns twice, or uses its caller's frame.
    #[error("it depends on the stack frame of its caller")]
    DependsOnCaller,
}

/// Result registers of a function other than rax. Callers may keep values in those it does not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultRegisters {
    /// rdx.
    pub second_int: bool,
    /// xmm0 and xmm1.
    pub floats: bool,
}

impl ResultRegisters {
    /// Analyses the code of a function: registers that it does not write hold no result. Functions it calls may write all of them.
    pub(crate) fn analyze(address: u64, body: &[u8]) -> ResultRegisters {
        let mut results = ResultRegisters { second_int: false, floats: false };
        let mut factory = InstructionInfoFactory::new();
        let own = address..address + body.len() as u64;
        for instruction in Decoder::with_ip(64, body, address, DecoderOptions::NONE) {
            let stays = match instruction.flow_control() {
                FlowControl::Next | FlowControl::Return => true,
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => own.contains(&instruction.near_branch_target()),
                _ => false,
            };
            if !stays {
                return ResultRegisters { second_int: true, floats: true };
            }
            let is_written = |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            for used in factory.info(&instruction).used_registers().iter().filter(|used| is_written(used.access())) {
                let register = used.register();
                results.second_int |= register.full_register() == Register::RDX;
                results.floats |= register.is_vector_register() && register.number() < 2;
            }
        }
        results
    }
}

/// The instructions at the start of a function that a jump replaces.
#[derive(Debug, Clone)]
pub(crate) struct FunctionPrologue {
    /// Address of the jump.
    pub address: u64,
    /// Number of bytes replaced.
    pub length: usize,
    instructions: Vec<Instruction>,
}

/// Whether the function at `address` with this code can be hooked; `padding` are the bytes up to the next function.
pub fn check_code(address: u64, body: &[u8], padding: &[u8]) -> Result<(), HookRefusal> {
    FunctionPrologue::decode(address, body, padding).map(drop)
}

/// The relocated instructions, followed by a jump back.
#[derive(Debug, Clone)]
pub(crate) struct RelocatedCode {
    /// Machine code.
    pub bytes: Vec<u8>,
    /// Old and new address of each instruction.
    pub address_map: Vec<(u64, u64)>,
}

impl FunctionPrologue {
    /// Decodes the start of the function at `address` with code `body`; `padding` are the bytes up to the next function.
    pub(crate) fn decode(address: u64, body: &[u8], padding: &[u8]) -> Result<FunctionPrologue, HookRefusal> {
        let skipped = if body.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
        let address = address + skipped as u64;
        let body = &body[skipped..];
        let mut decoder = Decoder::with_ip(64, body, address, DecoderOptions::NONE);
        let mut instructions = Vec::new();
        let mut length = 0;
        while length < JUMP_BYTES && decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return Err(HookRefusal::NoCode);
            }
            length += instruction.len();
            let ends = is_end(&instruction);
            instructions.push(instruction);
            if ends && length < JUMP_BYTES {
                break;
            }
        }
        if length < JUMP_BYTES {
            // The padding after a function that has ended is never executed, so the jump may extend into it.
            let free = padding.iter().take_while(|byte| matches!(byte, 0x90 | 0xcc)).count();
            let whole = length == body.len() && instructions.last().is_some_and(is_end);
            match whole && length + free >= JUMP_BYTES {
                true => length = JUMP_BYTES,
                false if length == body.len() => return Err(HookRefusal::TooShort(length)),
                false => return Err(HookRefusal::EndsEarly),
            }
        }
        let prologue = FunctionPrologue { address, length, instructions };
        prologue.check_not_jumped_into(body)?;
        prologue.check_call_is_last()?;
        Ok(prologue)
    }

    fn check_not_jumped_into(&self, body: &[u8]) -> Result<(), HookRefusal> {
        let inside = self.address + 1..self.address + self.length as u64;
        for instruction in Decoder::with_ip(64, body, self.address, DecoderOptions::NONE) {
            let jumps = matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
            if !jumps || instruction.op0_kind() != OpKind::NearBranch64 {
                continue;
            }
            let target = instruction.near_branch_target();
            if target == self.address {
                return Err(HookRefusal::LoopHead);
            }
            if inside.contains(&target) {
                return Err(HookRefusal::JumpInside);
            }
        }
        Ok(())
    }

    fn check_call_is_last(&self) -> Result<(), HookRefusal> {
        let Some((_, before)) = self.instructions.split_last() else { return Err(HookRefusal::NoCode) };
        let calls = |instruction: &Instruction| matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        if before.iter().any(calls) { Err(HookRefusal::CallsEarly) } else { Ok(()) }
    }

    /// Maximum size of the relocated code, in bytes.
    pub(crate) const MAX_RELOCATED_BYTES: usize = 192;

    /// Relocates the instructions to `address`, followed by a jump back.
    pub(crate) fn relocate(&self, address: u64) -> Result<RelocatedCode, HookRefusal> {
        let (last, before) = self.instructions.split_last().ok_or(HookRefusal::NoCode)?;
        let back = self.address + self.length as u64;
        let is_call = matches!(last.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        let mut list = if is_call { before.to_vec() } else { self.instructions.clone() };
        if !is_call && !is_end(last) {
            list.push(Instruction::with_branch(Code::Jmp_rel32_64, back).map_err(|_| HookRefusal::NotMovable)?);
        }
        if is_call && last.flow_control() == FlowControl::IndirectCall {
            list.extend(push_immediate(back)?);
            list.push(call_to_jump(last)?);
        }
        let RelocatedCode { mut bytes, address_map: mut places } = encode(&list, &self.instructions, address)?;
        if last.flow_control() == FlowControl::Call {
            // The callee must return to the original code, not to the relocated call: unwinders know only the former.
            places.push((last.ip(), address + bytes.len() as u64));
            bytes.extend(push_and_jump(back, last.near_branch_target()));
        }
        if bytes.len() > Self::MAX_RELOCATED_BYTES {
            return Err(HookRefusal::NotMovable);
        }
        Ok(RelocatedCode { bytes, address_map: places })
    }

    /// Whether a thread can be stopped between two of the instructions.
    pub(crate) fn has_inner_boundary(&self) -> bool {
        self.instructions.len() > 1
    }
}

/// Encodes instructions for an address, and maps the addresses of those in `original`.
fn encode(list: &[Instruction], original: &[Instruction], address: u64) -> Result<RelocatedCode, HookRefusal> {
    if list.is_empty() {
        return Ok(RelocatedCode { bytes: Vec::new(), address_map: Vec::new() });
    }
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let encoded = BlockEncoder::encode(64, InstructionBlock::new(list, address), options).map_err(|_| HookRefusal::NotMovable)?;
    let offsets = original.iter().zip(&encoded.new_instruction_offsets);
    if encoded.new_instruction_offsets.contains(&u32::MAX) {
        return Err(HookRefusal::NotMovable);
    }
    let places = offsets.map(|(instruction, offset)| (instruction.ip(), address + u64::from(*offset))).collect();
    Ok(RelocatedCode { bytes: encoded.code_buffer, address_map: places })
}

/// Pushes a 64-bit immediate without changing a register: the sign-extended lower half, then the upper half over it.
fn push_immediate(word: u64) -> Result<[Instruction; 2], HookRefusal> {
    let push = Instruction::with1(Code::Pushq_imm32, word as u32 as i32).map_err(|_| HookRefusal::NotMovable)?;
    let upper = iced_x86::MemoryOperand::with_base_displ(Register::RSP, 4);
    let fill = Instruction::with2(Code::Mov_rm32_imm32, upper, (word >> 32) as u32).map_err(|_| HookRefusal::NotMovable)?;
    Ok([push, fill])
}

/// Turns an indirect call into a jump. The return address is already on the stack, so calls with operands relative to the stack pointer are
/// rejected.
fn call_to_jump(call: &Instruction) -> Result<Instruction, HookRefusal> {
    if call.memory_base() == Register::RSP || call.op0_register() == Register::RSP {
        return Err(HookRefusal::NotMovable);
    }
    let mut jump = *call;
    jump.set_code(match call.code() {
        Code::Call_rm64 => Code::Jmp_rm64,
        _ => return Err(HookRefusal::NotMovable),
    });
    Ok(jump)
}

/// `push [return address]; jmp [target]`, followed by both words.
fn push_and_jump(return_address: u64, target: u64) -> Vec<u8> {
    let mut bytes = vec![0xff, 0x35, 6, 0, 0, 0, 0xff, 0x25, 8, 0, 0, 0];
    bytes.extend(return_address.to_le_bytes());
    bytes.extend(target.to_le_bytes());
    bytes
}

/// Whether control never continues after this instruction.
fn is_end(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0x40_1000;

    fn beginning(body: &[u8]) -> Result<FunctionPrologue, HookRefusal> {
        FunctionPrologue::decode(AT, body, &[])
    }

    #[test]
    fn what_a_function_does_not_write_is_no_result() {
        let of = |body: &[u8]| {
            let ResultRegisters { second_int: second_word, floats } = ResultRegisters::analyze(AT, body);
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
        let moved = beginning.relocate(AT + 0x1000).expect("can be moved");
        assert_eq!(moved.bytes[..8], USUAL[..8]);
        assert_eq!(moved.bytes[8], 0xe9, "a jump back follows");
        let offset = i32::from_le_bytes(moved.bytes[9..13].try_into().expect("four bytes"));
        assert_eq!((AT + 0x1000 + 13).wrapping_add_signed(offset.into()), AT + 8);
        assert_eq!(moved.address_map, [(AT, AT + 0x1000), (AT + 1, AT + 0x1001), (AT + 4, AT + 0x1004)]);
    }

    #[test]
    fn a_landing_mark_stays_where_it_is() {
        let mut body = ENDBR64.to_vec();
        body.extend(USUAL);
        assert_eq!(beginning(&body).expect("can be hooked").address, AT + 4);
    }

    #[test]
    fn what_is_read_relative_to_the_place_is_read_at_the_same_address() {
        // mov eax, [rip + 0x100]; ret
        let moved = beginning(&[0x8b, 0x05, 0, 1, 0, 0, 0xc3]).and_then(|beginning| beginning.relocate(AT + 0x2000)).expect("can be moved");
        let instruction = Decoder::with_ip(64, &moved.bytes, AT + 0x2000, DecoderOptions::NONE).decode();
        assert_eq!(instruction.ip_rel_memory_address(), AT + 6 + 0x100);
    }

    #[test]
    fn a_call_that_goes_returns_to_its_old_place() {
        // call +0x50; ret
        let moved = beginning(&[0xe8, 0x50, 0, 0, 0, 0xc3]).and_then(|beginning| beginning.relocate(AT + 0x2000)).expect("can be moved");
        assert_eq!(moved.bytes[12..20], (AT + 5).to_le_bytes());
        assert_eq!(moved.bytes[20..28], (AT + 5 + 0x50).to_le_bytes());
        assert_eq!(moved.address_map, [(AT, AT + 0x2000)]);
    }

    #[test]
    fn an_indirect_call_that_goes_returns_to_its_old_place() {
        // push rbx; call [rip + 0x1000]; ret
        let moved = beginning(&[0x53, 0xff, 0x15, 0, 0x10, 0, 0, 0xc3])
            .and_then(|beginning| beginning.relocate(AT + 0x2000))
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
        let moved = beginning(&[0x53, 0xff, 0x54, 0x24, 8, 0xc3]).and_then(|beginning| beginning.relocate(AT + 0x2000));
        assert_eq!(moved.expect_err("refused"), HookRefusal::NotMovable);
    }

    #[test]
    fn a_short_function_is_hooked_only_where_padding_follows() {
        // xor eax, eax; ret
        let body = [0x31, 0xc0, 0xc3];
        assert_eq!(beginning(&body).expect_err("refused"), HookRefusal::TooShort(3));
        let padded = FunctionPrologue::decode(AT, &body, &[0x90, 0xcc]).expect("fits");
        assert_eq!(padded.length, 5);
        assert_eq!(padded.relocate(AT + 64).expect("can be moved").bytes, body);
    }

    #[test]
    fn loops_to_the_first_bytes_are_refused() {
        // dec edi; dec esi; dec edx; jnz to an instruction; ret
        let to = |offset: i8| [0xff, 0xcf, 0xff, 0xce, 0xff, 0xca, 0x75, (offset - 8) as u8, 0xc3];
        assert_eq!(beginning(&to(0)).expect_err("refused"), HookRefusal::LoopHead);
        assert_eq!(beginning(&to(4)).expect_err("refused"), HookRefusal::JumpInside);
        assert!(beginning(&to(6)).is_ok());
    }

    #[test]
    fn a_function_that_leaves_early_is_refused() {
        // jmp +2; nop; nop; nop; ret
        assert_eq!(beginning(&[0xeb, 2, 0x90, 0x90, 0x90, 0xc3]).expect_err("refused"), HookRefusal::EndsEarly);
    }

    #[test]
    fn any_bytes_give_a_beginning_or_a_refusal() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let mut body = [0; 24];
            random.fill(&mut body);
            if let Ok(beginning) = FunctionPrologue::decode(AT, &body[..random.usize(..=24)], &body) {
                let _ = beginning.relocate(AT + 0x7000_0000);
            }
        }
    }
}
