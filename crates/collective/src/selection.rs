//! Algorithm selection of MPI libraries by group size and message size: their built-in default rules, and textbook algorithms where the
//! library is unknown.
//!
//! Operators are assumed to be commutative and predefined. Shared-memory algorithms are not modelled: the rules are those for messages
//! between processes.

mod mpich;
mod open_mpi;
mod textbook;

use std::fmt;

use sintonia_mpi::CollectiveOp;
use sintonia_text::suggestion;

use crate::algorithm::CollectiveAlgorithm;

/// The selection rules of an MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LibraryRules {
    /// Open MPI 4.1 and 5.0.
    OpenMpi,
    /// MPICH 4 and its derivatives.
    Mpich,
}

/// There are no rules for a library of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no selection rules for MPI library `{name}`{}; known: {}", meant(*near), known())]
pub struct UnknownLibrary {
    name: String,
    near: Option<&'static str>,
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

fn known() -> String {
    LIBRARY_NAMES.map(|(name, _)| name).join(", ")
}

/// Library names and their rules. Intel MPI, MVAPICH and Cray MPICH derive from MPICH; their own rules are not public.
const LIBRARY_NAMES: [(&str, LibraryRules); 8] = [
    ("openmpi", LibraryRules::OpenMpi),
    ("open-mpi", LibraryRules::OpenMpi),
    ("mpich", LibraryRules::Mpich),
    ("intel", LibraryRules::Mpich),
    ("intelmpi", LibraryRules::Mpich),
    ("intel-mpi", LibraryRules::Mpich),
    ("mvapich", LibraryRules::Mpich),
    ("cray", LibraryRules::Mpich),
];

impl LibraryRules {
    /// All known rule sets.
    pub const ALL: [LibraryRules; 2] = [LibraryRules::OpenMpi, LibraryRules::Mpich];

    /// The rules of the library of this name; case-insensitive.
    pub fn from_name(text: &str) -> Result<LibraryRules, UnknownLibrary> {
        let found = LIBRARY_NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        let unknown =
            || UnknownLibrary { name: text.to_owned(), near: suggestion::nearest_name(text, LIBRARY_NAMES.map(|(name, _)| name)) };
        found.map(|(_, library)| *library).ok_or_else(unknown)
    }

    /// The rules for a version string such as `MPICH 4.0.2`; `None` if no library is recognised.
    pub fn from_version_string(text: &str) -> Option<LibraryRules> {
        let text = text.to_lowercase().replace(' ', "");
        LIBRARY_NAMES.iter().find(|(name, _)| text.contains(name)).map(|(_, library)| *library)
    }
}

impl fmt::Display for LibraryRules {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            LibraryRules::OpenMpi => "openmpi",
            LibraryRules::Mpich => "mpich",
        })
    }
}

/// The algorithm that a library selects, or a textbook algorithm if the library is unknown; bytes as in [`crate::Participant`]. `None` for
/// neighbourhood collectives, whose messages the topology defines.
pub fn choose_algorithm(library: Option<LibraryRules>, op: CollectiveOp, members: u32, bytes: u64) -> Option<CollectiveAlgorithm> {
    match library {
        Some(LibraryRules::OpenMpi) => open_mpi::choose_algorithm(op, members, bytes),
        Some(LibraryRules::Mpich) => mpich::choose_algorithm(op, members, bytes),
        None => textbook::choose_algorithm(op),
    }
}

/// What [`choose_algorithm`] selects, in words, for the comments of output files.
pub const fn describe_selection(library: Option<LibraryRules>) -> &'static [&'static str] {
    match library {
        Some(LibraryRules::OpenMpi) => {
            &["collectives by the algorithms that Open MPI 4.1 and 5.0 select by group size and message size", NEIGHBOURHOOD]
        }
        Some(LibraryRules::Mpich) => &["collectives by the algorithms that MPICH 4 selects by group size and message size", NEIGHBOURHOOD],
        None => &[
            "broadcast, reduce, gather and scatter by a binomial tree; gatherv and scatterv straight to and from the root",
            "allgather and allgatherv by a ring; allreduce by recursive doubling; barrier by dissemination; scan and exscan by a chain",
            "alltoall and reduce_scatter, with their variants, by pairwise exchange of equal parts",
            NEIGHBOURHOOD,
        ],
    }
}

const NEIGHBOURHOOD: &str = "neighbourhood collectives straight to all neighbours, in equal parts";

/// Number of elements: libraries count elements, recordings only bytes. Assumes 8 bytes (`double`).
const fn elements(bytes: u64) -> u64 {
    bytes.div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op_names;

    /// Every set of rules, and none.
    const RULES: [Option<LibraryRules>; 3] = [Some(LibraryRules::OpenMpi), Some(LibraryRules::Mpich), None];

    #[test]
    fn every_operation_gets_an_algorithm_that_can_build_it() {
        for library in RULES {
            for op in op_names::selectable_ops() {
                for members in (2..70).chain([127, 128, 255, 256, 511, 512, 1023, 1024, 2048, 4096, 65_536, 1 << 20]) {
                    for bytes in (0..26).flat_map(|power| [(1 << power) - 1, 1 << power]).chain([u64::MAX]) {
                        let algorithm = choose_algorithm(library, op, members, bytes);
                        let fits = algorithm.is_some_and(|algorithm| algorithm.supports(op));
                        assert!(fits, "{library:?}: {op:?} of {bytes} bytes by {members}: {algorithm:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn operations_among_neighbours_are_not_chosen_here() {
        let neighbours = CollectiveOp::ALL.into_iter().filter(|op| op.is_neighborhood());
        assert!(neighbours.flat_map(|op| RULES.map(|library| choose_algorithm(library, op, 8, 8))).all(|none| none.is_none()));
    }

    #[test]
    fn libraries_are_found_by_name() {
        assert_eq!(LibraryRules::from_name("OpenMPI"), Ok(LibraryRules::OpenMpi));
        assert_eq!(LibraryRules::from_name("intel"), Ok(LibraryRules::Mpich));
        let versions = ["MPICH 4.0.2", "Intel(R) MPI Library 2021.9", "MVAPICH2 2.3", "HPE Cray MPI 8.1", "Open MPI 4.1.4", "?"];
        let (open_mpi, mpich) = (Some(LibraryRules::OpenMpi), Some(LibraryRules::Mpich));
        assert_eq!(versions.map(LibraryRules::from_version_string), [mpich, mpich, mpich, mpich, open_mpi, None]);
        assert_eq!(LibraryRules::from_version_string(""), None);
        assert!(LibraryRules::ALL.iter().all(|library| LibraryRules::from_name(&library.to_string()) == Ok(*library)));
        let unknown = LibraryRules::from_name("mpichh").unwrap_err().to_string();
        assert!(unknown.contains("did you mean `mpich`?") && unknown.contains("openmpi"), "{unknown}");
    }
}
