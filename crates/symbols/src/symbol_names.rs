//! Names of functions: as written by the user, mangled, and with a clone suffix.

/// Suffixes of compiler-generated clones.
const CLONES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."];

/// Functions that return twice, or use their caller's frame.
const DEPEND_ON_CALLER: [&str; 14] = [
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "vfork",
    "getcontext",
    "swapcontext",
    "dlsym",
    "dlopen",
    "dlvsym",
    "dlmopen",
    "_Unwind_Resume",
    "__tls_get_addr",
    "_dl_runtime_resolve",
];

/// Whether a function needs its caller's frame.
pub(crate) fn depends_on_caller(symbol: &str) -> bool {
    DEPEND_ON_CALLER.contains(&symbol)
}

/// Splits a symbol into name and clone suffix.
pub(crate) fn split_clone_suffix(symbol: &str) -> (&str, &str) {
    let end = CLONES.iter().filter_map(|clone| symbol.find(clone)).min().unwrap_or(symbol.len());
    symbol.split_at(end)
}

/// Whether the suffix marks a part split off a function.
pub(crate) fn is_partial_clone(suffix: &str) -> bool {
    suffix.contains(".part.") || suffix.contains(".cold")
}

/// The path of a Fortran procedure from its symbol, for programs without debug information: `__mod_MOD_name` (GNU), `mod_mp_name_` (Intel),
/// `_QMmodPname` (LLVM), and `name_` outside of modules.
pub(crate) fn fortran_path(symbol: &str) -> Option<Vec<&str>> {
    let in_module = symbol.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_"));
    let intel = || symbol.strip_suffix('_')?.split_once("_mp_");
    let llvm = || symbol.strip_prefix("_QM")?.split_once('P');
    if let Some((module, name)) = in_module.or_else(intel).or_else(llvm) {
        return Some(vec![module, name]);
    }
    let outside = symbol.strip_prefix("_QP").or_else(|| symbol.strip_suffix("__")).or_else(|| symbol.strip_suffix('_'));
    outside.filter(|name| !name.is_empty() && !name.starts_with('_')).map(|name| vec![name])
}

/// Demangled C++ name with parameters and without result type; `None` if it is not mangled, or not a function of the source.
pub(crate) fn demangle(symbol: &str) -> Option<String> {
    /// Tables, thunks and guards.
    const GENERATED: [&str; 3] = ["_ZT", "_ZGV", "_ZGR"];
    if !symbol.starts_with("_Z") || GENERATED.iter().any(|begin| symbol.starts_with(begin)) {
        return None;
    }
    let options = cpp_demangle::DemangleOptions::default().no_return_type();
    cpp_demangle::Symbol::new(symbol).ok()?.demangle(&options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_is_known_by_what_stands_behind_its_name() {
        assert_eq!(split_clone_suffix("step.constprop.0"), ("step", ".constprop.0"));
        assert_eq!(split_clone_suffix("step.part.0.isra.3"), ("step", ".part.0.isra.3"));
        assert_eq!(split_clone_suffix("step"), ("step", ""));
    }

    #[test]
    fn a_name_in_cpp_has_its_parameters_and_no_result() {
        assert_eq!(demangle("_ZN6Solver4stepEdi").as_deref(), Some("Solver::step(double, int)"));
        assert_eq!(demangle("_Z1fIdET_S0_").as_deref(), Some("f<double>(double)"));
        assert_eq!((demangle("main"), demangle("_ZThn8_N1D1fEv")), (None, None));
    }

    #[test]
    fn a_symbol_of_fortran_is_read_as_the_compilers_write_it() {
        for (symbol, path) in [
            ("__heat_MOD_step", &["heat", "step"][..]),
            ("heat_mp_step_", &["heat", "step"]),
            ("_QMheatPstep", &["heat", "step"]),
            ("step_", &["step"]),
            ("my_step__", &["my_step"]),
            ("_QPstep", &["step"]),
        ] {
            assert_eq!(fortran_path(symbol).as_deref(), Some(path), "{symbol}");
        }
        assert_eq!((fortran_path("step"), fortran_path("_start"), fortran_path("_")), (None, None, None));
    }
}
