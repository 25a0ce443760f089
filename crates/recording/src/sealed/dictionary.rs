//! The shapes of a block as bytes.
//!
//! Even a program in which no two calls are equal repeats itself: the next call from the same place differs in its tag, its size or its
//! peer, and in little else. So a shape is written as its difference from the shape before it of the same function, parts and call site:
//!
//! ```text
//! context | [function, parts, call site: only where the context is new] | mask of what differs | differences ...
//! ```
//!
//! all of them numbers of one byte where they are small. Listed requests are written against those of the earlier shape, place by place.

use sintonia_mpi::Operation;

use crate::hash::{Known, QuickMap};
use crate::raw::RequestRef;
use crate::sealed::varint;
use crate::table::{ListedRequest, Shape};

/// The most requests that the shapes of one block list together, unless each of them stands there in bytes of its own.
pub const MOST_LISTED: usize = 1 << 20;

/// The bit of a mask that stands for the list of requests; those of the [differences] are around it.
const REQUESTS: u64 = 1 << 4;

/// How two shapes of one context differ, in the order of how often they do: what comes first fits a mask of one byte.
fn differences(earlier: &Shape, shape: &Shape) -> [(u64, i64); 9] {
    let small = |a: i32, b: i32| i64::from(b) - i64::from(a);
    let large = |a: u64, b: u64| b.wrapping_sub(a) as i64;
    let place = |a: u32, b: u32| i64::from(b) - i64::from(a);
    [
        (1, small(earlier.tag, shape.tag)),
        (1 << 1, large(earlier.sent, shape.sent)),
        (1 << 2, large(earlier.received, shape.received)),
        (1 << 3, small(earlier.peer, shape.peer)),
        (1 << 5, small(earlier.source, shape.source)),
        (1 << 6, small(earlier.recv_tag, shape.recv_tag)),
        (1 << 7, place(earlier.object, shape.object)),
        (1 << 8, place(earlier.made, shape.made)),
        (1 << 9, small(earlier.value, shape.value)),
    ]
}

fn request_numbers(request: &ListedRequest) -> [i64; 4] {
    [request.request.word(request.receive) as i64, request.peer.into(), request.tag.into(), request.received as i64]
}

const NO_REQUEST: [i64; 4] = [0; 4];

/// Numbers the shapes of a block and writes each of them once.
#[derive(Default)]
pub struct Encoder {
    shapes: Vec<Shape>,
    known: Known,
    contexts: QuickMap<(u16, u16, u32), u32>,
    /// The place of the latest shape of each context.
    latest: Vec<usize>,
    listed: usize,
    bytes: Vec<u8>,
}

impl Encoder {
    /// The number of a shape, which is written if it is new.
    pub fn number(&mut self, shape: &Shape) -> usize {
        match self.known.place(shape, &self.shapes) {
            Some(place) => place as usize,
            None => {
                self.write(shape);
                self.shapes.len() - 1
            }
        }
    }

    /// The shapes written so far.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// How many requests they list together.
    pub fn listed(&self) -> usize {
        self.listed
    }

    /// The shapes written so far, as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets everything, to begin the next block.
    pub fn clear(&mut self) {
        self.shapes.clear();
        self.known.clear();
        self.contexts.clear();
        self.latest.clear();
        self.listed = 0;
        self.bytes.clear();
    }

    /// Writes a shape, whether or not it is new.
    pub fn write(&mut self, shape: &Shape) {
        let new = self.latest.len() as u32;
        let context = *self.contexts.entry((shape.operation.0, shape.parts, shape.site)).or_insert(new);
        varint::put(&mut self.bytes, context.into());
        if context == new {
            for number in [shape.operation.0.into(), shape.parts.into(), shape.site] {
                varint::put(&mut self.bytes, number.into());
            }
            let plain = Shape { parts: shape.parts, site: shape.site, ..Shape::of(shape.operation) };
            write_difference(&mut self.bytes, &plain, shape);
            self.latest.push(self.shapes.len());
        } else {
            let latest = &mut self.latest[context as usize];
            write_difference(&mut self.bytes, &self.shapes[*latest], shape);
            *latest = self.shapes.len();
        }
        self.listed += shape.requests.len();
        self.shapes.push(shape.clone());
    }
}

fn write_difference(bytes: &mut Vec<u8>, earlier: &Shape, shape: &Shape) {
    let lists = if shape.requests == earlier.requests { 0 } else { REQUESTS };
    let differences = differences(earlier, shape);
    let differing = differences.iter().filter(|(_, difference)| *difference != 0);
    varint::put(bytes, differing.clone().fold(lists, |mask, (bit, _)| mask | bit));
    differing.for_each(|(_, difference)| varint::put_signed(bytes, *difference));
    if lists != 0 {
        write_requests(bytes, &earlier.requests, &shape.requests);
    }
}

fn write_requests(bytes: &mut Vec<u8>, earlier: &[ListedRequest], requests: &[ListedRequest]) {
    varint::put(bytes, requests.len() as u64);
    for (place, request) in requests.iter().enumerate() {
        let base = earlier.get(place).map_or(NO_REQUEST, request_numbers);
        let numbers = request_numbers(request);
        let mask = (0..4).filter(|n| numbers[*n] != base[*n]).fold(0u8, |mask, n| mask | 1 << n);
        bytes.push(mask);
        for n in (0..4).filter(|n| mask >> n & 1 == 1) {
            varint::put_signed(bytes, numbers[n].wrapping_sub(base[n]));
        }
    }
}

/// The MPI functions as a file numbers them.
pub struct Operations(Vec<Option<Operation>>);

impl Operations {
    /// By the names in a recording's header.
    pub fn named(names: &[String]) -> Operations {
        Operations(names.iter().map(|name| Operation::named(name)).collect())
    }

    fn get(&self, number: u64) -> Option<Operation> {
        *self.0.get(usize::try_from(number).ok()?)?
    }
}

/// Appends `count` shapes; `None` if the bytes are not exactly that, and then some may have been appended.
pub fn decode(mut bytes: &[u8], count: usize, operations: &Operations, shapes: &mut Vec<Shape>) -> Option<()> {
    // A shape takes at least two bytes, a request at least one: a count that is out of proportion is refused before room is made for it.
    if count > bytes.len() / 2 {
        return None;
    }
    let mut room = MOST_LISTED.max(bytes.len());
    let mut contexts: Vec<usize> = Vec::new();
    shapes.reserve(count);
    for number in shapes.len()..shapes.len() + count {
        let context = varint::take(&mut bytes)? as usize;
        let shape = if context < contexts.len() {
            let earlier = std::mem::replace(&mut contexts[context], number);
            read_difference(&mut bytes, &shapes[earlier])?
        } else if context == contexts.len() {
            contexts.push(number);
            let plain = read_context(&mut bytes, operations)?;
            read_difference(&mut bytes, &plain)?
        } else {
            return None;
        };
        room = room.checked_sub(shape.requests.len())?;
        shapes.push(shape);
    }
    bytes.is_empty().then_some(())
}

fn read_context(bytes: &mut &[u8], operations: &Operations) -> Option<Shape> {
    let operation = operations.get(varint::take(bytes)?)?;
    let parts = u16::try_from(varint::take(bytes)?).ok()?;
    let site = u32::try_from(varint::take(bytes)?).ok()?;
    Some(Shape { parts, site, ..Shape::of(operation) })
}

#[inline]
fn read_difference(bytes: &mut &[u8], earlier: &Shape) -> Option<Shape> {
    let mask = varint::take(bytes)?;
    let requests = if mask & REQUESTS == 0 { earlier.requests.clone() } else { Vec::new() };
    let mut shape = Shape { requests, ..*earlier };
    let mut difference = |bit: u64| if mask & bit == 0 { Some(0) } else { varint::take_signed(bytes) };
    shape.tag = shape.tag.wrapping_add(difference(1)? as i32);
    shape.sent = shape.sent.wrapping_add(difference(1 << 1)? as u64);
    shape.received = shape.received.wrapping_add(difference(1 << 2)? as u64);
    shape.peer = shape.peer.wrapping_add(difference(1 << 3)? as i32);
    if mask >> 5 != 0 {
        shape.source = shape.source.wrapping_add(difference(1 << 5)? as i32);
        shape.recv_tag = shape.recv_tag.wrapping_add(difference(1 << 6)? as i32);
        shape.object = shape.object.wrapping_add(difference(1 << 7)? as u32);
        shape.made = shape.made.wrapping_add(difference(1 << 8)? as u32);
        shape.value = shape.value.wrapping_add(difference(1 << 9)? as i32);
    }
    if mask & REQUESTS != 0 {
        shape.requests = read_requests(bytes, &earlier.requests)?;
    }
    Some(shape)
}

fn read_requests(bytes: &mut &[u8], earlier: &[ListedRequest]) -> Option<Vec<ListedRequest>> {
    let count = usize::try_from(varint::take(bytes)?).ok().filter(|count| *count <= bytes.len())?;
    let mut requests = Vec::with_capacity(count);
    for place in 0..count {
        let mut numbers = earlier.get(place).map_or(NO_REQUEST, request_numbers);
        let (&mask, rest) = bytes.split_first()?;
        *bytes = rest;
        for n in (0..4).filter(|n| mask >> n & 1 == 1) {
            numbers[n] = numbers[n].wrapping_add(varint::take_signed(bytes)?);
        }
        let (request, receive) = RequestRef::from_word(numbers[0] as u64);
        requests.push(ListedRequest { request, receive, peer: numbers[1] as i32, tag: numbers[2] as i32, received: numbers[3] as u64 });
    }
    Some(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::raw;
    use sintonia_mpi::FUNCTIONS;

    fn operations() -> Operations {
        Operations::named(&FUNCTIONS.iter().map(|f| f.name.to_string()).collect::<Vec<_>>())
    }

    fn decoded(bytes: &[u8], count: usize) -> Option<Vec<Shape>> {
        let mut shapes = Vec::new();
        decode(bytes, count, &operations(), &mut shapes).map(|()| shapes)
    }

    fn any_request(random: &mut Random) -> ListedRequest {
        let request = if random.below(2) == 0 { RequestRef::Ago(random.below(9)) } else { RequestRef::Of(3, random.next() >> 16) };
        ListedRequest { request, receive: random.below(2) == 0, peer: random.next() as i32, tag: raw::ANY, received: random.next() }
    }

    fn any_shape(random: &mut Random) -> Shape {
        Shape {
            parts: random.below(4) as u16,
            site: random.below(3) as u32,
            peer: random.next() as i32,
            tag: [raw::NONE, raw::ANY, 7][random.below(3) as usize],
            sent: [raw::UNKNOWN_BYTES, random.next(), 8][random.below(3) as usize],
            made: random.next() as u32,
            value: random.next() as i32,
            requests: (0..random.below(4)).map(|_| any_request(random)).collect(),
            ..Shape::of(Operation(random.below(5) as u16))
        }
    }

    #[test]
    fn any_shapes_survive() {
        let mut random = Random::new(1);
        let mut encoder = Encoder::default();
        let mut shapes = Vec::new();
        for _ in 0..2000 {
            let shape = any_shape(&mut random);
            if encoder.number(&shape) == shapes.len() {
                shapes.push(shape);
            }
        }
        assert_eq!(encoder.shapes(), shapes);
        assert_eq!(decoded(encoder.bytes(), shapes.len()), Some(shapes));
    }

    #[test]
    fn a_call_that_differs_in_tag_and_size_takes_few_bytes() {
        let mut encoder = Encoder::default();
        let mut shape = Shape { site: 5, peer: 1, ..Shape::of(Operation::named("MPI_Send").unwrap()) };
        encoder.number(&shape);
        let before = encoder.bytes().len();
        (shape.tag, shape.sent) = (1, 1000);
        encoder.number(&shape);
        let first = encoder.bytes().len();
        (shape.tag, shape.sent) = (2, 1200);
        encoder.number(&shape);
        assert!(first - before < 12);
        assert_eq!(encoder.bytes().len() - first, 5);
    }

    #[test]
    fn any_bytes_are_refused_or_read_but_never_panic() {
        let mut random = Random::new(2);
        let mut encoder = Encoder::default();
        (0..50).for_each(|_| encoder.write(&any_shape(&mut random)));
        for _ in 0..2000 {
            let mut bytes = encoder.bytes().to_vec();
            for _ in 0..=random.below(3) {
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] = random.next() as u8;
            }
            bytes.truncate(random.below(2 * bytes.len() as u64) as usize);
            let _ = decoded(&bytes, random.below(60) as usize);
        }
        assert_eq!(decoded(encoder.bytes(), usize::MAX), None);
    }

    #[test]
    fn repeating_a_long_list_without_end_is_refused() {
        let mut random = Random::new(3);
        let mut encoder = Encoder::default();
        let requests = (0..10_000).map(|_| any_request(&mut random)).collect();
        let mut shape = Shape { requests, ..Shape::of(Operation(0)) };
        for tag in 0..200_000 {
            shape.tag = tag;
            varint::put(&mut encoder.bytes, 0);
            if tag == 0 {
                encoder.bytes.clear();
                encoder.write(&shape);
            } else {
                encoder.bytes.extend([1, 2]);
            }
        }
        assert_eq!(decoded(encoder.bytes(), 200_000), None);
    }
}
