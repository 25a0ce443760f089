//! The functions that a function calls, found in its code. Indirect calls and calls into other files are not seen.

use iced_x86::{Decoder, DecoderOptions, FlowControl, OpKind};
use object::{Object, ObjectSection};

use crate::error::SymbolError;
use crate::module::{LoadedModule, ProgramImage};

impl ProgramImage {
    /// The functions of the same file that a function calls: names of the source, each once, in code order.
    pub fn callees(&self, name: &str) -> Result<Vec<String>, SymbolError> {
        let functions = self.functions(name)?;
        let mut callees: Vec<String> = Vec::new();
        for function in functions {
            let inside = |module: &&LoadedModule| module.symbols().function_at(function.address.wrapping_sub(module.bias)).is_some();
            let Some(module) = self.modules.iter().find(inside) else { continue };
            for callee in module.callees(function.address - module.bias, function.size) {
                if callee != name && !callees.contains(&callee) {
                    callees.push(callee);
                }
            }
        }
        Ok(callees)
    }
}

impl LoadedModule {
    /// The functions that the code in an address range calls or jumps to.
    fn callees(&self, address: u64, size: u64) -> Vec<String> {
        let code = self.code(address, size);
        let own = address..address + size;
        let decoder = Decoder::with_ip(64, &code, address, DecoderOptions::NONE);
        let leads_on = |flow| matches!(flow, FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
        decoder
            .into_iter()
            .filter(|instruction| leads_on(instruction.flow_control()) && instruction.op0_kind() == OpKind::NearBranch64)
            .map(|instruction| instruction.near_branch64())
            .filter(|target| !own.contains(target))
            .filter_map(|target| self.symbols().function_at(target))
            .map(|symbol| self.display_name(symbol))
            .collect()
    }

    pub(crate) fn code(&self, address: u64, size: u64) -> Vec<u8> {
        let file = self.file();
        let section = file.sections().find_map(|section| section.data_range(address, size).ok().flatten().map(<[u8]>::to_vec));
        section.unwrap_or_default()
    }
}
