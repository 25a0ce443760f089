//! Compiles any text as a Java file, from its method `run`: a model or an error, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_source::{SourceFile, compile_texts};

fuzz_target!(|text: &str| {
    let _ = compile_texts(&[SourceFile::new("A.java", text)], Some("run"));
});
