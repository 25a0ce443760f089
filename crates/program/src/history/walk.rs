//! Goes along all lines at once in the order of cause and effect.
//!
//! A receive comes after its send, the end of a collective operation after everyone whose data it needs has come, the end of an access to
//! a window after its opening, and the closing of a window after the last access. (Locks are had in any order.) A [`Walk`] gives every
//! call a moment on entering and is told, before it leaves, the latest moment of the calls it needed. What an ideal network would make of
//! a run, and what right clocks would have shown, are two such walks.
//!
//! A line goes on until it needs something that has not come yet; then whoever brings it wakes the line up. Where several processes walk
//! together, they do so until all their lines stand still, and tell each other what they have.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use bytemuck::{Pod, Zeroable};
use sintonia_mpi::Pattern;
use sintonia_recording::deed::{Group, Purpose};

use super::neighbourhoods::{Neighbourhood, is_among_neighbours};
use super::news::{News, Post};
use super::{Access, At, History, Joined, Line, Meeting, NOWHERE};
use crate::company::Company;

/// What is asked of a call on the way.
pub trait Walk {
    /// A call is entered: the moment that those who need it are told.
    fn enter(&mut self, line: usize, row: usize) -> i64;

    /// A call is left, after the moment of the last call that it needed, if it needed any.
    fn leave(&mut self, line: usize, row: usize, needed: Option<i64>);
}

/// Takes every call of the history in order, and says how many had to be taken before what they needed: where messages were matched wrongly
/// because calls are missing, two lines can wait for each other for ever.
pub fn walk(history: &History, company: &dyn Company, walk: &mut impl Walk) -> u64 {
    let mut walker = Walker::new(history, company);
    let mut forced = 0;
    loop {
        while let Some(line) = walker.ready.next() {
            walker.go_on(line, walk);
        }
        let moved = walker.tell_others(company);
        if moved {
            continue;
        }
        match walker.stuck(company) {
            Stuck::Done => return forced,
            Stuck::Elsewhere => {}
            Stuck::Here(line) => {
                forced += 1;
                walker.force(line, walk);
            }
        }
    }
}

/// What a member of a meeting needs before it can leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Everyone.
    All,
    /// The root.
    Root,
    /// Those before it in the group, or its neighbours.
    Before,
    /// Nobody.
    Nobody,
}

/// What a call needs of the meeting it completes. One that was left before the others came did not need them: there was no data to wait
/// for, or the library does not wait there. Only a barrier waits for certain; left too early, it shows that clocks disagree.
pub(crate) fn needs(line: &Line, joined: &Joined, meeting: &Meeting) -> Need {
    let need = need(meeting.purpose, meeting.root.0 == line.at(joined.row));
    let came = match need {
        Need::All => Some(meeting.last.1),
        Need::Root => Some(meeting.root.1),
        Need::Before => joined.before.map(|before| before.last.1),
        Need::Nobody => None,
    };
    let left = line.calls.leave.get(joined.done as usize);
    let left_before = came.zip(left).is_some_and(|(came, left)| *left < came);
    if left_before && meeting.purpose != Purpose::Collective(Pattern::Barrier) { Need::Nobody } else { need }
}

/// What a member of a meeting needs, as MPI defines the operation.
pub fn need(purpose: Purpose, is_root: bool) -> Need {
    use Pattern::*;
    match purpose {
        Purpose::Collective(Broadcast | Scatter | Scatterv) => {
            if is_root {
                Need::Nobody
            } else {
                Need::Root
            }
        }
        Purpose::Collective(Reduce | Gather | Gatherv) => {
            if is_root {
                Need::All
            } else {
                Need::Nobody
            }
        }
        Purpose::Collective(Scan | Exscan) => Need::Before,
        purpose if is_among_neighbours(purpose) => Need::Before,
        Purpose::Collective(_) | Purpose::Communicator | Purpose::WindowCreate | Purpose::WindowFree | Purpose::Fence | Purpose::File => {
            Need::All
        }
        Purpose::Init | Purpose::Finalize => Need::Nobody,
    }
}

/// Not come yet.
const NOT_YET: i64 = i64::MIN;

/// Who has come to a meeting.
#[derive(Clone, Copy)]
struct Gathered {
    came: u32,
    latest: i64,
    root: i64,
}

/// How far a line has come.
#[derive(Clone, Default)]
struct Progress {
    row: usize,
    entered: bool,
    received: usize,
    sent: usize,
    joined: usize,
    /// What is completed by later calls: operations of groups, synchronous sends and epochs, by the completing call.
    completed: Vec<(u32, Completion)>,
    next_completed: usize,
    /// Calls that others need to be entered, and the others: beginnings of receives of synchronous messages, openings of windows and
    /// ends of accesses.
    awaited: Vec<(u32, At)>,
    next_awaited: usize,
    /// When each message was sent.
    values: Vec<i64>,
    /// Lines that need a message sent by this row.
    waiting: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Completion {
    Joined(u32),
    Sent(u32),
    Accessed(u32),
    Exposed(u32),
}

enum Stuck {
    Done,
    Elsewhere,
    Here(usize),
}

/// Why a line cannot go on.
enum Missing {
    /// A message from a line here, sent by that row.
    Line(usize, u32),
    /// A meeting, and the place of the one that has not come; [`NOWHERE`] if it is all of them or the root.
    Meeting(u32, u32),
    /// A call that has not been entered.
    Call(At),
    /// A message that comes from another process.
    Later,
}

/// The lines that may be able to go on. A line that went on without what it needed is still woken by it later; it is here once.
struct Ready {
    lines: VecDeque<u32>,
    is_here: Vec<bool>,
}

impl Ready {
    fn all(lines: usize) -> Ready {
        Ready { lines: (0..lines as u32).collect(), is_here: vec![true; lines] }
    }

    fn next(&mut self) -> Option<usize> {
        let line = self.lines.pop_front()? as usize;
        self.is_here[line] = false;
        Some(line)
    }

    fn wake(&mut self, line: u32) {
        if !std::mem::replace(&mut self.is_here[line as usize], true) {
            self.lines.push_back(line);
        }
    }
}

struct Walker<'a> {
    history: &'a History,
    lines: Vec<Progress>,
    gathered: Vec<Gathered>,
    /// When each member came, where not everyone is needed.
    came: HashMap<u32, Vec<i64>>,
    /// Lines that wait at meetings, and for which place.
    at_meetings: HashMap<u32, Vec<(u32, u32)>>,
    /// Lines that wait for something that is looked up when anything new has come.
    later: Vec<u32>,
    /// When calls that others need were entered.
    entered: HashMap<At, i64>,
    /// Lines that wait for such a call.
    for_calls: HashMap<At, Vec<u32>>,
    ready: Ready,
    post: Post,
}

impl<'a> Walker<'a> {
    fn new(history: &'a History, company: &dyn Company) -> Walker<'a> {
        let mut lines: Vec<Progress> = history.lines.iter().map(Progress::new).collect();
        let synchronous = history.lines.iter().flat_map(|line| &line.received).filter(|received| received.synchronous && received.taken);
        for received in synchronous {
            if let Some(line) = history.line(received.posted) {
                lines[line].awaited.push((received.posted.row, received.sender));
            }
        }
        lines.iter_mut().for_each(|line| line.awaited.sort_unstable());
        Walker {
            history,
            lines,
            gathered: vec![Gathered { came: 0, latest: NOT_YET, root: NOT_YET }; history.meetings.len()],
            came: HashMap::new(),
            at_meetings: HashMap::new(),
            later: Vec::new(),
            entered: HashMap::new(),
            for_calls: HashMap::new(),
            ready: Ready::all(history.lines.len()),
            post: Post::new(history, company),
        }
    }

    /// Takes the calls of a line until one needs something that has not come.
    fn go_on(&mut self, line: usize, walk: &mut impl Walk) {
        while self.lines[line].row < self.history.lines[line].len() {
            self.enter(line, walk);
            match self.needed(line) {
                Ok(needed) => self.leave(line, walk, needed),
                Err(missing) => return self.wait(line, missing),
            }
        }
    }

    /// Takes a call without what it needs.
    fn force(&mut self, line: usize, walk: &mut impl Walk) {
        self.later.retain(|waiting| *waiting as usize != line);
        self.leave(line, walk, None);
        self.ready.wake(line as u32);
    }

    fn enter(&mut self, line: usize, walk: &mut impl Walk) {
        let progress = &mut self.lines[line];
        if progress.entered {
            return;
        }
        progress.entered = true;
        let (history, row) = (self.history, progress.row as u32);
        let value = walk.enter(line, progress.row);
        let own = &history.lines[line];
        while let Some(sent) = own.sent.get(progress.sent).filter(|sent| sent.row == row) {
            progress.values[progress.sent] = value;
            if !self.post.alone && sent.receiver != At::NOWHERE {
                self.post.tell(history, sent.receiver.rank, News::sent(own.at(row), progress.sent as u32, value));
            }
            progress.sent += 1;
        }
        let mut awaited = false;
        while let Some((_, other)) = progress.awaited.get(progress.next_awaited).filter(|(awaited, _)| *awaited <= row) {
            awaited = true;
            if !self.post.alone {
                self.post.tell(history, other.rank, News::entered(own.at(row), value));
            }
            progress.next_awaited += 1;
        }
        if !progress.waiting.is_empty() {
            let ready = &mut self.ready;
            progress.waiting.retain(|(needed, waiting)| {
                let still = *needed > row;
                if !still {
                    ready.wake(*waiting);
                }
                still
            });
        }
        if awaited {
            self.entered(own.at(row), value);
        }
        while let Some(joined) = own.joined.get(self.lines[line].joined).filter(|joined| joined.row == row) {
            self.lines[line].joined += 1;
            let is_root = history.meetings[joined.meeting as usize].root.0 == own.at(row);
            let place = place_in_group(history, own, joined);
            self.come(joined.meeting, place, is_root, value);
            if !self.post.alone {
                self.post.tell_all(News::came(&history.meetings[joined.meeting as usize], place, is_root, value));
            }
        }
    }

    /// A call was entered that another one may wait for.
    fn entered(&mut self, at: At, value: i64) {
        self.entered.insert(at, value);
        self.for_calls.remove(&at).into_iter().flatten().for_each(|line| self.ready.wake(line));
    }

    /// Someone comes to a meeting.
    fn come(&mut self, meeting: u32, place: u32, is_root: bool, value: i64) {
        let about = &self.history.meetings[meeting as usize];
        let gathered = &mut self.gathered[meeting as usize];
        gathered.came += 1;
        gathered.latest = gathered.latest.max(value);
        if is_root {
            gathered.root = value;
        }
        let one_by_one = need(about.purpose, false) == Need::Before;
        if one_by_one {
            let values = self.came.entry(meeting).or_default();
            values.resize(values.len().max(place as usize + 1), NOT_YET);
            values[place as usize] = value;
        }
        let enough = gathered.came >= about.members || is_root;
        if let Entry::Occupied(mut waiting) = self.at_meetings.entry(meeting) {
            let wakes = |awaited: u32| if one_by_one { awaited == place } else { enough };
            waiting.get_mut().extract_if(.., |(_, awaited)| wakes(*awaited)).for_each(|(line, _)| self.ready.wake(line));
            if waiting.get().is_empty() {
                waiting.remove();
            }
        }
    }

    /// The latest moment of what the call of a line needs before it can leave.
    fn needed(&self, line: usize) -> Result<Option<i64>, Missing> {
        let (own, progress) = (&self.history.lines[line], &self.lines[line]);
        let row = progress.row as u32;
        let mut needed = None;
        for received in own.received[progress.received..].iter().take_while(|received| received.row == row) {
            if received.sender != At::NOWHERE {
                needed = needed.max(Some(self.sent(received.sender, received.sender_place)?));
            }
        }
        for (_, completion) in progress.completed[progress.next_completed..].iter().take_while(|(done, _)| *done == row) {
            let value = match completion {
                Completion::Joined(place) => self.met(own, *place)?,
                Completion::Sent(place) => Some(self.entry_of(own.sent[*place as usize].posted)?),
                Completion::Accessed(place) => Some(self.entry_of(own.accesses[*place as usize].post)?),
                Completion::Exposed(place) => Some(self.entry_of(own.exposures[*place as usize].complete)?),
            };
            needed = needed.max(value);
        }
        Ok(needed)
    }

    fn entry_of(&self, at: At) -> Result<i64, Missing> {
        self.entered.get(&at).copied().ok_or(Missing::Call(at))
    }

    fn sent(&self, sender: At, place: u32) -> Result<i64, Missing> {
        match self.history.line(sender) {
            None => self.post.arrived.get(&(sender.rank, sender.thread, place)).copied().ok_or(Missing::Later),
            Some(line) => match self.lines[line].values.get(place as usize) {
                Some(&value) if value != NOT_YET => Ok(value),
                _ => Err(Missing::Line(line, sender.row)),
            },
        }
    }

    fn met(&self, own: &Line, place: u32) -> Result<Option<i64>, Missing> {
        let joined = &own.joined[place as usize];
        let (about, gathered) = (&self.history.meetings[joined.meeting as usize], &self.gathered[joined.meeting as usize]);
        match needs(own, joined, about) {
            Need::Nobody => Ok(None),
            Need::All if gathered.came >= about.members => Ok(Some(gathered.latest)),
            Need::Root if about.root.0 == At::NOWHERE => Ok(None),
            Need::Root if gathered.root != NOT_YET => Ok(Some(gathered.root)),
            Need::Before => {
                let came = self.came.get(&joined.meeting).map_or(&[][..], Vec::as_slice);
                let moment = |place: u32| match came.get(place as usize) {
                    Some(&value) if value != NOT_YET => Ok(Some(value)),
                    _ => Err(Missing::Meeting(joined.meeting, place)),
                };
                needed_places(self.history, own, joined).try_fold(None, |latest, place| Ok(moment(place)?.max(latest)))
            }
            Need::All | Need::Root => Err(Missing::Meeting(joined.meeting, NOWHERE)),
        }
    }

    fn leave(&mut self, line: usize, walk: &mut impl Walk, needed: Option<i64>) {
        let (own, progress) = (&self.history.lines[line], &mut self.lines[line]);
        let row = progress.row as u32;
        walk.leave(line, progress.row, needed);
        while own.received.get(progress.received).is_some_and(|received| received.row == row) {
            let received = &own.received[progress.received];
            if received.taken && !self.post.alone {
                self.post.arrived.remove(&(received.sender.rank, received.sender.thread, received.sender_place));
            }
            progress.received += 1;
        }
        while progress.completed.get(progress.next_completed).is_some_and(|(done, _)| *done == row) {
            progress.next_completed += 1;
        }
        progress.row += 1;
        progress.entered = false;
    }

    fn wait(&mut self, line: usize, missing: Missing) {
        match missing {
            Missing::Line(on, row) => self.lines[on].waiting.push((row, line as u32)),
            Missing::Meeting(meeting, place) => self.at_meetings.entry(meeting).or_default().push((line as u32, place)),
            Missing::Call(at) => self.for_calls.entry(at).or_default().push(line as u32),
            Missing::Later => self.later.push(line as u32),
        }
    }

    /// Exchanges news with the other processes, and says whether anyone had any.
    fn tell_others(&mut self, company: &dyn Company) -> bool {
        if self.post.alone {
            return false;
        }
        let parcels = std::mem::replace(&mut self.post.sent, vec![Vec::new(); company.size()]);
        let told = parcels.iter().any(|parcel| !parcel.is_empty());
        for news in company.swap(parcels).into_iter().flatten() {
            self.hear(news);
        }
        self.later.drain(..).for_each(|line| self.ready.wake(line));
        let flags = vec![vec![u8::from(told)]; company.size()];
        company.swap(flags).into_iter().flatten().any(|flag| flag != 0)
    }

    fn hear(&mut self, news: News) {
        match news.kind {
            News::SENT => _ = self.post.arrived.insert((news.at.rank, news.at.thread, news.place), news.value),
            News::ENTERED => self.entered(news.at, news.value),
            _ => {
                if let Some(meeting) = self.post.meeting(self.history, &news) {
                    self.come(meeting, news.place, news.is_root != 0, news.value);
                }
            }
        }
    }

    /// Where to go on when nobody can: at the line whose call came first.
    fn stuck(&mut self, company: &dyn Company) -> Stuck {
        let waiting = self.lines.iter().enumerate().filter_map(|(place, progress)| {
            let line = &self.history.lines[place];
            let enter = *line.calls.enter.get(progress.row)?;
            Some((enter, line.at(progress.row as u32), place))
        });
        let first = waiting.min();
        let mine =
            first.map_or(StuckAt { enter: i64::MAX, at: At::NOWHERE, padding: 0 }, |(enter, at, _)| StuckAt { enter, at, padding: 0 });
        let all = company.swap(vec![vec![mine]; company.size()]);
        let least = all.into_iter().flatten().map(|stuck| (stuck.enter, stuck.at)).min();
        match (least, first) {
            (Some((i64::MAX, _)) | None, _) => Stuck::Done,
            (Some(least), Some((enter, at, place))) if least == (enter, at) => Stuck::Here(place),
            _ => Stuck::Elsewhere,
        }
    }
}

/// The first call of a process that cannot go on.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct StuckAt {
    enter: i64,
    at: At,
    padding: u32,
}

impl Progress {
    fn new(line: &Line) -> Progress {
        let joined = line.joined.iter().enumerate().map(|(place, joined)| (joined.done, Completion::Joined(place as u32)));
        let sent = line.sent.iter().enumerate().filter(|(_, sent)| sent.synchronous && sent.receiver != At::NOWHERE);
        let sent = sent.map(|(place, sent)| (sent.done, Completion::Sent(place as u32)));
        let accesses = line.accesses.iter().enumerate().filter(|(_, access)| needs_post(line, access));
        let accesses = accesses.map(|(place, access)| (access.complete, Completion::Accessed(place as u32)));
        let exposures = line.exposures.iter().enumerate().filter(|(_, exposure)| exposure.complete != At::NOWHERE);
        let exposures = exposures.map(|(place, exposure)| (exposure.wait, Completion::Exposed(place as u32)));
        let all = joined.chain(sent).chain(accesses).chain(exposures);
        let mut completed: Vec<(u32, Completion)> = all.filter(|(done, _)| *done != NOWHERE).collect();
        completed.sort_unstable();
        Progress { completed, awaited: awaited(line), values: vec![NOT_YET; line.sent.len()], ..Progress::default() }
    }
}

/// Whether an access ended after its window had been opened: a library may keep the data and let the origin go on before.
fn needs_post(line: &Line, access: &Access) -> bool {
    access.post != At::NOWHERE && access.complete != NOWHERE && line.calls.leave[access.complete as usize] >= access.post_enter
}

/// The calls of epochs that others need to be entered, and the others.
fn awaited(line: &Line) -> Vec<(u32, At)> {
    let accesses = line.accesses.iter().filter(|access| access.complete != NOWHERE).map(|access| (access.complete, access.post));
    let exposures = line.exposures.iter().map(|exposure| (exposure.post, exposure.complete));
    accesses.chain(exposures).filter(|(_, other)| *other != At::NOWHERE).collect()
}

/// The place of a member in a group where it matters.
fn place_in_group(history: &History, line: &Line, joined: &Joined) -> u32 {
    let before = || joined.before.map_or(0, |before| before.members);
    neighbourhood(history, joined).map_or_else(before, |neighbourhood| neighbourhood.place(line.rank))
}

/// The places of those whom a member needs.
fn needed_places<'a>(history: &'a History, line: &Line, joined: &Joined) -> Box<dyn Iterator<Item = u32> + 'a> {
    let Some(before) = joined.before else { return Box::new(std::iter::empty()) };
    let Some(neighbourhood) = neighbourhood(history, joined) else { return Box::new(0..before.members) };
    let sources = neighbourhood.sources(line.rank);
    if sources.len() == before.members as usize {
        return Box::new(sources.iter().copied());
    }
    // Some neighbours had nothing to send, or were not recorded; of the others the last is known.
    Box::new(std::iter::once(neighbourhood.place(before.last.0.rank)))
}

fn neighbourhood<'a>(history: &'a History, joined: &Joined) -> Option<&'a Neighbourhood> {
    match &history.meetings[joined.meeting as usize] {
        Meeting { purpose, group: Group::Communicator(number) | Group::Persistent(number, _), .. } if is_among_neighbours(*purpose) => {
            history.neighbourhoods.get(number)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_woken_twice_goes_on_once() {
        let mut ready = Ready::all(2);
        ready.wake(1);
        assert_eq!([ready.next(), ready.next(), ready.next()], [Some(0), Some(1), None]);
        ready.wake(1);
        ready.wake(1);
        assert_eq!([ready.next(), ready.next()], [Some(1), None]);
    }
}
