//! Symbol names of MPI functions.
//!
//! C programs call `MPI_Send`, or `MPI_Send_c` with large counts. Fortran compilers mangle `mpi_send` in four ways, and the `mpi_f08`
//! module has its own names, which differ between libraries: `mpi_send_f08_` (Open MPI), `mpi_send_f08ts_` (MPICH, with buffers as
//! descriptors), with large counts `mpi_send_f08ts_large_` (MPICH) or `mpi_send_c_f08ts_` (Intel MPI).

use crate::function::FunctionId;

/// Language binding of a symbol: determines how arguments are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanguageBinding {
    /// C: scalars by value.
    C,
    /// `mpif.h` and `use mpi`: everything by reference.
    Fortran,
    /// `mpi_f08`: everything by reference, buffers by address.
    F08,
    /// `mpi_f08` with buffers as C descriptors (TS 29113).
    F08Descriptor,
}

/// A symbol of an MPI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiSymbol {
    /// The function.
    pub function: FunctionId,
    /// How arguments are passed.
    pub binding: LanguageBinding,
    /// Whether counts are 64 bits wide.
    pub large: bool,
}

impl MpiSymbol {
    /// Parses a symbol name; `None` if it is not an MPI function.
    pub fn parse(name: &str) -> Option<MpiSymbol> {
        let base = name.strip_prefix("MPI_").or_else(|| name.strip_prefix("mpi_"))?;
        if base.is_empty() || !base.is_ascii() {
            return None;
        }
        if name.starts_with("MPI_") { c_symbol(name).or_else(|| upper_case_symbol(name)) } else { lower_case_symbol(name) }
    }

    /// Maximum number of argument words on the stack (x86-64 passes the first six in registers).
    pub fn stack_words(&self) -> usize {
        let f = self.function.definition();
        let words = match self.binding {
            LanguageBinding::C => f.parameters,
            _ => f.parameters - f.c_only + 1 + f.strings,
        };
        usize::from(words).saturating_sub(6)
    }

    /// Converts an argument index of the C binding to this binding.
    pub fn argument_index(&self, slot: u8) -> usize {
        match self.binding {
            LanguageBinding::C => usize::from(slot),
            _ => usize::from(slot - self.function.definition().c_only),
        }
    }
}

fn c_symbol(name: &str) -> Option<MpiSymbol> {
    let (operation, large) = match FunctionId::from_name(name) {
        Some(operation) => (operation, false),
        None => (FunctionId::from_name(name.strip_suffix("_c")?).filter(|o| o.definition().large)?, true),
    };
    Some(MpiSymbol { function: operation, binding: LanguageBinding::C, large })
}

fn upper_case_symbol(name: &str) -> Option<MpiSymbol> {
    if name.bytes().any(|b| b.is_ascii_lowercase()) {
        return None;
    }
    fortran_symbol(name, LanguageBinding::Fortran, false)
}

/// Suffixes of `mpi_f08` names, longest first.
const F08_SUFFIXES: [(&str, LanguageBinding, bool); 6] = [
    ("_f08ts_large_", LanguageBinding::F08Descriptor, true),
    ("_f08_large_", LanguageBinding::F08, true),
    ("_c_f08ts_", LanguageBinding::F08Descriptor, true),
    ("_c_f08_", LanguageBinding::F08, true),
    ("_f08ts_", LanguageBinding::F08Descriptor, false),
    ("_f08_", LanguageBinding::F08, false),
];

fn lower_case_symbol(name: &str) -> Option<MpiSymbol> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    for (suffix, family, large) in F08_SUFFIXES {
        if let Some(base) = name.strip_suffix(suffix) {
            return fortran_symbol(base, family, large);
        }
    }
    let base = name.strip_suffix("__").or_else(|| name.strip_suffix('_')).unwrap_or(name);
    fortran_symbol(base, LanguageBinding::Fortran, false)
}

fn fortran_symbol(base: &str, family: LanguageBinding, large: bool) -> Option<MpiSymbol> {
    let rest = base.get(4..)?;
    let mut c_name = [0u8; 64];
    let length = base.len();
    if rest.is_empty() || length > c_name.len() {
        return None;
    }
    c_name[..4].copy_from_slice(b"MPI_");
    for (to, from) in c_name[4..length].iter_mut().zip(rest.bytes()) {
        *to = from.to_ascii_lowercase();
    }
    c_name[4] = c_name[4].to_ascii_uppercase();
    let c_name = std::str::from_utf8(&c_name[..length]).ok()?;
    let operation = FunctionId::from_name(c_name)?;
    let f = operation.definition();
    let bound = if family == LanguageBinding::Fortran { f.fortran } else { f.f08 };
    (bound && (f.large || !large)).then_some(MpiSymbol { function: operation, binding: family, large })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Option<(&'static str, LanguageBinding, bool)> {
        MpiSymbol::parse(name).map(|s| (s.function.name(), s.binding, s.large))
    }

    #[test]
    fn every_way_of_writing_a_name_is_understood() {
        assert_eq!(parsed("MPI_Send"), Some(("MPI_Send", LanguageBinding::C, false)));
        assert_eq!(parsed("MPI_Send_c"), Some(("MPI_Send", LanguageBinding::C, true)));
        for name in ["mpi_send", "mpi_send_", "mpi_send__", "MPI_SEND"] {
            assert_eq!(parsed(name), Some(("MPI_Send", LanguageBinding::Fortran, false)), "{name}");
        }
        assert_eq!(parsed("mpi_send_f08_"), Some(("MPI_Send", LanguageBinding::F08, false)));
        assert_eq!(parsed("mpi_send_f08ts_"), Some(("MPI_Send", LanguageBinding::F08Descriptor, false)));
        assert_eq!(parsed("mpi_send_f08ts_large_"), Some(("MPI_Send", LanguageBinding::F08Descriptor, true)));
        assert_eq!(parsed("mpi_send_c_f08ts_"), Some(("MPI_Send", LanguageBinding::F08Descriptor, true)));
        assert_eq!(parsed("mpi_comm_split_type_"), Some(("MPI_Comm_split_type", LanguageBinding::Fortran, false)));
    }

    #[test]
    fn names_that_only_look_like_mpi_are_left_alone() {
        for name in [
            "mpi_",
            "MPI_",
            "mpi_sendx_",
            "MPI_Send_",
            "Mpi_Send",
            "MPI_Wait_c",
            "mpi_Send_",
            "pmpi_send_",
            "MPI_T_init_thread_",
            "mpi_sénd",
        ] {
            assert_eq!(parsed(name), None, "{name}");
        }
    }

    #[test]
    fn arguments_beyond_six_are_counted_with_ierror_and_hidden_lengths() {
        assert_eq!(MpiSymbol::parse("MPI_Send").unwrap().stack_words(), 0);
        assert_eq!(MpiSymbol::parse("mpi_send_").unwrap().stack_words(), 1);
        assert_eq!(MpiSymbol::parse("mpi_sendrecv_").unwrap().stack_words(), 7);
        assert_eq!(MpiSymbol::parse("mpi_file_open_").unwrap().stack_words(), 1);
        assert_eq!(MpiSymbol::parse("mpi_init_").unwrap().stack_words(), 0);
    }
}
