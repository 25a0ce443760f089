//! Where among the ranks: groups of those that are suspected are compared, and those with most of it divided further.

use sintonia_mpi::Operation;

use super::tally::Looks;
use crate::point::{Actor, MeasurePoint};
use crate::tunlet::Wish;

/// Groups that are compared at once.
const GROUPS: u32 = 32;
/// A group is suspected if its ranks have more than this share of what those of the group with most have.
const SUSPECTED: f64 = 0.5;

/// Ranks: the first, and the one behind the last.
type Group = (u32, u32);

/// The search among ranks.
#[derive(Debug)]
pub struct RankSearch {
    operation: Operation,
    all: u32,
    suspects: Vec<Group>,
    /// The groups that are compared, with the numbers of their looks.
    compared: Vec<(Group, usize)>,
    since: f64,
}

impl RankSearch {
    /// Among all ranks, for a function of MPI.
    pub fn new(operation: Operation, all: u32) -> RankSearch {
        RankSearch { operation, all, suspects: vec![(0, all)], compared: Vec::new(), since: 0.0 }
    }

    /// Divides the suspects, and begins to look at the parts.
    pub fn begin(&mut self, looks: &mut Looks, period: f64, time: f64) -> Vec<Wish> {
        let suspected: u32 = self.suspects.iter().map(|(first, end)| end - first).sum();
        let length = suspected.div_ceil(GROUPS).max(1);
        let parts = self
            .suspects
            .iter()
            .flat_map(|(first, end)| (*first..*end).step_by(length as usize).map(move |from| (from, (from + length).min(*end))));
        self.compared = parts.map(|group| (group, looks.begin())).collect();
        self.since = time;
        let look = |((first, end), number): &(Group, usize)| Wish::Look {
            number: *number,
            point: MeasurePoint::of_mpi(Actor::Ranks((*first..*end).collect()), self.operation.name(), &["seconds"], period),
        };
        self.compared.iter().map(look).collect()
    }

    /// Goes on with the groups that have most of it.
    pub fn go_on(&mut self, looks: &mut Looks, period: f64, patience: f64, time: f64) -> Vec<Wish> {
        if self.is_done() || time - self.since < patience {
            return Vec::new();
        }
        let each = |((first, end), number): &(Group, usize)| looks.tally(*number).seconds / f64::from(end - first);
        let most = self.compared.iter().map(each).fold(0.0, f64::max);
        let suspects: Vec<Group> = self.compared.iter().filter(|one| each(one) >= SUSPECTED * most).map(|(group, _)| *group).collect();
        let everyone = suspects.len() == self.compared.len();
        let mut wishes = self.look_away(looks);
        self.suspects = joined(&suspects);
        if !everyone && suspects.iter().any(|(first, end)| end - first > 1) {
            wishes.extend(self.begin(looks, period, time));
        }
        wishes
    }

    fn look_away(&mut self, looks: &mut Looks) -> Vec<Wish> {
        let away = |(_, number): (Group, usize)| {
            looks.end(number);
            Wish::LookAway(number)
        };
        std::mem::take(&mut self.compared).into_iter().map(away).collect()
    }

    /// Gives up.
    pub fn end(mut self, looks: &mut Looks) -> Vec<Wish> {
        self.look_away(looks)
    }

    /// Whether nothing is compared any more.
    pub fn is_done(&self) -> bool {
        self.compared.is_empty()
    }

    /// Where.
    pub fn words(&self) -> String {
        let group = |(first, end): &Group| match end - first {
            1 => format!("{first}"),
            _ => format!("{first}-{}", end - 1),
        };
        match &self.suspects[..] {
            [(0, end)] if *end == self.all => "on all ranks alike".into(),
            [(first, end)] if end - first == 1 => format!("on rank {first}"),
            groups => format!("on ranks {}", groups.iter().map(group).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Groups, those that touch each other as one.
fn joined(groups: &[Group]) -> Vec<Group> {
    let mut joined: Vec<Group> = Vec::new();
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
    use crate::tunlets::advise::tally::Tally;

    /// What is found if ranks spend these times.
    fn found(times: &[f64]) -> String {
        let mut looks = Looks::new(0);
        let operation = Operation::named("MPI_Recv").expect("known");
        let mut search = RankSearch::new(operation, times.len() as u32);
        let mut wishes = search.begin(&mut looks, 1.0, 0.0);
        let mut time = 0.0;
        while !search.is_done() {
            for wish in wishes {
                let Wish::Look { number, point: MeasurePoint { actor: Actor::Ranks(ranks), .. } } = wish else { continue };
                let seconds = ranks.iter().map(|rank| times[*rank as usize]).sum();
                looks.note(number, Tally { count: 1, seconds, second: 0.0 });
            }
            time += 1.0;
            wishes = search.go_on(&mut looks, 1.0, 1.0, time);
        }
        search.words()
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
