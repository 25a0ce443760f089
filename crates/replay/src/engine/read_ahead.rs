//! Where receives from anyone are decided again, a line looks at what comes later: enough of it is read ahead.

use sintonia_recording::QuickMap;

use super::Engine;
use super::line::Beat;
use crate::Error;
use crate::schedule::{Next, Stretch};

/// At least so many calls ahead are there if they can be: the answers to a hundred workers.
const AHEAD: usize = 512;

/// What was read ahead of the rows of lines, by their place.
#[derive(Default)]
pub struct ReadAhead(QuickMap<usize, Found>);

/// What was found behind the rows of a line.
enum Found {
    /// Calls that do other things.
    Actions(Box<Stretch>),
    /// Its end.
    End,
}

impl ReadAhead {
    /// What comes next in a line, if it was read already.
    pub fn take(&mut self, place: usize, stretch: &mut Stretch) -> Option<Next> {
        match self.0.remove(&place)? {
            Found::Actions(read) => {
                *stretch = *read;
                Some(Next::Actions)
            }
            Found::End => Some(Next::End),
        }
    }
}

impl Engine<'_, '_> {
    /// Whether few calls of a line are left, and more can be read that do the same things.
    #[inline]
    pub fn runs_short(&self, place: usize) -> bool {
        let line = &self.lines[place];
        line.rows.len() - line.row < AHEAD && !self.read_ahead.0.contains_key(&place)
    }

    /// Reads on while the calls do the same things.
    pub fn read_ahead(&mut self, place: usize) -> Result<(), Error> {
        let line = &mut self.lines[place];
        line.rows.drain(..line.row);
        line.row = 0;
        while line.rows.len() < 2 * AHEAD {
            let found = match line.source.next(&mut self.stretch)? {
                Next::Rows => {
                    line.rows.extend(self.stretch.rows.iter().map(Beat::from));
                    continue;
                }
                Next::Actions => Found::Actions(Box::new(std::mem::take(&mut self.stretch))),
                Next::End => Found::End,
            };
            self.read_ahead.0.insert(place, found);
            break;
        }
        Ok(())
    }
}
