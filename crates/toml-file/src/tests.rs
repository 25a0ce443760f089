//! What is read, and the errors.

use std::path::Path;

use sintonia_text::source_pos::SourcePos;

use crate::{TomlDocument, TomlReadError, TomlTable};

#[derive(Debug, PartialEq)]
struct Refused(String);

impl TomlReadError for Refused {
    type Problem = String;

    fn at(place: SourcePos, problem: String) -> Refused {
        Refused(format!("{place}: {problem}"))
    }
}

/// Reads a file; returns the message of its error.
fn error(text: &str, read: impl Fn(&mut TomlTable<Refused>) -> Result<(), Refused>) -> String {
    let read = |text| {
        let document = TomlDocument::parse(text, Path::new("a.toml"))?;
        let mut root = document.root();
        read(&mut root)?;
        root.finish()
    };
    read(text).expect_err("an error").0
}

#[test]
fn a_key_that_nobody_takes_is_an_error_with_the_one_that_was_meant() {
    let unknown = error("size = 1\nspede = 2\n", |table| {
        table.take("size");
        table.take("speed");
        Ok(())
    });
    assert_eq!(unknown, "a.toml:2:1: `spede` is unknown at the top (did you mean `speed`?); allowed: size, speed");
}

#[test]
fn a_missing_key_is_misspelt_or_has_another_unit_or_is_not_there() {
    let missing = |text: &str, key: &'static str| error(text, |table| table.require(key).map(|_| ()));
    assert_eq!(
        missing("functon = 1", "function"),
        "a.toml:1:1: `functon` is unknown at the top (did you mean `function`?); allowed: function"
    );
    assert_eq!(missing("latency_us = 1", "latency_s"), "a.toml:1:1: `latency_us` has no known unit: write `latency_s`, in seconds");
    assert_eq!(missing("date = 1", "name"), "a.toml:1:1: `name` is missing at the top");
}

#[test]
fn a_value_of_another_type_is_an_error_at_the_value() {
    assert_eq!(error("a = true", |table| table.require("a")?.count().map(|_| ())), "a.toml:1:5: `a` must be an integer, not true or false");
    assert_eq!(
        error("a = ' '", |table| table.require("a")?.nonblank_text().map(|_| ())),
        "a.toml:1:5: `a` must be a text in quotes, not a text"
    );
    let word = |text| error(text, |table| table.require("a")?.word(&[("one", 1), ("two", 2)]).map(|_| ()));
    assert_eq!(word("a = 'three'"), "a.toml:1:5: `a` cannot be \"three\"; allowed: one, two");
    assert!(error("a = [", |_| Ok(())).starts_with("a.toml:1:"));
}

#[test]
fn numbers_are_read_in_every_notation_of_toml() {
    let document = TomlDocument::<Refused>::parse("a = [1_000, 0x10, 2.5e1, inf, -3]", Path::new("a.toml")).unwrap();
    let numbers: Vec<f64> = document.root().require("a").unwrap().list().unwrap().iter().map(|value| value.number().unwrap()).collect();
    assert_eq!(numbers, [1000.0, 16.0, 25.0, f64::INFINITY, -3.0]);
}

#[test]
fn an_error_within_a_text_is_marked_there() {
    let within = error("a = 'one two'", |table| Err(table.require("a")?.error_within(4..7, "no two".to_owned())));
    assert_eq!(within, "a.toml:1:10: no two");
}
