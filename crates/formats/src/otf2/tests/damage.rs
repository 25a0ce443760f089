//! Files that are cut or changed: an error that says where, or a recording; never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use sintonia_recording::Recording;

use super::{one_of, otf2_library, round_trip, score_p};
use crate::otf2;

/// A copy of a trace, given by its anchor file, and its files: the anchor, the definitions, and those of the locations.
fn copy(anchor: &Path, folder: &Path) -> Vec<PathBuf> {
    let (original, name) = (anchor.parent().unwrap(), anchor.file_stem().unwrap().to_str().unwrap());
    fs::create_dir(folder.join(name)).unwrap();
    let entries = fs::read_dir(original.join(name)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut locations: Vec<String> = entries.map(|file| format!("{name}/{file}")).collect();
    locations.sort();
    let names = [format!("{name}.otf2"), format!("{name}.def")].into_iter().chain(locations);
    let copied = names.map(|name| {
        fs::copy(original.join(&name), folder.join(&name)).unwrap();
        folder.join(name)
    });
    copied.collect()
}

#[test]
fn a_truncated_trace_is_reported_with_file_and_position() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("a.sin");
    for file in copy(&score_p::archive(), folder.path()) {
        let whole = fs::read(&file).unwrap();
        // The last bytes repeat that the file has ended; those of an anchor hold numbers of no use here.
        let needed = if file.ends_with("traces.otf2") { whole.len() - 19 } else { whole.len() - 1 };
        // Of the one long file not every byte, only for the sake of time.
        for length in (0..needed).step_by(1 + needed / 2000) {
            fs::write(&file, &whole[..length]).unwrap();
            let error = otf2::read(folder.path(), &into).unwrap_err().to_string();
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(error.contains(&format!("{name}: byte ")), "{name} cut to {length}: {error}");
        }
        fs::write(&file, &whole).unwrap();
    }
    assert!(!into.exists());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left behind");
}

#[test]
fn a_trace_in_which_anything_is_changed_is_read_or_refused() {
    let mut random = fastrand::Rng::with_seed(7);
    let library = ["regions.otf2", "unwinding.otf2"].map(otf2_library::archive);
    for anchor in [score_p::archive(), score_p::archive_with_metrics()].into_iter().chain(library) {
        change_anything(&anchor, &mut random);
    }
    let folder = tempfile::tempdir().unwrap();
    round_trip::anything(folder.path(), &mut random, 40, true);
    let own = folder.path().join("own.otf2");
    otf2::write(&Recording::open(folder.path()).unwrap(), &own, &|| ()).unwrap();
    change_anything(&own, &mut random);
}

fn change_anything(anchor: &Path, random: &mut fastrand::Rng) {
    let folder = tempfile::tempdir().unwrap();
    let files = copy(anchor, folder.path());
    for round in 0..150 {
        let file = &files[random.usize(..files.len())];
        let whole = fs::read(file).unwrap();
        let mut changed = whole.clone();
        for _ in 0..=random.u64(..3) {
            let index = random.usize(..changed.len());
            let any = random.u8(..);
            changed[index] = one_of(random, &[0, 1, 8, 9, 0x7f, 0xfe, 0xff, any]);
        }
        fs::write(file, changed).unwrap();
        let into = folder.path().join(format!("{round}.sin"));
        if otf2::read(folder.path(), &into).is_ok() {
            fs::remove_dir_all(into).unwrap();
        }
        fs::write(file, whole).unwrap();
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let files = copy(&score_p::archive(), folder.path());
    fs::remove_file(&files[5]).unwrap();
    let error = otf2::read(folder.path(), &folder.path().join("a.sin")).unwrap_err().to_string();
    assert!(error.contains("1.evt: No such file"), "{error}");
}
