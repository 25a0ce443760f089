//! Errors of launcher files and host lists.

use std::path::PathBuf;

use sintonia_text::line_col::LineTable;
use sintonia_text::source_pos::SourcePos;

/// Why a placement cannot be given to a launcher, or hosts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command has no known launcher.
    #[error("no supported launcher (mpirun, mpiexec, srun, …) in this command: {command}")]
    NoLauncher {
        /// The command.
        command: String,
    },
    /// The command starts several programs, each with its own options.
    #[error(
        "the command starts several programs (`{word}`); write it by hand, with `{options}` for the launcher and without other placement options"
    )]
    SeveralPrograms {
        /// The argument that shows it.
        word: String,
        /// The options for the launcher.
        options: String,
    },
    /// A host name that would be misread in the launcher's file.
    #[error("host name `{name}` cannot be used in a launcher file: names consist of letters, digits, `.`, `-` and `_`")]
    Name {
        /// The name.
        name: String,
    },
    /// A rank is on a slot that does not exist.
    #[error("rank {rank} is on slot {slot}, but the hosts have {slots} slots")]
    NoSuchSlot {
        /// The rank.
        rank: usize,
        /// Its slot.
        slot: u32,
        /// Number of slots.
        slots: u32,
    },
    /// The launcher would misread the path.
    #[error("{path}: Open MPI does not accept a file path with `{letter}`; write it elsewhere")]
    Path {
        /// The path.
        path: PathBuf,
        /// The offending character.
        letter: char,
    },
    /// Too many consecutive ranks on one host for the launcher's line length.
    #[error("{ranks} consecutive ranks are on host `{host}`: MPICH reads lines of at most 1023 characters; place without binding to cores")]
    LongLine {
        /// The host.
        host: String,
        /// Number of ranks.
        ranks: usize,
    },
    /// A host is not full, so ranks of later hosts would shift.
    #[error("host `{host}` has {ranks} ranks and {slots} slots: Cray MPICH reorders ranks, so every host but the last must be full")]
    NotFull {
        /// The host.
        host: String,
        /// Number of ranks.
        ranks: usize,
        /// Number of slots.
        slots: u32,
    },
    /// An invalid host list.
    #[error("{what}, character {column}: {reason}{excerpt}")]
    List {
        /// Its source.
        what: String,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        reason: HostSyntaxError,
        /// The list with a marker below.
        excerpt: String,
    },
    /// An invalid line of a hostfile.
    #[error("{place}: {reason}{}", place.excerpt)]
    Line {
        /// The position.
        place: Box<SourcePos>,
        /// What is wrong.
        reason: HostSyntaxError,
    },
    /// A hostfile that cannot be read.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

/// A syntax error in a host list or hostfile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostSyntaxError {
    /// A host name is missing.
    #[error("missing host name")]
    NoName,
    /// An invalid host name.
    #[error("`{0}` is not a host name: names consist of letters, digits, `.`, `-` and `_`")]
    Name(String),
    /// An invalid number of slots.
    #[error("`{0}` is not a number of slots")]
    Slots(String),
    /// A host without slots.
    #[error("host `{0}` has no slots")]
    NoSlots(String),
    /// A host listed twice.
    #[error("host `{0}` is listed twice; give all its slots at once")]
    Twice(String),
    /// An invalid range.
    #[error("`{0}` is not a range of numbers such as 01-04")]
    Range(String),
    /// An unbalanced bracket.
    #[error("unbalanced bracket")]
    Bracket,
    /// Too many hosts.
    #[error("more than {0} hosts")]
    TooMany(usize),
    /// An invalid line of a rankfile.
    #[error("`{0}` is not a rankfile line such as `rank 0=host slot=1`")]
    Rank(String),
    /// The number of slot counts differs from the number of hosts.
    #[error("slot counts for {counts} hosts, but there are {hosts} hosts")]
    Counts {
        /// Number of counts.
        counts: usize,
        /// Number of hosts.
        hosts: usize,
    },
}

/// A syntax error and the byte range it refers to.
pub(super) type HostFault = (std::ops::Range<usize>, HostSyntaxError);

impl Error {
    /// An error in a one-line list from this source.
    pub(super) fn in_list(what: &str, text: &str, (at, reason): HostFault) -> Error {
        let spot = LineTable::new(text).line_col(&at);
        Error::List { what: what.to_owned(), column: spot.column, reason, excerpt: spot.excerpt }
    }
}
