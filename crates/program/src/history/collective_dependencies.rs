//! What the members of collectives need again in a replay, beyond what MPI requires: the ranks that their algorithm makes them wait for.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_collective::{DependencySets, RankSet};
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

/// What the members of all collectives of a recording need beyond the semantics of MPI, by group and number of the collective.
#[derive(Clone, Debug, Default)]
pub struct CollectiveDependencies(FxHashMap<(CollectiveGroup, u64), InstanceDependencies>);

/// A collective in which members need more than MPI requires.
#[derive(Clone, Debug)]
struct InstanceDependencies {
    /// The dependencies under its algorithm, if a member needs them.
    sets: Option<DependencySets>,
    /// By communicator rank.
    needs: Box<[MemberNeeds]>,
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
        let none = || InstanceDependencies { sets: None, needs: vec![MemberNeeds::default(); size].into() };
        let instance = self.0.entry((group, record.key.number)).or_insert_with(none);
        let Some(needs) = instance.needs.get_mut(record.comm_rank as usize) else { return };
        *needs = record.needs;
        if record.needs.is_by_algorithm() && instance.sets.is_none() {
            instance.sets = sets.get(op, size as u32, record.root, record.bytes);
        }
    }

    /// The communicator ranks that a member of a collective needs beyond the semantics of MPI; `None` if there are none.
    pub fn required(&self, group: CollectiveGroup, number: u64, comm_rank: u32) -> Option<RankSet> {
        let instance = self.0.get(&(group, number))?;
        let needs = *instance.needs.get(comm_rank as usize).filter(|needs| **needs != MemberNeeds::default())?;
        let sets = instance.sets.as_ref().filter(|_| needs.is_by_algorithm());
        let mut required = sets.map_or_else(RankSet::default, |sets| sets.required(comm_rank).into_owned());
        required.insert_all(&needs.other().into_iter().collect());
        Some(required)
    }

    /// Whether members of a collective need any.
    pub fn has_instance(&self, group: CollectiveGroup, number: u64) -> bool {
        self.0.contains_key(&(group, number))
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
