//! Query `timeline?by=thread`: what each thread does, with the OpenMP regions it takes part in.
//!
//! Of a region it is known how long each thread did what, and that a thread begins at its start and waits for the others at its end. What
//! it did between is spread evenly; so are several executions that were summed up when they were recorded.

use sintonia_recording::openmp::{RegionExecution, RegionThread};

use super::TimelineContext;
use super::thread_lanes::{ThreadLane, starting_thread};
use crate::cache_file::Error;
use crate::index::{ActivityCanvas, ActivityKind, KIND_COUNT, ThreadIndex, ThreadPainter, TimeWindow};

/// Kinds of activity inside regions, after those of [`ActivityKind`].
const REGION_KINDS: [&str; 5] = ["parallel", "barrier", "lock", "runtime", "idle"];
const PARALLEL: usize = KIND_COUNT;
const BARRIER: usize = KIND_COUNT + 1;
const LOCK: usize = KIND_COUNT + 2;
const RUNTIME: usize = KIND_COUNT + 3;
const IDLE: usize = KIND_COUNT + 4;

/// Number of kinds.
pub(super) const THREAD_KIND_COUNT: usize = KIND_COUNT + REGION_KINDS.len();

/// Display names of all kinds.
pub(super) fn kind_names() -> Vec<&'static str> {
    ActivityKind::NAMES.into_iter().chain(REGION_KINDS).collect()
}

/// What a thread does in a window.
pub(super) struct PaintedLane {
    /// Nanoseconds by column and kind; they add up to the width of the column.
    pub cells: Vec<[f32; THREAD_KIND_COUNT]>,
    pub exact: bool,
    pub calls: f64,
}

/// Paints a thread.
pub(super) fn paint(
    context: TimelineContext,
    painter: &mut ThreadPainter,
    lane: &ThreadLane,
    regions: &[RegionExecution],
    window: &TimeWindow,
) -> Result<PaintedLane, Error> {
    let mut mpi = ActivityCanvas::<KIND_COUNT>::new(window);
    let (mut exact, mut calls) = (true, 0.0);
    let threads = context.index.threads_of(lane.rank);
    let thread = threads.iter().find(|thread| thread.thread == lane.mpi_thread);
    match thread {
        Some(thread) if lane.thread == 0 => {
            let drawn = painter.draw(thread, &mut mpi)?;
            (exact, calls) = (drawn.exact, drawn.calls);
        }
        Some(thread) => paint_absence(thread, &mut mpi),
        None => mpi.paint(window.from(), window.to(), ActivityKind::Absent as usize),
    }
    let mut inside = ActivityCanvas::<THREAD_KIND_COUNT>::new(window);
    if let Some(thread) = thread {
        inside.clip(thread.active.0, thread.active.1);
        let own = regions.iter().filter(|region| starting_thread(region) == lane.mpi_thread);
        for (region, thread) in own.filter_map(|region| Some((region, region.threads.get(lane.thread)?))) {
            paint_region(&mut inside, region, thread, lane.thread == 0);
        }
    }
    let otherwise = if lane.thread == 0 { ActivityKind::Computing as usize } else { IDLE };
    let cells = mpi.cells.iter().zip(inside.cells).enumerate();
    let cells = cells.map(|(column, (mpi, inside))| join_cell(mpi, inside, window.width(column) as f32, otherwise)).collect();
    Ok(PaintedLane { cells, exact, calls })
}

/// A thread of a team exists as long as the one that starts it.
fn paint_absence(thread: &ThreadIndex, canvas: &mut ActivityCanvas<KIND_COUNT>) {
    let (from, to) = (canvas.window().from(), canvas.window().to());
    canvas.paint(from, thread.active.0, ActivityKind::Absent as usize);
    canvas.paint(thread.active.1.max(thread.active.0), to, ActivityKind::Absent as usize);
}

/// Paints what a thread does in a region. The MPI calls of the thread that starts the team are painted one by one, by others.
fn paint_region(canvas: &mut ActivityCanvas<THREAD_KIND_COUNT>, region: &RegionExecution, thread: &RegionThread, is_first: bool) {
    let mpi = if is_first { 0 } else { thread.mpi };
    let times = [
        (PARALLEL, thread.useful),
        (BARRIER, thread.barrier),
        (LOCK, thread.lock),
        (RUNTIME, thread.other),
        (ActivityKind::Other as usize, mpi),
    ];
    let end_wait = region.wait_at_end(thread);
    let (begin, end) = (region.begin, region.end());
    if region.executions == 1 {
        let work_begin = begin.saturating_add_unsigned(thread.start).min(end);
        let work_end = end.saturating_sub_unsigned(end_wait).max(work_begin);
        canvas.paint(begin, work_begin, RUNTIME);
        paint_evenly(canvas, work_begin, work_end, &times);
        canvas.paint(work_end, end, BARRIER);
    } else {
        paint_evenly(canvas, begin, end, &[&times[..], &[(RUNTIME, thread.start), (BARRIER, end_wait)]].concat());
    }
}

fn paint_evenly(canvas: &mut ActivityCanvas<THREAD_KIND_COUNT>, from: i64, to: i64, times: &[(usize, u64)]) {
    let length = to.saturating_sub(from).max(1) as f32;
    canvas.paint_shares(from, to, times.iter().map(|(kind, ns)| (*kind, (*ns as f32 / length).min(1.0))));
}

/// Adds up a cell. Regions that were spread evenly may seem to overlap others: they share the time outside MPI.
fn join_cell(mpi: &[f32; KIND_COUNT], inside: [f32; THREAD_KIND_COUNT], width: f32, otherwise: usize) -> [f32; THREAD_KIND_COUNT] {
    let free = (width - mpi.iter().sum::<f32>()).max(0.0);
    let regions: f32 = inside.iter().sum();
    let scale = if regions > free { free / regions } else { 1.0 };
    let mut cell = inside.map(|ns| ns * scale);
    cell.iter_mut().zip(mpi).for_each(|(sum, ns)| *sum += ns);
    cell[otherwise] += (free - regions * scale).max(0.0);
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(executions: u64) -> RegionExecution {
        RegionExecution { executions, begin: 100, duration: 100, span: 100, ..RegionExecution::default() }
    }

    fn painted(region: &RegionExecution, thread: RegionThread) -> Vec<[f32; THREAD_KIND_COUNT]> {
        let window = TimeWindow::new(0, 300, 15);
        let mut canvas = ActivityCanvas::new(&window);
        paint_region(&mut canvas, region, &thread, false);
        canvas.cells
    }

    #[test]
    fn a_region_begins_with_the_start_of_a_thread_and_ends_with_its_wait() {
        let cells = painted(&region(1), RegionThread { start: 20, useful: 30, lock: 10, ..RegionThread::default() });
        assert_eq!((cells[4], cells[10]), ([0.0; THREAD_KIND_COUNT], [0.0; THREAD_KIND_COUNT]));
        assert_eq!((cells[5][RUNTIME], cells[8][BARRIER], cells[9][BARRIER]), (20.0, 20.0, 20.0));
        assert_eq!((cells[6][PARALLEL], cells[6][LOCK], cells[7][LOCK]), (15.0, 5.0, 5.0));
    }

    #[test]
    fn several_executions_are_spread_evenly() {
        let summed = RegionExecution { duration: 50, ..region(7) };
        let cells = painted(&summed, RegionThread { useful: 40, ..RegionThread::default() });
        assert!(cells[5..10].iter().all(|cell| (cell[PARALLEL], cell[BARRIER]) == (8.0, 2.0)), "{cells:?}");
    }

    #[test]
    fn a_cell_is_full_and_mpi_comes_first() {
        let mut mpi = [0.0; KIND_COUNT];
        mpi[ActivityKind::Sending as usize] = 8.0;
        let mut inside = [0.0; THREAD_KIND_COUNT];
        inside[PARALLEL] = 4.0;
        let cell = join_cell(&mpi, inside, 10.0, IDLE);
        assert_eq!((cell[ActivityKind::Sending as usize], cell[PARALLEL], cell[IDLE]), (8.0, 2.0, 0.0));
        let cell = join_cell(&mpi, [0.0; THREAD_KIND_COUNT], 10.0, IDLE);
        assert_eq!(cell[IDLE], 2.0);
    }
}
