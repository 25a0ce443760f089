//! The built-in tunlets, and opening a tunlet by name, by name with settings, or from a file.

pub mod advise;
pub mod collectives;
pub mod factoring;
mod farm;
pub mod fuzzy;
pub mod search;
pub mod set;
pub mod workers;

use std::path::Path;

use serde::de::DeserializeOwned;
use sintonia_text::source_pos::SourcePos;
use sintonia_text::suggestion::nearest_name;
use toml::de::DeTable;

use crate::tunlet::Tunlet;
use crate::tunlet_file;
use crate::tunlet_file::error::{Error, TunletFileProblem};

/// The built-in tunlets, and what each does.
pub const LIST: &[(&str, &str)] = &[
    ("factoring", "divides a master's work into batches, by the task times"),
    ("workers", "sets the number of workers of a master, by time and efficiency"),
    ("search", "searches the values of variables that minimise the iteration time"),
    ("set", "gives variables of the program other initial values"),
    ("collectives", "selects the fastest algorithm of the most expensive collective, by trial"),
    ("advise", "reports why, where and when time is lost; changes nothing"),
    ("fuzzy", "sets variables by fuzzy rules; from a file"),
];

/// Why a tunlet cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum TunletOpenError {
    /// An unknown name.
    #[error("there is no tunlet `{name}`{}; there are {}, and files", near.as_ref().map_or(String::new(), |near| format!(" (did you mean `{near}`?)")), LIST.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// A similar known name.
        near: Option<String>,
    },
    /// It needs a file.
    #[error("the tunlet `{0}` needs a file with its rules: see docs/tunlets.md")]
    NeedsFile(&'static str),
    /// A file, or settings after a name, are invalid.
    #[error(transparent)]
    File(#[from] Error),
}

/// Opens `factoring`, `factoring:history=5,rule="gss"`, or the path of a file.
pub fn open_tunlet(text: &str) -> Result<Box<dyn Tunlet>, TunletOpenError> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    if LIST.iter().any(|(known, _)| *known == name) {
        return built_in(name, &SettingsSource::Inline { text, begin: text.len() - settings.len() });
    }
    let path = Path::new(text);
    let looks_like_file = text.contains('/') || path.extension().is_some_and(|extension| extension == "tunlet" || extension == "toml");
    if looks_like_file || path.is_file() {
        return open_file(path);
    }
    let near = nearest_name(name, LIST.iter().map(|(known, _)| *known)).map(str::to_owned);
    Err(TunletOpenError::Unknown { name: name.into(), near })
}

/// Opens a user's tunlet, or a file with settings of a built-in one.
fn open_file(path: &Path) -> Result<Box<dyn Tunlet>, TunletOpenError> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
    match used_tunlet(&text) {
        Some((name, _)) if name == "search" || name == "fuzzy" => {}
        Some((name, line)) if LIST.iter().any(|(known, _)| *known == name) => {
            return built_in(&name, &SettingsSource::File { text: &blank_out(&text, line), path });
        }
        _ => {}
    }
    Ok(Box::new(tunlet_file::parse(&text, path)?))
}

/// The tunlet that a file has settings of, and the range of that key.
fn used_tunlet(text: &str) -> Option<(String, std::ops::Range<usize>)> {
    let document = DeTable::parse(text).ok()?;
    let (key, value) = document.get_ref().iter().find(|(key, _)| key.get_ref() == "use")?;
    Some((value.get_ref().as_str()?.to_owned(), key.span().start..value.span().end))
}

/// Replaces bytes with blanks, so that all other positions stay the same.
fn blank_out(text: &str, bytes: std::ops::Range<usize>) -> String {
    format!("{}{}{}", &text[..bytes.start], " ".repeat(bytes.len()), &text[bytes.end..])
}

fn built_in(name: &str, settings: &SettingsSource) -> Result<Box<dyn Tunlet>, TunletOpenError> {
    match name {
        "factoring" => Ok(Box::new(factoring::FactoringTunlet::new(settings.parse()?))),
        "workers" => Ok(Box::new(workers::WorkersTunlet::new(settings.parse()?))),
        "search" if settings.is_empty() => Err(TunletOpenError::NeedsFile("search")),
        "search" => {
            let settings: search::SearchSettings = settings.parse()?;
            Ok(Box::new(tunlet_file::parse(&settings.to_toml(), Path::new("search"))?))
        }
        "set" => Ok(Box::new(set::SetTunlet::new(settings.parse()?))),
        "collectives" => Ok(Box::new(collectives::CollectivesTunlet::new(settings.parse()?))),
        "advise" => Ok(Box::new(advise::AdviseTunlet::new(settings.parse()?))),
        "fuzzy" => Err(TunletOpenError::NeedsFile("fuzzy")),
        _ => Err(TunletOpenError::Unknown { name: name.into(), near: None }),
    }
}

/// Where settings come from.
enum SettingsSource<'a> {
    /// After the name, from this byte on.
    Inline {
        text: &'a str,
        begin: usize,
    },
    File {
        text: &'a str,
        path: &'a Path,
    },
}

/// Settings as the value of a single key.
#[derive(serde::Deserialize)]
struct InlineTable<S> {
    t: S,
}

impl SettingsSource<'_> {
    fn is_empty(&self) -> bool {
        matches!(self, SettingsSource::Inline { text, begin } if text.len() == *begin)
    }

    fn parse<S: DeserializeOwned>(&self) -> Result<S, Error> {
        const AROUND: &str = "t={";
        match self {
            SettingsSource::Inline { text, begin } => {
                let table = format!("{AROUND}{}}}", &text[*begin..]);
                let outcome: Result<InlineTable<S>, _> = toml::from_str(&table);
                outcome.map(|around| around.t).map_err(|error| {
                    let span = error.span().unwrap_or(0..0);
                    let place = |at: usize| (at + begin).saturating_sub(AROUND.len()).min(text.len());
                    settings_error(&error, Path::new("--tunlet"), text, place(span.start)..place(span.end))
                })
            }
            SettingsSource::File { text, path } => {
                toml::from_str(text).map_err(|error| settings_error(&error, path, text, error.span().unwrap_or(0..0)))
            }
        }
    }
}

fn settings_error(error: &toml::de::Error, path: &Path, text: &str, span: std::ops::Range<usize>) -> Error {
    let message = error.message().trim();
    // Serde says "unknown field `a`, expected one of `b`, `c`".
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let problem = match names.split_first() {
        Some((name, known)) if message.starts_with("unknown") => {
            TunletFileProblem::unknown("the setting", name, "here", known.iter().copied())
        }
        _ => TunletFileProblem::Syntax(message.into()),
    };
    Error::Invalid { place: SourcePos::from_span(path, text, span), problem: Box::new(problem) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> String {
        open_tunlet(text).err().unwrap_or_else(|| panic!("{text} is no tunlet")).to_string()
    }

    #[test]
    fn tunlets_are_found_by_name_with_settings_and_without() {
        for text in ["factoring", "factoring:", "factoring:history=5", "factoring:history=5,names={iteration=\"sweep\"}"] {
            assert_eq!(open_tunlet(text).expect("a tunlet").name(), "factoring", "{text}");
        }
        let mut search = open_tunlet("search:iteration=\"sweep\",variables={chunk=[1,64]}").expect("a tunlet");
        let needs = search.requirements(4);
        assert_eq!((search.name(), needs.measures[0].function.as_str(), needs.tunes[0].range), ("search", "sweep", (1.0, 64.0)));
    }

    #[test]
    fn an_unknown_name_gets_a_hint() {
        let text = failure("facturing");
        assert!(text.starts_with("there is no tunlet `facturing` (did you mean `factoring`?); there are factoring, "), "{text}");
        assert!(failure("search").contains("needs a file"), "{}", failure("search"));
    }

    #[test]
    fn an_invalid_setting_has_a_position() {
        let text = failure("factoring:histroy=5");
        assert!(text.contains("--tunlet:1:11") && text.contains("did you mean `history`?"), "{text}");
        assert!(failure("factoring:history=\"five\"").contains("--tunlet:1:19"), "{}", failure("factoring:history=\"five\""));
        assert!(failure("factoring:history=").contains("--tunlet:1:"), "{}", failure("factoring:history="));
    }

    #[test]
    fn a_file_may_hold_settings_of_a_tunlet() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.tunlet");
        let tunlet = |text: &str| {
            std::fs::write(&path, text).expect("written");
            open_tunlet(&path.display().to_string())
        };
        let needs = tunlet("use = \"factoring\"\nhistory = 2\n[names]\niteration = \"sweep\"\n").expect("a tunlet").requirements(4);
        assert!(needs.measures.iter().any(|measure| measure.function == "sweep"));
        let text = tunlet("use = \"factoring\"\nhistory = 2\n[names]\nitteration = \"sweep\"\n").err().expect("wrong").to_string();
        assert!(text.contains("mine.tunlet:4:1: ") && text.contains("did you mean `iteration`?"), "{text}");
        let text = tunlet("use = \"factring\"\n[[measure]]\nname=\"a\"\nfunction=\"f\"\n").err().expect("wrong").to_string();
        assert!(text.contains(":1:7: ") && text.contains("did you mean `factoring`?"), "{text}");
        assert!(failure("nowhere/x.tunlet").contains("nowhere/x.tunlet"));
    }
}
