//! Compares what is painted from the index with the calls.

use std::path::Path;

use sintonia_recording::call_table::CallTable;

use super::*;
use crate::sample;

fn open(recording: &Recording) -> TimelineIndex {
    TimelineIndex::open(recording, &|_| ()).unwrap()
}

/// Nanoseconds by column and kind, computed from single calls.
fn expected(table: &CallTable, window: &TimeWindow) -> Vec<[f32; KIND_COUNT]> {
    let mut canvas = ActivityCanvas::<KIND_COUNT>::new(window);
    let role = |row: usize| table.descriptors[table.descriptor_ids[row] as usize].function.role();
    let (first, last) = (0, table.len() - 1);
    canvas.paint(i64::MIN, table.leave[first], ActivityKind::Absent as usize);
    canvas.paint(table.enter[last], i64::MAX, ActivityKind::Absent as usize);
    for row in first + 1..last {
        canvas.paint(table.enter[row], table.leave[row], ActivityKind::from_role(role(row)) as usize);
    }
    canvas.cells
}

fn drawn(recording: &Recording, index: &TimelineIndex, rank: u32, window: &TimeWindow) -> (Vec<[f32; KIND_COUNT]>, bool) {
    let mut canvas = ActivityCanvas::<KIND_COUNT>::new(window);
    let how = ThreadPainter::new(index, recording).draw(&index.threads_of(rank)[0], &mut canvas).unwrap();
    (canvas.cells, how.exact)
}

/// Maximum and mean difference over all kinds, as a share of a column.
fn difference(a: &[[f32; KIND_COUNT]], b: &[[f32; KIND_COUNT]], window: &TimeWindow) -> (f32, f32) {
    let parts: Vec<f32> = (0..a.len())
        .flat_map(|column| (0..KIND_COUNT).map(move |kind| (a[column][kind] - b[column][kind]).abs() / window.width(column) as f32))
        .collect();
    (parts.iter().copied().fold(0.0, f32::max), parts.iter().sum::<f32>() / parts.len() as f32)
}

#[test]
fn any_window_matches_the_calls() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 100_000), sample::arbitrary(2, 300)]);
    let index = open(&recording);
    assert!(index.threads_of(0)[0].levels.len() > 1, "long threads have bins");
    assert!(index.threads_of(1)[0].levels.is_empty(), "short threads need none");
    let tables = [0, 1].map(|rank| recording.tables(rank).unwrap().remove(0));
    let (begin, end) = index.span();
    let mut random = fastrand::Rng::with_seed(3);
    let mut kinds_of_answers = [0; 2];
    for round in 0..200 {
        let width = ((end - begin) >> random.u64(..20)).max(1);
        let from = begin + random.i64(0..end - begin) - width / 2;
        let window = TimeWindow::new(from, from + width, 1 + random.usize(..500));
        for rank in [0, 1] {
            let (cells, exact) = drawn(&recording, &index, rank, &window);
            let (largest, mean) = difference(&cells, &expected(&tables[rank as usize], &window), &window);
            // Bins and chunks may overlap two columns, and their distribution is unknown.
            let allowed = if exact { (1e-3, 1e-4) } else { (0.5, 0.02) };
            assert!(largest <= allowed.0 && mean <= allowed.1, "round {round}, rank {rank}: {largest} {mean}, exact: {exact}");
            kinds_of_answers[usize::from(exact)] += 1;
        }
    }
    assert!(kinds_of_answers.iter().all(|count| *count > 20), "{kinds_of_answers:?}");
}

#[test]
fn a_column_is_the_sum_of_finer_ones() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(4, 60_000)]);
    let index = open(&recording);
    let (begin, end) = index.span();
    for columns in [10, 100, 1000] {
        let (coarse, fine) = (TimeWindow::new(begin, end, columns), TimeWindow::new(begin, end, 16 * columns));
        let (whole, parts) = (drawn(&recording, &index, 0, &coarse).0, drawn(&recording, &index, 0, &fine).0);
        let sums: Vec<[f32; KIND_COUNT]> =
            parts.chunks(16).map(|cells| std::array::from_fn(|kind| cells.iter().map(|cell| cell[kind]).sum())).collect();
        assert!(difference(&whole, &sums, &coarse).1 < 0.02);
    }
}

#[test]
fn an_index_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 1000)]);
    let told = std::sync::atomic::AtomicUsize::new(0);
    let count = |_| {
        told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let first = TimelineIndex::open(&recording, &count).unwrap();
    let second = TimelineIndex::open(&recording, &count).unwrap();
    assert_eq!(told.into_inner(), 1);
    assert_eq!(first.store.contents, second.store.contents);
}

#[test]
fn an_index_of_another_recording_is_made_anew() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 1000)]);
    let elsewhere = sample::recording(other.path(), &[sample::arbitrary(2, 2000)]);
    open(&recording);
    std::fs::copy(folder.path().join("view.index"), other.path().join("view.index")).unwrap();
    assert_eq!(open(&elsewhere).threads_of(0)[0].calls, 2002);
}

#[test]
fn a_damaged_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 20_000)]);
    let expected = open(&recording).store.contents;
    let path = folder.path().join("view.index");
    let sound = std::fs::read(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..60 {
        let mut bytes = sound.clone();
        match round % 3 {
            0 => bytes.truncate(random.usize(..sound.len())),
            // The table of contents and the footer are at the end.
            1 => {
                let at = bytes.len() - 1 - random.usize(..400);
                bytes[at] ^= 1 << random.u64(..8);
            }
            _ => {
                let at = random.usize(..sound.len());
                bytes[at] ^= 1 << random.u64(..8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(open(&recording).store.contents, expected);
        assert_eq!(std::fs::read(&path).unwrap(), sound, "round {round}");
    }
}

#[test]
fn a_recording_that_changes_under_an_open_index_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 5000)]);
    let index = open(&recording);
    let (begin, end) = index.span();
    let draw = || {
        let window = TimeWindow::new(begin, end, 5000);
        ThreadPainter::new(&index, &recording).draw(&index.threads_of(0)[0], &mut ActivityCanvas::<KIND_COUNT>::new(&window))
    };
    assert!(draw().is_ok());
    let path = folder.path().join("rank-00000.calls");
    let sound = std::fs::read(&path).unwrap();
    for other in [&sound[..sound.len() / 2], &sound[..]] {
        std::fs::write(&path, other).unwrap();
        assert!(matches!(draw(), Err(Error::Changed)), "{} bytes", other.len());
    }
    std::fs::remove_file(&path).unwrap();
    assert!(draw().is_err());
}

#[test]
fn undetected_changes_give_an_error_or_partial_data() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 5000)]);
    let index = open(&recording);
    let path = folder.path().join("rank-00000.calls");
    let (sound, written) = (std::fs::read(&path).unwrap(), std::fs::metadata(&path).unwrap().modified().unwrap());
    let mut random = fastrand::Rng::with_seed(6);
    let (begin, end) = index.span();
    for _ in 0..50 {
        let bytes: Vec<u8> = sound.iter().map(|byte| byte ^ (random.u64(..20) == 0) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        let window = TimeWindow::new(begin, end, 5000);
        let drawn = ThreadPainter::new(&index, &recording).draw(&index.threads_of(0)[0], &mut ActivityCanvas::<KIND_COUNT>::new(&window));
        assert!(!matches!(drawn, Err(Error::Changed)), "its length and its time are what they were");
    }
}

#[test]
fn a_recording_that_changes_while_its_index_is_made_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 100)]);
    let change = |_| std::fs::write(folder.path().join("recording.json"), "{}").unwrap();
    assert!(matches!(TimelineIndex::open(&recording, &change), Err(Error::Changed)));
    assert!(!folder.path().join("view.index").exists());
}

#[test]
fn incomplete_files_of_killed_commands_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 100)]);
    std::fs::write(folder.path().join(".view.view.index.x1Y2z3"), "half of it").unwrap();
    open(&recording);
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["rank-00000.calls", "recording.json", "view.index"]);
}

#[test]
fn an_index_can_be_read_by_those_who_may_read_the_recording() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 100)]);
    std::fs::set_permissions(folder.path().join("recording.json"), std::fs::Permissions::from_mode(0o600)).unwrap();
    open(&recording);
    assert_eq!(std::fs::metadata(folder.path().join("view.index")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_short_chunk_has_its_own_length() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &[sample::arbitrary(1, 8)]);
    let index = open(&recording);
    let (thread, mut drawer) = (&index.threads_of(0)[0], ThreadPainter::new(&index, &recording));
    let (begin, end) = index.span();
    assert_eq!(drawer.count_calls(thread, begin + 1, end - 1).unwrap(), 10);
    let drawn = drawer.draw(thread, &mut ActivityCanvas::<KIND_COUNT>::new(&TimeWindow::new(begin - 1_000_000_000, end, 2))).unwrap();
    assert_eq!((drawn.exact, drawn.calls), (false, 10.0));
}

#[test]
fn lost_calls_are_shown_as_absent() {
    let folder = tempfile::tempdir().unwrap();
    let calls = sample::arbitrary(1, 200_000);
    sample::recording(folder.path(), std::slice::from_ref(&calls));
    damage_block(&folder.path().join("rank-00000.calls"), 1);
    let recording = Recording::open(folder.path()).unwrap();
    let index = open(&recording);
    let thread = &index.threads_of(0)[0];
    assert_eq!(thread.calls, 200_002 - 65_536);
    let (from, to) = (thread.blocks[0].end, thread.blocks[1].begin);
    for columns in [1, 100_000] {
        let window = TimeWindow::new(from + 1, to - 1, columns);
        let (cells, _) = drawn(&recording, &index, 0, &window);
        let absent: f32 = cells.iter().map(|cell| cell[ActivityKind::Absent as usize]).sum();
        assert!(absent / (to - from) as f32 > 0.99, "{columns} columns: {absent}");
    }
}

#[test]
fn lost_calls_are_attributed_to_their_thread() {
    let folder = tempfile::tempdir().unwrap();
    let mut calls = sample::arbitrary(1, 400_000);
    calls.iter_mut().skip(1).step_by(2).for_each(|call| call.thread = 1);
    sample::recording(folder.path(), std::slice::from_ref(&calls));
    let whole = open(&Recording::open(folder.path()).unwrap());
    let blocks = |index: &TimelineIndex, thread: usize| index.threads_of(0)[thread].blocks.len();
    // The blocks of two threads alternate in the file.
    damage_block(&folder.path().join("rank-00000.calls"), 2);
    let index = open(&Recording::open(folder.path()).unwrap());
    assert_eq!((blocks(&index, 0), blocks(&index, 1)), (blocks(&whole, 0) - 1, blocks(&whole, 1)));
    assert!(index.threads_of(0)[0].blocks[1].after_loss, "it is the other thread's block that follows in the file");
    assert!(index.threads_of(0)[0].blocks[2..].iter().all(|block| !block.after_loss));
}

fn damage_block(path: &Path, number: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let starts: Vec<usize> = (0..bytes.len() - 4).filter(|at| &bytes[*at..at + 4] == b"SBLK").collect();
    bytes[starts[number] + 1000] ^= 1;
    std::fs::write(path, bytes).unwrap();
}
