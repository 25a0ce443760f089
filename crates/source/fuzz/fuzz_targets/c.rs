//! Any text as a C file. It is a model or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_source::c;

fuzz_target!(|text: &str| {
    let _ = c::compile_text("a.c", text);
});
