//! GOAL tags: 32 bits that encode communicator and tag, since GOAL has no communicators.
//!
//! Bits 0 to 22 hold the tag and bits 23 to 30 the communicator, as in the schedules of LogGOPSim's own tools, so tags on MPI_COMM_WORLD
//! are unchanged. The highest bit marks messages of collectives, whose tag is a sequence number.

use sintonia_recording::comm_event::{CollectiveGroup, CollectiveId};

const TAG_BITS: u32 = 23;
const TAGS: u32 = 1 << TAG_BITS;
const COMMUNICATORS: u32 = 1 << 8;
const COLLECTIVE: u32 = 1 << 31;
/// Distance between the first sequence numbers of consecutive windows, files or persistent operations.
const OBJECT_STRIDE: u64 = 1 << 13;

/// Whether communicator and tag are encoded without loss.
pub(crate) fn is_representable(communicator: u32, tag: i32) -> bool {
    communicator < COMMUNICATORS && (0..TAGS as i32).contains(&tag)
}

pub(crate) fn message_tag(communicator: u32, tag: i32) -> u32 {
    ((communicator % COMMUNICATORS) << TAG_BITS) | (tag as u32 % TAGS)
}

/// The tag of a collective's messages, on a communicator or on one of its windows, files and persistent operations.
pub(crate) fn collective_tag(communicator: u32, instance: CollectiveId) -> u32 {
    // The largest tag means any tag, so the last number is never used.
    let half = u64::from(TAGS / 2 - 1);
    let number = match instance.group {
        CollectiveGroup::Communicator(_) | CollectiveGroup::World(_) => instance.number % half,
        // Each object has its own counter; the upper half of the range is divided among them.
        CollectiveGroup::Object(which) | CollectiveGroup::Persistent(_, which) => {
            half + instance.number.wrapping_add(OBJECT_STRIDE * u64::from(which)) % half
        }
    };
    COLLECTIVE | ((communicator % COMMUNICATORS) << TAG_BITS) | number as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tags_in_the_world_stay_what_they_are() {
        assert_eq!(message_tag(0, 42), 42);
        assert_eq!(message_tag(3, 42), (3 << 23) | 42);
        assert!(is_representable(255, (1 << 23) - 1) && !is_representable(256, 0) && !is_representable(0, 1 << 23));
    }

    #[test]
    fn collectives_share_no_tag_with_messages_nor_with_each_other() {
        let instance = |group, number| collective_tag(0, CollectiveId { group, number });
        let first = instance(CollectiveGroup::Communicator(0), 1);
        let others = [
            message_tag(0, 1),
            instance(CollectiveGroup::Communicator(0), 2),
            instance(CollectiveGroup::Object(0), 1),
            instance(CollectiveGroup::Object(1), 1),
            instance(CollectiveGroup::Persistent(0, 2), 1),
            instance(CollectiveGroup::Persistent(0, 3), 1),
        ];
        assert_eq!(others.iter().chain([&first]).collect::<HashSet<_>>().len(), 7, "{first} {others:?}");
        let highest =
            (0..1 << 23).map(|number| collective_tag(255, CollectiveId { group: CollectiveGroup::Object(u32::MAX), number })).max();
        assert!(highest < Some(u32::MAX), "the largest tag means any tag");
    }
}
