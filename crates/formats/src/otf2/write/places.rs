//! From the ranks of a recording to the ranks within communicators, which OTF2's events use.

use std::sync::Arc;

use sintonia_recording::Recording;
use sintonia_recording::raw;

use crate::otf2::bytes::UNDEFINED;
use crate::otf2::terms::{Communicator, Object, Terms};

/// The communicators, windows and files of a recording, by their numbers.
pub struct Places {
    /// The same, for whoever reads the archive.
    pub terms: Terms,
    communicators: Vec<[Group; 2]>,
    /// What each window or file is called in the archive, and its communicator.
    objects: Vec<(u32, u32)>,
    /// How many groups that windows are synchronised with there are.
    groups: u32,
}

/// What a group that windows are synchronised with is called in the archive: the first group lists the locations.
pub fn group_of_window(number: u32) -> u32 {
    1 + number
}

/// The members of a group: rank in the recording and rank in the group, in the order of the former.
type Group = Vec<(i32, u32)>;

impl Places {
    /// Looks at all of them.
    pub fn new(recording: &Recording) -> Places {
        let mut places = Places { terms: Terms::default(), communicators: Vec::new(), objects: Vec::new(), groups: 0 };
        for (number, defined) in (0..).zip(&recording.header.communicators) {
            let (members, remote) = (recording.members(number), recording.remote(number));
            places.communicators.push([in_order(members), in_order(remote)]);
            let communicator = match defined.remote {
                None => Communicator::Within(number, Arc::from(members)),
                Some(_) => Communicator::Between(number, Arc::from(members), Arc::from(remote)),
            };
            places.terms.communicators.insert(number, communicator);
        }
        places.groups = recording.header.groups.len() as u32;
        (0..places.groups).for_each(|number| places.terms.groups.insert(group_of_window(number), number));
        let (mut windows, mut files) = (0, 0);
        for (number, object) in (0..).zip(&recording.header.objects) {
            let communicator = object.communicator.unwrap_or(UNDEFINED);
            let (defined, next) =
                if object.kind == "window" { (&mut places.terms.windows, &mut windows) } else { (&mut places.terms.files, &mut files) };
            defined.insert(*next, Object { number, communicator });
            places.objects.push((*next, communicator));
            *next += 1;
        }
        places
    }

    /// The rank of a peer within a communicator, as a process sees it; `None` if it has none there.
    pub fn peer(&self, communicator: u32, peer: i32, me: i32) -> Option<u32> {
        let [here, there] = self.communicators.get(communicator as usize)?;
        let group = if there.is_empty() || find(here, me).is_none() { here } else { there };
        find(group, peer)
    }

    /// What a communicator is called in the archive.
    pub fn communicator(&self, number: u32) -> Option<u32> {
        ((number as usize) < self.communicators.len()).then_some(number)
    }

    /// What a window or file is called in the archive.
    pub fn object(&self, number: u32) -> Option<u32> {
        self.objects.get(number as usize).map(|(definition, _)| *definition)
    }

    /// What a group that windows are synchronised with is called in the archive.
    pub fn group(&self, number: i32) -> Option<u32> {
        let number = u32::try_from(number).ok().filter(|number| *number < self.groups)?;
        Some(group_of_window(number))
    }

    /// What a window is called, and the rank of a target in it.
    pub fn target(&self, window: u32, peer: i32, me: i32) -> Option<(u32, u32)> {
        let (definition, communicator) = *self.objects.get(window as usize)?;
        Some((definition, self.peer(communicator, peer, me)?))
    }
}

fn in_order(members: &[i32]) -> Group {
    let mut group: Group = members.iter().copied().zip(0..).filter(|(member, _)| *member != raw::OUTSIDE).collect();
    group.sort_unstable();
    group
}

fn find(group: &Group, member: i32) -> Option<u32> {
    group.binary_search_by_key(&member, |(member, _)| *member).ok().map(|place| group[place].1)
}
