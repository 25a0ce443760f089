//! Imports between the modules of a crate, read from its text.
//!
//! A module and those inside it are one: only imports between siblings count, and where `a/b` imports from `c/d`, `a` imports `c`. Names are
//! followed through `pub use` to the module that defines them. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module by the names on the way to it; empty for the root of the crate.
type ModulePath = Vec<String>;

/// The sets of modules of a crate that import each other in a circle, given its folder of sources.
pub fn import_circles(source: &Path) -> BTreeSet<BTreeSet<String>> {
    let imports = CrateModules::read(source).sibling_imports();
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        imports.keys().map(|module| (module, reachable(&imports, module))).collect();
    let returns = |from: &ModulePath, to: &ModulePath| reached.get(to).is_some_and(|reached| reached.contains(from));
    let circle = |module: &ModulePath| reached[module].iter().filter(|other| returns(module, other)).map(|other| other.join("/")).collect();
    imports.keys().filter(|module| returns(module, module)).map(circle).collect()
}

fn reachable<'a>(imports: &'a BTreeMap<ModulePath, BTreeSet<ModulePath>>, from: &ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&ModulePath> = imports.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

/// The modules of a crate, with what they re-export.
#[derive(Default)]
struct CrateModules {
    /// Their text without comments and tests.
    texts: BTreeMap<ModulePath, String>,
    /// The path behind each re-exported name.
    reexports: BTreeMap<(ModulePath, String), ModulePath>,
}

impl CrateModules {
    fn read(source: &Path) -> CrateModules {
        let mut modules = CrateModules::default();
        let mut tests = BTreeSet::new();
        modules.read_folder(source, &[], &mut tests);
        modules.texts.retain(|module, _| !(0..=module.len()).any(|length| tests.contains(&module[..length])));
        for (module, text) in &modules.texts {
            for (at, _) in text.match_indices("use ").filter(|(at, _)| text[..*at].ends_with("pub ") || text[..*at].ends_with(") ")) {
                let mut paths = Vec::new();
                parse_tree(&text[at + 4..], &[], &mut paths);
                let exported = paths.into_iter().filter_map(|path| Some(((module.clone(), path.last()?.clone()), absolute(module, &path))));
                modules.reexports.extend(exported);
            }
        }
        modules
    }

    fn read_folder(&mut self, folder: &Path, parent: &[String], tests: &mut BTreeSet<ModulePath>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let child = |name: &str| [parent, &[name.to_string()]].concat();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                self.read_folder(&path, &child(&name), tests);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = if parent.is_empty() && matches!(&*name, "lib" | "main") { Vec::new() } else { child(&name) };
                let text = std::fs::read_to_string(&path).expect("a source file");
                tests.extend(test_modules(&text).map(|test| [&module[..], &[test.to_string()]].concat()));
                self.texts.entry(module).or_default().push_str(&without_tests(&text));
            }
        }
    }

    fn sibling_imports(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let mut imports: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (module, text) in &self.texts {
            for used in imported_paths(text).iter().map(|path| self.defining_module(&absolute(module, path))) {
                if let Some(level) = module.iter().zip(&used).position(|(own, other)| own != other) {
                    imports.entry(module[..=level].to_vec()).or_default().insert(used[..=level].to_vec());
                }
            }
        }
        imports
    }

    fn defining_module(&self, path: &[String]) -> ModulePath {
        let known = (0..=path.len()).rev().find(|length| self.texts.contains_key(&path[..*length])).unwrap_or(0);
        match path.get(known).and_then(|name| self.reexports.get(&(path[..known].to_vec(), name.clone()))) {
            // A name that is re-exported from outside the crate leads back to itself.
            Some(original) if original != path => self.defining_module(original),
            _ => path[..known].to_vec(),
        }
    }
}

/// The names of modules in files of their own that are only for tests.
fn test_modules(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("#[cfg(test)]").skip(1).filter_map(|after| after.trim_start().lines().next());
    after.filter_map(|line| line.strip_suffix(';')?.split_once("mod ").map(|(_, name)| name))
}

/// The text up to its inline module of tests, without comments.
fn without_tests(text: &str) -> String {
    let begins_tests = |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.contains("mod ") && line.ends_with('{'));
    let end = text.match_indices("#[cfg(test)]").map(|(at, _)| at).find(begins_tests).unwrap_or(text.len());
    text[..end].lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// All paths that begin with `crate` or `super`, in imports and elsewhere.
fn imported_paths(text: &str) -> Vec<ModulePath> {
    let mut paths = Vec::new();
    for (at, _) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        if !text[..at].ends_with(|before: char| is_name(before) || before == ':') {
            parse_tree(&text[at..], &[], &mut paths);
        }
    }
    paths
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Adds the paths of the `use` tree that a text begins with, such as `a::{b, c::d}`; returns the text after it.
fn parse_tree<'t>(mut text: &'t str, prefix: &[String], paths: &mut Vec<ModulePath>) -> &'t str {
    let mut path = prefix.to_vec();
    loop {
        text = text.trim_start();
        if let Some(mut inner) = text.strip_prefix('{') {
            loop {
                inner = parse_tree(inner, &path, paths).trim_start();
                match inner.strip_prefix(',') {
                    Some(rest) => inner = rest,
                    None => return inner.strip_prefix('}').unwrap_or(inner),
                }
            }
        }
        let rest = text.trim_start_matches(is_name);
        path.extend(Some(&text[..text.len() - rest.len()]).filter(|name| !name.is_empty() && *name != "self").map(str::to_string));
        match rest.strip_prefix("::") {
            Some(inner) => text = inner,
            None => {
                paths.push(path);
                return rest.strip_prefix(" as ").map_or(rest, |renamed| renamed.trim_start_matches(is_name));
            }
        }
    }
}

/// A path as written in a module, from the root of the crate.
fn absolute(module: &[String], path: &[String]) -> ModulePath {
    let up = path.iter().take_while(|name| *name == "super").count();
    match path.first().map(String::as_str) {
        Some("crate") => path[1..].to_vec(),
        _ => [&module[..module.len().saturating_sub(up)], &path[up..]].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate with these files, each as its modules.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let folder = crate::fresh_dir();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        import_circles(folder.path()).into_iter().map(|circle| circle.into_iter().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_circle_is_found_through_children_groups_and_reexports() {
        let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::{self as d, Thing};\n");
        let a = ("a.rs", "mod inner;\nuse crate::{\n    b::{One, Two as Other},\n    x,\n};\n");
        let inner = ("a/inner.rs", "use super::Parent;\nfn f() -> super::super::c::Thing {}\n");
        let b = ("b.rs", "use crate::Thing;\n");
        assert_eq!(circles(&[lib, a, inner, b, ("c.rs", "")]), [""; 0]);
        assert_eq!(circles(&[lib, a, inner, b, ("c.rs", "fn g(it: crate::a::inner::Deep) {}\n")]), ["a b c"]);
        assert_eq!(circles(&[lib, a, inner, ("b.rs", "use super::a::{self, f};\n"), ("c.rs", "")]), ["a b"]);
    }

    #[test]
    fn parents_comments_and_tests_make_no_circle() {
        let lib = ("lib.rs", "mod a;\nmod b;\n");
        let a = ("a.rs", "mod part;\n#[cfg(test)]\nmod proof;\nuse crate::b::B;\nuse part::Part;\n");
        let part = ("a/part.rs", "use super::A;\nuse crate::a::Other;\n");
        let proof = ("a/proof.rs", "");
        let b = ("b.rs", "// as in crate::a\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n");
        assert_eq!(circles(&[lib, a, part, proof, b]), [""; 0]);
        let used = ("a.rs", "#[cfg(test)]\nmod proof;\n");
        assert_eq!(circles(&[lib, used, ("a/proof.rs", "use crate::b::B;\n"), ("b.rs", "use crate::a::A;\n")]), [""; 0]);
    }
}
