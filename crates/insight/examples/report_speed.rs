//! Measures how fast a recording is analysed: `report_speed RECORDING.sin` prints the summary of `sintonia report` as JSON.

use std::path::PathBuf;

use sintonia_insight::RunSummary;
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("give a recording")?);
    let recording = Recording::open(&path)?;
    let summary = RunSummary::from_recording(&recording, &SingleProcess, &|| ())?;
    println!("{}", serde_json::to_string(&summary)?);
    Ok(())
}
