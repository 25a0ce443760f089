//! Why a launcher cannot be told a placement, or hosts cannot be read.

use std::path::PathBuf;

use sintonia_text::place::Place;
use sintonia_text::spot::Lines;

/// Why a launcher cannot be told a placement, or hosts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No word of the command starts a launcher that is known.
    #[error(
        "no launcher that can be told a placement starts this command: {command}; it is looked for as a word of its own (mpirun, mpiexec, srun, …)"
    )]
    NoLauncher {
        /// The command.
        command: String,
    },
    /// The command starts several programs, and each has options of its own.
    #[error("the command starts several programs (`{word}`); write it by hand, with `{options}` for the launcher and without other places")]
    SeveralPrograms {
        /// What shows it.
        word: String,
        /// What the launcher must be told.
        options: String,
    },
    /// A name would be read as something else in the launcher's file.
    #[error("the name of host `{name}` cannot stand in a launcher's file: names have letters, digits, `.`, `-` and `_`")]
    Name {
        /// The name.
        name: String,
    },
    /// A rank has a slot that is not there.
    #[error("rank {rank} has slot {slot}, and the hosts have {slots}")]
    NoSuchSlot {
        /// The rank.
        rank: usize,
        /// Its slot.
        slot: u32,
        /// How many there are.
        slots: u32,
    },
    /// The launcher takes the path for something else.
    #[error("{path}: Open MPI cannot be told a file whose path has `{letter}`; write it elsewhere")]
    Path {
        /// The path.
        path: PathBuf,
        /// What of it.
        letter: char,
    },
    /// So many ranks in a row are on one host that the launcher could not read the line.
    #[error("{ranks} ranks in a row are on host `{host}`: MPICH reads lines of 1023 letters at most; place without cores")]
    LongLine {
        /// The host.
        host: String,
        /// How many.
        ranks: usize,
    },
    /// A host is not full, and the ranks of a later one would move up.
    #[error(
        "host `{host}` has {ranks} ranks and room for {slots}: Cray MPICH renumbers ranks, and so every host but the last must be full"
    )]
    NotFull {
        /// The host.
        host: String,
        /// How many ranks it has.
        ranks: usize,
        /// How many it has room for.
        slots: u32,
    },
    /// A list of hosts that cannot be read.
    #[error("{what}, character {column}: {reason}{excerpt}")]
    List {
        /// Where it stood.
        what: String,
        /// The character, counted from 1.
        column: usize,
        /// What is wrong with it.
        reason: Reason,
        /// The list with a mark below.
        excerpt: String,
    },
    /// A line of a file of hosts that cannot be read.
    #[error("{place}: {reason}{}", place.excerpt)]
    Line {
        /// The line.
        place: Box<Place>,
        /// What is wrong with it.
        reason: Reason,
    },
    /// A file of hosts that cannot be opened.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

/// What is wrong with a host in a list or a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nothing stands where a name should.
    #[error("the name of a host is missing")]
    NoName,
    /// A name that is none.
    #[error("`{0}` is not the name of a host: names have letters, digits, `.`, `-` and `_`")]
    Name(String),
    /// A number of slots that is none.
    #[error("`{0}` is not a number of slots")]
    Slots(String),
    /// A host without slots.
    #[error("host `{0}` has no slots")]
    NoSlots(String),
    /// A host that stands in a list twice.
    #[error("host `{0}` stands here twice; give all its slots at once")]
    Twice(String),
    /// A range of numbers that is none.
    #[error("`{0}` is not a range of numbers such as 01-04")]
    Range(String),
    /// A bracket that is not closed, or never opened.
    #[error("a bracket has no partner")]
    Bracket,
    /// More hosts than anybody has.
    #[error("these are more than {0} hosts")]
    TooMany(usize),
    /// A line of a rankfile that is none.
    #[error("`{0}` is not a line such as `rank 0=host slot=1`")]
    Rank(String),
    /// Numbers of slots that do not fit the hosts.
    #[error("{counts} hosts have a number of slots here, and there are {hosts}")]
    Counts {
        /// How many numbers.
        counts: usize,
        /// How many hosts.
        hosts: usize,
    },
}

/// What is wrong, and which bytes of the text it is about.
pub(super) type Fault = (std::ops::Range<usize>, Reason);

impl Error {
    /// A fault in a list of one line that stood there.
    pub(super) fn in_list(what: &str, text: &str, (at, reason): Fault) -> Error {
        let spot = Lines::of(text).spot(&at);
        Error::List { what: what.to_owned(), column: spot.column, reason, excerpt: spot.excerpt }
    }
}
