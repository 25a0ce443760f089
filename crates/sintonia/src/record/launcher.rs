//! Launchers: passing the environment to processes on other hosts.
//!
//! MPICH's mpiexec, srun and flux pass on the whole environment. Open MPI's mpirun does so only on its own host; for others, variables must be
//! exported explicitly.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The arguments of the command, preceded by those its launcher needs to export these variables.
pub(crate) fn launcher_arguments(executable: &Path, given: &[OsString], variables: &[&str]) -> Vec<OsString> {
    let mut args = Vec::new();
    if is_open_mpi(executable) {
        args.extend(variables.iter().flat_map(|name| ["-x".into(), OsString::from(name)]));
    }
    args.extend_from_slice(given);
    args
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
        assert_eq!(launcher_arguments(Path::new("/bin/echo"), &given, &["A"]), given);
    }
}
