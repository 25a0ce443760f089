//! Which algorithm an MPI library takes for an operation, by its members and bytes: the rules that are built into the libraries and hold
//! where nobody has changed them.
//!
//! Operators are taken as commutative and built in. Ways that use shared memory inside a node are left aside: the rules are those for
//! messages between processes.

mod mpich;
mod open_mpi;

use std::fmt;

use sintonia_mpi::Pattern;
use sintonia_text::near;

use super::algorithm::Algorithm;

/// An MPI library, or one that has its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// Open MPI 4.1 and 5.0.
    OpenMpi,
    /// MPICH 4, and those made from it.
    Mpich,
}

/// No library of that name is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules of an MPI library `{name}` are not known{}; known are {}", meant(*near), known())]
pub struct UnknownLibrary {
    name: String,
    near: Option<&'static str>,
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

fn known() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

/// Names and whose rules they stand for. Intel MPI, MVAPICH and Cray MPICH are made from MPICH and keep their own rules to themselves.
const NAMES: [(&str, Library); 8] = [
    ("openmpi", Library::OpenMpi),
    ("open-mpi", Library::OpenMpi),
    ("mpich", Library::Mpich),
    ("intel", Library::Mpich),
    ("intelmpi", Library::Mpich),
    ("intel-mpi", Library::Mpich),
    ("mvapich", Library::Mpich),
    ("cray", Library::Mpich),
];

impl Library {
    /// All whose rules are known.
    pub const ALL: [Library; 2] = [Library::OpenMpi, Library::Mpich];

    /// The library of this name, in small or capital letters.
    pub fn named(text: &str) -> Result<Library, UnknownLibrary> {
        let found = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        let unknown = || UnknownLibrary { name: text.to_owned(), near: near::nearest(text, NAMES.map(|(name, _)| name)) };
        found.map(|(_, library)| *library).ok_or_else(unknown)
    }

    /// The library that calls itself so, as `MPICH 4.0.2`; where none is known by it, Open MPI.
    pub fn of_version(text: &str) -> Library {
        let text = text.to_lowercase();
        NAMES.iter().find(|(name, _)| text.contains(name)).map_or(Library::OpenMpi, |(_, library)| *library)
    }
}

impl fmt::Display for Library {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Library::OpenMpi => "openmpi",
            Library::Mpich => "mpich",
        })
    }
}

/// The algorithm that a library takes; bytes as in [`super::Party`]. `None` for operations among neighbours, which have no place in the
/// rules.
pub fn choose(library: Library, pattern: Pattern, members: u32, bytes: u64) -> Option<Algorithm> {
    match library {
        Library::OpenMpi => open_mpi::choose(pattern, members, bytes),
        Library::Mpich => mpich::choose(pattern, members, bytes),
    }
}

/// How many elements a vector has: libraries count them, and a recording knows bytes only. Eight bytes, as a `double` has.
const fn elements(bytes: u64) -> u64 {
    bytes.div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::operation;

    #[test]
    fn every_operation_gets_an_algorithm_that_can_build_it() {
        for library in Library::ALL {
            for pattern in operation::all() {
                for members in (2..70).chain([127, 128, 255, 256, 511, 512, 1023, 1024, 2048, 4096, 65_536, 1 << 20]) {
                    for bytes in (0..26).flat_map(|power| [(1 << power) - 1, 1 << power]).chain([u64::MAX]) {
                        let algorithm = choose(library, pattern, members, bytes);
                        let fits = algorithm.is_some_and(|algorithm| algorithm.fits(pattern));
                        assert!(fits, "{library}: {pattern:?} of {bytes} bytes by {members}: {algorithm:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn operations_among_neighbours_are_not_chosen_here() {
        let neighbours = Pattern::ALL.into_iter().filter(|pattern| pattern.is_among_neighbours());
        assert!(neighbours.flat_map(|pattern| Library::ALL.map(|library| choose(library, pattern, 8, 8))).all(|none| none.is_none()));
    }

    #[test]
    fn libraries_are_found_by_name() {
        assert_eq!(Library::named("OpenMPI"), Ok(Library::OpenMpi));
        assert_eq!(Library::named("intel"), Ok(Library::Mpich));
        let versions = ["MPICH 4.0.2", "Intel(R) MPI Library 2021.9", "MVAPICH2 2.3", "HPE Cray MPI 8.1", "Open MPI 4.1.4", "?"];
        let mpich = versions.map(|version| Library::of_version(version) == Library::Mpich);
        assert_eq!(mpich, [true, true, true, true, false, false]);
        assert!(Library::ALL.iter().all(|library| Library::named(&library.to_string()) == Ok(*library)));
        let unknown = Library::named("mpichh").unwrap_err().to_string();
        assert!(unknown.contains("did you mean `mpich`?") && unknown.contains("openmpi"), "{unknown}");
    }
}
