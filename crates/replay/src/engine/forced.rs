//! Calls that go on without what they need, because it never comes: a recording that was cut does not have everything.

use super::letters::{Lane, LetterId, NONE, UNKNOWN};
use super::line::{Line, Op, Slot, Stage};
use super::world::World;

impl World<'_> {
    /// Of the lines that stand still, lets the one leave its call that was recorded to leave first, as if what it needs had been there: in the
    /// recording it did not wait for any of the others. `false` if there is none.
    pub fn force(&mut self, lines: &mut [Line]) -> bool {
        let standing = (0..lines.len()).filter(|place| !lines[*place].ended && lines[*place].row < lines[*place].rows.len());
        let left = |place: usize| lines[place].entered_recorded + lines[place].rows[lines[place].row].took();
        let Some(place) = standing.min_by(|a, b| left(*a).total_cmp(&left(*b))) else { return false };
        let line = &mut lines[place];
        let row = line.rows[line.row];
        let op = line.code.ops[row.action as usize];
        self.let_go(place as u32, line, op);
        line.now = self.as_recorded(line, &row, None, 0.0);
        self.leave(line, &row, line.code.about[row.action as usize]);
        self.forced += 1;
        self.ready.push(place as u32);
        true
    }

    /// Nobody wakes a line any more for what it waits for in a call.
    fn let_go(&mut self, place: u32, line: &mut Line, op: Op) {
        let [first, second] = std::mem::replace(&mut line.held, [NONE; 2]);
        match op {
            Op::Join { .. } => self.give_errand_up(first),
            Op::Probe { own } => _ = self.letters.take_watcher(Lane::Channel(line.own[own as usize].number)),
            Op::Complete { first, count } => {
                self.awaited.values_mut().for_each(|waiting| waiting.retain(|waiter| *waiter != place));
                for listed in first..first + count {
                    let (owner, number) = self.request(place, line, line.code.listed[listed as usize].request);
                    self.give_request_up(owner, number);
                }
            }
            Op::Other { .. } => {
                for letter in std::mem::take(&mut line.windows.make().heard) {
                    self.letters.get_mut(letter).receiver_waits = NONE;
                    self.letters.release(letter);
                }
            }
            _ => {
                self.give_letter_up(first, true);
                self.give_letter_up(second, false);
            }
        }
        line.stage = Stage::Entered;
    }

    fn give_request_up(&mut self, owner: u32, number: u64) {
        match self.requests[owner as usize].get(number) {
            Slot::Coming(id) => self.give_letter_up(id, false),
            Slot::Leaving(id) => self.give_letter_up(id, true),
            Slot::Both(out, inward) => {
                self.give_letter_up(out, true);
                self.give_letter_up(inward, false);
            }
            Slot::Errand(id) => self.give_errand_up(id),
            Slot::Empty | Slot::Sent { .. } | Slot::Accessed { .. } => {}
        }
        self.requests[owner as usize].clear(number);
    }

    /// One end of a message does not wait for the other. What was sent may still be received; what was to be received gets nothing.
    fn give_letter_up(&mut self, id: LetterId, sends: bool) {
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
            self.letters.withdraw(id);
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
