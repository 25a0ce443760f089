//! Visits a process again and again until it is killed: what the tests of killed visitors kill.

use std::path::Path;

use sintonia_inject::{Message, enter};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, process, door, probe] = &words[..] else { panic!("usage: visitor PROCESS DOOR PROBE") };
    let process = process.parse().expect("a number");
    let probe = std::fs::read(probe).expect("the probe");
    loop {
        let _ = enter(process, &Message { probe: &probe, door: Path::new(door), secret: "s", place: (3, 4) });
    }
}
