//! Encoding of the descriptors of a block.
//!
//! Even if no two calls are equal, the next call from the same site usually differs only in tag, size or peer. A descriptor is therefore
//! stored as the difference from the previous one with the same function, parts and call site:
//!
//! ```text
//! context | [function, parts, call site: only where the context is new] | mask of what differs | differences ...
//! ```
//!
//! All numbers are varints. Listed requests are encoded as differences from those of the earlier descriptor with the same index.

use rustc_hash::FxHashMap;
use sintonia_mpi::FunctionId;

use crate::call_table::{CallDescriptor, ListedRequest};
use crate::descriptor_index::DescriptorIndex;
use crate::raw::RequestRef;
use crate::sealed::varint;

/// Maximum number of requests listed by the descriptors of one block, unless each of them is stored explicitly.
pub(super) const MAX_LISTED: usize = 1 << 20;

/// Mask bit for the request list; the bits of the [differences] are around it.
const REQUESTS: u64 = 1 << 4;

/// Differences between two descriptors of one context, most frequent first, so that common masks fit one byte.
fn differences(earlier: &CallDescriptor, descriptor: &CallDescriptor) -> [(u64, i64); 9] {
    let small = |a: i32, b: i32| i64::from(b) - i64::from(a);
    let large = |a: u64, b: u64| b.wrapping_sub(a) as i64;
    let index = |a: u32, b: u32| i64::from(b) - i64::from(a);
    [
        (1, small(earlier.tag, descriptor.tag)),
        (1 << 1, large(earlier.sent, descriptor.sent)),
        (1 << 2, large(earlier.received, descriptor.received)),
        (1 << 3, small(earlier.peer, descriptor.peer)),
        (1 << 5, small(earlier.source, descriptor.source)),
        (1 << 6, small(earlier.recv_tag, descriptor.recv_tag)),
        (1 << 7, index(earlier.object, descriptor.object)),
        (1 << 8, index(earlier.created, descriptor.created)),
        (1 << 9, small(earlier.value, descriptor.value)),
    ]
}

fn request_values(request: &ListedRequest) -> [i64; 4] {
    [request.request.to_word(request.is_receive) as i64, request.peer.into(), request.tag.into(), request.received as i64]
}

const NO_REQUEST: [i64; 4] = [0; 4];

/// Numbers the descriptors of a block and encodes each of them once.
#[derive(Default)]
pub(super) struct DictionaryEncoder {
    descriptors: Vec<CallDescriptor>,
    index: DescriptorIndex,
    contexts: FxHashMap<(u16, u16, u32), u32>,
    /// Index of the latest descriptor of each context.
    latest: Vec<usize>,
    request_count: usize,
    bytes: Vec<u8>,
}

impl DictionaryEncoder {
    /// The index of a descriptor, which is encoded if it is new.
    pub(super) fn descriptor_id(&mut self, descriptor: &CallDescriptor) -> usize {
        match self.index.find_or_reserve(descriptor, &self.descriptors) {
            Some(index) => index as usize,
            None => {
                self.write(descriptor);
                self.descriptors.len() - 1
            }
        }
    }

    /// The descriptors encoded so far.
    pub(super) fn descriptors(&self) -> &[CallDescriptor] {
        &self.descriptors
    }

    /// Total number of requests they list.
    pub(super) fn request_count(&self) -> usize {
        self.request_count
    }

    /// The encoded bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Clears all state for the next block.
    pub(super) fn clear(&mut self) {
        self.descriptors.clear();
        self.index.clear();
        self.contexts.clear();
        self.latest.clear();
        self.request_count = 0;
        self.bytes.clear();
    }

    /// Encodes a descriptor, even if it is not new.
    pub(super) fn write(&mut self, descriptor: &CallDescriptor) {
        let new = self.latest.len() as u32;
        let context = *self.contexts.entry((descriptor.function.0, descriptor.parts, descriptor.site)).or_insert(new);
        varint::encode(&mut self.bytes, context.into());
        if context == new {
            for number in [descriptor.function.0.into(), descriptor.parts.into(), descriptor.site] {
                varint::encode(&mut self.bytes, number.into());
            }
            let base = CallDescriptor { parts: descriptor.parts, site: descriptor.site, ..CallDescriptor::new(descriptor.function) };
            write_difference(&mut self.bytes, &base, descriptor);
            self.latest.push(self.descriptors.len());
        } else {
            let latest = &mut self.latest[context as usize];
            write_difference(&mut self.bytes, &self.descriptors[*latest], descriptor);
            *latest = self.descriptors.len();
        }
        self.request_count += descriptor.requests.len();
        self.descriptors.push(descriptor.clone());
    }
}

fn write_difference(bytes: &mut Vec<u8>, earlier: &CallDescriptor, descriptor: &CallDescriptor) {
    let request_bit = if descriptor.requests == earlier.requests { 0 } else { REQUESTS };
    let differences = differences(earlier, descriptor);
    let differing = differences.iter().filter(|(_, difference)| *difference != 0);
    varint::encode(bytes, differing.clone().fold(request_bit, |mask, (bit, _)| mask | bit));
    differing.for_each(|(_, difference)| varint::encode_signed(bytes, *difference));
    if request_bit != 0 {
        write_requests(bytes, &earlier.requests, &descriptor.requests);
    }
}

fn write_requests(bytes: &mut Vec<u8>, earlier: &[ListedRequest], requests: &[ListedRequest]) {
    varint::encode(bytes, requests.len() as u64);
    for (index, request) in requests.iter().enumerate() {
        let base = earlier.get(index).map_or(NO_REQUEST, request_values);
        let numbers = request_values(request);
        let mask = (0..4).filter(|n| numbers[*n] != base[*n]).fold(0u8, |mask, n| mask | 1 << n);
        bytes.push(mask);
        for n in (0..4).filter(|n| mask >> n & 1 == 1) {
            varint::encode_signed(bytes, numbers[n].wrapping_sub(base[n]));
        }
    }
}

/// MPI functions in the numbering of a file.
pub(crate) struct FunctionTable(Vec<Option<FunctionId>>);

impl FunctionTable {
    /// From the function names in a recording's header.
    pub(crate) fn from_names(names: &[String]) -> FunctionTable {
        FunctionTable(names.iter().map(|name| FunctionId::from_name(name)).collect())
    }

    fn get(&self, number: u64) -> Option<FunctionId> {
        *self.0.get(usize::try_from(number).ok()?)?
    }
}

/// Appends `count` descriptors; `None` if the bytes do not decode to exactly that (some may have been appended).
pub(crate) fn decode(mut bytes: &[u8], count: usize, operations: &FunctionTable, descriptors: &mut Vec<CallDescriptor>) -> Option<()> {
    // A descriptor takes at least two bytes and a request one: reject implausible counts before allocating.
    if count > bytes.len() / 2 {
        return None;
    }
    let mut remaining = MAX_LISTED.max(bytes.len());
    let mut contexts: Vec<usize> = Vec::new();
    descriptors.reserve(count);
    for number in descriptors.len()..descriptors.len() + count {
        let context = varint::decode(&mut bytes)? as usize;
        let descriptor = if context < contexts.len() {
            let earlier = std::mem::replace(&mut contexts[context], number);
            read_difference(&mut bytes, &descriptors[earlier])?
        } else if context == contexts.len() {
            contexts.push(number);
            let base = read_context(&mut bytes, operations)?;
            read_difference(&mut bytes, &base)?
        } else {
            return None;
        };
        remaining = remaining.checked_sub(descriptor.requests.len())?;
        descriptors.push(descriptor);
    }
    bytes.is_empty().then_some(())
}

fn read_context(bytes: &mut &[u8], operations: &FunctionTable) -> Option<CallDescriptor> {
    let operation = operations.get(varint::decode(bytes)?)?;
    let parts = u16::try_from(varint::decode(bytes)?).ok()?;
    let site = u32::try_from(varint::decode(bytes)?).ok()?;
    Some(CallDescriptor { parts, site, ..CallDescriptor::new(operation) })
}

#[inline]
fn read_difference(bytes: &mut &[u8], earlier: &CallDescriptor) -> Option<CallDescriptor> {
    let mask = varint::decode(bytes)?;
    let requests = if mask & REQUESTS == 0 { earlier.requests.clone() } else { Vec::new() };
    let mut descriptor = CallDescriptor { requests, ..*earlier };
    let mut difference = |bit: u64| if mask & bit == 0 { Some(0) } else { varint::decode_signed(bytes) };
    descriptor.tag = descriptor.tag.wrapping_add(difference(1)? as i32);
    descriptor.sent = descriptor.sent.wrapping_add(difference(1 << 1)? as u64);
    descriptor.received = descriptor.received.wrapping_add(difference(1 << 2)? as u64);
    descriptor.peer = descriptor.peer.wrapping_add(difference(1 << 3)? as i32);
    if mask >> 5 != 0 {
        descriptor.source = descriptor.source.wrapping_add(difference(1 << 5)? as i32);
        descriptor.recv_tag = descriptor.recv_tag.wrapping_add(difference(1 << 6)? as i32);
        descriptor.object = descriptor.object.wrapping_add(difference(1 << 7)? as u32);
        descriptor.created = descriptor.created.wrapping_add(difference(1 << 8)? as u32);
        descriptor.value = descriptor.value.wrapping_add(difference(1 << 9)? as i32);
    }
    if mask & REQUESTS != 0 {
        descriptor.requests = read_requests(bytes, &earlier.requests)?;
    }
    Some(descriptor)
}

fn read_requests(bytes: &mut &[u8], earlier: &[ListedRequest]) -> Option<Vec<ListedRequest>> {
    let count = usize::try_from(varint::decode(bytes)?).ok().filter(|count| *count <= bytes.len())?;
    let mut requests = Vec::with_capacity(count);
    for index in 0..count {
        let mut numbers = earlier.get(index).map_or(NO_REQUEST, request_values);
        let (&mask, rest) = bytes.split_first()?;
        *bytes = rest;
        for n in (0..4).filter(|n| mask >> n & 1 == 1) {
            numbers[n] = numbers[n].wrapping_add(varint::decode_signed(bytes)?);
        }
        let (request, receive) = RequestRef::from_word(numbers[0] as u64);
        requests.push(ListedRequest {
            request,
            is_receive: receive,
            peer: numbers[1] as i32,
            tag: numbers[2] as i32,
            received: numbers[3] as u64,
        });
    }
    Some(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw;
    use fastrand::Rng;
    use sintonia_mpi::FUNCTIONS;

    fn operations() -> FunctionTable {
        FunctionTable::from_names(&FUNCTIONS.iter().map(|f| f.name.to_string()).collect::<Vec<_>>())
    }

    fn decoded(bytes: &[u8], count: usize) -> Option<Vec<CallDescriptor>> {
        let mut descriptors = Vec::new();
        decode(bytes, count, &operations(), &mut descriptors).map(|()| descriptors)
    }

    fn any_request(random: &mut Rng) -> ListedRequest {
        let request = if random.bool() { RequestRef::Relative(random.u64(..9)) } else { RequestRef::Absolute(3, random.u64(..1 << 48)) };
        ListedRequest { request, is_receive: random.bool(), peer: random.i32(..), tag: raw::ANY, received: random.u64(..) }
    }

    fn any_shape(random: &mut Rng) -> CallDescriptor {
        CallDescriptor {
            parts: random.u16(..4),
            site: random.u32(..3),
            peer: random.i32(..),
            tag: [raw::NONE, raw::ANY, 7][random.usize(..3)],
            sent: [raw::UNKNOWN_BYTES, random.u64(..), 8][random.usize(..3)],
            created: random.u32(..),
            value: random.i32(..),
            requests: (0..random.usize(..4)).map(|_| any_request(random)).collect(),
            ..CallDescriptor::new(FunctionId(random.u16(..5)))
        }
    }

    #[test]
    fn any_descriptors_survive() {
        let mut random = Rng::with_seed(1);
        let mut encoder = DictionaryEncoder::default();
        let mut descriptors = Vec::new();
        for _ in 0..2000 {
            let descriptor = any_shape(&mut random);
            if encoder.descriptor_id(&descriptor) == descriptors.len() {
                descriptors.push(descriptor);
            }
        }
        assert_eq!(encoder.descriptors(), descriptors);
        assert_eq!(decoded(encoder.bytes(), descriptors.len()), Some(descriptors));
    }

    #[test]
    fn a_call_that_differs_in_tag_and_size_takes_few_bytes() {
        let mut encoder = DictionaryEncoder::default();
        let mut descriptor = CallDescriptor { site: 5, peer: 1, ..CallDescriptor::new(FunctionId::from_name("MPI_Send").unwrap()) };
        encoder.descriptor_id(&descriptor);
        let before = encoder.bytes().len();
        (descriptor.tag, descriptor.sent) = (1, 1000);
        encoder.descriptor_id(&descriptor);
        let first = encoder.bytes().len();
        (descriptor.tag, descriptor.sent) = (2, 1200);
        encoder.descriptor_id(&descriptor);
        assert!(first - before < 12);
        assert_eq!(encoder.bytes().len() - first, 5);
    }

    #[test]
    fn any_bytes_are_refused_or_read_but_never_panic() {
        let mut random = Rng::with_seed(2);
        let mut encoder = DictionaryEncoder::default();
        (0..50).for_each(|_| encoder.write(&any_shape(&mut random)));
        for _ in 0..2000 {
            let mut bytes = encoder.bytes().to_vec();
            for _ in 0..=random.u64(..3) {
                let index = random.usize(..bytes.len());
                bytes[index] = random.u8(..);
            }
            bytes.truncate(random.usize(..2 * bytes.len()));
            let _ = decoded(&bytes, random.usize(..60));
        }
        assert_eq!(decoded(encoder.bytes(), usize::MAX), None);
    }

    #[test]
    fn repeating_a_long_list_without_end_is_refused() {
        let mut random = Rng::with_seed(3);
        let mut encoder = DictionaryEncoder::default();
        let requests = (0..10_000).map(|_| any_request(&mut random)).collect();
        let mut descriptor = CallDescriptor { requests, ..CallDescriptor::new(FunctionId(0)) };
        for tag in 0..200_000 {
            descriptor.tag = tag;
            varint::encode(&mut encoder.bytes, 0);
            if tag == 0 {
                encoder.bytes.clear();
                encoder.write(&descriptor);
            } else {
                encoder.bytes.extend([1, 2]);
            }
        }
        assert_eq!(decoded(encoder.bytes(), 200_000), None);
    }
}
