//! Placement of ranks on the resources of a trace: CPUs and nodes, numbered from 1.
//!
//! A recording does not have the CPU of a rank, so, like Extrae, each rank gets one of its own, numbered node by node.

use sintonia_paraver::TraceObject;
use sintonia_recording::header::RecordingHeader;

/// The tasks and nodes of a trace.
pub(super) struct ResourceModel {
    /// By rank.
    pub tasks: Vec<TaskPlacement>,
    pub nodes: Vec<TraceNode>,
}

/// Placement of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskPlacement {
    /// Index of its node.
    pub node: usize,
    pub cpu: u64,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceNode {
    pub name: String,
    /// Number of its ranks.
    pub task_count: usize,
}

impl ResourceModel {
    /// From a recording. Ranks without data are placed on the first node.
    pub(super) fn from_header(header: &RecordingHeader) -> ResourceModel {
        let mut nodes: Vec<TraceNode> = header.hosts.iter().map(|name| TraceNode { name: name.clone(), task_count: 0 }).collect();
        if nodes.is_empty() {
            nodes.push(TraceNode { name: "node".into(), task_count: 0 });
        }
        let mut tasks = vec![TaskPlacement { node: 0, cpu: 0 }; header.rank_count().max(1) as usize];
        for rank in &header.ranks {
            if let Some(task) = tasks.get_mut(rank.rank as usize) {
                task.node = (rank.host as usize).min(nodes.len() - 1);
            }
        }
        tasks.iter().for_each(|task| nodes[task.node].task_count += 1);
        let mut next: Vec<u64> = nodes
            .iter()
            .scan(1, |next, node| {
                let first = *next;
                *next += node.task_count as u64;
                Some(first)
            })
            .collect();
        for task in &mut tasks {
            task.cpu = next[task.node];
            next[task.node] += 1;
        }
        ResourceModel { tasks, nodes }
    }

    pub(super) fn has_rank(&self, rank: u32) -> bool {
        (rank as usize) < self.tasks.len()
    }

    /// The thread of a rank, as in every record.
    pub(super) fn trace_object(&self, rank: u32, thread: u16) -> TraceObject {
        let cpu = self.tasks.get(rank as usize).map_or(0, |task| task.cpu);
        TraceObject { cpu, application: 1, task: u64::from(rank) + 1, thread: u64::from(thread) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::RecordedRank;

    #[test]
    fn processors_are_numbered_node_by_node() {
        let rank = |rank, host| RecordedRank { rank, host, ..RecordedRank::default() };
        let header = RecordingHeader {
            size: 5,
            hosts: vec!["a".into(), "b".into()],
            ranks: vec![rank(0, 0), rank(1, 1), rank(2, 0), rank(3, 1)],
            ..RecordingHeader::default()
        };
        let layout = ResourceModel::from_header(&header);
        assert_eq!(layout.nodes, [TraceNode { name: "a".into(), task_count: 3 }, TraceNode { name: "b".into(), task_count: 2 }]);
        assert_eq!(layout.tasks.iter().map(|task| task.cpu).collect::<Vec<_>>(), [1, 4, 2, 5, 3]);
        assert_eq!(layout.trace_object(1, 2), TraceObject { cpu: 4, application: 1, task: 2, thread: 3 });
    }

    #[test]
    fn ranks_out_of_range_are_not_placed() {
        let header =
            RecordingHeader { ranks: vec![RecordedRank { rank: u32::MAX, ..RecordedRank::default() }], ..RecordingHeader::default() };
        let layout = ResourceModel::from_header(&header);
        assert!(layout.has_rank(3) && !layout.has_rank(u32::MAX));
    }

    #[test]
    fn a_recording_of_nothing_has_one_task() {
        let layout = ResourceModel::from_header(&RecordingHeader::default());
        assert_eq!((layout.tasks.len(), layout.nodes.len()), (1, 1));
    }
}
