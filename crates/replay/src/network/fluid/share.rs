//! Who gets how much of the links, after some streams have come and gone: only those whose rate may change are looked at.
//!
//! Rates are max-min fair exactly when every stream has a hindrance: it flows as fast as it can by itself, or it goes over a link that is full
//! and on which nobody has more. So the rates of a few *members* are found with everybody else's held as they are, and then it is looked whether
//! each still has its hindrance. Who has lost it, or takes more than a member on the link that hinders that one, becomes a member too, and the
//! rates are found again. When nobody comes in any more, all rates are right, not only nearly.

use super::{Hindrance, Link, LinkId, Stream};
use crate::network::events::Events;
use crate::network::slots::Slots;

/// Rates that differ by less than this share of them are the same.
pub const CLOSE: f64 = 1e-9;

/// After looking so often, everybody whom the members could touch comes in at once.
const PATIENCE: u32 = 8;

/// So many links are looked through one by one.
const FEW: usize = 48;

/// What is known while rates are found; between times only its memory is kept.
#[derive(Debug, Default)]
pub struct Share {
    /// The number of this round: what was seen in it has that number.
    round: u64,
    /// Streams that have begun.
    came: Vec<u32>,
    /// Tight links on which somebody has left.
    relieved: Vec<LinkId>,
    members: Vec<u32>,
    /// Tight links that members go over.
    shared: Vec<Shared>,
    /// For one member after another, the places in `shared` of its tight links.
    ways: Vec<u32>,
    /// What is about to become a member.
    incoming: Vec<u32>,
    /// Shared links by what each member on them could have at least.
    fullest: Events,
    by_most: Vec<(f64, u32)>,
}

/// A tight link that members go over.
#[derive(Clone, Copy, Debug)]
struct Shared {
    link: LinkId,
    /// What those who are no members leave of it.
    room: f64,
    /// How many members go over it.
    count: u32,
    /// How many it hinders who are no members.
    hindered: u32,
    /// What is left of the room, and for how many members.
    left: f64,
    open: u32,
    /// What those have whom it hinders.
    rate: f64,
}

/// What flows over a link.
struct Seen {
    taken: f64,
    greatest: f64,
    /// Of those who are no members and whom it hinders.
    least_hindered: f64,
}

impl Share {
    /// A stream has begun.
    pub fn came(&mut self, slot: u32) {
        self.came.push(slot);
    }

    /// Somebody has left a tight link.
    pub fn relieve(&mut self, link: LinkId) {
        self.relieved.push(link);
    }

    /// Those whose rate was found.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Finds rates for all whose rate may have changed.
    pub fn find(&mut self, streams: &mut Slots<Stream>, links: &mut [Link]) {
        self.round += 1;
        self.members.clear();
        self.shared.clear();
        self.ways.clear();
        self.invite(streams, links);
        let mut looks = 0;
        while !self.incoming.is_empty() {
            looks += 1;
            self.enrol(streams, links);
            if looks == PATIENCE {
                self.enrol_all(streams, links);
            }
            self.fill(streams, links);
            self.look(streams, links);
        }
    }

    /// Those who begin, and those whom a link hinders on which something has changed.
    fn invite(&mut self, streams: &mut Slots<Stream>, links: &mut [Link]) {
        self.incoming.append(&mut self.came);
        for place in 0..self.incoming.len() {
            for hop in &streams[self.incoming[place]].hops {
                if links[hop.link as usize].tight {
                    self.relieved.push(hop.link);
                }
            }
        }
        for link in self.relieved.drain(..) {
            let hindered = |slot: &u32| streams[*slot].hindrance == Hindrance::Link(link);
            self.incoming.extend(links[link as usize].streams.iter().copied().filter(hindered));
        }
    }

    /// Makes members of those who come in.
    fn enrol(&mut self, streams: &mut Slots<Stream>, links: &mut [Link]) {
        for slot in self.incoming.drain(..) {
            if streams[slot].seen == self.round {
                continue;
            }
            streams[slot].seen = self.round;
            self.members.push(slot);
            let stream = &streams[slot];
            let first = self.ways.len() as u32;
            for hop in &stream.hops {
                let link = &mut links[hop.link as usize];
                if !link.tight {
                    continue;
                }
                if link.seen != self.round {
                    (link.seen, link.number) = (self.round, self.shared.len() as u32);
                    self.shared.push(Shared::new(hop.link, link, streams));
                }
                let shared = &mut self.shared[link.number as usize];
                shared.hindered -= u32::from(stream.hindrance == Hindrance::Link(hop.link));
                shared.room += stream.rate;
                shared.count += 1;
                self.ways.push(link.number);
            }
            streams[slot].ways = [first, self.ways.len() as u32];
        }
    }

    /// Fills the room: the members of the fullest link get equal parts of it, unless some cannot use so much; and so on with what is left.
    fn fill(&mut self, streams: &mut Slots<Stream>, links: &[Link]) {
        self.by_most.clear();
        for &slot in &self.members {
            streams[slot].next = f64::NAN;
            self.by_most.push((streams[slot].most, slot));
        }
        self.by_most.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let many = self.shared.len() > FEW;
        for (number, shared) in (0..).zip(&mut self.shared) {
            (shared.left, shared.open, shared.rate) = (shared.room.max(0.0), shared.count, f64::INFINITY);
            if many {
                self.fullest.set(number, shared.part());
            }
        }
        for place in 0..self.by_most.len() {
            let (most, slot) = self.by_most[place];
            while streams[slot].next.is_nan() {
                match if many { self.fullest_below(most) } else { self.fullest_of_few(most) } {
                    Some(number) => self.fill_link(number, streams, links),
                    None => self.give(slot, most, Hindrance::Itself, streams),
                }
            }
        }
        self.fullest.clear();
    }

    /// The link whose open members could have the least, if that is less than this. What they could have only grows while others are served,
    /// so a link is looked at again only when its turn comes.
    fn fullest_below(&mut self, most: f64) -> Option<u32> {
        while self.fullest.next().is_some_and(|least| least < most) {
            let number = self.fullest.pop_until(f64::INFINITY)?;
            let shared = &self.shared[number as usize];
            if shared.open == 0 {
                continue;
            }
            let part = shared.part();
            if part < most && self.fullest.next().is_none_or(|next| part <= next) {
                return Some(number);
            }
            self.fullest.set(number, part);
        }
        None
    }

    /// The same where it is quicker to look at all.
    fn fullest_of_few(&self, most: f64) -> Option<u32> {
        let (mut least, mut fullest) = (most, None);
        for (number, shared) in (0..).zip(&self.shared) {
            if shared.open > 0 && shared.left < least * f64::from(shared.open) {
                (least, fullest) = (shared.part(), Some(number));
            }
        }
        fullest
    }

    /// Gives all open members of a link their part of it.
    fn fill_link(&mut self, number: u32, streams: &mut Slots<Stream>, links: &[Link]) {
        let shared = &mut self.shared[number as usize];
        let (link, part) = (shared.link, shared.part());
        shared.rate = part;
        for &slot in &links[link as usize].streams {
            if streams[slot].seen == self.round && streams[slot].next.is_nan() {
                self.give(slot, part, Hindrance::Link(link), streams);
            }
        }
    }

    fn give(&mut self, slot: u32, rate: f64, hindrance: Hindrance, streams: &mut Slots<Stream>) {
        let stream = &mut streams[slot];
        (stream.next, stream.hindrance) = (rate, hindrance);
        let [first, end] = stream.ways;
        for number in &self.ways[first as usize..end as usize] {
            let shared = &mut self.shared[*number as usize];
            shared.left = (shared.left - rate).max(0.0);
            shared.open -= 1;
        }
    }

    /// Lets those in who have lost their hindrance, and those who take more than a member on the link that hinders it.
    fn look(&mut self, streams: &Slots<Stream>, links: &[Link]) {
        for shared in &self.shared {
            let link = &links[shared.link as usize];
            let hinders = shared.hindered > 0 || shared.rate < f64::INFINITY;
            if !hinders || shared.count as usize == link.streams.len() {
                continue;
            }
            let seen = self.seen(shared.link, link, streams);
            let (full, fair) = (seen.taken >= link.capacity * (1.0 - CLOSE), shared.rate * (1.0 + CLOSE));
            let enough = if full { seen.greatest * (1.0 - CLOSE) } else { f64::INFINITY };
            if seen.least_hindered >= enough && seen.greatest <= fair {
                continue;
            }
            let comes_in = |stream: &Stream| {
                let loses = stream.hindrance == Hindrance::Link(shared.link) && stream.rate < enough;
                stream.seen != self.round && (loses || stream.rate > fair)
            };
            self.incoming.extend(link.streams.iter().copied().filter(|slot| comes_in(&streams[*slot])));
        }
    }

    fn seen(&self, number: LinkId, link: &Link, streams: &Slots<Stream>) -> Seen {
        let mut seen = Seen { taken: 0.0, greatest: 0.0, least_hindered: f64::INFINITY };
        for &slot in &link.streams {
            let stream = &streams[slot];
            let rate = if stream.seen == self.round { stream.next } else { stream.rate };
            (seen.taken, seen.greatest) = (seen.taken + rate, seen.greatest.max(rate));
            if stream.seen != self.round && stream.hindrance == Hindrance::Link(number) {
                seen.least_hindered = seen.least_hindered.min(rate);
            }
        }
        seen
    }

    /// Makes members of all who go over a link with a member, and so on.
    fn enrol_all(&mut self, streams: &mut Slots<Stream>, links: &mut [Link]) {
        let mut number = 0;
        while let Some(shared) = self.shared.get(number) {
            self.incoming.extend_from_slice(&links[shared.link as usize].streams);
            self.enrol(streams, links);
            number += 1;
        }
    }
}

impl Shared {
    /// A link that no member has been counted on yet.
    fn new(number: LinkId, link: &Link, streams: &Slots<Stream>) -> Shared {
        let (mut room, mut hindered) = (link.capacity, 0);
        for &slot in &link.streams {
            room -= streams[slot].rate;
            hindered += u32::from(streams[slot].hindrance == Hindrance::Link(number));
        }
        Shared { link: number, room, count: 0, hindered, left: 0.0, open: 0, rate: f64::INFINITY }
    }

    /// What each open member could have.
    fn part(&self) -> f64 {
        self.left / f64::from(self.open)
    }
}
