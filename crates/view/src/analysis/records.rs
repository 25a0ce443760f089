//! Records of the analysis: wait states, messages and parts of the critical path.

use super::WaitKey;
use super::delta::DeltaEncoded;
use crate::index::SiteFunction;
use sintonia_recording::sealed::varint::{decode, decode_signed, encode, encode_signed};

/// A wait state in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitRecord {
    /// Index of the call in its thread.
    pub row: u64,
    /// Start time.
    pub from: i64,
    /// Duration in nanoseconds.
    pub ns: i64,
    /// Index into the list of kinds.
    pub kind: u64,
    /// The waiting call.
    pub call: SiteFunction,
}

impl WaitRecord {
    /// What it is added up by.
    pub(super) fn key(&self) -> WaitKey {
        WaitKey { kind: self.kind, call: self.call }
    }
}

impl DeltaEncoded for WaitRecord {
    fn encode(&self, previous: &WaitRecord, bytes: &mut Vec<u8>) {
        encode_signed(bytes, self.row.wrapping_sub(previous.row) as i64);
        encode_signed(bytes, self.from.wrapping_sub(previous.from));
        encode_signed(bytes, self.ns);
        encode(bytes, self.kind);
        encode_signed(bytes, i64::from(self.call.site) - i64::from(previous.call.site));
        encode_signed(bytes, i64::from(self.call.function) - i64::from(previous.call.function));
    }

    fn decode(input: &mut &[u8], previous: &WaitRecord) -> Option<WaitRecord> {
        Some(WaitRecord {
            row: previous.row.wrapping_add(decode_signed(input)? as u64),
            from: previous.from.wrapping_add(decode_signed(input)?),
            ns: decode_signed(input)?,
            kind: decode(input)?,
            call: SiteFunction {
                site: previous.call.site.wrapping_add(decode_signed(input)? as u32),
                function: previous.call.function.wrapping_add(decode_signed(input)? as u16),
            },
        })
    }

    fn span(&self) -> (i64, i64) {
        (self.from, self.from.saturating_add(self.ns))
    }

    fn row(&self) -> u64 {
        self.row
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageRecord {
    /// Sending rank.
    pub source: u32,
    /// Enter time of the sending call.
    pub send_time: i64,
    /// Receiving rank.
    pub dest: u32,
    /// Leave time of the call that completed the receive.
    pub receive_time: i64,
    /// Size of the message.
    pub bytes: u64,
    /// The tag; -1 if unknown.
    pub tag: i64,
}

impl DeltaEncoded for MessageRecord {
    fn encode(&self, previous: &MessageRecord, bytes: &mut Vec<u8>) {
        encode_signed(bytes, i64::from(self.source) - i64::from(previous.source));
        encode_signed(bytes, i64::from(self.dest) - i64::from(previous.dest));
        encode_signed(bytes, self.receive_time.wrapping_sub(previous.receive_time));
        encode_signed(bytes, self.receive_time.wrapping_sub(self.send_time));
        encode_signed(bytes, self.bytes.wrapping_sub(previous.bytes) as i64);
        encode_signed(bytes, self.tag.wrapping_sub(previous.tag));
    }

    fn decode(input: &mut &[u8], previous: &MessageRecord) -> Option<MessageRecord> {
        let source = previous.source.wrapping_add(decode_signed(input)? as u32);
        let dest = previous.dest.wrapping_add(decode_signed(input)? as u32);
        let receive_time = previous.receive_time.wrapping_add(decode_signed(input)?);
        let send_time = receive_time.wrapping_sub(decode_signed(input)?);
        let bytes = previous.bytes.wrapping_add(decode_signed(input)? as u64);
        Some(MessageRecord { source, send_time, dest, receive_time, bytes, tag: previous.tag.wrapping_add(decode_signed(input)?) })
    }

    fn span(&self) -> (i64, i64) {
        (self.send_time.min(self.receive_time), self.send_time.max(self.receive_time))
    }
}

/// An interval of the critical path on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathInterval {
    pub rank: u32,
    /// When the path enters the rank.
    pub from: i64,
    /// When the path leaves the rank.
    pub to: i64,
}

impl DeltaEncoded for PathInterval {
    fn encode(&self, previous: &PathInterval, bytes: &mut Vec<u8>) {
        encode_signed(bytes, i64::from(self.rank) - i64::from(previous.rank));
        encode_signed(bytes, self.from.wrapping_sub(previous.to));
        encode_signed(bytes, self.to.wrapping_sub(self.from));
    }

    fn decode(input: &mut &[u8], previous: &PathInterval) -> Option<PathInterval> {
        let rank = previous.rank.wrapping_add(decode_signed(input)? as u32);
        let from = previous.to.wrapping_add(decode_signed(input)?);
        Some(PathInterval { rank, from, to: from.wrapping_add(decode_signed(input)?) })
    }

    fn span(&self) -> (i64, i64) {
        (self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::delta::{DeltaBlock, decode_block, encode_blocks};
    use super::*;

    fn round_trip<T: DeltaEncoded>(records: &[T]) -> (Vec<DeltaBlock>, Vec<T>) {
        let (mut bytes, mut read) = (vec![7; 3], Vec::new());
        let blocks = encode_blocks(records, &mut bytes);
        for block in &blocks {
            decode_block(&bytes[block.at as usize..][..block.bytes as usize], |record| read.push(record));
        }
        (blocks, read)
    }

    #[test]
    fn records_survive_a_round_trip() {
        let call = |n: u64| SiteFunction { site: (n % 5) as u32, function: (n % 7) as u16 };
        let waits: Vec<WaitRecord> =
            (0..700).map(|n| WaitRecord { row: 3 * n, from: 1000 * n as i64 - 5, ns: n as i64, kind: n % 3, call: call(n) }).collect();
        let (blocks, read) = round_trip(&waits);
        assert_eq!(read, waits);
        assert_eq!(blocks.iter().map(|block| block.count).collect::<Vec<_>>(), [256, 256, 188]);
        assert_eq!((blocks[1].rows, blocks[1].span), ((768, 1533), (255_995, 511_506)));
        let odd =
            [u32::MAX, 0, 7].map(|source| MessageRecord { source, send_time: 9, dest: 1, receive_time: -3, bytes: u64::MAX, tag: -1 });
        assert_eq!(round_trip(&odd).1, odd);
        let path = [(0, 0, 10), (3, 10, 12), (1, 12, i64::MAX)].map(|(rank, from, to)| PathInterval { rank, from, to });
        assert_eq!(round_trip(&path).1, path);
    }

    #[test]
    fn decoding_arbitrary_bytes_does_not_fail() {
        let mut bytes: Vec<u8> = (0..10_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        bytes.extend([0xff; 40]);
        let (mut waits, mut messages, mut intervals) = (0, 0, 0);
        decode_block(&bytes, |_: WaitRecord| waits += 1);
        decode_block(&bytes, |_: MessageRecord| messages += 1);
        decode_block(&bytes, |_: PathInterval| intervals += 1);
        assert!(waits > 0 && messages > 0 && intervals > 0);
    }
}
