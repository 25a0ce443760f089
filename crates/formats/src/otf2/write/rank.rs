//! The calls of one rank as events.

use std::collections::{BTreeMap, HashMap};

use sintonia_mpi::{Mode, Operation, Pattern, Role};
use sintonia_recording::header::{End, Rank};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::table::{Call, ListedRequest, RequestId, Shape};

use crate::error::Error;
use crate::otf2::attributes::{Attributes, Field, listed};
use crate::otf2::bytes::UNDEFINED;
use crate::otf2::chunks::{Content, Writer};
use crate::otf2::event::{self, Collective, Encoder, Event, FileAccess, Message, NO_ROOT, Transfer, group};
use crate::otf2::meaning::{Handle, Teller, Told};
use crate::otf2::write::{Archive, DEFINITION_CHUNK, EVENT_CHUNK, definitions};

/// The most one-sided operations whose end is told at the synchronisation that ends them.
const MOST_TRANSFERS: usize = 1 << 14;

/// What was written of a rank.
pub struct WrittenRank {
    /// The rank.
    pub rank: u32,
    /// Its threads, the main one first.
    pub locations: Vec<Location>,
    /// When its last event was.
    pub end: u64,
    /// What OTF2 could not hold.
    pub missing: Missing,
}

/// What was written of a thread.
pub struct Location {
    /// Its number in the archive.
    pub id: u64,
    /// Its number in its process.
    pub thread: u16,
    /// How many events it has.
    pub events: u64,
}

/// What there was that OTF2 has no event for.
#[derive(Default)]
pub struct Missing {
    /// Synchronisations of windows with a group that is not recorded.
    partial_syncs: bool,
    /// Neighbourhood collectives.
    neighbourhoods: bool,
}

impl Missing {
    /// One sentence for each.
    pub fn notes<'a>(all: impl Iterator<Item = &'a Missing>) -> Vec<String> {
        let (syncs, neighbours) =
            all.fold((false, false), |(syncs, neighbours), one| (syncs | one.partial_syncs, neighbours | one.neighbourhoods));
        let syncs = syncs.then_some(
            "other tools see calls that synchronise a window with a part of its processes (MPI_Win_post, _start, _complete, _wait, _test) \
             as regions only, because this recording does not say with whom",
        );
        let neighbours = neighbours.then_some("other tools see neighbourhood collectives as regions only: OTF2 has no event for them");
        syncs.into_iter().chain(neighbours).map(str::to_owned).collect()
    }
}

/// The number of a thread's location: as Score-P numbers them.
pub fn location(rank: u32, thread: u16) -> u64 {
    u64::from(thread) << 32 | u64::from(rank)
}

/// Writes the events of a rank; one that left nothing has a location without events.
pub fn write(archive: &Archive, rank: u32) -> Result<WrittenRank, Error> {
    let mut out = RankWriter {
        archive,
        rank,
        threads: BTreeMap::new(),
        open: HashMap::new(),
        transfers: Vec::new(),
        epochs: HashMap::new(),
        next_id: 0,
        moment: Moment::default(),
        encoder: Encoder::default(),
        record: Vec::new(),
        missing: Missing::default(),
    };
    let about = archive.recording.header.rank(rank);
    out.begin(about)?;
    let mut calls = archive.recording.calls(rank)?;
    while let Some(call) = calls.next_call() {
        out.call(&call)?;
    }
    out.finish(about)
}

/// Writes the files of a location that has neither events nor definitions of its own.
pub fn write_nothing(archive: &Archive, location: u64) -> Result<(), Error> {
    Writer::create(archive.folder.join(format!("{location}.evt")), Content::Events, EVENT_CHUNK)?.finish()?;
    write_no_definitions(archive, location)
}

/// A location's numbers and clock are those of all, so there is nothing to define; but readers expect the file.
fn write_no_definitions(archive: &Archive, location: u64) -> Result<(), Error> {
    let path = archive.folder.join(format!("{location}.def"));
    Writer::create(path, Content::Definitions, DEFINITION_CHUNK)?.finish().map(|_| ())
}

/// An operation that another call completes.
#[derive(Clone, Copy)]
struct Open {
    what: What,
    persistent: bool,
}

#[derive(Clone, Copy)]
enum What {
    Send(Message),
    Receive(u32),
    Collective(Collective),
    Transfer(u32, u64),
    File(u32, u64, u64),
    /// Nothing that OTF2 has an event for.
    Other,
}

/// The events within a call, with their attributes: first those at its beginning, then those at its end.
#[derive(Default)]
struct Moment {
    at_enter: Vec<(Event, Attributes)>,
    at_leave: Vec<(Event, Attributes)>,
}

impl Moment {
    fn clear(&mut self) {
        self.at_enter.clear();
        self.at_leave.clear();
    }

    fn enter(&mut self, event: impl Into<Option<Event>>) {
        self.at_enter.extend(event.into().map(|event| (event, Attributes::default())));
    }

    fn leave(&mut self, event: impl Into<Option<Event>>) {
        self.at_leave.extend(event.into().map(|event| (event, Attributes::default())));
    }
}

struct RankWriter<'a> {
    archive: &'a Archive<'a>,
    rank: u32,
    threads: BTreeMap<u16, Writer>,
    open: HashMap<RequestId, Open>,
    /// One-sided operations that no synchronisation has ended yet.
    transfers: Vec<(u32, i32, u64)>,
    /// With which group a window is being accessed or lets itself be accessed, by the function that began it.
    epochs: HashMap<(u32, Operation), u32>,
    /// The number of the latest one-sided transfer or access to a file.
    next_id: u64,
    moment: Moment,
    encoder: Encoder,
    record: Vec<u8>,
    missing: Missing,
}

impl RankWriter<'_> {
    fn me(&self) -> i32 {
        self.rank as i32
    }

    fn begin(&mut self, about: Option<&Rank>) -> Result<(), Error> {
        self.thread(0)?;
        if let Some(rank) = about {
            let mut attributes = Attributes::default();
            attributes.add(Field::ProcessId, rank.pid.into());
            self.put(0, self.archive.time(rank.begin_ns), &self.archive.program.clone(), &attributes)?;
        }
        Ok(())
    }

    fn finish(mut self, about: Option<&Rank>) -> Result<WrittenRank, Error> {
        if let Some(rank) = about.filter(|rank| rank.end != End::CutShort) {
            let status = self.archive.recording.header.exit_status.map_or(i64::MIN, i64::from);
            let time = self.archive.time(rank.end_ns);
            self.put(0, time, &Event::ProgramEnd(status), &Attributes::default())?;
        }
        let (rank, end) = (self.rank, self.threads.values().map(Writer::now).max().unwrap_or(0));
        let mut locations = Vec::new();
        for (thread, writer) in self.threads {
            write_no_definitions(self.archive, location(rank, thread))?;
            locations.push(Location { id: location(rank, thread), thread, events: writer.finish()? });
        }
        Ok(WrittenRank { rank, locations, end, missing: self.missing })
    }

    fn thread(&mut self, thread: u16) -> Result<&mut Writer, Error> {
        use std::collections::btree_map::Entry;
        match self.threads.entry(thread) {
            Entry::Occupied(writer) => Ok(writer.into_mut()),
            Entry::Vacant(place) => {
                let path = self.archive.folder.join(format!("{}.evt", location(self.rank, thread)));
                Ok(place.insert(Writer::create(path, Content::Events, EVENT_CHUNK)?))
            }
        }
    }

    fn put(&mut self, thread: u16, time: u64, event: &Event, attributes: &Attributes) -> Result<(), Error> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        attributes.put(&mut record);
        self.encoder.put(event, &mut record);
        let put = self.thread(thread)?.event(time, &record);
        self.record = record;
        put
    }

    fn call(&mut self, call: &Call) -> Result<(), Error> {
        let mut moment = std::mem::take(&mut self.moment);
        moment.clear();
        self.understand(call, &mut moment);
        let attributes = self.attributes(call, &moment);
        let (enter, leave) = (self.archive.time(call.enter), self.archive.time(call.leave));
        let region = definitions::region(call.shape.operation);
        self.put(call.thread, enter, &Event::Enter(region), &attributes)?;
        for (event, attributes) in &moment.at_enter {
            self.put(call.thread, enter, event, attributes)?;
        }
        for (event, attributes) in &moment.at_leave {
            self.put(call.thread, leave, event, attributes)?;
        }
        self.put(call.thread, leave, &Event::Leave(region), &Attributes::default())?;
        self.moment = moment;
        Ok(())
    }

    /// The attributes of a call: its site, and what its events do not tell.
    fn attributes(&self, call: &Call, moment: &Moment) -> Attributes {
        let mut attributes = Attributes::default();
        if let Some((context, line)) = self.archive.sites.of(call.shape.site) {
            if let Some(line) = line {
                attributes.add(Field::SourceLine, line.into());
            }
            attributes.add(Field::Site, context.into());
        }
        let teller = Teller { terms: &self.archive.places.terms, me: self.me() };
        let mut told = Told::of(call.shape.operation);
        let mut listed = call.listed().map(|(_, listed)| listed.request);
        let mut resolve = |_: Handle| listed.next();
        for (event, of_event) in moment.at_enter.iter().chain(&moment.at_leave) {
            told.add(event, of_event, teller, &mut resolve);
        }
        attributes.add_differences(&told.shape, call.shape);
        if let Some(request) = call.request.filter(|_| told.made.is_none()) {
            attributes.add(Field::Request, number(request));
        }
        attributes
    }

    /// Finds the events of a call, and remembers what later calls complete.
    fn understand(&mut self, call: &Call, moment: &mut Moment) {
        let (shape, function) = (call.shape, call.shape.operation.function());
        match function.role {
            Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => {
                for (request, listed) in call.listed() {
                    let event = self.complete(request, listed);
                    moment.at_leave.push(self.tell(event, call, request, listed));
                }
            }
            Role::Start | Role::StartAll => {
                for (request, listed) in call.listed() {
                    let event = self.start(request);
                    moment.at_enter.push(self.tell(event, call, request, listed));
                }
            }
            _ if shape.parts & part::ERROR != 0 => self.list_others(call, moment),
            _ => {
                let what = self.begin_operation(call, moment);
                if let Some(request) = call.request {
                    let what = if function.mode == Mode::Blocking { What::Other } else { what };
                    self.open.insert(request, Open { what, persistent: function.mode == Mode::Persistent });
                }
                self.list_others(call, moment);
            }
        }
    }

    /// Requests that a call lists which neither completes nor starts any.
    fn list_others(&mut self, call: &Call, moment: &mut Moment) {
        if call.shape.operation.role() == Role::RequestFree {
            call.listed().for_each(|(request, _)| _ = self.open.remove(&request));
        }
        moment.at_leave.extend(call.listed().map(|(request, listed)| self.tell(None, call, request, listed)));
    }

    /// The events of a call that says itself what it does, and what it leaves to be completed.
    fn begin_operation(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        match shape.operation.role() {
            Role::Send => self.send(call, moment),
            Role::Receive | Role::MatchedReceive => self.receive(call, moment),
            Role::SendReceive => self.exchange(call, moment),
            Role::Collective(pattern) => self.collective(call, pattern, moment),
            Role::CommunicatorCreate => self.make_communicator(call, moment),
            Role::CommunicatorFree => {
                moment.leave(self.communicator(shape.made).map(Event::CommunicatorDestroy));
                What::Other
            }
            Role::Put | Role::Get | Role::Exchange => self.transfer(call, moment),
            Role::WindowCreate | Role::WindowFree => {
                self.make_window(shape, moment);
                What::Other
            }
            Role::WindowSync => {
                self.synchronise(shape, moment);
                What::Other
            }
            Role::FileOpen | Role::FileClose | Role::FileRead | Role::FileWrite => self.file(call, moment),
            _ => What::Other,
        }
    }

    fn communicator(&self, number: u32) -> Option<u32> {
        self.archive.places.communicator(number)
    }

    /// A message in OTF2's terms; `None` if it has no other end there.
    fn message(&self, communicator: u32, peer: i32, tag: i32, bytes: u64) -> Option<Message> {
        let peer = self.archive.places.peer(communicator, peer, self.me())?;
        Some(Message { peer, communicator, tag: u32::try_from(tag).ok()?, bytes: known(bytes) })
    }

    fn send(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let Some(message) = self.message(shape.object, shape.peer, shape.tag, shape.sent) else { return What::Other };
        match shape.operation.function().mode {
            Mode::Blocking => moment.enter(Event::Send(message, None)),
            Mode::Nonblocking => moment.enter(call.request.map(|request| Event::Send(message, Some(number(request))))),
            Mode::Persistent => {}
        }
        What::Send(message)
    }

    fn receive(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        if shape.operation.function().mode == Mode::Blocking {
            if shape.parts & part::UNFINISHED == 0 {
                let message = self.message(shape.object, shape.peer, shape.tag, shape.received);
                moment.leave(message.map(|message| Event::Receive(message, None)));
            }
            return What::Other;
        }
        let Some(communicator) = self.communicator(shape.object).filter(|_| shape.peer != raw::PROC_NULL) else { return What::Other };
        if shape.operation.function().mode == Mode::Nonblocking {
            moment.enter(call.request.map(|request| Event::Post(number(request))));
        }
        What::Receive(communicator)
    }

    fn exchange(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let send = self.message(shape.object, shape.peer, shape.tag, shape.sent);
        moment.enter(send.map(|message| Event::Send(message, None)));
        if shape.operation.function().mode == Mode::Blocking {
            let receive = self.message(shape.object, shape.source, shape.recv_tag, shape.received);
            let receive = receive.filter(|_| shape.parts & part::UNFINISHED == 0);
            moment.leave(receive.map(|message| Event::Receive(message, None)));
            return What::Other;
        }
        let communicator = self.communicator(shape.object).filter(|_| shape.source != raw::PROC_NULL);
        moment.enter(call.request.filter(|_| communicator.is_some()).map(|request| Event::Post(number(request))));
        communicator.map_or(What::Other, What::Receive)
    }

    fn collective(&mut self, call: &Call, pattern: Pattern, moment: &mut Moment) -> What {
        let shape = call.shape;
        let Some(operation) = operation(pattern) else {
            self.missing.neighbourhoods = true;
            return What::Other;
        };
        let Some((communicator, root)) = self.communicator(shape.object).zip(self.root(shape)) else { return What::Other };
        let collective = Collective { operation, communicator, root, sent: known(shape.sent), received: known(shape.received) };
        self.together(call, collective, moment);
        What::Collective(collective)
    }

    /// The events of an operation of a group.
    fn together(&self, call: &Call, collective: Collective, moment: &mut Moment) {
        match (call.shape.operation.function().mode, call.request) {
            (Mode::Blocking, _) => {
                moment.enter(Event::CollectiveBegin);
                moment.leave(Event::CollectiveEnd(collective));
            }
            (Mode::Nonblocking, Some(request)) => moment.enter(Event::CollectivePost(number(request))),
            _ => {}
        }
    }

    fn root(&self, shape: &Shape) -> Option<u32> {
        match shape.peer {
            raw::NONE => Some(NO_ROOT),
            raw::ROOT_HERE => Some(event::ROOT_HERE),
            raw::PROC_NULL => Some(event::ROOT_IN_THIS_GROUP),
            peer => self.archive.places.peer(shape.object, peer, self.me()),
        }
    }

    fn make_communicator(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        moment.leave(self.communicator(shape.made).map(Event::CommunicatorCreate));
        let parent = self.communicator(shape.object).filter(|_| all_make_it(shape.operation));
        let Some(communicator) = parent else { return What::Other };
        let collective = Collective { operation: group::CREATE, communicator, root: NO_ROOT, sent: 0, received: 0 };
        self.together(call, collective, moment);
        What::Collective(collective)
    }

    fn make_window(&mut self, shape: &Shape, moment: &mut Moment) {
        let Some(window) = self.archive.places.object(shape.made) else { return };
        let allocates = shape.operation.name().starts_with("MPI_Win_allocate");
        let (event, operation) = match shape.operation.role() {
            Role::WindowCreate if allocates => (Event::WindowCreate(window), group::CREATE_AND_ALLOCATE),
            Role::WindowCreate => (Event::WindowCreate(window), group::CREATE),
            _ => {
                self.end_transfers(shape.made, None, moment);
                (Event::WindowDestroy(window), group::DESTROY)
            }
        };
        moment.enter(Event::WindowCollectiveBegin);
        moment.leave(event);
        moment.leave(Event::WindowCollectiveEnd { operation, window });
    }

    fn synchronise(&mut self, shape: &Shape, moment: &mut Moment) {
        let Some(window) = self.archive.places.object(shape.object) else { return };
        let exclusive = shape.value == raw::LOCK_EXCLUSIVE;
        let at = self.archive.places.target(shape.object, shape.peer, self.me()).map(|(_, rank)| rank);
        let peer = at.map(|_| shape.peer);
        match shape.operation.name() {
            "MPI_Win_fence" => {
                self.end_transfers(shape.object, None, moment);
                moment.enter(Event::WindowCollectiveBegin);
                moment.leave(Event::WindowCollectiveEnd { operation: group::BARRIER, window });
            }
            "MPI_Win_lock" => moment.leave(at.map(|rank| Event::WindowLock(window, rank, exclusive))),
            "MPI_Win_lock_all" => moment.leave(Event::WindowLock(window, UNDEFINED, false)),
            "MPI_Win_unlock" | "MPI_Win_unlock_all" => {
                self.end_transfers(shape.object, peer, moment);
                moment.leave(Event::WindowUnlock(window, at.unwrap_or(UNDEFINED)));
            }
            "MPI_Win_flush" | "MPI_Win_flush_all" => self.end_transfers(shape.object, peer, moment),
            "MPI_Win_post" | "MPI_Win_start" => {
                let group = self.archive.places.group(shape.value).filter(|_| shape.names_group());
                self.epochs.extend(group.map(|group| ((shape.object, shape.operation), group)));
                self.synchronise_with(window, group, moment);
            }
            "MPI_Win_complete" => {
                self.end_transfers(shape.object, None, moment);
                self.end_epoch(shape, "MPI_Win_start", window, moment);
            }
            "MPI_Win_wait" => self.end_epoch(shape, "MPI_Win_post", window, moment),
            "MPI_Win_test" if shape.parts & part::FOUND_NOTHING == 0 => self.end_epoch(shape, "MPI_Win_post", window, moment),
            _ => {}
        }
    }

    /// What `MPI_Win_post` or `MPI_Win_start` began is ended, with the same processes.
    fn end_epoch(&mut self, shape: &Shape, begun_by: &str, window: u32, moment: &mut Moment) {
        let began = Operation::named(begun_by).map(|began| (shape.object, began));
        let group = began.and_then(|began| self.epochs.remove(&began));
        self.synchronise_with(window, group, moment);
    }

    fn synchronise_with(&mut self, window: u32, group: Option<u32>, moment: &mut Moment) {
        self.missing.partial_syncs |= group.is_none();
        moment.leave(group.map(|group| Event::WindowGroupSync(window, group)));
    }

    /// One-sided operations on a window (with one target, or with all) are complete.
    fn end_transfers(&mut self, window: u32, target: Option<i32>, moment: &mut Moment) {
        let Some(definition) = self.archive.places.object(window) else { return };
        self.transfers.retain(|(on, with, id)| {
            let ends = *on == window && target.is_none_or(|target| target == *with);
            if ends {
                moment.leave(Event::TransferDone(definition, *id));
            }
            !ends
        });
    }

    fn transfer(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let Some((window, peer)) = self.archive.places.target(shape.object, shape.peer, self.me()) else { return What::Other };
        let id = self.next_id();
        let how = how(shape.operation);
        let (sent, received) = match how {
            Transfer::Put => (known(shape.sent), 0),
            Transfer::Get => (0, known(shape.received)),
            Transfer::Atomic(_) => (known(shape.sent), known(shape.received)),
        };
        moment.enter(Event::Transfer { how, window, peer, sent, received, id });
        if call.request.is_none() && self.transfers.len() < MOST_TRANSFERS {
            self.transfers.push((shape.object, shape.peer, id));
        }
        What::Transfer(window, id)
    }

    fn file(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let role = shape.operation.role();
        let number_of_file = if matches!(role, Role::FileOpen | Role::FileClose) { shape.made } else { shape.object };
        let Some(file) = self.archive.places.object(number_of_file) else { return What::Other };
        let writes = match role {
            Role::FileOpen => {
                moment.leave(Event::FileOpen(file));
                return What::Other;
            }
            Role::FileClose => {
                moment.leave(Event::FileClose(file));
                return What::Other;
            }
            role => role == Role::FileWrite,
        };
        let bytes = known(if writes { shape.sent } else { shape.received });
        let collective = ["_all", "_ordered"].iter().any(|part| shape.operation.name().contains(part));
        let access = FileAccess { writes, collective, nonblocking: call.request.is_some(), bytes };
        let id = self.next_id();
        moment.enter(Event::FileBegin(file, access, id));
        moment.leave(if access.nonblocking { Event::FileIssued(file, id) } else { Event::FileComplete(file, bytes, id) });
        What::File(file, bytes, id)
    }

    /// A number for the next one-sided transfer or access to a file.
    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The event of a request that is complete.
    fn complete(&mut self, request: RequestId, listed: &ListedRequest) -> Option<Event> {
        let open = self.open.get(&request).copied()?;
        if !open.persistent {
            self.open.remove(&request);
        }
        let id = number(request);
        match open.what {
            What::Send(_) => Some(Event::SendComplete(id)),
            What::Receive(_) if !listed.receive => Some(Event::Cancelled(id)),
            What::Receive(communicator) => {
                let message = self.message(communicator, listed.peer, listed.tag, listed.received);
                message.map(|message| Event::Receive(message, Some(id)))
            }
            What::Collective(collective) => Some(Event::CollectiveComplete(collective, id)),
            What::Transfer(window, id) => Some(Event::TransferComplete(window, id)),
            What::File(file, bytes, id) => Some(Event::FileComplete(file, bytes, id)),
            What::Other => None,
        }
    }

    /// The event of a persistent request that is started.
    fn start(&mut self, request: RequestId) -> Option<Event> {
        let id = number(request);
        match self.open.get(&request)?.what {
            What::Send(message) => Some(Event::Send(message, Some(id))),
            What::Receive(_) => Some(Event::Post(id)),
            What::Collective(_) => Some(Event::CollectivePost(id)),
            _ => None,
        }
    }

    /// The event of a listed request (a parameter of the call, where OTF2 has none for it), with attributes for what it does not tell.
    fn tell(&self, event: Option<Event>, call: &Call, request: RequestId, actual: &ListedRequest) -> (Event, Attributes) {
        let event = event.unwrap_or(Event::Parameter(definitions::REQUEST, number(request)));
        let teller = Teller { terms: &self.archive.places.terms, me: self.me() };
        let mut attributes = Attributes::default();
        let mut told = Told::of(call.shape.operation);
        told.add(&event, &attributes, teller, &mut |_| Some(actual.request));
        // Of a request that is no receive, nothing else holds.
        let actual = if actual.receive { *actual } else { listed(actual.request, false) };
        if let Some(told) = told.shape.requests.first() {
            attributes.add_listed_differences(told, &actual);
        }
        (event, attributes)
    }
}

/// The number of a request in the archive.
fn number(request: RequestId) -> u64 {
    RequestRef::Of(request.thread, request.number).word(false)
}

fn known(bytes: u64) -> u64 {
    if bytes == raw::UNKNOWN_BYTES { 0 } else { bytes }
}

/// OTF2's number of a collective operation; it has none for those among neighbours.
fn operation(pattern: Pattern) -> Option<u8> {
    const IN_ORDER: [Pattern; 17] = [
        Pattern::Barrier,
        Pattern::Broadcast,
        Pattern::Gather,
        Pattern::Gatherv,
        Pattern::Scatter,
        Pattern::Scatterv,
        Pattern::Allgather,
        Pattern::Allgatherv,
        Pattern::Alltoall,
        Pattern::Alltoallv,
        Pattern::Alltoallw,
        Pattern::Allreduce,
        Pattern::Reduce,
        Pattern::ReduceScatter,
        Pattern::Scan,
        Pattern::Exscan,
        Pattern::ReduceScatterBlock,
    ];
    IN_ORDER.iter().position(|known| *known == pattern).map(|place| place as u8)
}

/// Whether all members of the parent make a communicator together.
fn all_make_it(operation: Operation) -> bool {
    !matches!(
        operation.name(),
        "MPI_Comm_create_group" | "MPI_Comm_create_from_group" | "MPI_Comm_join" | "MPI_Intercomm_create_from_groups"
    )
}

/// How data moves in a one-sided operation.
fn how(operation: Operation) -> Transfer {
    const ACCUMULATE: u8 = 0;
    const COMPARE_AND_SWAP: u8 = 3;
    const FETCH_AND_ACCUMULATE: u8 = 7;
    match operation.role() {
        Role::Get => Transfer::Get,
        Role::Put if operation.name().ends_with("ccumulate") => Transfer::Atomic(ACCUMULATE),
        Role::Put => Transfer::Put,
        _ if operation.name() == "MPI_Compare_and_swap" => Transfer::Atomic(COMPARE_AND_SWAP),
        _ => Transfer::Atomic(FETCH_AND_ACCUMULATE),
    }
}
