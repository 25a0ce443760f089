//! Who gets how much of the links, after some streams have come and gone: only those whose rate may change are looked at.
//!
//! Rates are max-min fair exactly when every stream has a hindrance: it flows as fast as it can by itself, or it goes over a link that is full
//! and on which nobody has more. So the rates of a few *members* are found with everybody else's held as they are, and then it is looked whether
//! each still has its hindrance. Who has lost it, or takes more than a member on the link that hinders that one, becomes a member too, and the
//! rates are found again. When nobody comes in any more, all rates are right, not only nearly.

use super::LinkId;
use super::link::{Link, Links};
use super::stream::{Hindrance, Pace, Stream};
use crate::network::events::Events;
use crate::network::slots::Slots;

/// Rates that differ by less than this share of them are the same.
pub const CLOSE: f64 = 1e-9;

/// The number of a link that is not being shared anew.
pub const NOT_SHARED: u32 = u32::MAX;

/// After looking so often, everybody whom the members could touch comes in at once.
const PATIENCE: u32 = 8;

/// So many links are looked through one by one.
const FEW: usize = 16;

/// What is known while rates are found; between times only its memory is kept.
#[derive(Debug, Default)]
pub struct Share {
    /// Streams that have begun.
    came: Vec<u32>,
    /// Tight links on which somebody has left.
    relieved: Vec<LinkId>,
    members: Vec<u32>,
    /// Tight links that members go over.
    shared: Vec<Shared>,
    /// For one member after another, the places in `shared` of its tight links.
    ways: Vec<u32>,
    /// The tight links of one stream.
    way: Vec<LinkId>,
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
    capacity: f64,
    /// What those who are no members leave of it.
    room: f64,
    /// How many members go over it.
    count: u32,
    /// What is left of the room, and for how many members.
    left: f64,
    open: u32,
    /// What those members have whom it hinders, and what the fastest member has.
    rate: f64,
    top: f64,
    others: Others,
}

/// Those on a link who are no members. Some may have become members since the rates were looked at; so no rate is outside of these.
#[derive(Clone, Copy, Debug)]
struct Others {
    count: u32,
    taken: f64,
    greatest: f64,
    /// Of those whom the link hinders.
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
    pub fn find(&mut self, streams: &Slots<Stream>, paces: &mut [Pace], links: &mut Links) {
        self.members.clear();
        self.ways.clear();
        self.invite(streams, paces, links);
        let mut looks = 0;
        while !self.incoming.is_empty() {
            looks += 1;
            self.enrol(streams, paces, links);
            if looks == PATIENCE {
                self.enrol_all(streams, paces, links);
            }
            self.fill(streams, paces, links);
            self.look(paces, links);
        }
        for shared in self.shared.drain(..) {
            links[shared.link].number = NOT_SHARED;
        }
    }

    /// Those who begin, and those whom a link hinders on which something has changed.
    fn invite(&mut self, streams: &Slots<Stream>, paces: &[Pace], links: &Links) {
        self.incoming.append(&mut self.came);
        for &slot in &self.incoming {
            links.tight_ones(&streams[slot].hops, &mut self.relieved);
        }
        for link in self.relieved.drain(..) {
            let hindered = |slot: &u32| paces[*slot as usize].hindrance == Hindrance::link(link);
            self.incoming.extend(links[link].streams.iter().copied().filter(hindered));
        }
    }

    /// Makes members of those who come in.
    fn enrol(&mut self, streams: &Slots<Stream>, paces: &mut [Pace], links: &mut Links) {
        for slot in self.incoming.drain(..) {
            let pace = &mut paces[slot as usize];
            if pace.is_member() {
                continue;
            }
            self.members.push(slot);
            let first = self.ways.len() as u32;
            let before = pace.rate;
            (pace.before, pace.ways) = (before, [first; 2]);
            self.way.clear();
            links.tight_ones(&streams[slot].hops, &mut self.way);
            for &number in &self.way {
                let link = &mut links[number];
                if link.number == NOT_SHARED {
                    link.number = self.shared.len() as u32;
                    let others = Others::of(number, link, paces);
                    self.shared.push(Shared::new(number, link.capacity, others));
                } else {
                    let shared = &mut self.shared[link.number as usize];
                    shared.room += before;
                    shared.count += 1;
                    shared.others.count -= 1;
                }
                self.ways.push(link.number);
            }
            paces[slot as usize].ways[1] = self.ways.len() as u32;
        }
    }

    /// Fills the room: the members of the fullest link get equal parts of it, unless some cannot use so much; and so on with what is left.
    fn fill(&mut self, streams: &Slots<Stream>, paces: &mut [Pace], links: &Links) {
        self.by_most.clear();
        for &slot in &self.members {
            paces[slot as usize].rate = f64::NAN;
            self.by_most.push((streams[slot].most, slot));
        }
        if !self.by_most.is_sorted_by(|a, b| a.0 <= b.0) {
            self.by_most.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let many = self.shared.len() > FEW;
        for (number, shared) in (0..).zip(&mut self.shared) {
            shared.open_up();
            if many {
                self.fullest.set(number, shared.part());
            }
        }
        for place in 0..self.by_most.len() {
            let (most, slot) = self.by_most[place];
            while paces[slot as usize].rate.is_nan() {
                match if many { self.fullest_below(most) } else { self.fullest_of_few(most) } {
                    Some(number) => self.fill_link(number, paces, links),
                    None => self.give(slot, most, Hindrance::ITSELF, paces),
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
    fn fill_link(&mut self, number: u32, paces: &mut [Pace], links: &Links) {
        let shared = &mut self.shared[number as usize];
        let (link, part) = (shared.link, shared.part());
        shared.rate = part;
        for &slot in links[link].streams.iter() {
            if paces[slot as usize].rate.is_nan() {
                self.give(slot, part, Hindrance::link(link), paces);
            }
        }
    }

    fn give(&mut self, slot: u32, rate: f64, hindrance: Hindrance, paces: &mut [Pace]) {
        let pace = &mut paces[slot as usize];
        (pace.rate, pace.hindrance) = (rate, hindrance);
        let [first, end] = pace.ways;
        for number in &self.ways[first as usize..end as usize] {
            let shared = &mut self.shared[*number as usize];
            shared.left = (shared.left - rate).max(0.0);
            shared.open -= 1;
            // Rates are given in their order.
            shared.top = rate;
        }
    }

    /// Lets those in who have lost their hindrance, and those who take more than a member on the link that hinders it.
    fn look(&mut self, paces: &[Pace], links: &Links) {
        for shared in &mut self.shared {
            if shared.others.count == 0 || shared.suits_others() {
                continue;
            }
            let link = &links[shared.link];
            shared.others = Others::of(shared.link, link, paces);
            if shared.suits_others() {
                continue;
            }
            let (enough, fair) = (shared.enough(), shared.fair());
            let comes_in = |pace: &Pace| {
                let loses = pace.hindrance == Hindrance::link(shared.link) && pace.rate < enough;
                !pace.is_member() && (loses || pace.rate > fair)
            };
            self.incoming.extend(link.streams.iter().copied().filter(|slot| comes_in(&paces[*slot as usize])));
        }
    }

    /// Makes members of all who go over a link with a member, and so on.
    fn enrol_all(&mut self, streams: &Slots<Stream>, paces: &mut [Pace], links: &mut Links) {
        let mut number = 0;
        while let Some(shared) = self.shared.get(number) {
            self.incoming.extend_from_slice(&links[shared.link].streams);
            self.enrol(streams, paces, links);
            number += 1;
        }
    }
}

impl Shared {
    /// A link that one member goes over.
    fn new(link: LinkId, capacity: f64, others: Others) -> Shared {
        let room = capacity - others.taken;
        Shared { link, capacity, room, count: 1, left: 0.0, open: 0, rate: f64::INFINITY, top: 0.0, others }
    }

    /// All of the room is left, and everybody is open.
    fn open_up(&mut self) {
        (self.left, self.open) = (self.room.max(0.0), self.count);
        (self.rate, self.top) = (f64::INFINITY, 0.0);
    }

    /// What each open member could have.
    fn part(&self) -> f64 {
        self.left / f64::from(self.open)
    }

    /// Whether nobody who is no member has lost a hindrance here, nor takes more than members whom it hinders.
    fn suits_others(&self) -> bool {
        self.others.least_hindered >= self.enough() && self.others.greatest <= self.fair()
    }

    /// What one must have whom this link hinders.
    fn enough(&self) -> f64 {
        let full = self.left <= self.capacity * CLOSE;
        if full { self.others.greatest.max(self.top) * (1.0 - CLOSE) } else { f64::INFINITY }
    }

    /// What one may have while this link hinders members.
    fn fair(&self) -> f64 {
        self.rate * (1.0 + CLOSE)
    }
}

impl Others {
    fn of(number: LinkId, link: &Link, paces: &[Pace]) -> Others {
        let mut others = Others { count: 0, taken: 0.0, greatest: 0.0, least_hindered: f64::INFINITY };
        for pace in link.streams.iter().map(|slot| &paces[*slot as usize]).filter(|pace| !pace.is_member()) {
            others.count += 1;
            others.taken += pace.rate;
            others.greatest = others.greatest.max(pace.rate);
            if pace.hindrance == Hindrance::link(number) {
                others.least_hindered = others.least_hindered.min(pace.rate);
            }
        }
        others
    }
}
