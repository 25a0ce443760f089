//! What the members of collectives need again in a replay, beyond what MPI requires: the ranks that their algorithm makes them wait for.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_collective::DependencySets;
use sintonia_mpi::FunctionRole;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp, group_communicator};
use sintonia_recording::header::RecordedRank;
use sintonia_recording::{Error, Recording};

use super::collectives::InstanceKey;
use super::member_dependencies::{AlgorithmSets, CommRanks, depends_on_some};
use super::member_needs::MemberNeeds;
use super::{CallId, History};
use crate::process_group::{ProcessGroup, SingleProcess};

/// What the members of all collectives of a recording need beyond the semantics of MPI.
#[derive(Clone, Debug, Default)]
pub struct CollectiveDependencies(FxHashMap<CollectiveGroup, GroupDependencies>);

/// The collectives of one group.
#[derive(Clone, Debug, Default)]
struct GroupDependencies {
    size: u32,
    /// By number of the collective.
    sets: Vec<Option<Arc<DependencySets>>>,
    /// By number of the collective and communicator rank.
    needs: Vec<MemberNeeds>,
}

/// The needs of one member, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct NeedsRecord {
    key: InstanceKey,
    bytes: u64,
    comm_rank: u32,
    root: u32,
    op: u32,
    needs: MemberNeeds,
}

impl CollectiveDependencies {
    /// Finds the dependencies in a recording; `None` if no call can have any.
    pub fn read(recording: &Recording) -> Result<Option<CollectiveDependencies>, Error> {
        let has_any = |rank: &RecordedRank| Ok(recording.totals(rank.rank)?.iter().any(|(call, _)| depends_on_algorithm(call)));
        let found: Vec<bool> = recording.header.ranks.par_iter().map(has_any).collect::<Result<_, Error>>()?;
        if !found.contains(&true) {
            return Ok(None);
        }
        let history = History::read(recording, &SingleProcess, &|| ())?;
        Ok(Some(CollectiveDependencies::gather(recording, &history, &SingleProcess)))
    }

    /// Collects the dependencies that a history has found; every process gets those of all ranks.
    pub fn gather(recording: &Recording, history: &History, comm: &dyn ProcessGroup) -> CollectiveDependencies {
        let mine = own_needs(recording, history);
        let mut all = CollectiveDependencies::default();
        let mut sets = AlgorithmSets::new(recording);
        for record in comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten() {
            all.insert(recording, &mut sets, &record);
        }
        all
    }

    fn insert(&mut self, recording: &Recording, sets: &mut AlgorithmSets, record: &NeedsRecord) {
        let Some(group) = CollectiveGroup::from_words(record.key.group) else { return };
        let Some(GroupOp::Collective(op)) = GroupOp::from_word(record.op) else { return };
        let Some(size) = group_communicator(&recording.header, group).map(|number| recording.members(number).len()) else { return };
        let known = self.0.entry(group).or_default();
        known.size = size as u32;
        let number = record.key.number as usize;
        if record.comm_rank >= known.size {
            return;
        }
        if known.sets.len() <= number {
            known.sets.resize(number + 1, None);
            known.needs.resize((number + 1) * size, MemberNeeds::default());
        }
        known.needs[number * size + record.comm_rank as usize] = record.needs;
        if record.needs.is_by_algorithm() && known.sets[number].is_none() {
            known.sets[number] = sets.get(op, known.size, record.root, record.bytes);
        }
    }

    /// The communicator ranks that a member of a collective needs beyond the semantics of MPI; `None` if there are none.
    pub fn required(&self, group: CollectiveGroup, number: u64, comm_rank: u32) -> Option<Vec<u32>> {
        let known = self.0.get(&group).filter(|known| comm_rank < known.size)?;
        let number = usize::try_from(number).ok()?;
        let needs = *known.needs.get(number * known.size as usize + comm_rank as usize)?;
        if needs == MemberNeeds::default() {
            return None;
        }
        let sets = known.sets[number].as_ref().filter(|_| needs.is_by_algorithm());
        Some(sets.into_iter().flat_map(|sets| sets.required(comm_rank).iter()).chain(needs.other()).collect())
    }

    /// Whether members of a collective need any.
    pub fn has_instance(&self, group: CollectiveGroup, number: u64) -> bool {
        self.0.get(&group).is_some_and(|known| usize::try_from(number).is_ok_and(|number| number < known.sets.len()))
    }
}

/// Whether a call starts a collective in which members may wait for ranks for which MPI does not require it.
fn depends_on_algorithm(call: &CallDescriptor) -> bool {
    matches!(call.function.role(), FunctionRole::Collective(op) if depends_on_some(GroupOp::Collective(op)))
}

/// The needs of the ranks of this process.
fn own_needs(recording: &Recording, history: &History) -> Vec<NeedsRecord> {
    let mut comm_ranks = FxHashMap::default();
    let mut found = Vec::new();
    for location in &history.locations {
        for (index, needs) in &location.needs {
            let instance = &history.collectives[location.collectives[*index as usize].instance as usize];
            let ranks = comm_ranks.entry(instance.group).or_insert_with(|| CommRanks::new(recording, instance.group));
            found.push(NeedsRecord {
                key: InstanceKey::new(instance.group, instance.number),
                bytes: instance.bytes,
                comm_rank: ranks.get(location.rank),
                root: if instance.root.0 == CallId::NONE { 0 } else { ranks.get(instance.root.0.rank) },
                op: instance.op.to_word(),
                needs: *needs,
            });
        }
    }
    found
}
