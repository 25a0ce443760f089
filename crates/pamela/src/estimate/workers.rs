//! The workers on the nodes of a machine, the fastest first.

use sintonia_machine::Machine;

use super::EstimateError;

/// Workers on identical nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerGroup {
    /// The kind of the nodes.
    pub node_kind: String,
    /// The number of workers.
    pub workers: u64,
    /// The number of cores.
    pub cores: u64,
    /// The speed of each worker relative to the fastest.
    pub relative_speed: f64,
    /// The index of the node in the machine file.
    pub(crate) node: usize,
}

impl WorkerGroup {
    /// The slowdown from workers sharing cores.
    pub fn core_sharing(&self) -> f64 {
        (self.workers as f64 / self.cores as f64).max(1.0)
    }
}

/// All workers, the fastest first.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerGroups(pub Vec<WorkerGroup>);

/// Whether the workers have a core each on one node, whichever node is used first.
pub(crate) fn fits_one_node(machine: &Machine, workers: u64) -> bool {
    let nodes = machine.nodes.iter().fold(0, |sum: u64, node| sum.saturating_add(node.count));
    nodes == 1 || machine.nodes.iter().all(|node| workers <= node.cores)
}

impl WorkerGroups {
    pub(crate) fn single(machine: &Machine, node: usize) -> WorkerGroups {
        let node_kind = machine.nodes.get(node).map(|node| node.kind.clone()).unwrap_or_default();
        WorkerGroups(vec![WorkerGroup { node_kind, workers: 1, cores: 1, relative_speed: 1.0, node }])
    }

    /// Distributes workers, given the time of each kind of node for the same work. The slowest nodes are left out first; with more workers
    /// than cores, the cores share them proportionally.
    pub(crate) fn select(
        machine: &Machine,
        workers: u64,
        seconds: impl Fn(usize) -> Result<f64, EstimateError>,
    ) -> Result<WorkerGroups, EstimateError> {
        let mut kinds: Vec<(usize, f64)> = if machine.nodes.len() == 1 {
            vec![(0, 1.0)]
        } else {
            (0..machine.nodes.len()).map(|node| Ok((node, seconds(node)?))).collect::<Result<_, EstimateError>>()?
        };
        kinds.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let fastest = kinds[0].1;
        let cores = |node: usize| machine.nodes[node].count.saturating_mul(machine.nodes[node].cores).max(1);
        let all: u64 = kinds.iter().fold(0, |sum: u64, (node, _)| sum.saturating_add(cores(*node)));
        let (mut left, mut cores_left) = (workers, all);
        let crew = |(node, seconds): (usize, f64)| {
            let own = cores(node);
            let share = if workers <= all { own.min(left) } else { proportional_share(left, own, cores_left) };
            left -= share;
            cores_left = cores_left.saturating_sub(own);
            let factor = if seconds > 0.0 { fastest / seconds } else { 1.0 };
            WorkerGroup { node_kind: machine.nodes[node].kind.clone(), workers: share, cores: own, relative_speed: factor, node }
        };
        Ok(WorkerGroups(kinds.into_iter().map(crew).filter(|crew| crew.workers > 0).collect()))
    }

    /// The number of workers.
    pub fn workers(&self) -> u64 {
        self.0.iter().map(|crew| crew.workers).sum()
    }

    /// Whether some share a core.
    pub fn shares_cores(&self) -> bool {
        self.0.iter().any(|crew| crew.workers > crew.cores)
    }

    /// The same with as many cores as workers.
    pub(crate) fn without_core_sharing(&self) -> WorkerGroups {
        WorkerGroups(self.0.iter().map(|crew| WorkerGroup { cores: crew.cores.max(crew.workers), ..crew.clone() }).collect())
    }

    /// The range of worker numbers of each group, from 1.
    pub(crate) fn numbering(&self) -> impl Iterator<Item = (usize, [f64; 2])> {
        let mut before = 0.0;
        self.0.iter().enumerate().map(move |(place, crew)| {
            let first = before + 1.0;
            before += crew.workers as f64;
            (place, [first, before])
        })
    }
}

/// The proportional share of the remaining workers; the remainder goes to the fastest.
fn proportional_share(workers: u64, own: u64, cores: u64) -> u64 {
    let share = (u128::from(workers) * u128::from(own)).div_ceil(u128::from(cores.max(1)));
    u64::try_from(share).unwrap_or(workers).min(workers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "format = 1\n[machine]\nname = \"lab\"\n\
                        [[node]]\nkind = \"slow\"\ncount = 9\ncores = 1\n[[node]]\nkind = \"fast\"\ncount = 2\ncores = 4\n";

    fn machine() -> Machine {
        Machine::parse(TEXT, Path::new("lab")).unwrap()
    }

    fn crews(workers: u64) -> Vec<(String, u64, f64)> {
        let team = WorkerGroups::select(&machine(), workers, |node| Ok([3.0, 1.5][node])).unwrap();
        team.0.into_iter().map(|crew| (crew.node_kind.clone(), crew.workers, crew.core_sharing())).collect()
    }

    #[test]
    fn the_fastest_work_first() {
        assert_eq!(crews(8), [("fast".to_owned(), 8, 1.0)]);
        assert_eq!(crews(10), [("fast".to_owned(), 8, 1.0), ("slow".to_owned(), 2, 1.0)]);
    }

    #[test]
    fn more_workers_than_cores_share_them() {
        assert_eq!(crews(34), [("fast".to_owned(), 16, 2.0), ("slow".to_owned(), 18, 2.0)]);
        assert_eq!(crews(18), [("fast".to_owned(), 9, 9.0 / 8.0), ("slow".to_owned(), 9, 1.0)]);
    }

    #[test]
    fn machines_of_any_size_have_workers() {
        let many =
            |text: &str| text.replace("count = 9", "count = 9000000000000000000").replace("count = 2", "count = 9000000000000000000");
        let machine = Machine::parse(&many(TEXT), Path::new("lab")).unwrap();
        assert!(!fits_one_node(&machine, 2));
        let team = WorkerGroups::select(&machine, u64::MAX, |node| Ok([3.0, 1.5][node])).unwrap();
        assert_eq!(team.workers(), u64::MAX);
    }

    #[test]
    fn crews_have_numbers_that_follow_each_other() {
        let team = WorkerGroups::select(&machine(), 10, |node| Ok([3.0, 1.5][node])).unwrap();
        assert_eq!(team.numbering().collect::<Vec<_>>(), [(0, [1.0, 8.0]), (1, [9.0, 10.0])]);
        assert_eq!(team.0[1].relative_speed, 0.5);
    }

    #[test]
    fn workers_on_one_node_need_no_network() {
        assert!(!fits_one_node(&machine(), 2), "slow nodes have one core");
        assert!(fits_one_node(&machine(), 1));
    }
}
