//! Operations of groups as rounds of messages, or told what they cost.

use std::sync::Arc;

use sintonia_mpi::Pattern;
use sintonia_recording::deed::Purpose;

use super::ERRAND;
use super::letters::{Lane, Moment, NONE, UNKNOWN};
use super::line::Line;
use super::meetings::{Coming, ErrandId, Rounds, SeatId, Work};
use super::world::World;
use crate::collective::{self, Party, Round, Way};
use crate::schedule::{How, Join, SendMode};

/// What combining one byte of operands takes on a machine that does not say.
const COMBINES_S_PER_BYTE: f64 = 0.25e-9;

/// Operations that may be under way at once on one communicator and still not be mixed up.
const AT_ONCE: u64 = 64;

impl World<'_> {
    /// Begins the part of a line in an operation of a group.
    pub fn join_errand(&mut self, place: u32, line: &mut Line, seat: SeatId, join: &Join) -> ErrandId {
        if join.purpose == Purpose::Fence {
            self.finish_accesses(line, join);
        }
        let moment = World::moment(line);
        if seat == NONE {
            return self.alone(place, moment);
        }
        match self.way(seat, line.id.rank, join) {
            Way::Takes(seconds) => self.join_told(place, seat, join, moment, seconds),
            Way::Rounds(algorithm, pattern) => {
                let party = self.party(seat, join, pattern);
                let at = &mut self.meetings.seats[seat as usize];
                let (group, number) = (at.group, at.next);
                at.next += 1;
                // Persistent ones of a communicator are groups of their own.
                let under_way = (u64::from(group) * AT_ONCE + number % AT_ONCE) % (1 << 30);
                let tag = if join.how == How::Blocking { 0 } else { 1 + under_way as i32 };
                let rounds = Rounds { algorithm, pattern, party, round: 0, now: moment.now, tag, letters: Vec::new(), combines: 0 };
                let id = self.meetings.make(place, group, number, moment, Work::Rounds(Box::new(rounds)));
                self.run_rounds(id);
                id
            }
        }
    }

    /// An operation whose other members are not known.
    fn alone(&mut self, place: u32, moment: Moment) -> ErrandId {
        let group = self.meetings.group(sintonia_recording::deed::Group::World(NONE), (NONE, false), Vec::new);
        let need = sintonia_program::history::Need::Nobody;
        let id = self.meetings.make(place, group, 0, moment, Work::Told { need, some: Arc::from([]), seconds: 0.0 });
        self.meetings.errand_mut(id).until = moment.now;
        id
    }

    /// How an operation is done.
    fn way(&self, seat: SeatId, rank: u32, join: &Join) -> Way {
        let Some(platform) = self.platform() else { return Way::Takes(0.0) };
        let members = self.meetings.members(self.meetings.seats[seat as usize].group);
        collective::way(platform, self.changes, join, members, rank)
    }

    fn party(&self, seat: SeatId, join: &Join, pattern: Pattern) -> Party {
        let seat = &self.meetings.seats[seat as usize];
        let members = self.meetings.members(seat.group);
        let root = join.root.and_then(|root| self.meetings.place(seat.group, root)).unwrap_or(0);
        Party::new(pattern, members.ranks.len() as u32, seat.place, root, join.sent, join.received)
    }

    fn join_told(&mut self, place: u32, seat: SeatId, join: &Join, moment: Moment, seconds: f64) -> ErrandId {
        let coming = Coming { line: place, seat, purpose: join.purpose, root: join.root, moment, seconds };
        let mut over = std::mem::take(&mut self.over);
        over.clear();
        let (schedule, rank) = (self.schedule, self.ranks[place as usize]);
        let neighbours = |members: &super::meetings::Members| {
            let sources = schedule.neighbours(members.communicator, rank).sources;
            sources.iter().filter_map(|source| members.place(*source)).collect::<Arc<[u32]>>()
        };
        let id = self.meetings.join(&coming, neighbours, &mut over);
        for errand in &over {
            self.errand_is_over(*errand);
        }
        self.over = over;
        id
    }

    /// Goes on with the rounds of an errand until it has to wait or is over.
    pub fn run_rounds(&mut self, id: ErrandId) {
        let errand = self.meetings.errand_mut(id);
        let (line, group, entered) = (errand.line, errand.group, errand.entered);
        let nothing = Work::Told { need: sintonia_program::history::Need::Nobody, some: Arc::from([]), seconds: 0.0 };
        let Work::Rounds(mut rounds) = std::mem::replace(&mut errand.work, nothing) else { return };
        let over = loop {
            if !self.round_is_over(id, line, &mut rounds) {
                break false;
            }
            if !self.begin_round(line, group, entered, &mut rounds) {
                break true;
            }
        };
        let errand = self.meetings.errand_mut(id);
        if over {
            errand.until = rounds.now;
            errand.needed = Moment { now: rounds.now, recorded: entered.recorded };
        }
        errand.work = Work::Rounds(rounds);
        if over {
            self.errand_is_over(id);
        }
    }

    /// Tells whoever waits for an errand; one that nobody will ask for is forgotten.
    fn errand_is_over(&mut self, id: ErrandId) {
        let errand = self.meetings.errand_mut(id);
        let (waiter, forgotten) = (std::mem::replace(&mut errand.waiter, NONE), errand.forgotten);
        self.wake(waiter);
        if forgotten {
            self.meetings.release(id);
        }
    }

    /// Whether all messages of the present round are there; if not, the errand will be woken.
    fn round_is_over(&mut self, id: ErrandId, line: u32, rounds: &mut Rounds) -> bool {
        for (letter, received) in &rounds.letters {
            let at = self.letters.get_mut(*letter);
            let needs = *received || self.prices[at.price as usize].rendezvous;
            if needs && at.arrived == UNKNOWN {
                if *received {
                    at.receiver_waits = ERRAND | id
                } else {
                    at.sender_waits = ERRAND | id
                };
                return false;
            }
        }
        rounds.letters.sort_by(|a, b| self.letters.get(a.0).arrived.total_cmp(&self.letters.get(b.0).arrived));
        let (mut now, mut away) = (rounds.now, rounds.now);
        for (letter, received) in std::mem::take(&mut rounds.letters) {
            if received {
                now = self.take(line, letter, now);
            } else if self.prices[self.letters.get(letter).price as usize].rendezvous {
                away = away.max(self.sent_away(letter, rounds.now, true));
            } else {
                self.letters.release(letter);
            }
        }
        let combines = self.platform().map_or(COMBINES_S_PER_BYTE, |platform| platform.combines_s_per_byte(COMBINES_S_PER_BYTE));
        rounds.now = now.max(away) + std::mem::take(&mut rounds.combines) as f64 * combines;
        true
    }

    /// Begins the next round; `false` if there is none.
    fn begin_round(&mut self, line: u32, group: u32, entered: Moment, rounds: &mut Rounds) -> bool {
        let mut round = std::mem::take(&mut self.round);
        round.sends.clear();
        round.receives.clear();
        round.combines = 0;
        let there = match rounds.pattern.is_among_neighbours() {
            true => rounds.round == 0 && self.neighbour_round(line, group, rounds.party.bytes, &mut round),
            false => collective::round(rounds.algorithm, rounds.pattern, &rounds.party, rounds.round, &mut round),
        };
        if there {
            rounds.round += 1;
            rounds.combines = round.combines;
            self.exchange(line, group, entered, rounds, &round);
        }
        self.round = round;
        there
    }

    /// The only round of an operation among neighbours: everyone sends to all it sends to.
    fn neighbour_round(&self, line: u32, group: u32, bytes: u64, round: &mut Round) -> bool {
        let members = self.meetings.members(group);
        let neighbours = self.schedule.neighbours(members.communicator, self.ranks[line as usize]);
        let part = |rank: &u32| self.meetings.place(group, *rank).map(|peer| collective::Part { peer, bytes });
        round.sends.extend(neighbours.destinations.iter().filter_map(part));
        round.receives.extend(neighbours.sources.iter().filter_map(part));
        true
    }

    fn exchange(&mut self, line: u32, group: u32, entered: Moment, rounds: &mut Rounds, round: &Round) {
        let (communicator, ranks) = {
            let members = self.meetings.members(group);
            (members.communicator, Arc::clone(&members.ranks))
        };
        let own = self.ranks[line as usize];
        let tag = i32::MIN + rounds.tag;
        let rank = |place: u32| ranks.get(place as usize).copied().unwrap_or(own);
        for part in &round.receives {
            let moment = Moment { now: rounds.now, recorded: entered.recorded };
            let letter = self.post(Lane::Passing((rank(part.peer), own, communicator, tag)), moment, true);
            rounds.letters.push((letter, true));
        }
        for part in &round.sends {
            let to = rank(part.peer);
            let price = self.price(own, to, part.bytes, SendMode::Standard);
            let moment = Moment { now: rounds.now, recorded: entered.recorded };
            let letter = self.send(line, Lane::Passing((own, to, communicator, tag)), price, to, moment, true);
            rounds.letters.push((letter, false));
            // One after another the processor hands them over.
            rounds.now += self.prices[price as usize].start;
        }
    }
}
