//! Root causes: which computation made others wait.
//!
//! A rank that waits names the call that came late. What kept that one is found by comparing the two: since they last met, the late rank
//! spent more time in some segments than the waiting one. Those segments are charged with the wait, each in proportion to its excess,
//! together with no more than the late rank computed longer in all.
//! Where the late rank had itself waited in that time, a part of the charge falls on that wait and is passed on to *its* cause, until it
//! reaches a computation. (Böhme, Geimer et al., "Identifying the root causes of wait states", 2010, 2016.)
//!
//! The waits are taken in the reverse order of cause and effect: one is passed on when everything that could be charged to it has been.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytemuck::{Pod, Zeroable};
use sintonia_program::company::Company;
use sintonia_program::history::{At, History, Joined, Line, Received, Sent};
use sintonia_recording::Recording;
use sintonia_recording::deed::{Group, communicator};

use crate::segment::{self, Segment};
use crate::wait::Wait;

/// Waits shorter than this are not traced to their causes: there are many, and together they are little.
const WORTH_TRACING_NS: i64 = 1000;

/// What computation cost others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Nanoseconds of waits that it caused directly.
    pub direct_ns: i64,
    /// Nanoseconds of waits that others caused because they waited for it.
    pub passed_on_ns: i64,
}

/// The costs of segments, by segment and the rank that was late.
pub type Costs = BTreeMap<(Segment, u32), Cost>;

/// Finds what the segments of a run cost; every process of the company gets them all.
pub fn costs(recording: &Recording, history: &History, waits: &[Vec<Wait>], company: &dyn Company) -> Costs {
    let mut tracer = Tracer::new(recording, history, waits, company);
    loop {
        tracer.trace();
        if !tracer.tell_others(company) && !tracer.give_up(company) {
            return tracer.shared(company);
        }
    }
}

/// When two ranks last met before a wait, as the waiting one can say it to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// They had not met.
    Never,
    /// At a message or an epoch of one-sided communication, of which the other's end is this row.
    Message(u32),
    /// In a meeting: its group and number.
    Meeting(Group, u64),
}

/// What a waiting rank says to the one that was late.
struct Claim {
    /// The call that came late.
    cause: At,
    /// How long the wait was, and what was charged to it.
    wait_ns: i64,
    charged_ns: i64,
    met: Met,
    /// What the waiting rank computed since they met.
    computed: HashMap<Segment, i64>,
}

/// The waits of a line that are traced, from the last to the first.
struct Lane {
    /// Its waits by row.
    waits: Vec<Traced>,
    /// How many of them have not been passed on.
    left: usize,
    /// Calls that made others wait, by row, and how many claims are still to come.
    late: Vec<(u32, u32)>,
}

#[derive(Clone, Copy)]
struct Traced {
    row: u32,
    ns: i64,
    cause: At,
    charged_ns: i64,
}

impl Lane {
    fn new(waits: &[Wait]) -> Lane {
        let worth = waits.iter().filter(|wait| wait.cause != At::NOWHERE && wait.ns >= WORTH_TRACING_NS);
        let waits: Vec<Traced> = worth.map(|wait| Traced { row: wait.row, ns: wait.ns, cause: wait.cause, charged_ns: 0 }).collect();
        Lane { left: waits.len(), waits, late: Vec::new() }
    }

    /// Expects a claim against each of these calls.
    fn expect(&mut self, rows: impl Iterator<Item = u32>) {
        let mut rows: Vec<u32> = rows.collect();
        rows.sort_unstable();
        self.late = rows.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
    }

    /// A claim against a call has come.
    fn came(&mut self, row: u32) {
        if let Ok(place) = self.late.binary_search_by_key(&row, |(row, _)| *row) {
            self.late[place].1 = self.late[place].1.saturating_sub(1);
        }
        self.forget_settled();
    }

    fn forget_settled(&mut self) {
        while self.late.last().is_some_and(|(_, claims)| *claims == 0) {
            self.late.pop();
        }
    }

    /// The last wait that has not been passed on, if no claim can be charged to it any more.
    fn next(&mut self) -> Option<Traced> {
        let wait = *self.waits.get(self.left.checked_sub(1)?)?;
        if self.late.last().is_some_and(|(row, _)| *row > wait.row) {
            return None;
        }
        self.left -= 1;
        Some(wait)
    }
}

struct Tracer<'a> {
    history: &'a History,
    members: HashMap<Group, HashSet<u32>>,
    /// Which lines joined which meetings, where a rank has several.
    joined: HashSet<(usize, u32)>,
    lanes: Vec<Lane>,
    ready: Vec<usize>,
    costs: Costs,
    post: Vec<Vec<u8>>,
}

impl<'a> Tracer<'a> {
    fn new(recording: &Recording, history: &'a History, waits: &[Vec<Wait>], company: &dyn Company) -> Tracer<'a> {
        let mut lanes: Vec<Lane> = waits.iter().map(|waits| Lane::new(waits)).collect();
        let causes = lanes.iter().flat_map(|lane| &lane.waits).map(|wait| wait.cause);
        let mut late: Vec<Vec<u32>> = vec![Vec::new(); lanes.len()];
        for cause in company.swap(history.share.sorted(causes, |cause| cause.rank)).into_iter().flatten() {
            if let Some(line) = history.line(cause) {
                late[line].push(cause.row);
            }
        }
        lanes.iter_mut().zip(late).for_each(|(lane, rows)| lane.expect(rows.into_iter()));
        let ready = (0..lanes.len()).collect();
        let post = vec![Vec::new(); company.size()];
        Tracer { history, members: members(recording, history), joined: joined(history), lanes, ready, costs: Costs::new(), post }
    }

    /// Passes on waits until each line waits for a claim from elsewhere.
    fn trace(&mut self) {
        while let Some(line) = self.ready.pop() {
            while let Some(wait) = self.lanes[line].next() {
                let claim = self.claim(line, &wait);
                match self.history.line(wait.cause) {
                    Some(late) => self.settle(late, &claim),
                    None => claim.write(&mut self.post[self.history.share.owner(wait.cause.rank)]),
                }
            }
        }
    }

    /// What a line that waited says to the one it waited for.
    fn claim(&self, line: usize, wait: &Traced) -> Claim {
        let line = &self.history.lines[line];
        let mut back = Back::new(line, wait.row);
        let mut computed: HashMap<Segment, i64> = HashMap::new();
        let met = loop {
            if let Some(segment) = segment::before(line, back.row) {
                *computed.entry(segment).or_default() += segment::length(line, back.row);
            }
            if !back.step() {
                break Met::Never;
            }
            if let Some(met) = self.met(&back, wait.cause) {
                break met;
            }
        };
        Claim { cause: wait.cause, wait_ns: wait.ns, charged_ns: wait.charged_ns, met, computed }
    }

    /// Whether a call had to do with the rank that was late afterwards.
    fn met(&self, back: &Back, cause: At) -> Option<Met> {
        let same = |at: At| (at.rank, at.thread) == (cause.rank, cause.thread);
        let received = back.received().iter().rev().find(|received| same(received.sender)).map(|received| received.sender.row);
        let sent = || back.sent().iter().rev().find(|sent| same(sent.receiver)).map(|sent| sent.receiver.row);
        let epoch = || back.line.partners(back.row as u32).filter(|partner| same(*partner)).map(|partner| partner.row).max();
        let message = received.or_else(sent).or_else(epoch);
        let meeting = || {
            let meetings = back.joined().iter().rev().map(|joined| &self.history.meetings[joined.meeting as usize]);
            let mut common = meetings.filter(|meeting| self.members.get(&meeting.group).is_some_and(|group| group.contains(&cause.rank)));
            common.next().map(|meeting| Met::Meeting(meeting.group, meeting.number))
        };
        message.map(Met::Message).or_else(meeting)
    }

    /// Charges a claim to what the late line did since the two met.
    fn settle(&mut self, late: usize, claim: &Claim) {
        let line = &self.history.lines[late];
        let met = self.met_on(late, claim.met);
        let mut back = Back::new(line, claim.cause.row);
        let mut computed: BTreeMap<Segment, i64> = BTreeMap::new();
        let waits = &self.lanes[late].waits;
        let last = waits.partition_point(|wait| wait.row < claim.cause.row);
        let mut first = last;
        loop {
            if let Some(segment) = segment::before(line, back.row) {
                *computed.entry(segment).or_default() += segment::length(line, back.row);
            }
            if !back.step() || self.is_where(&back, met) {
                break;
            }
            while first > 0 && waits[first - 1].row as usize >= back.row {
                first -= 1;
            }
        }
        let excess = |(segment, ns): (&Segment, &i64)| (*segment, ns - claim.computed.get(segment).copied().unwrap_or(0));
        let excess: Vec<(Segment, i64)> = computed.iter().map(excess).filter(|(_, ns)| *ns > 0).collect();
        let waited: i64 = waits[first..last].iter().map(|wait| wait.ns).sum();
        // Two ranks that compute equally long between different calls are both in time: only the difference of all counts.
        let longer = (computed.values().sum::<i64>() - claim.computed.values().sum::<i64>()).max(0);
        let all_excess: i64 = excess.iter().map(|(_, ns)| ns).sum();
        let whole = longer + waited;
        let direct = claim.wait_ns.min(whole);
        for (segment, ns) in excess {
            let cost = self.costs.entry((segment, line.rank)).or_default();
            let own = share(longer, ns, all_excess);
            cost.direct_ns += share(direct, own, whole);
            cost.passed_on_ns += share(claim.charged_ns, own, whole);
        }
        for wait in &mut self.lanes[late].waits[first..last] {
            wait.charged_ns += share(direct, wait.ns, whole) + share(claim.charged_ns, wait.ns, whole);
        }
        self.lanes[late].came(claim.cause.row);
        self.ready.push(late);
    }

    /// Where two ranks met, as this line of the late one sees it: where another thread was at the meeting, it is what this one did last
    /// before everyone had come.
    fn met_on(&self, place: usize, met: Met) -> Met {
        let line = &self.history.lines[place];
        let Met::Meeting(group, number) = met else { return met };
        let meetings = &self.history.meetings;
        let Ok(meeting) = meetings.binary_search_by_key(&(group, number), |meeting| (meeting.group, meeting.number)) else { return met };
        if self.history.lines_of(line.rank).len() == 1 || self.joined.contains(&(place, meeting as u32)) {
            return met;
        }
        let before = line.calls.enter.partition_point(|enter| *enter <= meetings[meeting].last.1);
        before.checked_sub(1).map_or(Met::Never, |row| Met::Message(row as u32))
    }

    fn is_where(&self, back: &Back, met: Met) -> bool {
        match met {
            Met::Never => false,
            Met::Message(row) => back.row <= row as usize,
            Met::Meeting(group, number) => back.joined().iter().any(|joined| {
                let meeting = &self.history.meetings[joined.meeting as usize];
                (meeting.group, meeting.number) == (group, number)
            }),
        }
    }

    /// Exchanges claims with the other processes, and says whether there were any.
    fn tell_others(&mut self, company: &dyn Company) -> bool {
        if company.size() == 1 {
            return false;
        }
        let parcels = std::mem::replace(&mut self.post, vec![Vec::new(); company.size()]);
        let told = parcels.iter().any(|parcel| !parcel.is_empty());
        for parcel in company.exchange(parcels) {
            let mut words: &[i64] = &bytemuck::allocation::pod_collect_to_vec(&parcel);
            while let Some(claim) = Claim::read(&mut words) {
                if let Some(late) = self.history.line(claim.cause) {
                    self.settle(late, &claim);
                }
            }
        }
        company.swap(vec![vec![u8::from(told)]; company.size()]).into_iter().flatten().any(|flag| flag != 0)
    }

    /// Where a recording contradicts itself, claims can wait for each other: lets the last wait of all go, and says whether there was one.
    fn give_up(&mut self, company: &dyn Company) -> bool {
        let left = self.lanes.iter().enumerate().filter_map(|(place, lane)| {
            let line = &self.history.lines[place];
            let wait = lane.waits.get(lane.left.checked_sub(1)?)?;
            Some((line.calls.leave[wait.row as usize], line.at(wait.row), place))
        });
        let mine = left.max();
        let parcel: Vec<Left> = mine.iter().map(|(leave, at, _)| Left { leave: *leave, at: *at, padding: 0 }).collect();
        let all = company.swap(vec![parcel; company.size()]).into_iter().flatten().map(|left| (left.leave, left.at)).max();
        let Some(last) = all else { return false };
        if let Some((leave, at, place)) = mine
            && (leave, at) == last
        {
            let lane = &mut self.lanes[place];
            lane.late.retain(|(row, _)| *row <= at.row);
            self.ready.push(place);
        }
        true
    }

    fn shared(self, company: &dyn Company) -> Costs {
        let entry = |((segment, rank), cost): (&(Segment, u32), &Cost)| Entry {
            direct_ns: cost.direct_ns,
            passed_on_ns: cost.passed_on_ns,
            segment: *segment,
            rank: *rank,
            padding: 0,
        };
        let mine: Vec<Entry> = self.costs.iter().map(entry).collect();
        let mut costs = Costs::new();
        for entry in company.swap(vec![mine; company.size()]).into_iter().flatten() {
            let cost = costs.entry((entry.segment, entry.rank)).or_default();
            cost.direct_ns += entry.direct_ns;
            cost.passed_on_ns += entry.passed_on_ns;
        }
        costs
    }
}

/// `part / whole` of an amount, rounded down.
fn share(amount: i64, part: i64, whole: i64) -> i64 {
    (i128::from(amount) * i128::from(part) / i128::from(whole.max(1))) as i64
}

/// The ranks of each group that met.
fn members(recording: &Recording, history: &History) -> HashMap<Group, HashSet<u32>> {
    let mut members = HashMap::new();
    for meeting in &history.meetings {
        members.entry(meeting.group).or_insert_with(|| {
            let number = communicator(&recording.header, meeting.group);
            let both = number.map(|number| recording.members(number).iter().chain(recording.remote(number)));
            both.into_iter().flatten().filter_map(|rank| u32::try_from(*rank).ok()).collect()
        });
    }
    members
}

/// Which lines joined which meetings, of ranks with several lines.
fn joined(history: &History) -> HashSet<(usize, u32)> {
    let of_several = history.lines.iter().enumerate().filter(|(_, line)| history.lines_of(line.rank).len() > 1);
    of_several.flat_map(|(place, line)| line.joined.iter().map(move |joined| (place, joined.meeting))).collect()
}

/// Goes back on a line, call by call.
struct Back<'a> {
    line: &'a Line,
    row: usize,
    received: usize,
    sent: usize,
    joined: usize,
}

impl<'a> Back<'a> {
    fn new(line: &'a Line, row: u32) -> Back<'a> {
        Back {
            line,
            row: row as usize,
            received: line.received.partition_point(|received| received.row < row),
            sent: line.sent.partition_point(|sent| sent.row < row),
            joined: line.joined.partition_point(|joined| joined.row < row),
        }
    }

    /// Goes to the call before; `false` if there is none.
    fn step(&mut self) -> bool {
        let Some(row) = self.row.checked_sub(1) else { return false };
        self.received -= self.received().len();
        self.sent -= self.sent().len();
        self.joined -= self.joined().len();
        self.row = row;
        true
    }

    /// What the call received.
    fn received(&self) -> &'a [Received] {
        let before = &self.line.received[..self.received];
        &before[before.len() - before.iter().rev().take_while(|received| received.row as usize == self.row).count()..]
    }

    /// What the call sent.
    fn sent(&self) -> &'a [Sent] {
        let before = &self.line.sent[..self.sent];
        &before[before.len() - before.iter().rev().take_while(|sent| sent.row as usize == self.row).count()..]
    }

    /// What the call joined.
    fn joined(&self) -> &'a [Joined] {
        let before = &self.line.joined[..self.joined];
        &before[before.len() - before.iter().rev().take_while(|joined| joined.row as usize == self.row).count()..]
    }
}

impl Claim {
    /// Appends the claim as words for another process.
    fn write(&self, parcel: &mut Vec<u8>) {
        let (kind, [a, b, c], number) = match self.met {
            Met::Never => (0, [0; 3], 0),
            Met::Message(row) => (1, [row, 0, 0], 0),
            Met::Meeting(group, number) => (2, group.words(), number),
        };
        let At { rank, thread, row } = self.cause;
        let head = [rank, thread, row, kind, a, b, c, self.computed.len() as u32].map(i64::from);
        let mut words: Vec<i64> = head.to_vec();
        words.extend([number as i64, self.wait_ns, self.charged_ns]);
        words.extend(self.computed.iter().flat_map(|(segment, ns)| [i64::from(segment.from), i64::from(segment.to), *ns]));
        parcel.extend_from_slice(bytemuck::cast_slice(&words));
    }

    /// Takes a claim off the words of another process.
    fn read(words: &mut &[i64]) -> Option<Claim> {
        let (head, rest) = words.split_at_checked(11)?;
        let small = |place: usize| head[place] as u32;
        let met = match small(3) {
            1 => Met::Message(small(4)),
            2 => Met::Meeting(Group::from_words([small(4), small(5), small(6)])?, head[8] as u64),
            _ => Met::Never,
        };
        let (computed, rest) = rest.split_at_checked(3 * small(7) as usize)?;
        *words = rest;
        let computed = computed.chunks_exact(3).map(|c| (Segment { from: c[0] as u32, to: c[1] as u32 }, c[2])).collect();
        let cause = At { rank: small(0), thread: small(1), row: small(2) };
        Some(Claim { cause, wait_ns: head[9], charged_ns: head[10], met, computed })
    }
}

/// The last wait of a process that cannot be passed on.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Left {
    leave: i64,
    at: At,
    padding: u32,
}

/// A cost on its way to other processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    direct_ns: i64,
    passed_on_ns: i64,
    segment: Segment,
    rank: u32,
    padding: u32,
}
