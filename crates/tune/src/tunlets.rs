//! The tunlets that come with the tool, and the way to every tunlet by what a user calls it: a name, a name with settings, or a file.

pub mod advise;
pub mod collectives;
pub mod factoring;
pub mod fuzzy;
pub mod search;
pub mod workers;

use std::path::Path;

use serde::de::DeserializeOwned;
use sintonia_text::near::nearest;
use sintonia_text::place::Place;
use toml::de::DeTable;

use crate::file;
use crate::file::error::{Error, Problem};
use crate::tunlet::Tunlet;

/// The tunlets that come with the tool, and what each does.
pub const LIST: &[(&str, &str)] = &[
    ("factoring", "cuts the work of a master into batches by the times of its tasks"),
    ("workers", "sets how many workers a master uses by time and efficiency"),
    ("search", "finds the values of variables with which an iteration takes least time, by trying"),
    ("collectives", "chooses the MPI library's algorithm for the collective operation that takes most time, by trying"),
    ("advise", "tells why, where and when time is lost, and changes nothing"),
    ("fuzzy", "changes variables by rules in words; in a file"),
];

/// Why there is no such tunlet.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing has this name.
    #[error("there is no tunlet `{name}`{}; there are {}, and files", near.as_ref().map_or(String::new(), |near| format!(" (did you mean `{near}`?)")), LIST.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// It needs a file that says what it is to do.
    #[error("the tunlet `{0}` needs a file with its rules: see docs/tunlets.md")]
    NeedsFile(&'static str),
    /// Something in a file, or in the settings behind a name, is wrong.
    #[error(transparent)]
    File(#[from] Error),
}

/// The tunlet that is called so: `factoring`, `factoring:history=5,rule="gss"`, or the path of a file.
pub fn open(text: &str) -> Result<Box<dyn Tunlet>, OpenError> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    if LIST.iter().any(|(known, _)| *known == name) {
        return built_in(name, &Given::Inline { text, begin: text.len() - settings.len() });
    }
    let path = Path::new(text);
    let looks_like_file = text.contains('/') || path.extension().is_some_and(|extension| extension == "tunlet" || extension == "toml");
    if looks_like_file || path.is_file() {
        return open_file(path);
    }
    let near = nearest(name, LIST.iter().map(|(known, _)| *known)).map(str::to_owned);
    Err(OpenError::Unknown { name: name.into(), near })
}

/// A file of the user's own, or one with settings of a tunlet that comes with the tool.
fn open_file(path: &Path) -> Result<Box<dyn Tunlet>, OpenError> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
    match used(&text) {
        Some((name, _)) if name == "search" || name == "fuzzy" => {}
        Some((name, line)) if LIST.iter().any(|(known, _)| *known == name) => {
            return built_in(&name, &Given::File { text: &blanked(&text, line), path });
        }
        _ => {}
    }
    Ok(Box::new(file::parse(&text, path)?))
}

/// The tunlet that a file has settings of, and the bytes that say so.
fn used(text: &str) -> Option<(String, std::ops::Range<usize>)> {
    let document = DeTable::parse(text).ok()?;
    let (key, value) = document.get_ref().iter().find(|(key, _)| key.get_ref() == "use")?;
    Some((value.get_ref().as_str()?.to_owned(), key.span().start..value.span().end))
}

/// A text with some bytes made blank, so that everything else stays in its place.
fn blanked(text: &str, bytes: std::ops::Range<usize>) -> String {
    format!("{}{}{}", &text[..bytes.start], " ".repeat(bytes.len()), &text[bytes.end..])
}

fn built_in(name: &str, given: &Given) -> Result<Box<dyn Tunlet>, OpenError> {
    match name {
        "factoring" => Ok(Box::new(factoring::Factoring::new(given.read()?))),
        "workers" => Ok(Box::new(workers::Workers::new(given.read()?))),
        "search" if given.is_empty() => Err(OpenError::NeedsFile("search")),
        "search" => {
            let settings: search::Settings = given.read()?;
            Ok(Box::new(file::parse(&settings.file(), Path::new("search"))?))
        }
        "collectives" => Ok(Box::new(collectives::Collectives::new(given.read()?))),
        "advise" => Ok(Box::new(advise::Advise::new(given.read()?))),
        "fuzzy" => Err(OpenError::NeedsFile("fuzzy")),
        _ => Err(OpenError::Unknown { name: name.into(), near: None }),
    }
}

/// Settings as they are given.
enum Given<'a> {
    /// Behind the name: pairs, from this byte on.
    Inline { text: &'a str, begin: usize },
    /// In a file.
    File { text: &'a str, path: &'a Path },
}

/// Settings inside a table of one key.
#[derive(serde::Deserialize)]
struct Around<S> {
    t: S,
}

impl Given<'_> {
    fn is_empty(&self) -> bool {
        matches!(self, Given::Inline { text, begin } if text.len() == *begin)
    }

    fn read<S: DeserializeOwned>(&self) -> Result<S, Error> {
        const AROUND: &str = "t={";
        match self {
            Given::Inline { text, begin } => {
                let table = format!("{AROUND}{}}}", &text[*begin..]);
                let outcome: Result<Around<S>, _> = toml::from_str(&table);
                outcome.map(|around| around.t).map_err(|error| {
                    let span = error.span().unwrap_or(0..0);
                    let place = |at: usize| (at + begin).saturating_sub(AROUND.len()).min(text.len());
                    wrong(&error, Path::new("--tunlet"), text, place(span.start)..place(span.end))
                })
            }
            Given::File { text, path } => toml::from_str(text).map_err(|error| wrong(&error, path, text, error.span().unwrap_or(0..0))),
        }
    }
}

fn wrong(error: &toml::de::Error, path: &Path, text: &str, span: std::ops::Range<usize>) -> Error {
    let message = error.message().trim();
    // The reader of settings says "unknown field `a`, expected one of `b`, `c`".
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let problem = match names.split_first() {
        Some((name, known)) if message.starts_with("unknown") => Problem::unknown("the setting", name, "here", known.iter().copied()),
        _ => Problem::Syntax(message.into()),
    };
    Error::Wrong { place: Place::of(path, text, span), problem: Box::new(problem) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> String {
        open(text).err().unwrap_or_else(|| panic!("{text} is no tunlet")).to_string()
    }

    #[test]
    fn tunlets_are_found_by_name_with_settings_and_without() {
        for text in ["factoring", "factoring:", "factoring:history=5", "factoring:history=5,names={iteration=\"sweep\"}"] {
            assert_eq!(open(text).expect("a tunlet").name(), "factoring", "{text}");
        }
        let mut search = open("search:iteration=\"sweep\",variables={chunk=[1,64]}").expect("a tunlet");
        let needs = search.needs(4);
        assert_eq!((search.name(), needs.measures[0].function.as_str(), needs.tunes[0].range), ("search", "sweep", (1.0, 64.0)));
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_and_the_list() {
        let text = failure("facturing");
        assert!(text.starts_with("there is no tunlet `facturing` (did you mean `factoring`?); there are factoring, "), "{text}");
        assert!(failure("search").contains("needs a file"), "{}", failure("search"));
    }

    #[test]
    fn a_wrong_setting_is_told_with_its_place() {
        let text = failure("factoring:histroy=5");
        assert!(text.contains("--tunlet:1:11") && text.contains("did you mean `history`?"), "{text}");
        assert!(failure("factoring:history=\"five\"").contains("--tunlet:1:19"), "{}", failure("factoring:history=\"five\""));
        assert!(failure("factoring:history=").contains("--tunlet:1:"), "{}", failure("factoring:history="));
    }

    #[test]
    fn a_file_may_be_settings_of_a_tunlet() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.tunlet");
        let tunlet = |text: &str| {
            std::fs::write(&path, text).expect("written");
            open(&path.display().to_string())
        };
        let needs = tunlet("use = \"factoring\"\nhistory = 2\n[names]\niteration = \"sweep\"\n").expect("a tunlet").needs(4);
        assert!(needs.measures.iter().any(|measure| measure.function == "sweep"));
        let text = tunlet("use = \"factoring\"\nhistory = 2\n[names]\nitteration = \"sweep\"\n").err().expect("wrong").to_string();
        assert!(text.contains("mine.tunlet:4:1: ") && text.contains("did you mean `iteration`?"), "{text}");
        let text = tunlet("use = \"factring\"\n[[measure]]\nname=\"a\"\nfunction=\"f\"\n").err().expect("wrong").to_string();
        assert!(text.contains(":1:7: ") && text.contains("did you mean `factoring`?"), "{text}");
        assert!(failure("nowhere/x.tunlet").contains("nowhere/x.tunlet"));
    }
}
