//! `deny.toml`, held against what is built: licences, duplicate versions and sources, in a second. `make deny` runs cargo-deny itself, whose
//! build takes minutes; both read the same lists.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::workspace;

/// The only source of packages.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Texts of a list in `deny.toml`; an entry may also be a table with the key `crate`.
fn denied(table: &str, key: &str) -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("deny.toml")).expect("deny.toml");
    let rules: toml::Table = text.parse().expect("TOML");
    let entries = rules[table].get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let text = |entry: &toml::Value| entry.get("crate").unwrap_or(entry).as_str().expect("a text").to_owned();
    entries.iter().map(text).collect()
}

/// What cargo prints.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).args(["--locked", "--offline"]).current_dir(workspace()).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Name, version and licence of the packages that are built here, along these kinds of dependencies.
fn packages(edges: &str) -> BTreeSet<[String; 3]> {
    let text = cargo(&["tree", "--workspace", "--all-features", "--prefix", "none", "--edges", edges, "--format", "{p}\t{l}"]);
    let package = |line: &str| {
        let (package, licence) = line.trim_end_matches("(*)").trim_end().split_once('\t')?;
        let mut words = package.split(' ').map(String::from);
        Some([words.next()?, words.next()?, licence.to_owned()])
    };
    text.lines().filter_map(package).collect()
}

/// Whether a licence expression can be met with the allowed licences.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // `MIT/Apache-2.0` is an older form of OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "-WITH-");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (holds, rest) = any_of(&words, allowed);
    holds && rest.is_empty()
}

/// Alternatives up to the end or a closing parenthesis; returns whether one is allowed, and the words behind.
fn any_of<'a>(words: &'a [&'a str], allowed: &[String]) -> (bool, &'a [&'a str]) {
    let (mut any, mut rest) = all_of(words, allowed);
    while let ["OR", behind @ ..] = rest {
        let (one, behind) = all_of(behind, allowed);
        (any, rest) = (any | one, behind);
    }
    (any, rest)
}

fn all_of<'a>(words: &'a [&'a str], allowed: &[String]) -> (bool, &'a [&'a str]) {
    let (mut all, mut rest) = one_of(words, allowed);
    while let ["AND", behind @ ..] = rest {
        let (one, behind) = one_of(behind, allowed);
        (all, rest) = (all & one, behind);
    }
    (all, rest)
}

fn one_of<'a>(words: &'a [&'a str], allowed: &[String]) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inner @ ..] => {
            let (holds, rest) = any_of(inner, allowed);
            (holds && rest.first() == Some(&")"), rest.get(1..).unwrap_or_default())
        }
        [name, rest @ ..] => (allowed.contains(&name.replace("-WITH-", " WITH ")), rest),
        [] => (false, words),
    }
}

#[test]
fn c003_every_licence_is_allowed() {
    let allowed = denied("licenses", "allow");
    let packages = packages("normal,build,dev");
    let others: Vec<_> = packages.iter().filter(|[_, _, licence]| !is_allowed(licence, &allowed)).collect();
    assert!(packages.len() > 50 && others.is_empty(), "{others:?}");
}

#[test]
fn c003_licence_expressions_are_understood() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(String::from);
    for expression in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND Zlib", "Apache-2.0 WITH LLVM-exception AND MIT"] {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "Apache-2.0", "(MIT", "MIT Zlib"] {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}

#[test]
fn c003_only_listed_packages_are_built_twice() {
    let listed: BTreeSet<String> = denied("bans", "skip").iter().map(|entry| entry.split('@').next().expect("a name").into()).collect();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for [name, version, _] in packages("normal,build") {
        versions.entry(name).or_default().insert(version);
    }
    versions.retain(|name, versions| versions.len() > 1 && !listed.contains(name));
    assert!(versions.is_empty(), "{versions:?}");
}

#[test]
fn c003_every_package_comes_from_the_registry() {
    assert!(denied("sources", "allow-git").is_empty());
    let lock: toml::Table = std::fs::read_to_string(workspace().join("Cargo.lock")).expect("Cargo.lock").parse().expect("TOML");
    for package in lock["package"].as_array().expect("packages") {
        let source = package.get("source").map(|source| source.as_str().expect("a text"));
        assert!(source.is_none_or(|source| source == REGISTRY), "{package:?}");
    }
}

/// Path dependencies have no version, which cargo-deny allows only in packages that are not published. Only the packages that use no other
/// one of the workspace can be.
#[test]
fn c003_packages_with_path_dependencies_are_not_published() {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).expect("JSON");
    let is_path = |dependency: &Value| dependency["path"].is_string();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    for package in packages.filter(|package| package["dependencies"].as_array().is_some_and(|all| all.iter().any(is_path))) {
        assert_eq!(package["publish"], serde_json::json!([]), "{}: `publish.workspace = true` is missing", package["name"]);
    }
}

#[test]
fn c003_every_direct_dependency_is_documented() {
    let text = std::fs::read_to_string(workspace().join("docs/dependencies.md")).expect("the list");
    let listed: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).filter(|name| *name != "crate").collect();
    let manifest: toml::Table = std::fs::read_to_string(workspace().join("Cargo.toml")).expect("Cargo.toml").parse().expect("TOML");
    let names = manifest["workspace"]["dependencies"].as_table().expect("dependencies").keys();
    let used: BTreeSet<&str> = names.map(String::as_str).filter(|name| !name.starts_with("sintonia")).collect();
    assert_eq!(listed, used);
}
