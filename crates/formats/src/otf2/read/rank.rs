//! The calls of one process, from the events of its threads.
//!
//! A thread may complete what another began, so the events of all threads of a process are read together, in the order of time.

use std::path::Path;

use sintonia_mpi::{Operation, Role};
use sintonia_recording::header::{End, Rank};
use sintonia_recording::raw::part;
use sintonia_recording::table::Shape;

use crate::error::Error;
use crate::otf2::attributes::{Attributes, Field};
use crate::otf2::bytes::UNDEFINED;
use crate::otf2::event::{Event, Message};
use crate::otf2::facts;
use crate::otf2::meaning::{Handle, Teller, Told};
use crate::otf2::read::Trace;
use crate::otf2::read::calls::Calls;
use crate::otf2::read::layout::Process;
use crate::otf2::read::location::Location;

/// The most regions inside each other.
const MOST_DEEP: usize = 1 << 16;

/// What was read of a process.
pub struct ReadRank {
    /// The process.
    pub rank: Rank,
    /// The program and its arguments, if an event tells them.
    pub command: Vec<String>,
    /// How wrong its clocks can be, in ticks.
    pub deviation: f64,
    /// What was left out.
    pub left_out: LeftOut,
}

/// Counts of what is not in the recording as it was in the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOut {
    /// Calls of functions that answer at once.
    pub local: u64,
    /// Events outside any MPI call.
    pub stray: u64,
    /// Interruptions by the tool itself.
    pub interruptions: u64,
    /// Nonblocking operations whose communicator is not known.
    pub unsettled: u64,
    /// Requests that were completed but never made.
    pub unknown_requests: u64,
    /// Operations that are shown where they were started.
    pub started: u64,
}

impl LeftOut {
    /// Both together.
    pub fn plus(self, other: LeftOut) -> LeftOut {
        LeftOut {
            local: self.local + other.local,
            stray: self.stray + other.stray,
            interruptions: self.interruptions + other.interruptions,
            unsettled: self.unsettled + other.unsettled,
            unknown_requests: self.unknown_requests + other.unknown_requests,
            started: self.started + other.started,
        }
    }
}

/// Reads the events of a process and writes its calls.
pub fn read(trace: &Trace, process: &Process, folder: &Path) -> Result<ReadRank, Error> {
    let mut lanes = Vec::new();
    for (thread, id) in &process.threads {
        let location = Location::open(&trace.folder, *id, trace.anchor.definition_chunk, trace.anchor.event_chunk)?;
        lanes.push(Lane { thread: *thread, location, next: None, regions: Vec::new(), call: None });
    }
    let mut reader = Reader {
        trace,
        me: process.rank as i32,
        calls: Calls::create(folder, process.rank, !trace.definitions.is_ours())?,
        span: None,
        inside_mpi: [None; 2],
        end: End::CutShort,
        command: Vec::new(),
        pid: 0,
        left_out: LeftOut::default(),
    };
    for lane in &mut lanes {
        lane.advance(trace)?;
    }
    while let Some(lane) = lanes.iter_mut().filter(|lane| lane.next.is_some()).min_by_key(|lane| lane.next.as_ref().map(|(time, _)| *time))
    {
        reader.step(lane)?;
        lane.advance(trace)?;
    }
    reader.finish(process, lanes)
}

/// A thread.
struct Lane {
    thread: u16,
    location: Location,
    /// The next event, whose attributes the location holds.
    next: Option<(u64, Event)>,
    /// Regions of the program that have begun and not ended.
    regions: Vec<u32>,
    call: Option<UnderWay>,
}

impl Lane {
    fn advance(&mut self, trace: &Trace) -> Result<(), Error> {
        self.next = self.location.next(&trace.definitions.attributes)?;
        Ok(())
    }
}

/// An MPI call that has begun.
struct UnderWay {
    told: Told,
    enter: u64,
    /// What the attributes of its beginning say.
    attributes: Attributes,
    site: u32,
    /// How many regions have begun inside it.
    inside: usize,
    /// The requests that its events named.
    named: Vec<Handle>,
}

struct Reader<'a> {
    trace: &'a Trace,
    me: i32,
    calls: Calls,
    /// When the first and the last event was.
    span: Option<(u64, u64)>,
    /// When MPI was started and ended.
    inside_mpi: [Option<u64>; 2],
    end: End,
    command: Vec<String>,
    pid: u32,
    left_out: LeftOut,
}

impl Reader<'_> {
    fn step(&mut self, lane: &mut Lane) -> Result<(), Error> {
        let Some((time, event)) = lane.next.take() else { return Ok(()) };
        let time = self.trace.ticks(time);
        self.span = Some((self.span.map_or(time, |(first, _)| first), time));
        match event {
            Event::Enter(region) => self.enter(lane, time, region, None),
            Event::EnterContext(context) => {
                let (region, around) = self.trace.sites.context(context).unzip();
                self.enter(lane, time, region.unwrap_or(UNDEFINED), around)
            }
            Event::Leave(_) | Event::LeaveContext(_) => self.leave(lane, time),
            Event::ProgramBegin(name, arguments) => {
                let word = |number: &u32| self.trace.definitions.string(*number).unwrap_or_default().to_owned();
                self.command = std::iter::once(&name).chain(&arguments).map(word).collect();
                self.pid = lane.location.attributes.get(Field::ProcessId).unwrap_or(0) as u32;
                Ok(())
            }
            Event::ProgramEnd(_) => {
                self.end = End::Exited;
                Ok(())
            }
            Event::Interrupted => {
                self.left_out.interruptions += 1;
                Ok(())
            }
            event => {
                self.tell(lane, &event);
                Ok(())
            }
        }
    }

    fn enter(&mut self, lane: &mut Lane, time: u64, region: u32, context: Option<u32>) -> Result<(), Error> {
        if let Some(call) = &mut lane.call {
            call.inside += 1;
            return Ok(());
        }
        let Some(operation) = self.trace.sites.function(region) else {
            if lane.regions.len() >= MOST_DEEP {
                return Err(lane.location.too_deep());
            }
            lane.regions.push(region);
            return Ok(());
        };
        let attributes = lane.location.attributes.clone();
        let site = self.trace.sites.find(&attributes, context, lane.regions.last().copied());
        lane.call = Some(UnderWay { told: Told::of(operation), enter: time, attributes, site, inside: 0, named: Vec::new() });
        Ok(())
    }

    fn leave(&mut self, lane: &mut Lane, time: u64) -> Result<(), Error> {
        match &mut lane.call {
            None => {
                lane.regions.pop();
                Ok(())
            }
            Some(call) if call.inside > 0 => {
                call.inside -= 1;
                Ok(())
            }
            Some(_) => {
                let call = lane.call.take();
                call.map_or(Ok(()), |call| self.end_call(lane.thread, call, time))
            }
        }
    }

    fn tell(&mut self, lane: &mut Lane, event: &Event) {
        if self.is_of_others(event) {
            return;
        }
        let Some(call) = &mut lane.call else {
            self.left_out.stray += 1;
            return;
        };
        let teller = Teller { terms: &self.trace.layout.terms, me: self.me };
        let (calls, named, thread) = (&self.calls, &mut call.named, lane.thread);
        let mut unknown = 0;
        let starts = matches!(call.told.shape.operation.role(), Role::Start | Role::StartAll);
        let mut resolve = |handle: Handle| {
            named.push(handle);
            let found = calls.reference(handle, thread);
            unknown += u64::from(found.is_none() && !starts && matches!(handle, Handle::Request(_)));
            found
        };
        call.told.add(event, &lane.location.attributes, teller, &mut resolve);
        self.left_out.unknown_requests += unknown;
    }

    /// Whether an event says nothing of MPI: a parameter of another tool, or the system's own access to files.
    fn is_of_others(&self, event: &Event) -> bool {
        match event {
            Event::Parameter(..) => !self.trace.definitions.is_ours(),
            Event::FileOpen(file)
            | Event::FileClose(file)
            | Event::FileBegin(file, ..)
            | Event::FileIssued(file, _)
            | Event::FileComplete(file, ..) => self.trace.layout.terms.files.get(*file).is_none(),
            _ => false,
        }
    }

    fn end_call(&mut self, thread: u16, call: UnderWay, leave: u64) -> Result<(), Error> {
        let UnderWay { told: Told { mut shape, made, outcomes, begun }, enter, attributes, site, named, .. } = call;
        let role = shape.operation.role();
        if role == Role::Local {
            self.left_out.local += 1;
            return Ok(());
        }
        self.notice(role, enter, leave);
        attributes.complete(&mut shape);
        shape.site = site;
        let teller = Teller { terms: &self.trace.layout.terms, me: self.me };
        for (handle, outcome) in outcomes {
            self.calls.settle(handle, outcome, teller);
        }
        if matches!(role, Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome | Role::RequestFree) {
            named.into_iter().for_each(|handle| self.calls.forget(handle));
        }
        if !begun.is_empty() && shape.requests.is_empty() {
            return self.begin(thread, [enter, leave], &shape, begun);
        }
        let made = made.or_else(|| attributes.get(Field::Request).map(Handle::Request));
        let overfull = self.calls.add(thread, [enter, leave], shape, made)?;
        self.left_out.unsettled += u64::from(overfull);
        Ok(())
    }

    /// What a start began that no earlier call described: it is shown as the calls that would have begun the same.
    fn begin(&mut self, thread: u16, [enter, leave]: [u64; 2], start: &Shape, begun: Vec<(u64, Option<Message>)>) -> Result<(), Error> {
        let teller = Teller { terms: &self.trace.layout.terms, me: self.me };
        for (place, (request, message)) in begun.into_iter().enumerate() {
            let name = if message.is_some() { "MPI_Isend" } else { "MPI_Irecv" };
            let mut told = Told::of(Operation::named(name).expect("a function of MPI"));
            let event = message.map_or(Event::Post(request), |message| Event::Send(message, Some(request)));
            told.add(&event, &Attributes::default(), teller, &mut |_| None);
            let shape = Shape { site: start.site, ..told.shape };
            let overfull = self.calls.add(thread, [if place == 0 { enter } else { leave }, leave], shape, told.made)?;
            self.left_out.unsettled += u64::from(overfull);
            self.left_out.started += 1;
        }
        Ok(())
    }

    fn notice(&mut self, role: Role, enter: u64, leave: u64) {
        match role {
            Role::Init => _ = self.inside_mpi[0].get_or_insert(enter),
            Role::Finalize => self.inside_mpi[1] = Some(leave),
            Role::Abort => self.end = End::Aborted,
            _ => {}
        }
    }

    fn finish(mut self, process: &Process, lanes: Vec<Lane>) -> Result<ReadRank, Error> {
        let (first, last) = self.span.unwrap_or((0, 0));
        let deviation = lanes.iter().map(|lane| lane.location.deviation()).fold(0.0, f64::max);
        let mut cut = false;
        for mut lane in lanes {
            if let Some(mut call) = lane.call.take() {
                call.told.shape.parts |= part::UNFINISHED;
                cut = true;
                self.end_call(lane.thread, call, last)?;
            }
        }
        let ends = [(cut, End::CutShort), (self.inside_mpi[1].is_some(), End::Finalized), (self.end == End::Aborted, End::Aborted)];
        let end = ends.into_iter().find(|(holds, _)| *holds).map_or(End::Exited, |(_, end)| end);
        let (written, threads, unsettled) = self.calls.finish()?;
        self.left_out.unsettled += unsettled;
        let clock = self.trace.clock();
        let mut rank = Rank {
            rank: process.rank,
            host: process.host,
            pid: self.pid,
            calls: written.calls,
            threads,
            begin_ns: clock.nanoseconds(self.inside_mpi[0].unwrap_or(first)),
            end_ns: clock.nanoseconds(self.inside_mpi[1].unwrap_or(last)),
            end,
            clock,
            ..Rank::default()
        };
        for (name, value) in self.trace.definitions.facts.get(&process.definition).into_iter().flatten() {
            facts::tell_rank(&mut rank, name, value);
        }
        Ok(ReadRank { rank, command: self.command, deviation, left_out: self.left_out })
    }
}
