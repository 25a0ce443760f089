//! Tags of GOAL: 32 bits that stand for communicator and tag, since GOAL has no communicators.
//!
//! Bits 0 to 22 hold the tag and bits 23 to 30 the communicator, as in the schedules of LogGOPSim's own tools, so tags in the world stay
//! what they are. The highest bit marks messages of collectives; their tag is a running number, so that no two meet.

use sintonia_recording::deed::{Group, Meeting};

const TAG_BITS: u32 = 23;
const TAGS: u32 = 1 << TAG_BITS;
const COMMUNICATORS: u32 = 1 << 8;
const COLLECTIVE: u32 = 1 << 31;
/// From the first number of a window, file or persistent operation to that of the next.
const FAR: u64 = 1 << 13;

/// Whether a communicator and tag have a number of their own.
pub fn fits(communicator: u32, tag: i32) -> bool {
    communicator < COMMUNICATORS && (0..TAGS as i32).contains(&tag)
}

/// The tag of a message.
pub fn of_message(communicator: u32, tag: i32) -> u32 {
    ((communicator % COMMUNICATORS) << TAG_BITS) | (tag as u32 % TAGS)
}

/// The tag of the messages of a meeting on a communicator, or on one of its windows, files and persistent operations.
pub fn of_meeting(communicator: u32, meeting: Meeting) -> u32 {
    // The largest tag of all means any tag, so the last number is never used.
    let half = u64::from(TAGS / 2 - 1);
    let number = match meeting.group {
        Group::Communicator(_) | Group::World(_) => meeting.number % half,
        // Each counts for itself; from the middle on they begin far from each other.
        Group::Object(which) | Group::Persistent(_, which) => half + meeting.number.wrapping_add(FAR * u64::from(which)) % half,
    };
    COLLECTIVE | ((communicator % COMMUNICATORS) << TAG_BITS) | number as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tags_in_the_world_stay_what_they_are() {
        assert_eq!(of_message(0, 42), 42);
        assert_eq!(of_message(3, 42), (3 << 23) | 42);
        assert!(fits(255, (1 << 23) - 1) && !fits(256, 0) && !fits(0, 1 << 23));
    }

    #[test]
    fn collectives_share_no_tag_with_messages_nor_with_each_other() {
        let meeting = |group, number| of_meeting(0, Meeting { group, number });
        let first = meeting(Group::Communicator(0), 1);
        let others = [
            of_message(0, 1),
            meeting(Group::Communicator(0), 2),
            meeting(Group::Object(0), 1),
            meeting(Group::Object(1), 1),
            meeting(Group::Persistent(0, 2), 1),
            meeting(Group::Persistent(0, 3), 1),
        ];
        assert_eq!(others.iter().chain([&first]).collect::<HashSet<_>>().len(), 7, "{first} {others:?}");
        let highest = (0..1 << 23).map(|number| of_meeting(255, Meeting { group: Group::Object(u32::MAX), number })).max();
        assert!(highest < Some(u32::MAX), "the largest tag means any tag");
    }
}
