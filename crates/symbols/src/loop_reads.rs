//! Which variables the loops of a program read, found in its code.
//!
//! A loop is the code between a backward branch and its target. Functions that are called from a loop count as a whole, and so do those that
//! they call. Only accesses relative to the instruction pointer are seen: those of the program's own static and global variables.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind};

use crate::module::{LoadedModule, ProgramImage};

impl ProgramImage {
    /// Addresses of variables that the loops of the main program read.
    pub fn addresses_read_in_loops(&self) -> BTreeSet<u64> {
        let Some(module) = self.modules.first() else { return BTreeSet::new() };
        let functions: BTreeMap<u64, FunctionReads> = module
            .symbols()
            .functions()
            .map(|symbol| (symbol.address, FunctionReads::decode(module, symbol.address, symbol.size)))
            .collect();
        let mut called_from_loop: BTreeSet<u64> = BTreeSet::new();
        let mut pending: Vec<u64> = functions.values().flat_map(|function| function.calls_in_loops.iter().copied()).collect();
        while let Some(function) = pending.pop() {
            if let Some(reads) = functions.get(&function).filter(|_| called_from_loop.insert(function)) {
                pending.extend(&reads.calls);
            }
        }
        let seen = |(address, function): (&u64, &FunctionReads)| match called_from_loop.contains(address) {
            true => function.reads.clone(),
            false => function.reads_in_loops.clone(),
        };
        functions.iter().flat_map(seen).map(|address| address + module.bias).collect()
    }
}

/// What the code of a function reads and calls.
#[derive(Default)]
struct FunctionReads {
    reads: BTreeSet<u64>,
    reads_in_loops: BTreeSet<u64>,
    calls: BTreeSet<u64>,
    calls_in_loops: BTreeSet<u64>,
}

impl FunctionReads {
    fn decode(module: &LoadedModule, address: u64, size: u64) -> FunctionReads {
        let code = module.code(address, size);
        let instructions: Vec<Instruction> = Decoder::with_ip(64, &code, address, DecoderOptions::NONE).into_iter().collect();
        let is_branch = |flow| matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
        let loops: Vec<(u64, u64)> = instructions
            .iter()
            .filter(|branch| is_branch(branch.flow_control()) && branch.op0_kind() == OpKind::NearBranch64)
            .map(|branch| (branch.near_branch64(), branch.ip()))
            .filter(|(target, branch)| (address..=*branch).contains(target))
            .collect();
        let mut factory = InstructionInfoFactory::new();
        let mut found = FunctionReads::default();
        for instruction in &instructions {
            let is_in_loop = loops.iter().any(|(begin, end)| (*begin..=*end).contains(&instruction.ip()));
            if let Some(read) = read_address(instruction, &mut factory) {
                found.reads.insert(read);
                found.reads_in_loops.extend(is_in_loop.then_some(read));
            }
            // A jump to another function is a call in tail position.
            let leads_out = instruction.flow_control() == FlowControl::Call || is_branch(instruction.flow_control());
            if leads_out && instruction.op0_kind() == OpKind::NearBranch64 {
                let target = instruction.near_branch64();
                if !(address..address + size).contains(&target) {
                    found.calls.insert(target);
                    found.calls_in_loops.extend(is_in_loop.then_some(target));
                }
            }
        }
        found
    }
}

/// The address that an instruction reads relative to the instruction pointer. One whose address is taken may be read later.
fn read_address(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> Option<u64> {
    let is_store = instruction.op0_kind() == OpKind::Memory && factory.info(instruction).op0_access() == OpAccess::Write;
    (instruction.is_ip_rel_memory_operand() && !is_store).then(|| instruction.ip_rel_memory_address())
}
