//! Demangling of Cython function names.
//!
//! Python's MPI bindings are written in Cython. It mangles a function name as a prefix for its kind, the enclosing modules and classes,
//! each with its length, a number to make it unique, and the function's own name.

/// `mpi4py.MPI.Comm.Send` for `__pyx_pw_6mpi4py_3MPI_4Comm_27Send`; `None` if the name is not a Cython name.
pub(super) fn demangle(name: &str) -> Option<String> {
    // The C compiler may add a suffix such as `.isra.0`.
    let name = name.split('.').next()?;
    let (kind, mut rest) = name.strip_prefix("__pyx_")?.split_once('_')?;
    let numbered = match kind {
        "pw" | "pf" => true,
        "f" | "getprop" | "setprop" => false,
        _ => return None,
    };
    let mut around = Vec::new();
    while let Some((scope, inside)) = scope(rest) {
        // In front of the function's own name, a number is not a length.
        if numbered && !inside.starts_with(|c: char| c.is_ascii_digit()) && !around.is_empty() {
            break;
        }
        around.push(scope);
        rest = inside;
    }
    let own = if numbered { rest.trim_start_matches(|c: char| c.is_ascii_digit()) } else { rest };
    (!around.is_empty() && !own.is_empty()).then(|| format!("{}.{own}", around.join(".")))
}

/// Splits off a name with length prefix and a following underscore.
fn scope(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = text[..digits].parse().ok()?;
    let (scope, rest) = text[digits..].split_at_checked(length)?;
    Some((scope, rest.strip_prefix('_')?)).filter(|(scope, _)| !scope.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_the_name_that_python_knows() {
        for (name, known) in [
            ("__pyx_pw_6mpi4py_3MPI_4Comm_131Allgather", "mpi4py.MPI.Comm.Allgather"),
            ("__pyx_pf_6mpi4py_3MPI_4Comm_130Allgather.isra.0", "mpi4py.MPI.Comm.Allgather"),
            ("__pyx_pw_6mpi4py_3MPI_7Request_3Get_status", "mpi4py.MPI.Request.Get_status"),
            ("__pyx_pw_6mpi4py_3MPI_51Init_thread", "mpi4py.MPI.Init_thread"),
            ("__pyx_pw_5heat3_1step", "heat3.step"),
            ("__pyx_f_6mpi4py_3MPI_bootstrap", "mpi4py.MPI.bootstrap"),
            ("__pyx_f_6mpi4py_3MPI_10_p_msg_cco_for_allgather", "mpi4py.MPI._p_msg_cco.for_allgather"),
            ("__pyx_getprop_6mpi4py_3MPI_4Comm_size", "mpi4py.MPI.Comm.size"),
        ] {
            assert_eq!(demangle(name).as_deref(), Some(known), "{name}");
        }
    }

    #[test]
    fn other_names_are_left_alone() {
        for name in ["main", "", "__pyx_", "__pyx_pw_", "__pyx_pw_6mpi4py", "__pyx_pw_6mpi4py_", "__pyx_pw_99é_x", "__pyx_tp_new_3MPI_x"] {
            assert_eq!(demangle(name), None, "{name}");
        }
    }
}
