//! Any bytes as a Paraver trace: the `.prv`, and after a zero byte its `.pcf`. They are a recording or an error.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use sintonia_formats::paraver;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut files = bytes.splitn(2, |byte| *byte == 0);
    for name in ["a.prv", "a.pcf"] {
        fs::write(folder.path().join(name), files.next().unwrap_or_default()).expect("a temporary file");
    }
    let _ = paraver::read(&folder.path().join("a.prv"), &folder.path().join("a.sin"));
});
