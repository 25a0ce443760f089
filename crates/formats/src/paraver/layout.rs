//! Where ranks stand in a trace: tasks on processors on nodes, all numbered from 1.
//!
//! A recording does not know on which processor a rank ran, so, like Extrae, each rank gets one of its own, numbered node by node.

use sintonia_recording::header::Header;

/// The tasks and nodes of a trace.
pub struct Layout {
    /// The ranks, by number.
    pub tasks: Vec<Task>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// Where a rank stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its node, by place.
    pub node: usize,
    /// Its processor, from 1.
    pub cpu: u64,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// How many ranks it has.
    pub tasks: usize,
}

impl Layout {
    /// That of a recording. Ranks that left nothing are counted to the first node.
    pub fn of(header: &Header) -> Layout {
        let mut nodes: Vec<Node> = header.hosts.iter().map(|name| Node { name: name.clone(), tasks: 0 }).collect();
        if nodes.is_empty() {
            nodes.push(Node { name: "node".into(), tasks: 0 });
        }
        let mut tasks = vec![Task { node: 0, cpu: 0 }; header.rank_count().max(1) as usize];
        for rank in &header.ranks {
            if let Some(task) = tasks.get_mut(rank.rank as usize) {
                task.node = (rank.host as usize).min(nodes.len() - 1);
            }
        }
        tasks.iter().for_each(|task| nodes[task.node].tasks += 1);
        let mut next: Vec<u64> = nodes
            .iter()
            .scan(1, |next, node| {
                let first = *next;
                *next += node.tasks as u64;
                Some(first)
            })
            .collect();
        for task in &mut tasks {
            task.cpu = next[task.node];
            next[task.node] += 1;
        }
        Layout { tasks, nodes }
    }

    /// Whether a rank has a place.
    pub fn has(&self, rank: u32) -> bool {
        (rank as usize) < self.tasks.len()
    }

    /// A rank's processor, application, task and thread, as they stand in every record.
    pub fn object(&self, rank: u32, thread: u16) -> [u64; 4] {
        let cpu = self.tasks.get(rank as usize).map_or(0, |task| task.cpu);
        [cpu, 1, u64::from(rank) + 1, u64::from(thread) + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::Rank;

    #[test]
    fn processors_are_numbered_node_by_node() {
        let rank = |rank, host| Rank { rank, host, ..Rank::default() };
        let header = Header {
            size: 5,
            hosts: vec!["a".into(), "b".into()],
            ranks: vec![rank(0, 0), rank(1, 1), rank(2, 0), rank(3, 1)],
            ..Header::default()
        };
        let layout = Layout::of(&header);
        assert_eq!(layout.nodes, [Node { name: "a".into(), tasks: 3 }, Node { name: "b".into(), tasks: 2 }]);
        assert_eq!(layout.tasks.iter().map(|task| task.cpu).collect::<Vec<_>>(), [1, 4, 2, 5, 3]);
        assert_eq!(layout.object(1, 2), [4, 1, 2, 3]);
    }

    #[test]
    fn absurd_ranks_have_no_place() {
        let header = Header { ranks: vec![Rank { rank: u32::MAX, ..Rank::default() }], ..Header::default() };
        let layout = Layout::of(&header);
        assert!(layout.has(3) && !layout.has(u32::MAX));
    }

    #[test]
    fn a_recording_of_nothing_has_one_task() {
        let layout = Layout::of(&Header::default());
        assert_eq!((layout.tasks.len(), layout.nodes.len()), (1, 1));
    }
}
