//! Packs: some hundred things that follow each other, written as differences, so that few bytes hold them and any pack can be read alone.

use serde::{Deserialize, Serialize};

/// The most things of a pack.
const MOST: usize = 256;

/// Something that can be packed.
pub trait Packed: Copy + Default {
    /// Writes it as the difference to the one before.
    fn put(&self, before: &Self, bytes: &mut Vec<u8>);

    /// Reads it; `None` where there is none.
    fn get(packed: &mut &[u8], before: &Self) -> Option<Self>;

    /// Its first and its last moment.
    fn span(&self) -> (i64, i64);

    /// The call it belongs to, by number in the thread; 0 where that is of no interest.
    fn row(&self) -> u64 {
        0
    }
}

/// Where a pack stands, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pack {
    /// Its first byte.
    pub at: u64,
    /// Its length.
    pub bytes: u32,
    /// How many things there are.
    pub count: u32,
    /// The first and the last moment of any of them.
    pub span: (i64, i64),
    /// The first and the last call.
    pub rows: (u64, u64),
}

impl Pack {
    /// Whether something in it can touch a stretch of time.
    pub fn touches(&self, from: i64, to: i64) -> bool {
        self.span.0 <= to && from <= self.span.1
    }
}

/// Appends things in packs, whose places are counted from the first of the bytes.
pub fn pack<T: Packed>(things: &[T], bytes: &mut Vec<u8>) -> Vec<Pack> {
    let one = |things: &[T]| {
        let at = bytes.len();
        let mut before = T::default();
        let (mut span, mut rows) = ((i64::MAX, i64::MIN), (u64::MAX, 0));
        for thing in things {
            thing.put(&before, bytes);
            let (from, to) = thing.span();
            span = (span.0.min(from), span.1.max(to));
            rows = (rows.0.min(thing.row()), rows.1.max(thing.row()));
            before = *thing;
        }
        Pack { at: at as u64, bytes: (bytes.len() - at) as u32, count: things.len() as u32, span, rows }
    };
    things.chunks(MOST).map(one).collect()
}

/// Hands out the things of a pack, as many as make sense.
pub fn unpack<T: Packed>(mut bytes: &[u8], mut use_thing: impl FnMut(T)) {
    let mut before = T::default();
    while let Some(thing) = T::get(&mut bytes, &before) {
        use_thing(thing);
        before = thing;
    }
}
