//! Launchers: how the environment reaches processes on other hosts.
//!
//! MPICH's mpiexec, srun and flux hand the whole environment on. Open MPI's mpirun hands it to processes on its own host only; others get
//! what it is told to export.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The arguments for the command: those given, preceded by what its launcher needs to hand these variables on.
pub fn arguments(executable: &Path, given: &[OsString], variables: &[&str]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    if is_open_mpi(executable) {
        arguments.extend(variables.iter().flat_map(|name| ["-x".into(), OsString::from(name)]));
    }
    arguments.extend_from_slice(given);
    arguments
}

/// Whether the command is Open MPI's launcher.
fn is_open_mpi(executable: &Path) -> bool {
    let name = executable.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !["mpirun", "mpiexec", "orterun", "prterun"].iter().any(|launcher| name.starts_with(launcher)) {
        return false;
    }
    let Ok(answer) = Command::new(executable).arg("--version").output() else { return false };
    let text = String::from_utf8_lossy(&answer.stdout);
    text.contains("Open MPI") || text.contains("OpenRTE") || text.contains("PRRTE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_mpi_is_told_what_to_export() {
        let given = [OsString::from("-n"), "2".into(), "./app".into()];
        assert_eq!(arguments(Path::new("/bin/echo"), &given, &["A"]), given);
    }
}
