//! Calls that go on without what they need, because it never comes: a recording that was cut does not have everything.

use super::letters::{Lane, LetterId, NONE, UNKNOWN};
use super::line::{Line, Op, Slot, Stage};
use super::world::World;

impl World<'_> {
    /// Lets the earliest of the lines that stand still leave its call as if what it needs had been there; `false` if there is none.
    pub fn force(&mut self, lines: &mut [Line]) -> bool {
        let standing = (0..lines.len()).filter(|place| !lines[*place].ended && lines[*place].row < lines[*place].rows.len());
        let Some(place) = standing.min_by(|a, b| lines[*a].entered.total_cmp(&lines[*b].entered)) else { return false };
        let line = &mut lines[place];
        let row = line.rows[line.row];
        let op = line.ops[row.action as usize];
        self.let_go(place as u32, line, op);
        line.now = self.as_recorded(line, &row, None, 0.0);
        self.leave(line, &row, line.about[row.action as usize]);
        self.forced += 1;
        self.ready.push(place as u32);
        true
    }

    /// Nobody wakes a line any more for what it waits for in a call.
    fn let_go(&mut self, place: u32, line: &mut Line, op: Op) {
        let [first, second] = std::mem::replace(&mut line.held, [NONE; 2]);
        match op {
            Op::Join { .. } => self.give_errand_up(first),
            Op::Probe { channel } => _ = self.letters.take_watcher(Lane::Channel(channel)),
            Op::Complete { first, count } => {
                self.awaited.values_mut().for_each(|waiting| waiting.retain(|waiter| *waiter != place));
                for listed in first..first + count {
                    let (owner, number) = self.request(place, line, line.listed[listed as usize].request);
                    self.give_request_up(owner, number, line.id.rank);
                }
            }
            Op::Other { .. } => {
                for letter in std::mem::take(&mut line.windows.heard) {
                    self.letters.get_mut(letter).receiver_waits = NONE;
                    self.letters.release(letter);
                }
            }
            _ => {
                self.give_letter_up(first, true, line.id.rank);
                self.give_letter_up(second, false, line.id.rank);
            }
        }
        line.stage = Stage::Entered;
    }

    fn give_request_up(&mut self, owner: u32, number: u64, receiver: u32) {
        match self.requests[owner as usize].get(number) {
            Slot::Coming(id) => self.give_letter_up(id, false, receiver),
            Slot::Leaving(id) => self.give_letter_up(id, true, receiver),
            Slot::Both(out, inward) => {
                self.give_letter_up(out, true, receiver);
                self.give_letter_up(inward, false, receiver);
            }
            Slot::Errand(id) => self.give_errand_up(id),
            Slot::Empty | Slot::Sent { .. } | Slot::Accessed { .. } => {}
        }
        self.requests[owner as usize].clear(number);
    }

    /// One end of a message does not wait for the other. What was sent may still be received; what was to be received gets nothing.
    fn give_letter_up(&mut self, id: LetterId, sends: bool, receiver: u32) {
        if id == NONE {
            return;
        }
        let letter = self.letters.get_mut(id);
        if sends {
            letter.sender_waits = NONE;
            self.letters.release(id);
        } else if letter.sent.is_known() {
            letter.receiver_waits = NONE;
            self.letters.release(id);
        } else {
            self.letters.withdraw(id, receiver);
        }
    }

    fn give_errand_up(&mut self, id: u32) {
        if self.meetings.errand(id).until != UNKNOWN {
            self.meetings.release(id);
        } else {
            let errand = self.meetings.errand_mut(id);
            (errand.waiter, errand.forgotten) = (NONE, true);
        }
    }
}
