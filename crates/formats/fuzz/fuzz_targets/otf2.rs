//! The reader of OTF2 archives: one file of a trace of Score-P is replaced by the input.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;

/// The files of the trace.
const FILES: [(&str, &[u8]); 6] = [
    ("traces.otf2", include_bytes!("../../tests/data/score-p/traces.otf2")),
    ("traces.def", include_bytes!("../../tests/data/score-p/traces.def")),
    ("traces/0.def", include_bytes!("../../tests/data/score-p/traces/0.def")),
    ("traces/0.evt", include_bytes!("../../tests/data/score-p/traces/0.evt")),
    ("traces/1.def", include_bytes!("../../tests/data/score-p/traces/1.def")),
    ("traces/1.evt", include_bytes!("../../tests/data/score-p/traces/1.evt")),
];

fuzz_target!(|input: &[u8]| {
    let Some((which, content)) = input.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("traces")).expect("a folder in it");
    for (index, (name, original)) in FILES.into_iter().enumerate() {
        let bytes = if index == usize::from(*which) % FILES.len() { content } else { original };
        fs::write(folder.path().join(name), bytes).expect("a file in it");
    }
    let _ = sintonia_formats::otf2::read(folder.path(), &folder.path().join("a.sin"));
});
