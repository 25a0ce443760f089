//! What `sintonia record` tells the probe, through the environment.

use std::path::PathBuf;
use std::sync::OnceLock;

use sintonia_recording::raw::BLOCK_BYTES;

/// How the program is to be recorded.
#[derive(Debug)]
pub struct Settings {
    /// The folder inside the recording where this process writes.
    pub live: PathBuf,
    /// A word that stands in the file `token` of that folder: how a process on another host knows that it sees the same folder.
    pub token: String,
    /// Where to write when the folder cannot be seen from this host.
    pub scratch: PathBuf,
    /// Where `sintonia record` can be reached: addresses separated by commas.
    pub link: String,
    /// Bytes of memory per thread.
    pub memory: usize,
    /// Keep sums only.
    pub profile: bool,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Reads the environment; `false` if this process is not to be recorded.
pub fn read() -> bool {
    let Some(live) = std::env::var_os("SINTONIA_LIVE") else { return false };
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    let settings = Settings {
        live: live.into(),
        token: text("SINTONIA_TOKEN"),
        scratch: std::env::var_os("SINTONIA_SCRATCH").map_or_else(std::env::temp_dir, PathBuf::from),
        link: text("SINTONIA_LINK"),
        memory: text("SINTONIA_MEMORY").parse().unwrap_or(16 << 20).max(2 * BLOCK_BYTES),
        profile: text("SINTONIA_PROFILE") == "1",
    };
    SETTINGS.set(settings).is_ok()
}

/// Whether this process is recorded.
pub fn is_read() -> bool {
    SETTINGS.get().is_some()
}

/// The settings; only asked for after [`read`] said yes.
pub fn settings() -> &'static Settings {
    SETTINGS.get().expect("read() comes first")
}
