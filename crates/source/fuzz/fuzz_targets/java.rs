//! Any text as a Java file, compiled from its method `run`. It is a model or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_source::{Text, compile_texts};

fuzz_target!(|text: &str| {
    let _ = compile_texts(&[Text::new("A.java", text)], Some("run"));
});
