//! The members of an operation of a group find each other: everyone's first on a communicator is one operation, everyone's second the next.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::Pattern;
use sintonia_recording::Recording;
use sintonia_recording::deed::{Group, Purpose, communicator};
use sintonia_recording::raw;

use super::neighbourhoods::{Neighbourhood, is_among_neighbours};
use super::scan::Join;
use super::{At, Before, Line, NOWHERE};
use crate::company::{Company, Share};

/// An operation of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting {
    /// Who met.
    pub group: Group,
    /// Its number among the meetings of that group.
    pub number: u64,
    /// What for; where the members say different things, because the recording lacks calls of some, that which stands first among
    /// them as words.
    pub purpose: Purpose,
    /// How many took part, as far as they were recorded.
    pub members: u32,
    /// The call that came last, and when it was entered.
    pub last: (At, i64),
    /// When the first call was left that completed it; [`i64::MAX`] if none did.
    pub first_leave: i64,
    /// The root's call and when it was entered; [`At::NOWHERE`] if there is none or it was not recorded.
    pub root: (At, i64),
}

impl Meeting {
    fn add(&mut self, other: &Meeting) {
        let mut part = Part::new(self, 0);
        part.add(&Part::new(other, 0));
        self.set(&part);
    }

    fn set(&mut self, part: &Part) {
        (self.members, self.first_leave) = (part.members, part.first_leave);
        self.purpose = Purpose::from_word(part.purpose).unwrap_or(self.purpose);
        (self.last, self.root) = ((part.last, part.last_enter), (part.root, part.root_enter));
    }
}

/// Puts together the meetings that the lines of a process's ranks joined. The joins are by rank.
pub fn assemble(
    recording: &Recording,
    company: &dyn Company,
    share: &Share,
    lines: &mut [Line],
    places: &[Range<u32>],
    joins: Vec<HashMap<Group, Vec<Join>>>,
) -> Vec<Meeting> {
    let mut meetings: Vec<Meeting> = Vec::new();
    let mut partial: Vec<Partial> = Vec::new();
    let mut groups: BTreeMap<Group, Vec<(usize, Vec<Join>)>> = BTreeMap::new();
    for (rank, joins) in joins.into_iter().enumerate() {
        joins.into_iter().for_each(|(group, joins)| groups.entry(group).or_default().push((rank, joins)));
    }
    for (group, members) in groups {
        let first = meetings.len();
        let places_in_group = Places::of(recording, group);
        for (rank, joins) in members {
            for (number, join) in joins.iter().enumerate() {
                let place = places[rank].start as usize + join.line as usize;
                let part = part(group, number as u64, join, &lines[place]);
                match meetings.get_mut(first + number) {
                    Some(meeting) => meeting.add(&part),
                    None => meetings.push(part),
                }
                let Some(joined) = lines[place].joined.get_mut(join.place as usize) else { continue };
                joined.meeting = (first + number) as u32;
                let neighbours = is_among_neighbours(join.purpose);
                if neighbours || is_scan(join.purpose) {
                    let (at, enter) = part.last;
                    let order = places_in_group.order(at.rank);
                    let (group, place) = (Key::new(group, number as u64), join.place);
                    partial.push(Partial { group, enter, leave: part.first_leave, at, order, place, neighbours: neighbours.into() });
                }
            }
        }
    }
    if company.size() > 1 {
        complete(company, &mut meetings);
    }
    for needs in order(recording, company, share, partial) {
        let rank = (needs.at.rank - share.own().start) as usize;
        let own = places[rank].start as usize..places[rank].end as usize;
        if let Some(line) = lines[own].iter_mut().find(|line| u32::from(line.calls.thread) == needs.at.thread) {
            let last = (needs.last, needs.last_enter);
            line.joined[needs.place as usize].before = Some(Before { members: needs.members, last });
        }
    }
    meetings
}

/// The neighbourhoods in which some meetings took place.
pub fn neighbourhoods(recording: &Recording, meetings: &[Meeting]) -> HashMap<u32, Neighbourhood> {
    let mut found = HashMap::new();
    for meeting in meetings.iter().filter(|meeting| is_among_neighbours(meeting.purpose)) {
        if let Some(number) = communicator(&recording.header, meeting.group) {
            found.entry(number).or_insert_with(|| Neighbourhood::of(recording, number));
        }
    }
    found
}

/// What one call knows of its meeting; one that has no part in it knows only what it is.
fn part(group: Group, number: u64, join: &Join, line: &Line) -> Meeting {
    let nobody = (At::NOWHERE, i64::MIN);
    let Some(joined) = line.joined.get(join.place as usize) else {
        return Meeting { group, number, purpose: join.purpose, members: 0, last: nobody, first_leave: i64::MAX, root: nobody };
    };
    let (at, enter) = (line.at(joined.row), line.calls.enter[joined.row as usize]);
    let is_root = join.root == raw::ROOT_HERE || u32::try_from(join.root) == Ok(line.rank);
    Meeting {
        group,
        number,
        purpose: join.purpose,
        members: 1,
        last: (at, enter),
        first_leave: if joined.done == NOWHERE { i64::MAX } else { line.calls.leave[joined.done as usize] },
        root: if is_root { (at, enter) } else { nobody },
    }
}

fn is_scan(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Collective(Pattern::Scan | Pattern::Exscan))
}

/// The places of ranks in the communicator of a group.
struct Places(HashMap<u32, u32>);

impl Places {
    fn of(recording: &Recording, group: Group) -> Places {
        let members = communicator(&recording.header, group).map(|number| recording.members(number)).unwrap_or_default();
        Places(members.iter().enumerate().filter_map(|(place, rank)| Some((u32::try_from(*rank).ok()?, place as u32))).collect())
    }

    fn order(&self, rank: u32) -> u32 {
        self.0.get(&rank).copied().unwrap_or(rank)
    }
}

/// A meeting's group and number in plain words of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
struct Key {
    group: [u32; 3],
    padding: u32,
    number: u64,
}

impl Key {
    fn new(group: Group, number: u64) -> Key {
        Key { group: group.words(), padding: 0, number }
    }

    /// The process that puts together what the others know of it.
    fn home(&self, company: &dyn Company) -> usize {
        let group: u64 = self.group.iter().map(|word| u64::from(*word)).sum();
        (self.number.wrapping_add(group) % company.size() as u64) as usize
    }
}

/// What a process knows of a meeting, on its way to the process that puts it together and back.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Part {
    key: Key,
    last_enter: i64,
    first_leave: i64,
    root_enter: i64,
    last: At,
    root: At,
    members: u32,
    /// The place of the meeting at the process that sent the part.
    place: u32,
    purpose: u32,
    padding: u32,
}

impl Part {
    fn new(meeting: &Meeting, place: usize) -> Part {
        Part {
            key: Key::new(meeting.group, meeting.number),
            last_enter: meeting.last.1,
            first_leave: meeting.first_leave,
            root_enter: meeting.root.1,
            last: meeting.last.0,
            root: meeting.root.0,
            members: meeting.members,
            place: place as u32,
            purpose: meeting.purpose.word(),
            padding: 0,
        }
    }

    /// What some processes know of a meeting together; whatever order they are asked in, it is the same.
    fn add(&mut self, other: &Part) {
        self.members += other.members;
        self.purpose = self.purpose.min(other.purpose);
        if (other.last_enter, other.last) > (self.last_enter, self.last) {
            (self.last_enter, self.last) = (other.last_enter, other.last);
        }
        self.first_leave = self.first_leave.min(other.first_leave);
        // Where several say that they are the root, the first of them is; nobody stands behind everyone.
        if (other.root, other.root_enter) < (self.root, self.root_enter) {
            (self.root, self.root_enter) = (other.root, other.root_enter);
        }
    }
}

/// Completes what this process knows of its meetings with what the others know.
fn complete(company: &dyn Company, meetings: &mut [Meeting]) {
    let mut parcels: Vec<Vec<Part>> = vec![Vec::new(); company.size()];
    for (place, meeting) in meetings.iter().enumerate() {
        let part = Part::new(meeting, place);
        parcels[part.key.home(company)].push(part);
    }
    let mut arrived = company.swap(parcels);
    let mut whole: HashMap<Key, Part> = HashMap::new();
    for part in arrived.iter().flatten() {
        whole.entry(part.key).and_modify(|known| known.add(part)).or_insert(*part);
    }
    for part in arrived.iter_mut().flatten() {
        *part = Part { place: part.place, ..whole[&part.key] };
    }
    for part in company.swap(arrived).iter().flatten() {
        meetings[part.place as usize].set(part);
    }
}

/// A part in a meeting that needs some of the others only.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Partial {
    group: Key,
    enter: i64,
    /// When it was complete.
    leave: i64,
    at: At,
    /// Its place in the group.
    order: u32,
    /// Its place among what its line joined.
    place: u32,
    /// Whether it needs its neighbours; in a scan it needs those before it.
    neighbours: u32,
}

/// Those whom such a part needs.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Needs {
    last_enter: i64,
    last: At,
    at: At,
    place: u32,
    members: u32,
}

/// Finds those whom each part needs.
fn order(recording: &Recording, company: &dyn Company, share: &Share, partial: Vec<Partial>) -> Vec<Needs> {
    let mut parcels: Vec<Vec<Partial>> = vec![Vec::new(); company.size()];
    partial.into_iter().for_each(|part| parcels[part.group.home(company)].push(part));
    let mut all: Vec<Partial> = company.swap(parcels).into_iter().flatten().collect();
    all.sort_unstable_by_key(|part| (part.group, part.order, part.at));
    let mut neighbourhoods = HashMap::new();
    let mut found = Vec::new();
    for meeting in all.chunk_by(|a, b| a.group == b.group) {
        if meeting[0].neighbours != 0 {
            let group = Group::from_words(meeting[0].group.group);
            let Some(number) = group.and_then(|group| communicator(&recording.header, group)) else { continue };
            let neighbourhood = neighbourhoods.entry(number).or_insert_with(|| Neighbourhood::of(recording, number));
            found.extend(meeting.iter().filter_map(|part| needs_neighbours(neighbourhood, meeting, part)));
        } else {
            found.extend(needs_those_before(meeting));
        }
    }
    company.swap(share.sorted(found, |needs| needs.at.rank)).into_iter().flatten().collect()
}

/// Those before each part of a scan, which is in order.
fn needs_those_before(meeting: &[Partial]) -> Vec<Needs> {
    let mut found = Vec::new();
    let mut last = (i64::MIN, At::NOWHERE);
    for (members, part) in meeting.iter().enumerate() {
        if members > 0 {
            found.push(Needs { last_enter: last.0, last: last.1, at: part.at, place: part.place, members: members as u32 });
        }
        last = last.max((part.enter, part.at));
    }
    found
}

/// The neighbours of a part. One that came after the part was complete had nothing to send.
fn needs_neighbours(neighbourhood: &Neighbourhood, meeting: &[Partial], part: &Partial) -> Option<Needs> {
    let came = |source: &u32| meeting.binary_search_by_key(source, |other| other.order).ok().map(|place| &meeting[place]);
    let sources = neighbourhood.sources(part.at.rank).iter().filter_map(came).filter(|source| source.enter <= part.leave);
    let members = sources.clone().count() as u32;
    let last = sources.max_by_key(|source| (source.enter, source.at))?;
    Some(Needs { last_enter: last.enter, last: last.at, at: part.at, place: part.place, members })
}
