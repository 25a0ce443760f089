//! Names of files, short enough for a table.

/// The name of a file without its folder, and without the suffix of Python extension modules.
pub fn short_file_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split(".cpython-").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_folders_nor_suffixes_of_extension_modules_are_shown() {
        let paths = ["/home/me/lu.c", "lu.c", "/lib/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", ""];
        assert_eq!(paths.map(short_file_name), ["lu.c", "lu.c", "MPI", ""]);
    }
}
