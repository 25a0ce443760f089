//! What a replay found.

use sintonia_mpi::{Operation, Role};

use super::line::Line;
use super::world::World;
use crate::Error;
use crate::schedule::{Described, Schedule};

/// Is told of every call as it is replayed.
pub trait Sink {
    /// The next calls of a line do these things.
    fn actions(&mut self, line: usize, actions: &[Described]) -> Result<(), Error>;

    /// The next request that a line makes has this number.
    fn requests(&mut self, line: usize, next: u64) -> Result<(), Error>;

    /// A line has made a call, with the moments of entering and leaving it in seconds since MPI was started.
    fn call(&mut self, line: usize, action: u32, enter_s: f64, leave_s: f64) -> Result<(), Error>;
}

/// The calls of one function at one call site, added up.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// The call site.
    pub site: u32,
    /// The function, by number.
    pub function: u16,
    /// How many.
    pub calls: u64,
    /// Seconds in them as recorded.
    pub recorded: f64,
    /// Seconds in them in the replay.
    pub replayed: f64,
}

impl Tally {
    /// Nothing yet.
    pub fn new(site: u32, function: u16) -> Tally {
        Tally { site, function, calls: 0, recorded: 0.0, replayed: 0.0 }
    }
}

/// How long a rank took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// From the start of MPI to its end, in seconds, as recorded.
    pub recorded_s: f64,
    /// The same in the replay.
    pub replayed_s: f64,
}

/// A function called at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteTime {
    /// Where in the program.
    pub place: String,
    /// The number of the call site.
    pub site: u32,
    /// The MPI function.
    pub function: &'static str,
    /// How many calls.
    pub calls: u64,
    /// Seconds in them over all ranks, as recorded.
    pub recorded_s: f64,
    /// The same in the replay.
    pub replayed_s: f64,
}

/// Messages of which only one end is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Sent and never received.
    pub sends: u64,
    /// Begun to be received and never sent.
    pub receives: u64,
    /// From and to whom the first few go.
    pub between: Vec<(u32, u32)>,
}

/// What a replay found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// From the start of MPI to the moment the last rank comes to its end, in seconds, as recorded.
    pub recorded_s: f64,
    /// The same in the replay.
    pub seconds: f64,
    /// Each rank.
    pub ranks: Vec<RankTime>,
    /// Each call site, the one that changed most first.
    pub sites: Vec<SiteTime>,
    /// How many calls were replayed.
    pub calls: u64,
    /// Messages that found no other end.
    pub unmatched: Unmatched,
    /// Calls that went on without what they needed.
    pub forced: u64,
    /// What the network of the recording seems to be like, where that was replayed.
    pub network: super::RecordedNetwork,
}

/// What a replay that came to its end found.
pub(super) fn of(schedule: &dyn Schedule, lines: Vec<Line>, world: World) -> Outcome {
    let mut ranks: Vec<RankTime> = Vec::new();
    for line in &lines {
        let (recorded_s, replayed_s) = ((line.end_recorded - world.began).max(0.0), line.end);
        match ranks.last_mut().filter(|last| last.rank == line.id.rank) {
            Some(last) => {
                (last.recorded_s, last.replayed_s) = (last.recorded_s.max(recorded_s), last.replayed_s.max(replayed_s));
            }
            None => ranks.push(RankTime { rank: line.id.rank, recorded_s, replayed_s }),
        }
    }
    let operation = |tally: &Tally| Operation::from_number(tally.function);
    // The times are those between the two.
    let is_between = |tally: &&Tally| operation(tally).is_none_or(|operation| !matches!(operation.role(), Role::Init | Role::Finalize));
    let site = |tally: &Tally| SiteTime {
        place: schedule.site(tally.site),
        site: tally.site,
        function: operation(tally).map_or("", Operation::name),
        calls: tally.calls,
        recorded_s: tally.recorded,
        replayed_s: tally.replayed,
    };
    let mut sites: Vec<SiteTime> = world.tallies.iter().filter(|tally| tally.calls > 0).filter(is_between).map(site).collect();
    let change = |site: &SiteTime| (site.replayed_s - site.recorded_s).abs();
    sites.sort_by(|a, b| change(b).total_cmp(&change(a)).then_with(|| a.place.cmp(&b.place)));
    let (sends, receives, keys) = world.letters.left_over();
    let network = world.samples.network();
    Outcome {
        network,
        recorded_s: ranks.iter().map(|rank| rank.recorded_s).fold(0.0, f64::max),
        seconds: ranks.iter().map(|rank| rank.replayed_s).fold(0.0, f64::max),
        ranks,
        sites,
        calls: world.calls,
        forced: world.forced,
        unmatched: Unmatched { sends, receives, between: keys.into_iter().map(|(from, to, ..)| (from, to)).collect() },
    }
}
