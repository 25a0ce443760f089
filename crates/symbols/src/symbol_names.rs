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

/// Symbols of a Fortran procedure: `name`, or `module::name`.
pub(crate) fn fortran_symbols(name: &str) -> Vec<String> {
    let small = name.to_lowercase();
    match small.split_once("::") {
        Some((module, name)) => vec![format!("__{module}_MOD_{name}"), format!("{module}_mp_{name}_"), format!("{module}_{name}_")],
        None => vec![format!("{small}_"), format!("{small}__")],
    }
}

/// Demangled C++ name with parameters; `None` if it is not mangled.
pub(crate) fn demangle(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    cpp_demangle::Symbol::new(symbol).ok()?.demangle(&cpp_demangle::DemangleOptions::default()).ok()
}

/// Whether a demangled name matches what the user wrote, with or without parameters.
pub(crate) fn matches_name(full: &str, wanted: &str) -> bool {
    full == wanted || without_parameters(full) == wanted
}

/// The name without its parameter list, which ends with the last parenthesis.
fn without_parameters(full: &str) -> &str {
    let end = full.strip_suffix(" const").unwrap_or(full);
    if !end.ends_with(')') {
        return full;
    }
    let mut depth = 0;
    for (at, letter) in end.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' if depth == 1 => return &full[..at],
            '(' => depth -= 1,
            _ => {}
        }
    }
    full
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
    fn a_name_in_cpp_is_found_with_and_without_its_parameters() {
        let full = demangle("_ZN6Solver4stepEdi").expect("mangled");
        assert_eq!(full, "Solver::step(double, int)");
        assert!(matches_name(&full, "Solver::step") && matches_name(&full, "Solver::step(double, int)") && !matches_name(&full, "step"));
        assert!(matches_name("f(void (*)(int)) const", "f"));
        assert!(matches_name("(anonymous namespace)::g()", "(anonymous namespace)::g"));
        assert_eq!(demangle("main"), None);
    }

    #[test]
    fn a_name_in_fortran_has_several_symbols() {
        assert!(fortran_symbols("Step").contains(&"step_".to_owned()));
        assert!(fortran_symbols("heat::step").contains(&"__heat_MOD_step".to_owned()));
    }
}
