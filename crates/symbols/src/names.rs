//! The many names of a function: as the user writes it, as the compiler mangled it, and as it was renamed when it was cloned.

/// What compilers put behind the name of a copy that they made.
const CLONES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."];

/// Functions that return twice, or look at the frame of their caller.
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

/// Whether a function must keep its caller's frame.
pub fn depends_on_caller(symbol: &str) -> bool {
    DEPEND_ON_CALLER.contains(&symbol)
}

/// The name without what was put behind it when it was cloned, and what that was.
pub fn without_clone(symbol: &str) -> (&str, &str) {
    let end = CLONES.iter().filter_map(|clone| symbol.find(clone)).min().unwrap_or(symbol.len());
    symbol.split_at(end)
}

/// Whether only a part of a function, torn out of it, has this suffix.
pub fn is_part(suffix: &str) -> bool {
    suffix.contains(".part.") || suffix.contains(".cold")
}

/// The symbols that a name in Fortran may have: `name`, or `module::name`.
pub fn fortran(name: &str) -> Vec<String> {
    let small = name.to_lowercase();
    match small.split_once("::") {
        Some((module, name)) => vec![format!("__{module}_MOD_{name}"), format!("{module}_mp_{name}_"), format!("{module}_{name}_")],
        None => vec![format!("{small}_"), format!("{small}__")],
    }
}

/// A name as it is written in C++, with what it is passed; `None` if it is not mangled.
pub fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    cpp_demangle::Symbol::new(symbol).ok()?.demangle().ok()
}

/// Whether a name with its parameters is what the user wrote, with or without them.
pub fn is_written(full: &str, wanted: &str) -> bool {
    full == wanted || without_parameters(full) == wanted
}

/// The name without its parameters: the parenthesis that closes last opens them.
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
        assert_eq!(without_clone("step.constprop.0"), ("step", ".constprop.0"));
        assert_eq!(without_clone("step.part.0.isra.3"), ("step", ".part.0.isra.3"));
        assert_eq!(without_clone("step"), ("step", ""));
    }

    #[test]
    fn a_name_in_cpp_is_found_with_and_without_its_parameters() {
        let full = demangled("_ZN6Solver4stepEdi").expect("mangled");
        assert_eq!(full, "Solver::step(double, int)");
        assert!(is_written(&full, "Solver::step") && is_written(&full, "Solver::step(double, int)") && !is_written(&full, "step"));
        assert!(is_written("f(void (*)(int)) const", "f"));
        assert!(is_written("(anonymous namespace)::g()", "(anonymous namespace)::g"));
        assert_eq!(demangled("main"), None);
    }

    #[test]
    fn a_name_in_fortran_has_several_symbols() {
        assert!(fortran("Step").contains(&"step_".to_owned()));
        assert!(fortran("heat::step").contains(&"__heat_MOD_step".to_owned()));
    }
}
