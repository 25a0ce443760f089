//! The three MPI ABIs: handle sizes, layout of a status, and values of constants.

/// An MPI ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// Open MPI.
    OpenMpi,
    /// MPICH, also used by Intel MPI, MVAPICH, Cray MPICH and ParaStation.
    Mpich,
    /// The standard ABI of MPI 5.
    Standard,
}

/// Sizes and constants of an [`Abi`].
#[derive(Clone, Copy, Debug)]
pub struct AbiLayout {
    /// Size of a handle in C, in bytes (files are pointers in every ABI).
    pub handle_bytes: usize,
    /// Size of an `MPI_Status` in C, in bytes.
    pub status_bytes: usize,
    /// Size of a status in Fortran, in bytes.
    pub fortran_status_bytes: usize,
    /// Byte offset of the source in a status; the tag follows it.
    pub status_source: usize,
    /// The value of `MPI_ANY_SOURCE`.
    pub any_source: i32,
    /// The value of `MPI_ANY_TAG`.
    pub any_tag: i32,
    /// The value of `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// The value of `MPI_ROOT`.
    pub root: i32,
    /// The value of `MPI_UNDEFINED`.
    pub undefined: i32,
    /// The value of `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: i32,
    /// The address `MPI_STATUS_IGNORE` (and `MPI_STATUSES_IGNORE`) in C.
    pub status_ignore: usize,
    /// The address `MPI_IN_PLACE` in C.
    pub in_place: usize,
    /// The values of `MPI_CART`, `MPI_GRAPH` and `MPI_DIST_GRAPH`.
    pub topologies: [i32; 3],
}

impl Abi {
    /// Its name in recordings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Abi::OpenMpi => "openmpi",
            Abi::Mpich => "mpich",
            Abi::Standard => "standard",
        }
    }

    /// Detects the ABI from the file name and version text of the library.
    ///
    /// The file name takes precedence: one library may provide both its own and the standard ABI, in two files.
    pub fn detect(file_name: &str, version: &str) -> Option<Abi> {
        if file_name.contains("mpi_abi") {
            return Some(Abi::Standard);
        }
        if version.contains("Open MPI") {
            return Some(Abi::OpenMpi);
        }
        ["MPICH", "Intel(R) MPI Library", "MVAPICH", "ParaStation"].iter().any(|name| version.contains(name)).then_some(Abi::Mpich)
    }

    /// Sizes and constants of this ABI.
    pub const fn layout(self) -> AbiLayout {
        match self {
            Abi::OpenMpi => AbiLayout {
                handle_bytes: 8,
                status_bytes: 24,
                fortran_status_bytes: 24,
                status_source: 0,
                any_source: -1,
                any_tag: -1,
                proc_null: -2,
                root: -4,
                undefined: -32766,
                thread_multiple: 3,
                status_ignore: 0,
                in_place: 1,
                topologies: [1, 2, 3],
            },
            Abi::Mpich => AbiLayout {
                handle_bytes: 4,
                status_bytes: 20,
                fortran_status_bytes: 20,
                status_source: 8,
                any_source: -2,
                any_tag: -1,
                proc_null: -1,
                root: -3,
                undefined: -32766,
                thread_multiple: 3,
                status_ignore: 1,
                in_place: usize::MAX,
                topologies: [2, 1, 3],
            },
            Abi::Standard => AbiLayout {
                handle_bytes: 8,
                status_bytes: 32,
                fortran_status_bytes: 32,
                status_source: 0,
                any_source: -1,
                any_tag: -2,
                proc_null: -3,
                root: -4,
                undefined: -32766,
                thread_multiple: 4096,
                status_ignore: 0,
                in_place: 1,
                topologies: [211, 212, 213],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_decides_before_the_version_text() {
        assert_eq!(Abi::detect("libmpi_abi.so.1", "MPICH Version: 5.0.2"), Some(Abi::Standard));
        assert_eq!(Abi::detect("libmpi.so.40", "Open MPI v5.0.11, package: …"), Some(Abi::OpenMpi));
        assert_eq!(Abi::detect("libmpi.so.12", "Intel(R) MPI Library 2021.18"), Some(Abi::Mpich));
        assert_eq!(Abi::detect("libmpi.so.1", "Some other MPI"), None);
    }
}
