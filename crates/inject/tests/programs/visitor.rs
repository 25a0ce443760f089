//! Attaches to a process again and again until it is killed, for the tests of killed injectors.

use std::path::Path;

use sintonia_inject::{AttachRequest, attach};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, process, door, probe] = &words[..] else { panic!("usage: visitor PROCESS DOOR PROBE") };
    let process = process.parse().expect("a number");
    let probe = std::fs::read(probe).expect("the probe");
    loop {
        let _ = attach(process, &AttachRequest { probe: &probe, socket_dir: Path::new(door), secret: "s", rank_and_size: (3, 4) });
    }
}
