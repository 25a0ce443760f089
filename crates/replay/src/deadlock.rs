//! The report of a replay that cannot continue.

use std::fmt;

use sintonia_text::rank_list::format_ranks;

/// A blocked rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedRank {
    /// The rank.
    pub rank: u32,
    /// The MPI function it is in.
    pub function: &'static str,
    /// Call site as text.
    pub site_name: String,
    /// Ranks it waits for.
    pub waits_for: Vec<u32>,
}

/// No location can advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The blocked ranks.
    pub blocked: Vec<BlockedRank>,
    /// A cycle of waiting ranks, in order; empty if there is none.
    pub cycle: Vec<u32>,
    /// Number of ranks that have ended.
    pub ended: usize,
}

/// Maximum number of ranks in a message.
const MAX_LISTED: usize = 6;

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let shown: Vec<&BlockedRank> = match self.cycle.is_empty() {
            true => self.blocked.iter().take(MAX_LISTED).collect(),
            false => {
                self.cycle.iter().take(MAX_LISTED).filter_map(|rank| self.blocked.iter().find(|blocked| blocked.rank == *rank)).collect()
            }
        };
        match self.cycle.len() {
            0 => write!(
                f,
                "the replay is blocked: {} ranks wait for something that never happens, {} have ended",
                self.blocked.len(),
                self.ended
            )?,
            count => write!(f, "deadlock: on this machine {count} ranks wait for each other")?,
        }
        for blocked in shown {
            write!(f, "\n  rank {} in {} at {}", blocked.rank, blocked.function, blocked.site_name)?;
            match &blocked.waits_for[..] {
                [] => write!(f, " waits")?,
                ranks => write!(f, " waits for {}", format_ranks(ranks))?,
            }
        }
        Ok(())
    }
}
