//! Opens the timeline of a recording and zooms in at many places, from the whole run to single calls; prints how long that took as JSON:
//! `zoom FOLDER [PLACES [analyse]]`. With `analyse` waits, messages and the critical path are looked for before, and are in the pictures.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sintonia_recording::Recording;
use sintonia_view::answer::{Answer, Question};
use sintonia_view::timeline::Timeline;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("which recording?")?;
    let places: u64 = arguments.get(1).map_or(Ok(5), |text| text.parse())?;
    let processor = processor_seconds()?;
    let (opened, made) = timed(|| open(folder))?;
    drop(opened);
    let index_processor = processor_seconds()? - processor;
    let (timeline, again) = timed(|| open(folder))?;
    let (_, analysis) = timed(|| {
        if arguments.get(2).is_some_and(|word| word == "analyse") {
            timeline.analyse();
        }
        Ok(())
    })?;
    let (first, picture) = timed(|| ask(&timeline, "timeline", &[]))?;
    let header: serde_json::Value = serde_json::from_str(&first)?;
    let (from, to) = (header["from"].as_i64().unwrap_or(0), header["to"].as_i64().unwrap_or(1));
    let mut zooms = Vec::new();
    let (mut width, mut random) = (to - from, Random(1));
    while width >= 1000 {
        for _ in 0..places {
            let begin = from + random.below((to - from - width).max(0) as u64 + 1) as i64;
            let window = [("from", begin), ("to", begin + width), ("columns", 1000), ("rows", 400)];
            let processor = processor_seconds()?;
            let (header, seconds) = timed(|| ask(&timeline, "timeline", &window))?;
            let header: serde_json::Value = serde_json::from_str(&header)?;
            zooms.push(serde_json::json!({
                "window_ns": width, "seconds": seconds, "processor_seconds": processor_seconds()? - processor,
                "calls": header["calls"], "exact": header["exact"],
            }));
        }
        width /= 2;
    }
    let bytes = std::fs::metadata(Path::new(folder).join("view.index")).map_or(0, |file| file.len());
    println!(
        "{}",
        serde_json::json!({
            "open_s": made, "open_processor_s": index_processor, "index_bytes": bytes, "open_again_s": again, "first_picture_s": picture,
            "analysis_s": analysis, "planes": header["planes"],
            "peak_bytes": peak_bytes()?, "zooms": zooms,
        })
    );
    Ok(())
}

fn open(folder: &str) -> Result<Timeline, Box<dyn Error>> {
    Ok(Timeline::open(Arc::new(Recording::open(Path::new(folder))?), &|_| ())?)
}

/// The header of the answer to a question.
fn ask(timeline: &Timeline, subject: &str, query: &[(&str, i64)]) -> Result<String, Box<dyn Error>> {
    let query: BTreeMap<String, String> = query.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    match timeline.answer(&Question { recording: 0, subject: subject.into(), query })? {
        Answer::Binary { header, .. } | Answer::Json(header) => Ok(header),
        Answer::Working { doing, .. } => Err(doing.into()),
    }
}

fn timed<T>(what: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(T, f64), Box<dyn Error>> {
    let begin = Instant::now();
    Ok((what()?, begin.elapsed().as_secs_f64()))
}

/// Processor time of this process, all threads together.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let mut nanoseconds = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// The most memory that this process had.
fn peak_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse::<u64>()? * 1024)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}
