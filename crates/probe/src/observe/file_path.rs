//! The path of a file that MPI opened, so that it can be told which file the calls on its handle used.
//!
//! The program gives a name, which may be relative and may begin with a kind of file system (`ufs:name`, by the MPI standard). Nothing is
//! asked of the file system: on a parallel one, that would be one more request of every rank.

use std::path::{Component, Path, PathBuf};

use super::arguments::CallObserver;

/// Frame word of the file's name, the second argument of `MPI_File_open` in every language.
const NAME: u8 = 1;
/// Frame word of the length of the name, which Fortran passes behind `ierror`. That is the sixth argument and in the last register, so the
/// length is the first word on the stack.
const NAME_LENGTH: u8 = 8;

/// The absolute path of the file that this call of `MPI_File_open` has opened.
pub(super) fn opened_path(call: &CallObserver) -> Option<String> {
    let name = call.string(NAME, NAME_LENGTH)?;
    let folder = std::env::current_dir().unwrap_or_default();
    Some(absolute(&folder, without_file_system(&name)).to_string_lossy().into_owned())
}

/// The name without a kind of file system before it.
fn without_file_system(name: &str) -> &str {
    let is_kind = |kind: &str| kind.len() > 1 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    name.split_once(':').filter(|(kind, _)| is_kind(kind)).map_or(name, |(_, name)| name)
}

/// The path from the root, without `.` and `..`.
fn absolute(folder: &Path, name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in folder.join(name).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths() {
        let path = |name| absolute(Path::new("/home/run"), without_file_system(name));
        assert_eq!(path("data/./out"), Path::new("/home/run/data/out"));
        assert_eq!(path("../in"), Path::new("/home/in"));
        assert_eq!(path("/scratch/x"), Path::new("/scratch/x"));
        assert_eq!(path("ufs:/scratch/x"), Path::new("/scratch/x"));
        assert_eq!(path("a/b:c"), Path::new("/home/run/a/b:c"));
    }
}
