//! Tags of GOAL: 32 bits that stand for communicator and tag, since GOAL has no communicators.
//!
//! Bits 0 to 22 hold the tag and bits 23 to 30 the communicator, as in the schedules of LogGOPSim's own tools, so tags in the world stay
//! what they are. The highest bit marks messages of collectives; their tag is a running number, so that no two meet.

const TAG_BITS: u32 = 23;
const TAGS: u32 = 1 << TAG_BITS;
const COMMUNICATORS: u32 = 1 << 8;
const COLLECTIVE: u32 = 1 << 31;

/// Whether a communicator and tag have a number of their own.
pub fn fits(communicator: u32, tag: i32) -> bool {
    communicator < COMMUNICATORS && (0..TAGS as i32).contains(&tag)
}

/// The tag of a message.
pub fn of_message(communicator: u32, tag: i32) -> u32 {
    ((communicator % COMMUNICATORS) << TAG_BITS) | (tag as u32 % TAGS)
}

/// The tag of the messages of a collective operation: the n-th on a communicator, or on one of its windows and files.
pub fn of_meeting(communicator: u32, number: u64, of_object: bool) -> u32 {
    // The largest tag of all means any tag, so the last number is never used; windows and files count on from the middle.
    let half = u64::from(TAGS / 2 - 1);
    let number = number % half + if of_object { half } else { 0 };
    COLLECTIVE | ((communicator % COMMUNICATORS) << TAG_BITS) | number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_in_the_world_stay_what_they_are() {
        assert_eq!(of_message(0, 42), 42);
        assert_eq!(of_message(3, 42), (3 << 23) | 42);
        assert!(fits(255, (1 << 23) - 1) && !fits(256, 0) && !fits(0, 1 << 23));
    }

    #[test]
    fn collectives_share_no_tag_with_messages_nor_with_each_other() {
        assert_ne!(of_meeting(0, 1, false), of_message(0, 1));
        assert_ne!(of_meeting(0, 1, false), of_meeting(0, 2, false));
        assert_ne!(of_meeting(0, 1, false), of_meeting(0, 1, true));
        let highest = (0..3).map(|n| of_meeting(255, (1 << 22) - 2 + n, true)).max();
        assert!(highest < Some(u32::MAX), "the largest tag means any tag");
    }
}
