//! `*.tuned.toml`: settings under which a program was faster, and by how much.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sintonia_text::shell::shell_command;
use sintonia_text::source_pos::SourcePos;
use sintonia_toml_file::{TomlDocument, TomlReadError, TomlTable, TomlValue};

use crate::environment::Environment;
use crate::ratio_interval::RatioInterval;
use crate::trial_settings::TrialSettings;

/// Version of the format.
const FORMAT: u64 = 1;

/// Settings for a program on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TunedSettings {
    /// The program's name.
    pub program: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// The MPI library.
    pub library: String,
    /// The machine.
    pub machine: String,
    /// When they were found, in seconds since the Unix epoch.
    pub found_s: u64,
    /// The settings; empty if none pay.
    pub settings: TrialSettings,
    /// The confirmed gain.
    pub gain: Option<ConfirmedGain>,
}

/// A confirmed gain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfirmedGain {
    /// Reference time over tuned time, with its interval.
    pub speedup: RatioInterval,
    /// Median time of the unchanged program in seconds.
    pub reference_s: f64,
    /// Median time with the settings.
    pub tuned_s: f64,
    /// What was measured: the main loop, or the run from MPI_Init to MPI_Finalize.
    pub measure: String,
}

/// Why a file of settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TunedFileError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is invalid.
    #[error("{place}: {problem}{}", place.excerpt)]
    Invalid {
        /// Position in the file.
        place: Box<SourcePos>,
        /// What is wrong.
        problem: String,
    },
}

impl TomlReadError for TunedFileError {
    type Problem = String;

    fn at(place: SourcePos, problem: String) -> TunedFileError {
        TunedFileError::Invalid { place: Box::new(place), problem }
    }
}

impl TunedSettings {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<TunedSettings, TunedFileError> {
        let text = std::fs::read_to_string(path).map_err(|source| TunedFileError::Unreadable { path: path.to_owned(), source })?;
        TunedSettings::parse(&text, path)
    }

    /// Parses the text of a file.
    pub fn parse(text: &str, path: &Path) -> Result<TunedSettings, TunedFileError> {
        let document = TomlDocument::<TunedFileError>::parse(text, path)?;
        let mut file = document.root();
        let format = file.require("format")?;
        if format.count()? != FORMAT {
            return Err(format.error(format!("this version reads format {FORMAT} only")));
        }
        let text_of = |value: Option<TomlValue<'_, TunedFileError>>| value.map_or(Ok(String::new()), |value| value.text());
        let settings = TunedSettings {
            program: text_of(file.take("program"))?,
            command: file.take("command").map_or(Ok(Vec::new()), |list| parse_words(&list))?,
            library: text_of(file.take("library"))?,
            machine: text_of(file.take("machine"))?,
            found_s: file.take("found_s").map_or(Ok(0), |value| value.count())?,
            gain: file.take("gain").map(|value| parse_gain(value.table("in [gain]")?)).transpose()?,
            settings: TrialSettings {
                environment: parse_environment(file.require("environment")?.table("in [environment]")?)?,
                variables: file.take("variables").map_or(Ok(BTreeMap::new()), |value| parse_variables(value.table("in [variables]")?))?,
                placed_command: file.take("placed_command").map(|list| parse_words(&list)).transpose()?,
            },
        };
        file.finish().map(|()| settings)
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        let mut text = String::from("# Written by sintonia tune --find. To use it: sintonia tune --use FILE -- COMMAND\n");
        let _ = writeln!(text, "format = {FORMAT}\nprogram = {}\ncommand = {}", quoted(&self.program), quoted_list(&self.command));
        let _ = writeln!(text, "library = {}\nmachine = {}\nfound_s = {}", quoted(&self.library), quoted(&self.machine), self.found_s);
        if let Some(placed) = &self.settings.placed_command {
            let _ = writeln!(text, "\n# The command with its ranks placed by their messages.\nplaced_command = {}", quoted_list(placed));
        }
        if let Some(ConfirmedGain { speedup, reference_s, tuned_s, measure }) = &self.gain {
            let RatioInterval { low, ratio, high, pairs } = speedup;
            let _ = writeln!(
                text,
                "\n# Time without the settings over time with them, from pairs of runs in turn; low and high: 95 % confidence."
            );
            let _ = writeln!(text, "[gain]\nspeedup = {ratio:.4}\nlow = {low:.4}\nhigh = {high:.4}\npairs = {pairs}");
            let _ = writeln!(text, "reference_s = {reference_s:?}\ntuned_s = {tuned_s:?}\nmeasure = {}", quoted(measure));
        }
        text.push_str("\n[environment]\n");
        for (name, value) in self.settings.environment.iter() {
            let _ = writeln!(text, "{} = {}", quoted_key(name), quoted(value));
        }
        if !self.settings.variables.is_empty() {
            text.push_str("\n# Variables of the program, set before it returns from MPI_Init.\n[variables]\n");
        }
        for (name, value) in &self.settings.variables {
            let _ = writeln!(text, "{} = {value}", quoted_key(name));
        }
        text
    }

    /// The text of a file for shells that exports the environment; comments tell what else belongs to the settings.
    pub fn to_shell(&self) -> String {
        let mut text = format!("# Settings for {}, found by sintonia tune --find", self.program);
        if let Some(gain) = &self.gain {
            let _ = write!(text, ": {:.3} times as fast", gain.speedup.ratio);
        }
        text.push('\n');
        self.settings.environment.export_lines().iter().for_each(|line| text.extend([line, "\n"]));
        if let Some(placed) = &self.settings.placed_command {
            let _ = writeln!(text, "# The ranks are placed by this command line:\n# {}", shell_command(placed));
        }
        if !self.settings.variables.is_empty() {
            text.push_str("# Variables of the program are set only under sintonia tune --use.\n");
        }
        text
    }
}

fn parse_gain(mut table: TomlTable<'_, TunedFileError>) -> Result<ConfirmedGain, TunedFileError> {
    let gain = ConfirmedGain {
        speedup: RatioInterval {
            low: table.require("low")?.number()?,
            ratio: table.require("speedup")?.positive_number()?,
            high: table.require("high")?.number()?,
            pairs: table.require("pairs")?.count()? as usize,
        },
        reference_s: table.require("reference_s")?.number()?,
        tuned_s: table.require("tuned_s")?.number()?,
        measure: table.require("measure")?.text()?,
    };
    table.finish().map(|()| gain)
}

fn parse_environment(mut table: TomlTable<'_, TunedFileError>) -> Result<Environment, TunedFileError> {
    let variables = table.take_all().into_iter().map(|value| match is_variable_name(value.key()) {
        true => Ok((value.key().to_owned(), value.text()?)),
        false => Err(value.error(format!("`{}` is not a name of an environment variable", value.key()))),
    });
    Ok(Environment::new(variables.collect::<Result<Vec<_>, TunedFileError>>()?))
}

fn parse_variables(mut table: TomlTable<'_, TunedFileError>) -> Result<BTreeMap<String, i64>, TunedFileError> {
    let variable = |value: TomlValue<'_, TunedFileError>| match value.finite_number()? {
        number if number.fract() == 0.0 => Ok((value.key().to_owned(), number as i64)),
        _ => Err(value.unexpected("an integer")),
    };
    table.take_all().into_iter().map(variable).collect()
}

fn parse_words(list: &TomlValue<'_, TunedFileError>) -> Result<Vec<String>, TunedFileError> {
    list.list()?.iter().map(TomlValue::text).collect()
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A string in TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            _ if letter.is_control() => _ = write!(quoted, "\\u{:04x}", letter as u32),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn quoted_list(words: &[String]) -> String {
    format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
}

fn quoted_key(name: &str) -> String {
    if is_variable_name(name) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> TunedSettings {
        TunedSettings {
            program: "app \"x\"".into(),
            command: vec!["mpirun".into(), "-n".into(), "2".into(), "./a b\\c\n".into()],
            library: "Open MPI 4.1.4".into(),
            machine: "CPU, 2 processors".into(),
            found_s: 1_700_000_000,
            settings: TrialSettings {
                environment: Environment::new([("MALLOC_MMAP_MAX_", "0"), ("OMPI_MCA_btl", "self,vader")]),
                variables: [("config->block".to_owned(), 64), ("n".to_owned(), -1)].into(),
                placed_command: Some(vec!["mpirun".into(), "--rankfile".into(), "a b".into()]),
            },
            gain: Some(ConfirmedGain {
                speedup: RatioInterval { low: 1.125, ratio: 1.25, high: 1.5, pairs: 8 },
                reference_s: 2.5,
                tuned_s: 2.0,
                measure: "run".into(),
            }),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let path = Path::new("a.tuned.toml");
        assert_eq!(TunedSettings::parse(&settings().to_toml(), path).unwrap(), settings());
        let without = TunedSettings { gain: None, settings: TrialSettings::default(), ..settings() };
        assert_eq!(TunedSettings::parse(&without.to_toml(), path).unwrap(), without);
    }

    #[test]
    fn mistakes_are_reported_with_their_position() {
        let error = |text: &str| TunedSettings::parse(text, Path::new("a.tuned.toml")).unwrap_err().to_string();
        assert!(error("format = 2\n[environment]\n").contains("format 1 only"));
        assert!(error("format = 1\n[enviroment]\n").contains("environment"));
        assert!(error("format = 1\n[environment]\n\"A B\" = \"1\"\n").contains("a.tuned.toml:3"));
        assert!(error("format = 1\n[environment]\nA = 1\n").contains("must be"));
        assert!(error("format = 1\n[environment]\n[variables]\nn = 1.5\n").contains("a.tuned.toml:4"));
        assert!(TunedSettings::read(Path::new("no-such.tuned.toml")).unwrap_err().to_string().contains("no-such"));
    }
}
