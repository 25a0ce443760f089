//! The members of an operation of a group find each other: everyone's first on a communicator is one operation, everyone's second the next.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::Pattern;
use sintonia_recording::Recording;
use sintonia_recording::deed::{Group, Purpose, communicator};
use sintonia_recording::raw;

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
    /// What for.
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
    /// The group in two plain words.
    pub(super) fn group_words(&self) -> (u32, u32) {
        let key = Key::new(self.group, self.number);
        (key.kind, key.id)
    }

    fn add(&mut self, other: &Meeting) {
        let mut part = Part::new(self, 0);
        part.add(&Part::new(other, 0));
        self.set(&part);
    }

    fn set(&mut self, part: &Part) {
        (self.members, self.first_leave) = (part.members, part.first_leave);
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
    let mut scans: Vec<Scanned> = Vec::new();
    let mut groups: BTreeMap<Group, Vec<(usize, Vec<Join>)>> = BTreeMap::new();
    for (rank, joins) in joins.into_iter().enumerate() {
        joins.into_iter().for_each(|(group, joins)| groups.entry(group).or_default().push((rank, joins)));
    }
    for (group, members) in groups {
        let first = meetings.len();
        let scan_places = Places::of(recording, group);
        for (rank, joins) in members {
            for (number, join) in joins.iter().enumerate() {
                let place = places[rank].start as usize + join.line as usize;
                let part = part(group, number as u64, join, &lines[place]);
                match meetings.get_mut(first + number) {
                    Some(meeting) => meeting.add(&part),
                    None => meetings.push(part),
                }
                lines[place].joined[join.place as usize].meeting = (first + number) as u32;
                if is_scan(join.purpose) {
                    let (at, enter) = part.last;
                    let order = scan_places.order(at.rank);
                    scans.push(Scanned { at, order, enter, group: Key::new(group, number as u64), place: join.place, padding: 0 });
                }
            }
        }
    }
    if company.size() > 1 {
        complete(company, &mut meetings);
    }
    for scanned in order_scans(company, share, scans) {
        let rank = (scanned.at.rank - share.own().start) as usize;
        let own = places[rank].start as usize..places[rank].end as usize;
        if let Some(line) = lines[own].iter_mut().find(|line| u32::from(line.calls.thread) == scanned.at.thread) {
            let last = (scanned.last, scanned.last_enter);
            line.joined[scanned.place as usize].before = Some(Before { members: scanned.members, last });
        }
    }
    meetings
}

/// What one call knows of its meeting.
fn part(group: Group, number: u64, join: &Join, line: &Line) -> Meeting {
    let joined = &line.joined[join.place as usize];
    let (at, enter) = (line.at(joined.row), line.calls.enter[joined.row as usize]);
    let is_root = join.root == raw::ROOT_HERE || u32::try_from(join.root) == Ok(line.rank);
    Meeting {
        group,
        number,
        purpose: join.purpose,
        members: 1,
        last: (at, enter),
        first_leave: if joined.done == NOWHERE { i64::MAX } else { line.calls.leave[joined.done as usize] },
        root: if is_root { (at, enter) } else { (At::NOWHERE, 0) },
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
    kind: u32,
    id: u32,
    number: u64,
}

impl Key {
    fn new(group: Group, number: u64) -> Key {
        let (kind, id) = match group {
            Group::Communicator(id) => (0, id),
            Group::Object(id) => (1, id),
            Group::World => (2, 0),
        };
        Key { kind, id, number }
    }

    /// The process that puts together what the others know of it.
    fn home(&self, company: &dyn Company) -> usize {
        ((self.number + u64::from(self.id)) % company.size() as u64) as usize
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
        }
    }

    /// What some processes know of a meeting together; whatever order they are asked in, it is the same.
    fn add(&mut self, other: &Part) {
        self.members += other.members;
        if (other.last_enter, other.last) > (self.last_enter, self.last) {
            (self.last_enter, self.last) = (other.last_enter, other.last);
        }
        self.first_leave = self.first_leave.min(other.first_leave);
        if self.root == At::NOWHERE {
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

/// A part in a scan, which waits for those before it only.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Scanned {
    group: Key,
    enter: i64,
    at: At,
    /// Its place in the group.
    order: u32,
    /// Its place among what its line joined.
    place: u32,
    padding: u32,
}

/// Those before a part in a scan.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Ordered {
    last_enter: i64,
    last: At,
    at: At,
    place: u32,
    members: u32,
}

/// Finds those before each part in a scan.
fn order_scans(company: &dyn Company, share: &Share, scans: Vec<Scanned>) -> Vec<Ordered> {
    let mut parcels: Vec<Vec<Scanned>> = vec![Vec::new(); company.size()];
    scans.into_iter().for_each(|scanned| parcels[scanned.group.home(company)].push(scanned));
    let mut all: Vec<Scanned> = company.swap(parcels).into_iter().flatten().collect();
    all.sort_unstable_by_key(|scanned| (scanned.group, scanned.order, scanned.at));
    let mut found = Vec::new();
    for meeting in all.chunk_by(|a, b| a.group == b.group) {
        let mut last = (i64::MIN, At::NOWHERE);
        for (members, part) in meeting.iter().enumerate() {
            if members > 0 {
                found.push(Ordered { last_enter: last.0, last: last.1, at: part.at, place: part.place, members: members as u32 });
            }
            last = last.max((part.enter, part.at));
        }
    }
    company.swap(share.sorted(found, |ordered| ordered.at.rank)).into_iter().flatten().collect()
}
