//! What each rank had of its host: limits, and per thread its affinity, processor time, context switches and page faults.

use serde::Serialize;
use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::host::{ProcessLimits, ThreadUsage};

/// What one rank had of its host, and what its threads used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankUsage {
    /// The rank.
    pub rank: u32,
    /// Limits that a control group set for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ProcessLimits>,
    /// Its threads.
    pub threads: Vec<ThreadUsage>,
}

impl RankUsage {
    /// The resources of all ranks of which they are known.
    pub(crate) fn from_header(header: &RecordingHeader) -> Vec<RankUsage> {
        let known = |rank: &&RecordedRank| !rank.usage.is_empty() || rank.limits.is_some();
        let resources = |rank: &RecordedRank| RankUsage { rank: rank.rank, limits: rank.limits.clone(), threads: rank.usage.clone() };
        header.ranks.iter().filter(known).map(resources).collect()
    }

    /// Where its threads may run: threads with the same affinity once, in the order of their first thread.
    pub fn bindings(&self) -> Vec<ThreadBinding> {
        let mut bindings: Vec<ThreadBinding> = Vec::new();
        for thread in self.threads.iter().filter(|thread| !thread.affinity.is_empty()) {
            let same = |known: &&mut ThreadBinding| known.affinity == thread.affinity && known.affinity_at_end == thread.affinity_at_end;
            match bindings.iter_mut().find(same) {
                Some(binding) => binding.threads.push(thread.thread),
                None => bindings.push(ThreadBinding {
                    threads: vec![thread.thread],
                    affinity: thread.affinity.clone(),
                    affinity_at_end: thread.affinity_at_end.clone(),
                }),
            }
        }
        bindings
    }
}

/// Threads of one rank that may run on the same processors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadBinding {
    /// Their numbers in the process.
    pub threads: Vec<u16>,
    /// The processors, as ranges.
    pub affinity: String,
    /// The processors at the end, if the threads were bound to others.
    pub affinity_at_end: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_with_the_same_affinity_are_one_binding() {
        let thread = |thread, affinity: &str, at_end: Option<&str>| ThreadUsage {
            thread,
            affinity: affinity.into(),
            affinity_at_end: at_end.map(String::from),
            ..ThreadUsage::default()
        };
        let threads =
            vec![thread(0, "0-1", None), thread(1, "0", None), thread(2, "0-1", None), thread(3, "0-1", Some("1")), thread(4, "", None)];
        let bindings = RankUsage { rank: 0, limits: None, threads }.bindings();
        let found: Vec<(&[u16], &str, Option<&str>)> =
            bindings.iter().map(|one| (&one.threads[..], &*one.affinity, one.affinity_at_end.as_deref())).collect();
        assert_eq!(found, [(&[0, 2][..], "0-1", None), (&[1], "0", None), (&[3], "0-1", Some("1"))]);
    }
}
