//! A tool under measurement, as the words it puts around the launcher or before the program.

use std::path::Path;

/// A tool, or none.
pub(super) struct Tool {
    pub name: String,
    /// What it keeps of a run.
    pub keeps: &'static str,
    /// Whether what it leaves on disk grows with every call.
    pub traces: bool,
    /// Whether it ends with a line of JSON that says how many calls it recorded.
    pub counts: bool,
    /// How many samples a run took, from the folder of the run and from what was written to standard error.
    pub samples: Option<fn(&Path, &str) -> Option<SampleCount>>,
    /// What stands before the launcher.
    pub around: Vec<String>,
    /// What stands before the program, behind the launcher.
    pub before: Vec<String>,
}

/// How many samples a tool took, and the bytes that they take on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleCount {
    pub count: u64,
    pub bytes: u64,
}

impl Tool {
    /// The bare program.
    pub(super) fn nothing() -> Tool {
        Tool { name: "nothing".into(), keeps: "", traces: false, counts: false, samples: None, around: Vec::new(), before: Vec::new() }
    }

    /// A tool of which only the name and what it keeps is known.
    pub(super) fn new(name: impl Into<String>, keeps: &'static str) -> Tool {
        Tool { name: name.into(), keeps, ..Tool::nothing() }
    }

    /// It writes every call.
    pub(super) fn tracing(self) -> Tool {
        Tool { traces: true, ..self }
    }

    /// It is a library that the program is to load, told what to do through the environment.
    pub(super) fn preloaded(self, library: &Path, settings: &[&str]) -> Tool {
        let preload = format!("LD_PRELOAD={}", library.display());
        self.started_by(["env", &preload].into_iter().chain(settings.iter().copied()))
    }

    /// It is a command that starts the program.
    pub(super) fn started_by<'a>(self, words: impl IntoIterator<Item = &'a str>) -> Tool {
        Tool { before: words.into_iter().map(String::from).collect(), ..self }
    }

    /// The whole command.
    pub(super) fn command(&self, launch: Vec<String>, program: &Path) -> Vec<String> {
        let program = program.display().to_string();
        self.around.iter().cloned().chain(launch).chain(self.before.iter().cloned()).chain([program]).collect()
    }
}

/// Sintonia, recording and adding up; `name` tells two versions of it apart.
pub(super) fn sintonia(name: &str, binary: &Path) -> Vec<Tool> {
    vec![
        record(name, "calls, call paths", binary, &[]).tracing(),
        record(&format!("{name} --profile"), "sums by call path", binary, &["--profile"]),
    ]
}

/// Sintonia without call paths.
pub(super) fn without_call_paths(binary: &Path) -> Tool {
    record("Sintonia --callpath off", "calls, call sites", binary, &["--callpath", "off"]).tracing()
}

/// Sintonia with options of `record`.
pub(super) fn record(name: &str, keeps: &'static str, binary: &Path, options: &[&str]) -> Tool {
    let binary = binary.display().to_string();
    let words = [&[binary.as_str(), "record", "--json", "-o", "recording.sin"], options, &["--"]].concat();
    Tool { counts: true, around: words.into_iter().map(String::from).collect(), ..Tool::new(name, keeps) }
}
