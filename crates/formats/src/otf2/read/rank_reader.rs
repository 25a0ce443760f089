//! Reads the calls of one process from the events of its threads.
//!
//! A thread may complete what another one started, so the threads of a process are read together, in time order.

use std::path::Path;

use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::counters::{self, CounterIntervalKind, RankCounters, ThreadCounters};
use sintonia_recording::definitions::{CountersDefinition, SamplingDefinition};
use sintonia_recording::header::{ProcessExit, RecordedRank};
use sintonia_recording::raw::part;
use sintonia_recording::samples::{self, Sample, ThreadSamples};

use crate::error::Error;
use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::decoded_call::{DecodeContext, DecodedCall, RequestHandle};
use crate::otf2::event::{MpiEvent, MpiMessage};
use crate::otf2::properties;
use crate::otf2::read::OpenArchive;
use crate::otf2::read::archive_layout::MpiProcess;
use crate::otf2::read::call_path_tree::CallPathTree;
use crate::otf2::read::call_writer::ImportedCallWriter;
use crate::otf2::read::context_samples::{ContextFrames, SampleGenerator};
use crate::otf2::read::location_reader::LocationReader;
use crate::otf2::read::metrics::CounterReader;
use crate::otf2::read::open_regions::{OpenRegions, RegionTransition};
use crate::otf2::read::own_counters::{OwnCounterDefinitions, OwnCounterReader};
use crate::otf2::read::region_samples::RegionSampler;

/// An imported process.
pub(super) struct ImportedRank {
    /// Its header entry.
    pub rank: RecordedRank,
    /// Program and arguments, if an event has them.
    pub command: Vec<String>,
    /// Largest clock deviation in ticks.
    pub deviation: f64,
    /// What was left out.
    pub omissions: OmissionCounts,
    /// The frames of its samples.
    pub stacks: CallPathTree,
}

/// Counts of what the recording lacks or shows differently.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OmissionCounts {
    /// Calls of local functions.
    pub local_calls: u64,
    /// Events outside MPI calls.
    pub stray_events: u64,
    /// Interruptions of the measurement.
    pub interruptions: u64,
    /// Nonblocking operations with unknown communicator.
    pub unresolved: u64,
    /// Requests that were completed but never created.
    pub unknown_requests: u64,
    /// Operations shown where they were started.
    pub started_requests: u64,
    /// Samples of other interrupt generators, or without a calling context.
    pub samples: u64,
}

impl OmissionCounts {
    pub(super) fn sum(self, other: OmissionCounts) -> OmissionCounts {
        OmissionCounts {
            local_calls: self.local_calls + other.local_calls,
            stray_events: self.stray_events + other.stray_events,
            interruptions: self.interruptions + other.interruptions,
            unresolved: self.unresolved + other.unresolved,
            unknown_requests: self.unknown_requests + other.unknown_requests,
            started_requests: self.started_requests + other.started_requests,
            samples: self.samples + other.samples,
        }
    }
}

/// Reads the events of a process and writes its calls.
pub(super) fn read(trace: &OpenArchive, process: &MpiProcess, folder: &Path) -> Result<ImportedRank, Error> {
    let properties = trace.definitions.rank_properties.get(&process.location_group).map_or(&[][..], Vec::as_slice);
    let own_counters = OwnCounterDefinitions::new(properties);
    let mut streams = Vec::new();
    for (thread, id) in &process.threads {
        streams.push(ThreadStream {
            thread: *thread,
            location: LocationReader::open(&trace.archive, *id)?,
            next: None,
            open: OpenRegions::default(),
            call: None,
            sampler: RegionSampler::new(trace.region_sample_period_ns()),
            samples: Vec::new(),
            counters: CounterReader::new(*thread, &trace.metrics),
            own_counters: OwnCounterReader::new(*thread, &own_counters),
            lost_samples: trace.definitions.lost_samples.get(id).copied().unwrap_or(0),
        });
    }
    let mut reader = RankImporter {
        trace,
        rank: process.rank as i32,
        calls: ImportedCallWriter::create(folder, process.rank, !trace.definitions.is_from_sintonia())?,
        span: None,
        mpi_span: [None; 2],
        end: ProcessExit::CutShort,
        command: Vec::new(),
        pid: 0,
        omissions: OmissionCounts::default(),
        stacks: CallPathTree::default(),
        context_frames: ContextFrames::default(),
        own_counters,
    };
    for stream in &mut streams {
        stream.advance(trace)?;
    }
    while let Some(stream) =
        streams.iter_mut().filter(|stream| stream.next.is_some()).min_by_key(|stream| stream.next.as_ref().map(|(time, _)| *time))
    {
        reader.process_event(stream)?;
        stream.advance(trace)?;
    }
    reader.finish(process, streams, folder)
}

/// The event stream of a thread.
struct ThreadStream {
    thread: u16,
    location: LocationReader,
    /// The next event; the location holds its attributes.
    next: Option<(u64, MpiEvent)>,
    open: OpenRegions,
    call: Option<OpenCall>,
    /// Samples the open regions, if the trace has no samples.
    sampler: RegionSampler,
    /// The samples of the trace.
    samples: Vec<Sample>,
    lost_samples: u64,
    counters: CounterReader,
    own_counters: OwnCounterReader,
}

impl ThreadStream {
    fn advance(&mut self, trace: &OpenArchive) -> Result<(), Error> {
        self.next = self.location.next_event(&trace.definitions.attributes)?;
        Ok(())
    }
}

/// An MPI call that was entered but not left.
struct OpenCall {
    decoded: DecodedCall,
    enter: u64,
    /// Attributes of its enter event.
    attributes: CallAttributeList,
    site: u32,
    /// The requests in its events.
    named_requests: Vec<RequestHandle>,
}

struct RankImporter<'a> {
    trace: &'a OpenArchive,
    rank: i32,
    calls: ImportedCallWriter,
    /// Times of the first and last event.
    span: Option<(u64, u64)>,
    /// Times of `MPI_Init` and `MPI_Finalize`.
    mpi_span: [Option<u64>; 2],
    end: ProcessExit,
    command: Vec<String>,
    pid: u32,
    omissions: OmissionCounts,
    /// The frames of its samples.
    stacks: CallPathTree,
    context_frames: ContextFrames,
    /// What was counted, if Sintonia wrote the archive.
    own_counters: OwnCounterDefinitions,
}

impl RankImporter<'_> {
    fn process_event(&mut self, stream: &mut ThreadStream) -> Result<(), Error> {
        let Some((time, event)) = stream.next.take() else { return Ok(()) };
        let time = self.trace.to_ticks(time);
        self.span = Some((self.span.map_or(time, |(first, _)| first), time));
        if !self.trace.has_samples() {
            stream.sampler.sample_until(time, stream.open.regions(), stream.open.is_in_call(), &mut self.stacks);
        }
        match event {
            MpiEvent::Enter(region) => self.enter(stream, time, region, None),
            MpiEvent::CallingContextEnter(context, _) => {
                let (region, caller) = self.trace.sites.region_of_context(context);
                self.enter(stream, time, region, caller)
            }
            MpiEvent::CallingContextSample(context, _, generator) => {
                self.add_sample(stream, time, context, generator);
                Ok(())
            }
            MpiEvent::Metric(class, values) => {
                if self.trace.definitions.is_from_sintonia() {
                    stream.own_counters.read(time, &values, &stream.location.attributes);
                } else {
                    stream.counters.read(&self.trace.metrics, class, &values);
                }
                Ok(())
            }
            MpiEvent::Leave(_) | MpiEvent::CallingContextLeave(_) => self.leave(stream, time),
            MpiEvent::ProgramBegin(name, arguments) => {
                let word = |number: &u32| self.trace.definitions.string(*number).unwrap_or_default().to_owned();
                self.command = std::iter::once(&name).chain(&arguments).map(word).collect();
                self.pid = stream.location.attributes.get(CallAttribute::ProcessId).unwrap_or(0) as u32;
                Ok(())
            }
            MpiEvent::ProgramEnd(_) => {
                self.end = ProcessExit::Exited;
                Ok(())
            }
            MpiEvent::MeasurementInterrupted => {
                self.omissions.interruptions += 1;
                Ok(())
            }
            event => {
                self.apply_to_call(stream, &event);
                Ok(())
            }
        }
    }

    fn enter(&mut self, stream: &mut ThreadStream, time: u64, region: u32, context: Option<u32>) -> Result<(), Error> {
        let function = self.trace.sites.mpi_function(region);
        let entered = stream.open.enter(region, function.is_some()).ok_or_else(|| stream.location.nesting_error())?;
        let (RegionTransition::Call, Some(function)) = (entered, function) else { return Ok(()) };
        if function.role() != FunctionRole::Local {
            stream.counters.end_segment(time, &self.trace.metrics);
        }
        let attributes = stream.location.attributes.clone();
        let site = self.trace.sites.find(&attributes, context, &mut stream.open);
        stream.call = Some(OpenCall { decoded: DecodedCall::new(function), enter: time, attributes, site, named_requests: Vec::new() });
        Ok(())
    }

    fn leave(&mut self, stream: &mut ThreadStream, time: u64) -> Result<(), Error> {
        match stream.open.leave() {
            RegionTransition::Region => stream.sampler.leave_to(stream.open.regions().len()),
            RegionTransition::InsideCall => {}
            RegionTransition::Call => {
                let Some(call) = stream.call.take() else { return Ok(()) };
                if call.decoded.descriptor.function.role() != FunctionRole::Local {
                    stream.counters.begin_segment(time);
                }
                self.end_call(stream.thread, call, time)?;
            }
        }
        Ok(())
    }

    fn add_sample(&mut self, stream: &mut ThreadStream, time: u64, context: u32, generator: u32) {
        let (trace, attributes) = (self.trace, &stream.location.attributes);
        let is_kept = trace.sample_source.is_some_and(|source| source.generator == generator) || trace.definitions.is_from_sintonia();
        let sample = is_kept
            .then(|| self.context_frames.sample(time, context, attributes, &trace.definitions, &trace.sites, &mut self.stacks))
            .flatten();
        self.omissions.samples += u64::from(sample.is_none());
        stream.samples.extend(sample);
    }

    fn apply_to_call(&mut self, stream: &mut ThreadStream, event: &MpiEvent) {
        if self.is_unrelated(event) {
            return;
        }
        let Some(call) = &mut stream.call else {
            self.omissions.stray_events += 1;
            return;
        };
        let context = DecodeContext { ids: &self.trace.layout.ids, rank: self.rank };
        let (calls, named_requests, thread) = (&self.calls, &mut call.named_requests, stream.thread);
        let mut unknown = 0;
        let starts = matches!(call.decoded.descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll);
        let mut resolve = |handle: RequestHandle| {
            named_requests.push(handle);
            let found = calls.request_ref(handle, thread);
            unknown += u64::from(found.is_none() && !starts && matches!(handle, RequestHandle::Request(_)));
            found
        };
        call.decoded.apply_event(event, &stream.location.attributes, context, &mut resolve);
        self.omissions.unknown_requests += unknown;
    }

    /// Whether an event is unrelated to MPI: a parameter of another tool, or POSIX I/O.
    fn is_unrelated(&self, event: &MpiEvent) -> bool {
        match event {
            MpiEvent::ParameterUnsignedInt(..) => !self.trace.definitions.is_from_sintonia(),
            MpiEvent::IoCreateHandle(file)
            | MpiEvent::IoDestroyHandle(file)
            | MpiEvent::IoOperationBegin(file, ..)
            | MpiEvent::IoOperationIssued(file, _)
            | MpiEvent::IoOperationComplete(file, ..) => self.trace.layout.ids.files.get(*file).is_none(),
            _ => false,
        }
    }

    fn end_call(&mut self, thread: u16, call: OpenCall, leave: u64) -> Result<(), Error> {
        let OpenCall {
            decoded: DecodedCall { mut descriptor, created_request: created, outcomes, unmatched_starts: starts },
            enter,
            attributes,
            site,
            named_requests,
            ..
        } = call;
        let role = descriptor.function.role();
        if role == FunctionRole::Local {
            self.omissions.local_calls += 1;
            return Ok(());
        }
        self.track_lifetime(role, enter, leave);
        attributes.apply_to(&mut descriptor);
        descriptor.site = site;
        let context = DecodeContext { ids: &self.trace.layout.ids, rank: self.rank };
        for (handle, outcome) in outcomes {
            self.calls.resolve(handle, outcome, context);
        }
        if matches!(
            role,
            FunctionRole::CompleteOne
                | FunctionRole::CompleteAll
                | FunctionRole::CompleteAny
                | FunctionRole::CompleteSome
                | FunctionRole::RequestFree
        ) {
            named_requests.into_iter().for_each(|handle| self.calls.complete_request(handle));
        }
        if !starts.is_empty() && descriptor.requests.is_empty() {
            return self.add_started_requests(thread, [enter, leave], &descriptor, starts);
        }
        let created = created.or_else(|| attributes.get(CallAttribute::Request).map(RequestHandle::Request));
        let overfull = self.calls.add_call(thread, [enter, leave], descriptor, created)?;
        self.omissions.unresolved += u64::from(overfull);
        Ok(())
    }

    /// Shows started requests that no earlier call created as the equivalent nonblocking calls.
    fn add_started_requests(
        &mut self,
        thread: u16,
        [enter, leave]: [u64; 2],
        start: &CallDescriptor,
        starts: Vec<(u64, Option<MpiMessage>)>,
    ) -> Result<(), Error> {
        let context = DecodeContext { ids: &self.trace.layout.ids, rank: self.rank };
        for (index, (request, message)) in starts.into_iter().enumerate() {
            let name = if message.is_some() { "MPI_Isend" } else { "MPI_Irecv" };
            let mut decoded = DecodedCall::new(FunctionId::from_name(name).expect("a function of MPI"));
            let event = message.map_or(MpiEvent::MpiIrecvRequest(request), |message| MpiEvent::MpiSend(message, Some(request)));
            decoded.apply_event(&event, &CallAttributeList::default(), context, &mut |_| None);
            let descriptor = CallDescriptor { site: start.site, ..decoded.descriptor };
            let overfull =
                self.calls.add_call(thread, [if index == 0 { enter } else { leave }, leave], descriptor, decoded.created_request)?;
            self.omissions.unresolved += u64::from(overfull);
            self.omissions.started_requests += 1;
        }
        Ok(())
    }

    fn track_lifetime(&mut self, role: FunctionRole, enter: u64, leave: u64) {
        match role {
            FunctionRole::Init => _ = self.mpi_span[0].get_or_insert(enter),
            FunctionRole::Finalize => self.mpi_span[1] = Some(leave),
            FunctionRole::Abort => self.end = ProcessExit::Aborted,
            _ => {}
        }
    }

    /// Writes the counters of another tool's trace, if it has any.
    fn write_counters(&self, folder: &Path, rank: u32, threads: Vec<ThreadCounters>) -> Result<Option<CountersDefinition>, Error> {
        if threads.iter().all(ThreadCounters::is_empty) {
            return Ok(None);
        }
        let counted = RankCounters { counters: self.trace.metrics.counters.clone(), threads };
        counters::write(folder, rank, CounterIntervalKind::Segments, &counted)?;
        let events = counted.counters.into_iter().map(|counter| counter.name).collect();
        Ok(Some(CountersDefinition { events, shortest_ns: 0 }))
    }

    /// Time between two samples of a thread. Samples of a counter stand for equal shares of the time.
    fn sample_period_ns(&self, streams: &[ThreadStream], length_ns: u64) -> u64 {
        match self.trace.sample_source {
            None => self.trace.region_sample_period_ns(),
            Some(SampleGenerator { period_ns: Some(period_ns), .. }) => period_ns,
            Some(_) => {
                let sampled: Vec<u64> = streams.iter().map(|stream| stream.samples.len() as u64).filter(|count| *count > 0).collect();
                let samples: u64 = sampled.iter().sum();
                length_ns.saturating_mul(sampled.len() as u64).checked_div(samples).map_or(1, |period_ns| period_ns.max(1))
            }
        }
    }

    fn finish(mut self, process: &MpiProcess, streams: Vec<ThreadStream>, folder: &Path) -> Result<ImportedRank, Error> {
        let (first, last) = self.span.unwrap_or((0, 0));
        let deviation = streams.iter().map(|stream| stream.location.clock_deviation()).fold(0.0, f64::max);
        let (mut cut, mut sampled, mut counted, mut own_counted) = (false, Vec::new(), Vec::new(), Vec::new());
        let period_ns = self.sample_period_ns(&streams, last.saturating_sub(first));
        for mut stream in streams {
            if let Some(mut call) = stream.call.take() {
                call.decoded.descriptor.parts |= part::UNFINISHED;
                cut = true;
                self.end_call(stream.thread, call, last)?;
            }
            let samples = if self.trace.has_samples() { stream.samples } else { stream.sampler.into_samples() };
            counted.push(stream.counters.into_counters());
            own_counted.push(stream.own_counters);
            sampled.push(ThreadSamples { thread: stream.thread, lost: stream.lost_samples, samples });
        }
        samples::write(folder, process.rank, &sampled)?;
        for (intervals, counted) in self.own_counters.to_rank_counters(own_counted) {
            counters::write(folder, process.rank, intervals, &counted)?;
        }
        let counters = self.write_counters(folder, process.rank, counted)?;
        let sampling = SamplingDefinition { period_ns, kernel: false, stacks: true };
        let ends = [
            (cut, ProcessExit::CutShort),
            (self.mpi_span[1].is_some(), ProcessExit::Finalized),
            (self.end == ProcessExit::Aborted, ProcessExit::Aborted),
        ];
        let end = ends.into_iter().find(|(holds, _)| *holds).map_or(ProcessExit::Exited, |(_, end)| end);
        let (written, threads, unsettled) = self.calls.finish()?;
        self.omissions.unresolved += unsettled;
        let clock = self.trace.clock();
        let mut rank = RecordedRank {
            rank: process.rank,
            host: process.host,
            pid: self.pid,
            calls: written.calls,
            threads,
            begin_ns: clock.ticks_to_ns(self.mpi_span[0].unwrap_or(first)),
            end_ns: clock.ticks_to_ns(self.mpi_span[1].unwrap_or(last)),
            end,
            clock,
            sampling: (!self.stacks.is_empty()).then_some(sampling),
            counters,
            ..RecordedRank::default()
        };
        for (name, value) in self.trace.definitions.rank_properties.get(&process.location_group).into_iter().flatten() {
            properties::apply_rank_property(&mut rank, name, value);
        }
        Ok(ImportedRank { rank, command: self.command, deviation, omissions: self.omissions, stacks: self.stacks })
    }
}
