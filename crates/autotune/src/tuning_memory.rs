//! What earlier searches found, for each program, its arguments and the machine.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::tuned_settings::TunedSettings;

/// What a result is valid for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunIdentity {
    /// Hashes of the executables in the command: another build is another program.
    pub builds: Vec<String>,
    /// The command with its arguments, by which the size of the problem is given.
    pub command: Vec<String>,
    /// The machine.
    pub machine: String,
    /// The MPI library.
    pub library: String,
}

impl RunIdentity {
    /// Hash of a file's content; `None` if it cannot be read.
    pub fn hash_file(path: &Path) -> Option<String> {
        let mut hash = Sha256::new();
        hash.update(std::fs::read(path).ok()?);
        Some(to_hex(&hash.finalize()))
    }

    /// The name of its file.
    fn file_name(&self) -> String {
        let mut hash = Sha256::new();
        let parts = [&self.machine, &self.library].into_iter().chain(&self.builds).chain(&self.command);
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        format!("{}.tuned.toml", &to_hex(&hash.finalize())[..32])
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder with the results of earlier searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningMemory {
    folder: PathBuf,
}

impl TuningMemory {
    /// The memory in this folder, which need not exist.
    pub fn new(folder: PathBuf) -> TuningMemory {
        TuningMemory { folder }
    }

    /// The user's: `sintonia/tuned` in `$XDG_DATA_HOME` or `~/.local/share`; `None` without a home.
    pub fn of_user(variable: impl Fn(&str) -> Option<String>) -> Option<TuningMemory> {
        let set = |name: &str| variable(name).filter(|value| value.starts_with('/')).map(PathBuf::from);
        let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
        Some(TuningMemory::new(data.join("sintonia/tuned")))
    }

    /// The file of a result.
    pub fn path(&self, identity: &RunIdentity) -> PathBuf {
        self.folder.join(identity.file_name())
    }

    /// The result of an earlier search; `None` if there is none that can be read.
    pub fn recall(&self, identity: &RunIdentity) -> Option<TunedSettings> {
        TunedSettings::read(&self.path(identity)).ok()
    }

    /// Stores a result in place of an earlier one.
    pub fn store(&self, identity: &RunIdentity, settings: &TunedSettings) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let path = self.path(identity);
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::write(&temporary, settings.to_toml())?;
        std::fs::rename(&temporary, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_recalled_for_the_same_program_arguments_and_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let memory = TuningMemory::new(folder.path().join("new/folder"));
        let identity = RunIdentity { builds: vec!["ab".into()], command: vec!["mpirun".into(), "./a".into()], ..RunIdentity::default() };
        assert_eq!(memory.recall(&identity), None);
        let settings = TunedSettings { program: "a".into(), ..TunedSettings::default() };
        memory.store(&identity, &settings).unwrap();
        assert_eq!(memory.recall(&identity), Some(settings));
        for other in [
            RunIdentity { builds: vec!["ac".into()], ..identity.clone() },
            RunIdentity { command: vec!["mpirun".into(), "./a".into(), "9".into()], ..identity.clone() },
            RunIdentity { command: vec!["mpiru".into(), "n./a".into()], ..identity.clone() },
            RunIdentity { machine: "other".into(), ..identity.clone() },
            RunIdentity { library: "other".into(), ..identity.clone() },
        ] {
            assert_eq!(memory.recall(&other), None, "{other:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path().join("new/folder")).unwrap().count(), 1);
    }

    #[test]
    fn the_users_folder_follows_the_convention() {
        let folder = |pairs: &[(&str, &str)]| {
            let find = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            TuningMemory::of_user(find).map(|memory| memory.folder.display().to_string())
        };
        assert_eq!(folder(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]).as_deref(), Some("/d/sintonia/tuned"));
        assert_eq!(folder(&[("XDG_DATA_HOME", ""), ("HOME", "/h")]).as_deref(), Some("/h/.local/share/sintonia/tuned"));
        assert_eq!(folder(&[]), None);
    }
}
