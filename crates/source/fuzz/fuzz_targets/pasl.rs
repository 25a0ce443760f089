//! Parses any text as a PASL file: an application or an error, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_source::{SourceFile, pasl};

fuzz_target!(|text: &str| {
    let _ = pasl::parse(&SourceFile::new("a.pasl", text));
});
