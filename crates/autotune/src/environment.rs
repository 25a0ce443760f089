//! Environment variables that are set for a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Variables that hold a list: several settings share them, and the user's own value stays in front.
const LISTS: [(&str, char); 1] = [("GLIBC_TUNABLES", ':')];

/// Environment variables and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// These variables.
    pub fn new<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Environment {
        Environment { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Names and values, in order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Both together; `None` if they set the same variable to different values.
    pub fn merge(&self, other: &Environment) -> Option<Environment> {
        let mut merged = self.clone();
        for (name, value) in &other.variables {
            match merged.variables.get_mut(name) {
                None => _ = merged.variables.insert(name.clone(), value.clone()),
                Some(same) if same == value => {}
                Some(list) => *list = join_list(name, list, value)?,
            }
        }
        Some(merged)
    }

    /// The variables as a program gets them: lists are appended to those that are set already.
    pub fn appended_to(&self, inherited: impl Fn(&str) -> Option<String>) -> Environment {
        let value = |(name, value): (&String, &String)| {
            let before = inherited(name).filter(|before| !before.is_empty());
            let joined = before.and_then(|before| join_list(name, &before, value));
            (name.clone(), joined.unwrap_or_else(|| value.clone()))
        };
        Environment { variables: self.variables.iter().map(value).collect() }
    }

    /// Lines for a shell that export the variables.
    pub fn export_lines(&self) -> Vec<String> {
        let line = |(name, value): (&str, &str)| match list_separator(name) {
            // Keeps what the shell has already.
            Some(separator) => format!("export {name}=\"${{{name}:+${name}{separator}}}{value}\""),
            None => format!("export {name}={}", quoted(value)),
        };
        self.iter().map(line).collect()
    }

    /// Names and values in one line, as in front of a command.
    pub fn to_line(&self) -> String {
        self.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect::<Vec<_>>().join(" ")
    }
}

fn list_separator(name: &str) -> Option<char> {
    LISTS.iter().find(|(list, _)| *list == name).map(|(_, separator)| *separator)
}

fn join_list(name: &str, first: &str, second: &str) -> Option<String> {
    let separator = list_separator(name)?;
    let key = |entry: &str| entry.split('=').next().map(str::to_owned);
    let entries: Vec<&str> = first.split(separator).collect();
    let is_new = |entry: &&str| !entries.contains(entry);
    let clashes = second.split(separator).filter(is_new).any(|entry| entries.iter().any(|other| key(other) == key(entry)));
    let joined = || entries.iter().copied().chain(second.split(separator).filter(is_new)).collect::<Vec<_>>();
    (!clashes).then(|| joined().join(&separator.to_string()))
}

/// The value, in quotes if a shell would not take it as it is.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+,:/=@%^".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_values_of_one_variable_do_not_go_together_but_lists_do() {
        let one = Environment::new([("A", "1"), ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")]);
        assert_eq!(one.merge(&Environment::new([("A", "2")])), None);
        let lists = one.merge(&Environment::new([("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")])).unwrap();
        assert_eq!(lists.to_line(), "A=1 GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1");
        assert_eq!(one.merge(&Environment::new([("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")])), None);
        assert_eq!(one.merge(&one), Some(one.clone()));
    }

    #[test]
    fn a_list_of_the_user_is_kept() {
        let ours = Environment::new([("GLIBC_TUNABLES", "b=2"), ("A", "1")]);
        let inherited = |name: &str| (name != "B").then(|| "a=1".to_owned());
        assert_eq!(ours.appended_to(inherited).to_line(), "A=1 GLIBC_TUNABLES=a=1:b=2");
        assert_eq!(ours.appended_to(|_| None), ours);
    }

    #[test]
    fn export_lines_can_be_pasted() {
        let lines = Environment::new([("A", "1"), ("B", "^a b"), ("GLIBC_TUNABLES", "b=2")]).export_lines();
        assert_eq!(lines, ["export A=1", "export B='^a b'", "export GLIBC_TUNABLES=\"${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}b=2\""]);
    }
}
