//! Names of functions that Cython made, as their Python program knows them.
//!
//! Python's bindings of MPI are written in Cython. It names a C function by a mark for its kind, the modules and classes around it, each
//! with its length before it, a number where names would otherwise be the same, and its own name.

/// `mpi4py.MPI.Comm.Send` for `__pyx_pw_6mpi4py_3MPI_4Comm_27Send`; `None` if the name is not one of Cython's.
pub fn readable(name: &str) -> Option<String> {
    // What the C compiler made of a function has a mark of its own at the end, such as `.isra.0`.
    let name = name.split('.').next()?;
    let (kind, mut rest) = name.strip_prefix("__pyx_")?.split_once('_')?;
    let numbered = match kind {
        "pw" | "pf" => true,
        "f" | "getprop" | "setprop" => false,
        _ => return None,
    };
    let mut around = Vec::new();
    while let Some((scope, inside)) = scope(rest) {
        // In front of the function's own name a number is no length.
        if numbered && !inside.starts_with(|c: char| c.is_ascii_digit()) && !around.is_empty() {
            break;
        }
        around.push(scope);
        rest = inside;
    }
    let own = if numbered { rest.trim_start_matches(|c: char| c.is_ascii_digit()) } else { rest };
    (!around.is_empty() && !own.is_empty()).then(|| format!("{}.{own}", around.join(".")))
}

/// A name with its length before it, and what comes after it and a line.
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
            assert_eq!(readable(name).as_deref(), Some(known), "{name}");
        }
    }

    #[test]
    fn other_names_are_left_alone() {
        for name in ["main", "", "__pyx_", "__pyx_pw_", "__pyx_pw_6mpi4py", "__pyx_pw_6mpi4py_", "__pyx_pw_99é_x", "__pyx_tp_new_3MPI_x"] {
            assert_eq!(readable(name), None, "{name}");
        }
    }
}
