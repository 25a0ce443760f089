//! What the calls of a stretch do. Lines that do the same share it: of a million ranks in a loop nearly all do, and of a thousand ranks it
//! stays near the processor. A line keeps only what is its own.

use std::hash::BuildHasher;
use std::rc::Rc;

use sintonia_recording::QuickMap;

use super::line::{About, Listed, Op};
use crate::schedule::Action;

/// What the calls of a stretch do, by the numbers that rows give.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// What is done, with everything looked up that is the same each time.
    pub ops: Vec<Op>,
    /// What else is known of it.
    pub about: Vec<About>,
    /// Requests that calls name.
    pub listed: Vec<Listed>,
    /// What calls do that do it seldom.
    pub actions: Vec<Action>,
}

impl Code {
    /// Nothing yet.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.about.clear();
        self.listed.clear();
        self.actions.clear();
    }
}

/// What of a call is its line's own.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The channel, or the seat in a group.
    pub number: u32,
    /// What a message costs, by place in the prices.
    pub price: u32,
    /// The rank that a message goes to.
    pub to: u32,
}

/// So many that differ only in requests and seldom actions are looked through for the same; more are not worth it.
const MOST_ALIKE: usize = 8;
/// As many may be known before those are looked for that no line has any more.
const FEW: usize = 1024;

/// All code that may be shared.
#[derive(Default)]
pub struct Codes {
    known: QuickMap<u64, Vec<Rc<Code>>>,
    count: usize,
    /// How many there may be before it is tidied up.
    most: usize,
}

impl Codes {
    /// The same code, as other lines have it.
    pub fn shared(&mut self, code: &Code) -> Rc<Code> {
        let key = self.known.hasher().hash_one((&code.ops, &code.about));
        let alike = self.known.entry(key).or_default();
        if let Some(known) = alike.iter().find(|known| ***known == *code) {
            return Rc::clone(known);
        }
        let new = Rc::new(code.clone());
        if alike.len() < MOST_ALIKE {
            alike.push(Rc::clone(&new));
            self.count += 1;
        }
        if self.count > self.most {
            self.tidy();
        }
        new
    }

    /// Forgets what no line has any more.
    fn tidy(&mut self) {
        self.known.retain(|_, alike| {
            alike.retain(|code| Rc::strong_count(code) > 1);
            !alike.is_empty()
        });
        self.count = self.known.values().map(Vec::len).sum();
        self.most = FEW + 2 * self.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(tally: u32) -> Code {
        Code { ops: vec![Op::Poll], about: vec![About { tally, site: 0, segment: 0 }], ..Code::default() }
    }

    #[test]
    fn lines_that_do_the_same_share_one_code() {
        let mut codes = Codes::default();
        let [first, same, other] = [1, 1, 2].map(|tally| codes.shared(&code(tally)));
        assert!(Rc::ptr_eq(&first, &same) && !Rc::ptr_eq(&first, &other));
        let named = Code { listed: vec![Listed { request: crate::schedule::Request::Ago(0), received: true }], ..code(1) };
        assert_eq!(*codes.shared(&named), named, "what only differs in requests is not the same");
    }

    #[test]
    fn code_that_no_line_has_any_more_is_forgotten() {
        let mut codes = Codes::default();
        let kept = codes.shared(&code(0));
        (1..20 * FEW as u32).for_each(|tally| _ = codes.shared(&code(tally)));
        assert!(codes.count <= 2 * FEW, "{} of {}", codes.count, 20 * FEW);
        assert!(Rc::ptr_eq(&kept, &codes.shared(&code(0))));
    }
}
