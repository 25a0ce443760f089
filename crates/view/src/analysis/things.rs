//! What the analysis finds, thing by thing: waits, messages and stretches of the critical path.

use super::pack::Packed;
use sintonia_recording::sealed::varint::{put, put_signed, take, take_signed};

/// A wait of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// The call, by number in its thread.
    pub row: u64,
    /// When it begins.
    pub from: i64,
    /// Nanoseconds.
    pub ns: i64,
    /// What kind it is, by number in the list of kinds.
    pub kind: u64,
}

impl Packed for Wait {
    fn put(&self, before: &Wait, bytes: &mut Vec<u8>) {
        put_signed(bytes, self.row.wrapping_sub(before.row) as i64);
        put_signed(bytes, self.from.wrapping_sub(before.from));
        put_signed(bytes, self.ns);
        put(bytes, self.kind);
    }

    fn get(packed: &mut &[u8], before: &Wait) -> Option<Wait> {
        Some(Wait {
            row: before.row.wrapping_add(take_signed(packed)? as u64),
            from: before.from.wrapping_add(take_signed(packed)?),
            ns: take_signed(packed)?,
            kind: take(packed)?,
        })
    }

    fn span(&self) -> (i64, i64) {
        (self.from, self.from.saturating_add(self.ns))
    }

    fn row(&self) -> u64 {
        self.row
    }
}

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Who sent it.
    pub from: u32,
    /// When the sending call was entered.
    pub sent: i64,
    /// Who received it.
    pub to: u32,
    /// When the call that got it was left.
    pub received: i64,
    /// Its length.
    pub bytes: u64,
    /// Its tag; -1 if that is not known.
    pub tag: i64,
}

impl Packed for Message {
    fn put(&self, before: &Message, bytes: &mut Vec<u8>) {
        put_signed(bytes, i64::from(self.from) - i64::from(before.from));
        put_signed(bytes, i64::from(self.to) - i64::from(before.to));
        put_signed(bytes, self.received.wrapping_sub(before.received));
        put_signed(bytes, self.received.wrapping_sub(self.sent));
        put_signed(bytes, self.bytes.wrapping_sub(before.bytes) as i64);
        put_signed(bytes, self.tag.wrapping_sub(before.tag));
    }

    fn get(packed: &mut &[u8], before: &Message) -> Option<Message> {
        let from = before.from.wrapping_add(take_signed(packed)? as u32);
        let to = before.to.wrapping_add(take_signed(packed)? as u32);
        let received = before.received.wrapping_add(take_signed(packed)?);
        let sent = received.wrapping_sub(take_signed(packed)?);
        let bytes = before.bytes.wrapping_add(take_signed(packed)? as u64);
        Some(Message { from, sent, to, received, bytes, tag: before.tag.wrapping_add(take_signed(packed)?) })
    }

    fn span(&self) -> (i64, i64) {
        (self.sent.min(self.received), self.sent.max(self.received))
    }
}

/// A stretch of the critical path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The rank it lies on.
    pub rank: u32,
    /// When the path comes to it.
    pub from: i64,
    /// When it leaves it.
    pub to: i64,
}

impl Packed for Stretch {
    fn put(&self, before: &Stretch, bytes: &mut Vec<u8>) {
        put_signed(bytes, i64::from(self.rank) - i64::from(before.rank));
        put_signed(bytes, self.from.wrapping_sub(before.to));
        put_signed(bytes, self.to.wrapping_sub(self.from));
    }

    fn get(packed: &mut &[u8], before: &Stretch) -> Option<Stretch> {
        let rank = before.rank.wrapping_add(take_signed(packed)? as u32);
        let from = before.to.wrapping_add(take_signed(packed)?);
        Some(Stretch { rank, from, to: from.wrapping_add(take_signed(packed)?) })
    }

    fn span(&self) -> (i64, i64) {
        (self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::{Pack, pack, unpack};
    use super::*;

    fn again<T: Packed>(things: &[T]) -> (Vec<Pack>, Vec<T>) {
        let (mut bytes, mut read) = (vec![7; 3], Vec::new());
        let packs = pack(things, &mut bytes);
        for pack in &packs {
            unpack(&bytes[pack.at as usize..][..pack.bytes as usize], |thing| read.push(thing));
        }
        (packs, read)
    }

    #[test]
    fn things_come_out_of_packs_as_they_went_in() {
        let waits: Vec<Wait> = (0..700).map(|n| Wait { row: 3 * n, from: 1000 * n as i64 - 5, ns: n as i64, kind: n % 3 }).collect();
        let (packs, read) = again(&waits);
        assert_eq!(read, waits);
        assert_eq!(packs.iter().map(|pack| pack.count).collect::<Vec<_>>(), [256, 256, 188]);
        assert_eq!((packs[1].rows, packs[1].span), ((768, 1533), (255_995, 511_506)));
        let odd = [u32::MAX, 0, 7].map(|from| Message { from, sent: 9, to: 1, received: -3, bytes: u64::MAX, tag: -1 });
        assert_eq!(again(&odd).1, odd);
        let path = [(0, 0, 10), (3, 10, 12), (1, 12, i64::MAX)].map(|(rank, from, to)| Stretch { rank, from, to });
        assert_eq!(again(&path).1, path);
    }

    #[test]
    fn any_bytes_give_some_things() {
        let mut bytes: Vec<u8> = (0..10_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        bytes.extend([0xff; 40]);
        let (mut waits, mut messages, mut stretches) = (0, 0, 0);
        unpack(&bytes, |_: Wait| waits += 1);
        unpack(&bytes, |_: Message| messages += 1);
        unpack(&bytes, |_: Stretch| stretches += 1);
        assert!(waits > 0 && messages > 0 && stretches > 0);
    }
}
