//! A small synthetic recording for the exporters' tests.
//!
//! Rank 0 sends to rank 1 twice, the second time from another thread; rank 2 sends once. Rank 1 posts two receives, sends to rank 2, waits
//! for all three and receives the last message with a blocking call. Then all ranks take part in an allreduce.

use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::header::CommunicatorDefinition;
use sintonia_recording::raw::{self, RequestRef};
use sintonia_recording::samples::{Sample, StackFrame, ThreadSamples};
use sintonia_recording::testing::{self, RecordingBuilder, TestRecording, collective, isend, message};

/// Number of calls in the recording.
pub(crate) const CALLS: usize = 12;

/// Thread, enter and leave time, and descriptor of a call.
pub(crate) type TimedCall = (u16, u64, u64, CallDescriptor);

/// A call at a line of `main.c`.
pub(crate) fn call(operation: &str, line: u32) -> CallDescriptor {
    testing::call(operation).line(line)
}

/// A blocking send.
pub(crate) fn send(peer: i32, tag: i32, sent: u64) -> CallDescriptor {
    testing::send(peer).tag(tag).sent(sent).line(2)
}

/// A receive with this function.
pub(crate) fn receive(operation: &str, peer: i32, tag: i32, received: u64) -> CallDescriptor {
    message(operation, peer).tag(tag).received(received).line(3)
}

fn wait_all() -> CallDescriptor {
    let listed =
        |ago, receive, peer, tag, received| ListedRequest { request: RequestRef::Relative(ago), is_receive: receive, peer, tag, received };
    call("MPI_Waitall", 4).requests([listed(2, true, 0, 7, 1000), listed(1, true, 2, 8, 64), listed(0, false, raw::NONE, 0, 0)])
}

fn allreduce(enter: u64) -> TimedCall {
    (0, enter, 600, collective("MPI_Allreduce").sent(8).received(8).line(5))
}

fn calls(rank: u32) -> Vec<TimedCall> {
    match rank {
        0 => vec![(0, 100, 300, send(1, 7, 1000)), (1, 310, 320, send(1, 7, 2000)), allreduce(350)],
        1 => vec![
            (0, 200, 210, receive("MPI_Irecv", raw::ANY, 7, 4000)),
            (0, 210, 220, receive("MPI_Irecv", 2, 8, 64)),
            (0, 220, 230, isend(2).tag(9).sent(16).line(2)),
            (0, 240, 400, wait_all()),
            (0, 400, 410, receive("MPI_Recv", 0, 7, 2000)),
            allreduce(450),
        ],
        _ => vec![(0, 100, 120, send(1, 8, 64)), (0, 130, 300, receive("MPI_Recv", 1, 9, 16)), allreduce(590)],
    }
}

/// Writes the example recording.
pub(crate) fn example() -> TestRecording {
    write_recording(&[0, 1, 2].map(calls))
}

/// Writes a recording with these calls per rank, in one world.
pub(crate) fn write_recording(ranks: &[Vec<TimedCall>]) -> TestRecording {
    write_recording_with_worlds(ranks, &["0-2"])
}

/// Writes a recording with these calls per rank, in worlds with these members.
pub(crate) fn write_recording_with_worlds(ranks: &[Vec<TimedCall>], worlds: &[&str]) -> TestRecording {
    let timed = |(thread, enter, leave, descriptor): &TimedCall| descriptor.clone().at(*enter, *leave).thread(*thread);
    let builder = RecordingBuilder::new().source("/src/main.c").ranks(ranks.iter().map(|calls| calls.iter().map(timed)));
    let world = |members: &&str| CommunicatorDefinition {
        made_by: "MPI_COMM_WORLD".into(),
        members: (*members).into(),
        ..CommunicatorDefinition::default()
    };
    builder
        .header(|header| {
            header.started_s = 1.7e9;
            header.exit_status = None;
            header.hosts = vec!["first".into()];
            header.communicators = worlds.iter().map(world).collect();
            header.objects.clear();
            header.sites.iter_mut().for_each(|site| site.module = "/bin/main".into());
            header.ranks.iter_mut().for_each(|rank| (rank.begin_ns, rank.end_ns) = (0, 600));
        })
        .write()
}

/// Writes a recording with samples: two threads of rank 0, of which one lost half of its samples, and one of rank 1.
pub(crate) fn sampled_example() -> TestRecording {
    let frame = |function: &str, line, caller| StackFrame {
        caller,
        function: Some(function.into()),
        file: Some("/src/main.c".into()),
        line: Some(line),
        module: "/src/main".into(),
    };
    let library = StackFrame { module: "/lib/liba.so".into(), ..StackFrame::default() };
    let frames = vec![frame("main", 3, None), frame("work", 8, Some(0)), frame("main", 4, None), library];
    let sample = |time, frame| Sample { time, frame, in_kernel: false, in_mpi: false, is_truncated: false };
    let first = vec![
        sample(50, 1),
        Sample { in_mpi: true, ..sample(150, 2) },
        Sample { in_kernel: true, ..sample(200, 1) },
        sample(250, 1),
        Sample { in_mpi: true, in_kernel: true, ..sample(400, 2) },
    ];
    let second = vec![Sample { is_truncated: true, ..sample(60, 3) }];
    let third = vec![sample(70, 1)];
    let threads = |thread, lost, samples| ThreadSamples { thread, lost, samples };
    RecordingBuilder::new()
        .rank([send(1, 7, 1000).at(100, 200)])
        .samples(10, &[threads(0, 5, first), threads(7, 0, second)])
        .rank([receive("MPI_Recv", 0, 7, 1000).at(100, 210)])
        .samples(10, &[threads(0, 0, third)])
        .stack_frames(frames)
        .header(|header| header.hosts = vec!["first".into()])
        .write()
}
