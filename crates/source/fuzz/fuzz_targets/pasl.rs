//! Any text as a PASL file. It is an application or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sintonia_source::{Text, pasl};

fuzz_target!(|text: &str| {
    let _ = pasl::parse(&Text::new("a.pasl", text));
});
