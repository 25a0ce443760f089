//! What the clock of another host shows when ours shows something: from questions and answers whose way took the least time.

use std::collections::VecDeque;

/// So many of the latest answers count: clocks drift apart.
const COUNT: usize = 16;

/// The difference between the clock of another host and ours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Difference {
    /// How long the way there and back took, and how much their clock was ahead, in nanoseconds.
    answers: VecDeque<(f64, f64)>,
}

impl Difference {
    /// An answer: when the question was sent, what their clock showed, and when the answer came.
    pub fn note(&mut self, sent: f64, theirs: f64, came: f64) {
        if !theirs.is_finite() {
            return;
        }
        if self.answers.len() == COUNT {
            self.answers.pop_front();
        }
        self.answers.push_back((came - sent, theirs - (sent + came) / 2.0));
    }

    /// How much their clock is ahead of ours, in nanoseconds.
    pub fn ahead(&self) -> Option<f64> {
        self.answers.iter().min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, ahead)| *ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_counts_and_old_ones_are_forgotten() {
        let mut difference = Difference::default();
        assert_eq!(difference.ahead(), None);
        difference.note(1000.0, 5_500.0, 3000.0);
        difference.note(4000.0, 8_110.0, 4200.0);
        assert_eq!(difference.ahead(), Some(4010.0));
        difference.note(5000.0, f64::NAN, 5000.0);
        assert_eq!(difference.ahead(), Some(4010.0), "what is no time says nothing");
        (0..COUNT).for_each(|_| difference.note(10_000.0, 15_000.0, 11_000.0));
        assert_eq!(difference.ahead(), Some(4500.0));
    }
}
