//! Processes without others to communicate with. Communication is tested with real launchers, in `tests/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NO_VARIABLES: [(&str, &str); 0] = [];
const TWO_OF_OPEN_MPI: (&str, &str) = ("OMPI_COMM_WORLD_SIZE", "2");

#[test]
fn without_a_launcher_no_mpi_is_loaded() {
    assert_alone(&world(NO_VARIABLES));
    assert_alone(&world([("SINTONIA_MPI", "/nowhere/libmpi.so")]));
    assert_alone(&world([("SLURM_NTASKS", "16")]));
}

#[test]
fn for_one_process_no_mpi_is_loaded() {
    assert_alone(&world([("OMPI_COMM_WORLD_SIZE", "1")]));
    assert_alone(&world([("PMI_SIZE", "1"), ("MPI_LOCALNRANKS", "1")]));
}

#[test]
fn a_library_that_cannot_be_used_is_named_with_the_reason() {
    let missing = refusal(&world([TWO_OF_OPEN_MPI, ("SINTONIA_MPI", "/nowhere/libmpi.so")]));
    assert!(missing.contains("/nowhere/libmpi.so") && missing.contains("No such file"), "{missing}");
    let no_mpi = refusal(&world([TWO_OF_OPEN_MPI, ("SINTONIA_MPI", "libc.so.6")]));
    assert!(no_mpi.contains("libc.so.6") && no_mpi.contains("no MPI_Get_library_version"), "{no_mpi}");
}

#[test]
fn when_nothing_is_found_all_that_was_tried_is_said() {
    let names = ["libmpi.so.12", "libmpich.so.12", "libmpi.so", "libmpi_abi.so.1", "libmpi_abi.so.0"];
    let folder = folder_with_no_libraries(&names);
    let variables = [("PMI_SIZE", "2"), ("MPI_LOCALNRANKS", "2"), ("LD_LIBRARY_PATH", folder.to_str().expect("a path that is text"))];
    let text = refusal(&world(variables));
    assert!(names.iter().all(|name| text.contains(&format!("\n  {name}: "))), "{text}");
    assert!(text.contains("a launcher of MPICH") && text.contains("set SINTONIA_MPI to"), "{text}");
    assert!(!text.contains("libmpi.so.40"), "a library of Open MPI does not suit: {text}");
}

/// A directory with files of these names, which hide the system's libraries behind files that cannot be loaded.
fn folder_with_no_libraries(names: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-libraries");
    std::fs::create_dir_all(&folder).expect("a folder for files");
    names.iter().for_each(|name| std::fs::write(folder.join(name), "INPUT(-lmpi)").expect("a file"));
    folder
}

/// Runs the example with only these environment variables.
fn world<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Output {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("tests lie in a folder of the profile's");
    Command::new(folder.join("examples/world")).arg("join").env_clear().envs(variables).output().expect("cargo has built the example")
}

fn assert_alone(output: &Output) {
    assert_eq!(String::from_utf8_lossy(&output.stdout), "alone, MPI not loaded\n", "{output:?}");
    assert!(output.status.success());
}

fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}
