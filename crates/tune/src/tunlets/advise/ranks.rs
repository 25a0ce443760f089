//! Locates time among the ranks: groups are compared, and those with most of the time divided further.

use sintonia_mpi::FunctionId;
use sintonia_text::rank_list::format_ranks;

use super::call_totals::PointRegistry;
use crate::tuning_points::{Actor, MeasurePoint};
use crate::tunlet::TuningAction;

/// Most groups compared at once.
const MAX_GROUPS: u32 = 32;
/// A group is suspect if the time per rank exceeds this share of the maximum.
const SUSPECT_SHARE: f64 = 0.5;

/// First rank, and the rank after the last.
type RankRange = (u32, u32);

/// The search among ranks.
#[derive(Debug)]
pub(super) struct RankSearch {
    operation: FunctionId,
    all: u32,
    suspects: Vec<RankRange>,
    /// The compared groups, with the numbers of their measure points.
    compared: Vec<(RankRange, usize)>,
    since: f64,
}

impl RankSearch {
    /// Searches all ranks, for one MPI function.
    pub(super) fn new(operation: FunctionId, all: u32) -> RankSearch {
        RankSearch { operation, all, suspects: vec![(0, all)], compared: Vec::new(), since: 0.0 }
    }

    /// Divides the suspects, and adds measure points for the parts.
    pub(super) fn begin(&mut self, registry: &mut PointRegistry, period: f64, time: f64) -> Vec<TuningAction> {
        let suspected: u32 = self.suspects.iter().map(|(first, end)| end - first).sum();
        let length = suspected.div_ceil(MAX_GROUPS).max(1);
        let parts = self
            .suspects
            .iter()
            .flat_map(|(first, end)| (*first..*end).step_by(length as usize).map(move |from| (from, (from + length).min(*end))));
        self.compared = parts.map(|group| (group, registry.add())).collect();
        self.since = time;
        let look = |((first, end), number): &(RankRange, usize)| TuningAction::AddPoint {
            number: *number,
            point: MeasurePoint::mpi_exit(Actor::Ranks((*first..*end).collect()), self.operation.name(), &["seconds"], period),
        };
        self.compared.iter().map(look).collect()
    }

    /// Continues with the groups with most of the time.
    pub(super) fn advance(&mut self, registry: &mut PointRegistry, period: f64, patience: f64, time: f64) -> Vec<TuningAction> {
        if self.is_done() || time - self.since < patience {
            return Vec::new();
        }
        let each = |((first, end), number): &(RankRange, usize)| registry.totals(*number).seconds / f64::from(end - first);
        let most = self.compared.iter().map(each).fold(0.0, f64::max);
        let suspects: Vec<RankRange> =
            self.compared.iter().filter(|one| each(one) >= SUSPECT_SHARE * most).map(|(group, _)| *group).collect();
        let everyone = suspects.len() == self.compared.len();
        let mut actions = self.remove_points(registry);
        self.suspects = merge_adjacent(&suspects);
        if !everyone && suspects.iter().any(|(first, end)| end - first > 1) {
            actions.extend(self.begin(registry, period, time));
        }
        actions
    }

    fn remove_points(&mut self, registry: &mut PointRegistry) -> Vec<TuningAction> {
        let away = |(_, number): (RankRange, usize)| {
            registry.remove(number);
            TuningAction::RemovePoint(number)
        };
        std::mem::take(&mut self.compared).into_iter().map(away).collect()
    }

    /// Cancels the search.
    pub(super) fn end(mut self, registry: &mut PointRegistry) -> Vec<TuningAction> {
        self.remove_points(registry)
    }

    /// Whether the search is finished.
    pub(super) fn is_done(&self) -> bool {
        self.compared.is_empty()
    }

    /// The ranks found.
    pub(super) fn describe(&self) -> String {
        match &self.suspects[..] {
            [(0, end)] if *end == self.all => "on all ranks alike".into(),
            groups => format!("on {}", format_ranks(&groups.iter().flat_map(|(first, end)| *first..*end).collect::<Vec<u32>>())),
        }
    }
}

/// Merges adjacent groups.
fn merge_adjacent(groups: &[RankRange]) -> Vec<RankRange> {
    let mut joined: Vec<RankRange> = Vec::new();
    for (first, end) in groups {
        match joined.last_mut() {
            Some(last) if last.1 == *first => last.1 = *end,
            _ => joined.push((*first, *end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunlets::advise::call_totals::CallTimeTotals;

    /// The result if ranks spend these times.
    fn found(times: &[f64]) -> String {
        let mut registry = PointRegistry::new(0);
        let operation = FunctionId::from_name("MPI_Recv").expect("known");
        let mut search = RankSearch::new(operation, times.len() as u32);
        let mut actions = search.begin(&mut registry, 1.0, 0.0);
        let mut time = 0.0;
        while !search.is_done() {
            for action in actions {
                let TuningAction::AddPoint { number, point: MeasurePoint { actor: Actor::Ranks(ranks), .. } } = action else { continue };
                let seconds = ranks.iter().map(|rank| times[*rank as usize]).sum();
                registry.record(number, CallTimeTotals { count: 1, seconds, second_value: 0.0 });
            }
            time += 1.0;
            actions = search.advance(&mut registry, 1.0, 1.0, time);
        }
        search.describe()
    }

    #[test]
    fn the_ranks_that_spend_most_are_found_among_few_and_many() {
        assert_eq!(found(&[0.0, 1.0, 1.0, 0.9]), "on ranks 1-3");
        assert_eq!(found(&[1.0; 300]), "on all ranks alike");
        let mut many = vec![0.0; 1000];
        many[517] = 1.0;
        assert_eq!(found(&many), "on rank 517");
        many[4] = 0.9;
        many[5] = 0.9;
        assert_eq!(found(&many), "on ranks 4-5, 517");
    }
}
