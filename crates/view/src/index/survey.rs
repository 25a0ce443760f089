//! Goes through the calls of a rank once, and sums up what they add up to: in bins of time, and in stretches of calls.

use std::collections::BTreeMap;

use sintonia_mpi::Role;
use sintonia_recording::excerpt::{Row, Spot, Surveyed};
use sintonia_recording::header::Rank;
use sintonia_recording::{Error, Recording};

use super::canvas::{Canvas, Window};
use super::directory::{Block, STRETCH, Thread};
use super::kind::{KINDS, Kind};
use super::levels::{self, Activities};

/// What a rank contributes to the index.
#[derive(Default)]
pub struct Surveys {
    /// Figures.
    pub bytes: Vec<u8>,
    /// Its threads; places are counted from the first of these bytes.
    pub threads: Vec<Thread>,
}

/// Goes through the calls of a rank; `span` are the first and the last moment of the run, as the header tells.
pub fn survey(recording: &Recording, rank: &Rank, span: (i64, i64)) -> Result<Surveys, Error> {
    let Some(mut survey) = recording.survey(rank.rank)? else { return Ok(Surveys::default()) };
    let window = levels::window(span, activities(rank.calls / u64::from(rank.threads.max(1))));
    let mut chronicles: BTreeMap<u16, Chronicle> = BTreeMap::new();
    let mut rows = Vec::with_capacity(STRETCH);
    while survey.next_block(|mut block| {
        if block.after_loss {
            // Whose calls they were is not known.
            chronicles.values_mut().for_each(|chronicle| chronicle.after_loss = true);
        }
        let chronicle = chronicles.entry(block.place.thread).or_insert_with(|| Chronicle::new(&window));
        chronicle.add(&mut block, &mut rows);
    }) {}
    let mut surveys = Surveys::default();
    let mut is_first = true;
    for (thread, chronicle) in chronicles {
        surveys.threads.push(chronicle.finish(rank, thread, is_first, &mut surveys.bytes));
        is_first = false;
    }
    Ok(surveys)
}

/// The calls of a thread so far.
struct Chronicle<'a> {
    canvas: Canvas<'a, KINDS>,
    blocks: Vec<(Block, Vec<Kind>)>,
    stretches: Vec<(Spot, [f32; KINDS])>,
    calls: u64,
    /// When `MPI_Init` was left and `MPI_Finalize` entered.
    init: Option<i64>,
    finalize: Option<i64>,
    /// When the last call was left.
    left: i64,
    /// Whether calls may be lost since then.
    after_loss: bool,
}

impl<'a> Chronicle<'a> {
    fn new(window: &'a Window) -> Chronicle<'a> {
        Chronicle {
            canvas: Canvas::new(window),
            blocks: Vec::new(),
            stretches: Vec::new(),
            calls: 0,
            init: None,
            finalize: None,
            left: i64::MIN,
            after_loss: false,
        }
    }

    fn add(&mut self, block: &mut Surveyed, rows: &mut Vec<Row>) {
        let kinds: Vec<Kind> = block.shapes.iter().map(|shape| Kind::of(shape.operation.role())).collect();
        let (first_row, before) = (self.calls, self.left);
        let after_loss = std::mem::take(&mut self.after_loss) && !self.blocks.is_empty();
        let mut begin = None;
        loop {
            let spot = block.some(STRETCH, rows);
            let Some(first) = rows.first() else { break };
            if begin.is_none() && after_loss {
                self.canvas.paint(before, first.enter, Kind::Absent as usize);
            }
            begin.get_or_insert(first.enter);
            let mut sums = [0.0; KINDS];
            for row in rows.iter() {
                let kind = kinds[usize::from(row.shape)];
                if kind == Kind::Absent {
                    sums = self.bound(block.shapes[usize::from(row.shape)].operation.role(), row).unwrap_or(sums);
                } else if self.finalize.is_none() {
                    sums[kind as usize] += row.leave.saturating_sub(row.enter).max(0) as f32;
                    self.canvas.paint(row.enter, row.leave, kind as usize);
                }
                self.left = row.leave;
            }
            self.calls += rows.len() as u64;
            self.stretches.push((spot, sums));
        }
        let Some(begin) = begin else { return };
        let shapes = kinds.len() as u32;
        self.blocks.push((Block { place: block.place, at: 0, shapes, first_row, begin, end: self.left, after_loss }, kinds));
    }

    /// Notes where MPI begins or ends. What was before the beginning does not count: the sums of its stretch begin anew.
    fn bound(&mut self, role: Role, row: &Row) -> Option<[f32; KINDS]> {
        if role == Role::Finalize {
            self.finalize.get_or_insert(row.enter);
            return None;
        }
        self.init = Some(row.leave);
        self.canvas.clear();
        self.stretches.iter_mut().for_each(|(_, sums)| *sums = [0.0; KINDS]);
        Some([0.0; KINDS])
    }

    fn finish(self, rank: &Rank, thread: u16, is_first: bool, bytes: &mut Vec<u8>) -> Thread {
        let first = self.blocks.first().map_or(0, |(block, _)| block.begin);
        // What a process does before its first call and after its last one is known of the thread that began MPI.
        let known = if is_first { (rank.begin_ns.min(first), rank.end_ns.max(self.left)) } else { (first, self.left) };
        let active = (self.init.unwrap_or(known.0), self.finalize.unwrap_or(known.1));
        let mut used = [false; KINDS];
        self.blocks.iter().flat_map(|(_, kinds)| kinds).for_each(|kind| used[*kind as usize] = true);
        used[Kind::Absent as usize] = self.blocks.iter().any(|(block, _)| block.after_loss);
        let lanes = (0..KINDS as u8).filter(|kind| used[usize::from(*kind)]).collect();
        let mut done = Thread { rank: rank.rank, thread, calls: self.calls, active, lanes, ..Thread::default() };
        let window = self.canvas.window();
        // Bins that do not hold all of the calls, because the header tells another span, would tell something else than the calls.
        if window.from() <= first && self.left <= window.to() {
            done.levels = levels::write(&self.canvas, activities(self.calls), &done.lanes, bytes);
        }
        let mut stretches = self.stretches.iter();
        for (mut block, kinds) in self.blocks {
            block.at = bytes.len() as u64;
            for (spot, sums) in stretches.by_ref().take(block.stretches()) {
                bytes.extend(spot.ticks.to_le_bytes());
                bytes.extend(spot.times.to_le_bytes());
                bytes.extend(done.lanes.iter().flat_map(|lane| sums[usize::from(*lane)].to_le_bytes()));
            }
            bytes.extend(kinds.iter().map(|kind| *kind as u8));
            done.blocks.push(block);
        }
        done
    }
}

/// Calls, to be put into bins.
fn activities(calls: u64) -> Activities {
    Activities { count: calls, per_bin: 4 }
}
