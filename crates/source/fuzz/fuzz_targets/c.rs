//! Compiles any text as a C file: a model or an error, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_source::c;

fuzz_target!(|text: &str| {
    let _ = c::compile_text("a.c", text);
});
