//! Translates world ranks to communicator ranks, which OTF2 events use.

use std::sync::Arc;

use sintonia_otf2::buffer::UNDEFINED_UINT32;
use sintonia_recording::Recording;
use sintonia_recording::raw;

use crate::otf2::id_translation::{CommMapping, IdTranslation, ObjectMapping};

/// The communicators, windows and files of a recording.
pub(super) struct CommRankMap {
    /// The reader's translation.
    pub ids: IdTranslation,
    communicators: Vec<[SortedMembers; 2]>,
    /// The OTF2 id and communicator of each window or file.
    objects: Vec<(u32, u32)>,
    /// Number of groups used in window synchronisation.
    groups: u32,
}

/// The OTF2 id of such a group: group 0 lists the locations.
pub(super) fn group_id(number: u32) -> u32 {
    1 + number
}

/// World rank and group rank of a group's members, sorted by world rank.
type SortedMembers = Vec<(i32, u32)>;

impl CommRankMap {
    pub(super) fn new(recording: &Recording) -> CommRankMap {
        let mut map = CommRankMap { ids: IdTranslation::default(), communicators: Vec::new(), objects: Vec::new(), groups: 0 };
        for (number, defined) in (0..).zip(&recording.header.communicators) {
            let (members, remote) = (recording.members(number), recording.remote(number));
            map.communicators.push([sorted_members(members), sorted_members(remote)]);
            let communicator = match defined.remote {
                None => CommMapping::Intra(number, Arc::from(members)),
                Some(_) => CommMapping::Inter(number, Arc::from(members), Arc::from(remote)),
            };
            map.ids.communicators.insert(number, communicator);
        }
        map.groups = recording.header.groups.len() as u32;
        (0..map.groups).for_each(|number| map.ids.groups.insert(group_id(number), number));
        let (mut windows, mut files) = (0, 0);
        for (number, object) in (0..).zip(&recording.header.objects) {
            let communicator = object.communicator.unwrap_or(UNDEFINED_UINT32);
            let (defined, next) =
                if object.kind == "window" { (&mut map.ids.windows, &mut windows) } else { (&mut map.ids.files, &mut files) };
            defined.insert(*next, ObjectMapping { number, communicator });
            map.objects.push((*next, communicator));
            *next += 1;
        }
        map
    }

    /// The communicator rank of a peer, as seen by a process; `None` if it is no member.
    pub(super) fn peer(&self, communicator: u32, peer: i32, own_rank: i32) -> Option<u32> {
        let [here, there] = self.communicators.get(communicator as usize)?;
        let group = if there.is_empty() || find_member(here, own_rank).is_none() { here } else { there };
        find_member(group, peer)
    }

    /// The OTF2 id of a communicator.
    pub(super) fn communicator(&self, number: u32) -> Option<u32> {
        ((number as usize) < self.communicators.len()).then_some(number)
    }

    /// The OTF2 id of a window or file.
    pub(super) fn object(&self, number: u32) -> Option<u32> {
        self.objects.get(number as usize).map(|(definition, _)| *definition)
    }

    /// The OTF2 id of a group used in window synchronisation.
    pub(super) fn group(&self, number: i32) -> Option<u32> {
        let number = u32::try_from(number).ok().filter(|number| *number < self.groups)?;
        Some(group_id(number))
    }

    /// The OTF2 id of a window, and the communicator rank of a target.
    pub(super) fn target(&self, window: u32, peer: i32, own_rank: i32) -> Option<(u32, u32)> {
        let (definition, communicator) = *self.objects.get(window as usize)?;
        Some((definition, self.peer(communicator, peer, own_rank)?))
    }
}

fn sorted_members(members: &[i32]) -> SortedMembers {
    let mut group: SortedMembers = members.iter().copied().zip(0..).filter(|(member, _)| *member != raw::EXTERNAL).collect();
    group.sort_unstable();
    group
}

fn find_member(group: &SortedMembers, member: i32) -> Option<u32> {
    group.binary_search_by_key(&member, |(member, _)| *member).ok().map(|index| group[index].1)
}
