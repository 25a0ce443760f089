//! Names of functions as people write them: partly qualified, with or without template arguments and parameters, and in Fortran without the
//! module and in any case.

use crate::variable_path::split_file;

/// A function name, of the program or as written by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionName {
    /// The source file, if the user gave one.
    pub file: Option<String>,
    /// Namespaces or modules, classes, and the function.
    path: Vec<NamePart>,
    /// The types of the parameters, if given.
    parameters: Option<Vec<String>>,
    ignores_case: bool,
}

/// A part of a qualified name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamePart {
    name: String,
    /// Template arguments, if given.
    arguments: Option<String>,
}

/// How well a name fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMatch {
    /// Namespaces, classes or the module were left out.
    Partial,
    /// All parts of the path were given.
    Full,
}

impl FunctionName {
    /// Parses a demangled name, or a name as written by the user.
    pub(crate) fn parse(text: &str) -> FunctionName {
        let (file, rest) = split_file(text.trim());
        let mut parser = NameParser { rest, path: Vec::new(), part: NamePart::empty(), parameters: None };
        parser.parse();
        FunctionName { file, path: parser.path, parameters: parser.parameters, ignores_case: false }
    }

    /// A name without template arguments and parameters, such as that of a Fortran procedure.
    pub(crate) fn from_path<'part>(path: impl IntoIterator<Item = &'part str>, ignores_case: bool) -> FunctionName {
        let path = path.into_iter().map(|name| NamePart { name: name.to_owned(), arguments: None }).collect();
        FunctionName { file: None, path, parameters: None, ignores_case }
    }

    /// The function without what qualifies it.
    pub(crate) fn last(&self) -> &str {
        self.path.last().map_or("", |part| &part.name)
    }

    /// The path without template arguments and parameters.
    pub(crate) fn plain_path(&self) -> String {
        self.path.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("::")
    }

    /// Whether this name of the program is meant by the name that the user wrote.
    pub(crate) fn is_meant_by(&self, wanted: &FunctionName) -> Option<NameMatch> {
        let left_out = self.path.len().checked_sub(wanted.path.len()).filter(|_| !wanted.path.is_empty())?;
        let fits = |(own, wanted): (&NamePart, &NamePart)| {
            let is_same = if self.ignores_case { own.name.eq_ignore_ascii_case(&wanted.name) } else { own.name == wanted.name };
            is_same && wanted.arguments.as_ref().is_none_or(|wanted| own.arguments.as_ref().is_some_and(|own| is_same_type(own, wanted)))
        };
        if !self.path[left_out..].iter().zip(&wanted.path).all(fits) {
            return None;
        }
        if let (Some(own), Some(wanted)) = (&self.parameters, &wanted.parameters)
            && !(own.len() == wanted.len() && own.iter().zip(wanted).all(|(own, wanted)| is_same_type(own, wanted)))
        {
            return None;
        }
        Some(if left_out == 0 { NameMatch::Full } else { NameMatch::Partial })
    }
}

impl NamePart {
    fn empty() -> NamePart {
        NamePart { name: String::new(), arguments: None }
    }
}

/// Operators whose names contain brackets, the longest first.
const BRACKET_OPERATORS: [&str; 13] = ["()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];

struct NameParser<'text> {
    rest: &'text str,
    path: Vec<NamePart>,
    part: NamePart,
    parameters: Option<Vec<String>>,
}

impl<'text> NameParser<'text> {
    fn parse(&mut self) {
        while let Some(letter) = self.rest.chars().next() {
            if self.part.name == "operator"
                && let Some(operator) = BRACKET_OPERATORS.into_iter().find(|operator| self.rest.starts_with(operator))
            {
                self.part.name.push_str(operator);
                self.rest = &self.rest[operator.len()..];
            } else if let Some(behind) = self.rest.strip_prefix("::") {
                self.rest = behind;
                self.finish_part();
            } else if let Some(behind) = self.rest.strip_prefix("(anonymous namespace)") {
                self.part.name.push_str("(anonymous namespace)");
                self.rest = behind;
            } else if letter == '<' {
                self.part.arguments = Some(normal_list(self.bracketed('<', '>')).join(","));
            } else if letter == '(' {
                let inside = self.bracketed('(', ')');
                // What follows the parameters of an enclosing function is local to it.
                if let Some(inner) = self.rest.find("::") {
                    self.rest = &self.rest[inner..];
                } else {
                    self.parameters = Some(normal_list(inside));
                    self.rest = "";
                }
            } else if letter == '{' {
                let inside = self.bracketed('{', '}');
                self.part.name.push_str(&format!("{{{inside}}}"));
            } else if letter == '[' {
                // A tag of the binary interface.
                self.bracketed('[', ']');
            } else {
                // A conversion operator has a type for a name.
                if !letter.is_whitespace() || self.part.name.starts_with("operator") {
                    self.part.name.push(letter);
                }
                self.rest = &self.rest[letter.len_utf8()..];
            }
        }
        self.finish_part();
    }

    fn finish_part(&mut self) {
        let mut part = std::mem::replace(&mut self.part, NamePart::empty());
        part.name.truncate(part.name.trim_end().len());
        if !part.name.is_empty() {
            self.path.push(part);
        }
    }

    /// The text in brackets at the beginning, which is skipped.
    fn bracketed(&mut self, open: char, close: char) -> &'text str {
        let mut depth = 0usize;
        let mut end = self.rest.len();
        let mut before = ' ';
        for (at, letter) in self.rest.char_indices() {
            if letter == open {
                depth += 1;
            } else if letter == close && before != '-' {
                depth -= 1;
                if depth == 0 {
                    end = at;
                    break;
                }
            }
            before = letter;
        }
        let inside = &self.rest[1..end.max(1)];
        self.rest = self.rest.get(end + 1..).unwrap_or("");
        inside
    }
}

/// Splits a list of types at its commas, each in one spelling.
fn normal_list(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0i32;
    for letter in text.chars() {
        depth += i32::from(matches!(letter, '<' | '(' | '[')) - i32::from(matches!(letter, '>' | ')' | ']'));
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            letter => parts.last_mut().expect("one at least").push(letter),
        }
    }
    let mut parts: Vec<String> = parts.iter().map(|part| normal_type(part)).collect();
    if matches!(&parts[..], [only] if only.is_empty() || only == "void") {
        parts.clear();
    }
    parts
}

/// One spelling of a type: `const double *` and `double const*` are the same, and so are `unsigned` and `unsigned int`.
fn normal_type(text: &str) -> String {
    let mut text = without_spaces(text).replace("std::__cxx11::", "std::");
    for implied in [",std::allocator<", ",std::char_traits<", ",std::less<"] {
        while let Some(begin) = text.find(implied) {
            let Some(end) = closing(&text, begin + implied.len() - 1) else { break };
            text.replace_range(begin..=end, "");
        }
    }
    let text = text.replace("std::basic_string<char>", "std::string");
    let (base, behind) = text.split_at(text.find(['*', '&', '(', '[']).unwrap_or(text.len()));
    let without_const = base.strip_prefix("const ").or_else(|| base.strip_suffix(" const"));
    let (base, is_const) = without_const.map_or((base, false), |base| (base, true));
    // A parameter that is itself constant has the same type for its callers.
    let is_const = is_const && !behind.is_empty();
    format!("{}{}{behind}", normal_integer(base), if is_const { " const" } else { "" })
}

/// The position of the bracket that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    text[open..].char_indices().find_map(|(at, letter)| {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        (depth == 0).then_some(open + at)
    })
}

/// Removes spaces that do not separate words.
fn without_spaces(text: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let ends_word = |letter: char| is_word(letter) || letter == '>';
    let mut result = String::new();
    let mut pending = false;
    for letter in text.trim().chars() {
        if letter.is_whitespace() {
            pending = true;
            continue;
        }
        if std::mem::take(&mut pending) && is_word(letter) && result.chars().next_back().is_some_and(ends_word) {
            result.push(' ');
        }
        result.push(letter);
    }
    result
}

fn normal_integer(base: &str) -> String {
    let known = match base {
        "size_t" | "std::size_t" | "uint64_t" => "unsigned long",
        "ptrdiff_t" | "std::ptrdiff_t" | "int64_t" => "long",
        "uint32_t" => "unsigned int",
        "int32_t" => "int",
        _ => base,
    };
    let words: Vec<&str> = known.split(' ').collect();
    if !words.iter().all(|word| matches!(*word, "unsigned" | "signed" | "long" | "short" | "int" | "char")) {
        return known.to_owned();
    }
    let has = |word: &str| words.contains(&word);
    let longs = words.iter().filter(|word| **word == "long").count();
    let size = match (has("char"), has("short"), longs) {
        (true, ..) => "char",
        (_, true, _) => "short",
        (_, _, 0) => "int",
        (_, _, 1) => "long",
        _ => "long long",
    };
    let sign = if has("unsigned") {
        "unsigned "
    } else if has("signed") && size == "char" {
        "signed "
    } else {
        ""
    };
    format!("{sign}{size}")
}

/// Whether the user's spelling of a type means this one; namespaces may be left out.
fn is_same_type(own: &str, wanted: &str) -> bool {
    own == wanted || !wanted.contains("::") && without_scopes(own) == wanted
}

/// Removes what stands before every `::`.
fn without_scopes(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("::") {
        let before = &rest[..at];
        let begin = before.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
        result.push_str(&before[..begin]);
        rest = &rest[at + 2..];
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(full: &str, wanted: &str) -> Option<NameMatch> {
        FunctionName::parse(full).is_meant_by(&FunctionName::parse(wanted))
    }

    #[test]
    fn namespaces_may_be_left_out() {
        let full = "sim::Solver<double>::step(double, int)";
        for wanted in ["Solver::step", "step", "Solver<double>::step", "step(double, int)", "Solver::step( double,int )"] {
            assert_eq!(matched(full, wanted), Some(NameMatch::Partial), "{wanted}");
        }
        for wanted in ["sim::Solver::step", "sim::Solver<double>::step(double, int)"] {
            assert_eq!(matched(full, wanted), Some(NameMatch::Full), "{wanted}");
        }
        for wanted in ["olver::step", "tep", "Solver<float>::step", "step(int)", "Solver", "x::sim::Solver::step", ""] {
            assert_eq!(matched(full, wanted), None, "{wanted}");
        }
        assert_eq!(matched("(anonymous namespace)::hidden(int)", "hidden"), Some(NameMatch::Partial));
        assert_eq!(matched("main::{lambda(int)#1}::operator()(int) const", "operator()(int)"), Some(NameMatch::Partial));
    }

    #[test]
    fn types_have_several_spellings() {
        for (full, wanted) in [
            ("f(double const*, unsigned long)", "f(const double *, size_t)"),
            ("f(unsigned int)", "f(unsigned)"),
            ("f()", "f(void)"),
            ("g(std::vector<double, std::allocator<double> >&)", "g(std::vector<double>&)"),
            ("g(std::vector<double, std::allocator<double> > const&)", "g(const std::vector<double> &)"),
            ("g(std::vector<double, std::allocator<double> >&)", "g(vector<double>&)"),
            ("g(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)", "g(const std::string&)"),
            ("h(sim::Grid*)", "h(Grid*)"),
            ("f<int, 3>(int)", "f<int,3>"),
            ("s::operator<(s const&) const", "s::operator<"),
            ("s::operator()(int)", "operator()"),
            ("s::operator bool() const", "operator bool"),
            ("name[abi:cxx11](int)", "name"),
        ] {
            assert!(
                matched(full, wanted).is_some(),
                "{wanted} is {full}: {:?} {:?}",
                FunctionName::parse(full),
                FunctionName::parse(wanted)
            );
        }
        for (full, wanted) in
            [("f(double const*)", "f(double*)"), ("f(long)", "f(int)"), ("f(int)", "f(int, int)"), ("s::operator<(int)", "operator>")]
        {
            assert_eq!(matched(full, wanted), None, "{wanted} is not {full}");
        }
    }

    #[test]
    fn fortran_ignores_case() {
        let name = FunctionName::from_path(["phys", "compute"], true);
        assert_eq!(name.is_meant_by(&FunctionName::parse("Compute")), Some(NameMatch::Partial));
        assert_eq!(name.is_meant_by(&FunctionName::parse("PHYS::COMPUTE")), Some(NameMatch::Full));
        assert_eq!(name.is_meant_by(&FunctionName::parse("comp")), None);
    }

    #[test]
    fn a_file_may_precede_the_name() {
        let name = FunctionName::parse("solver.c:step");
        assert_eq!((name.file.as_deref(), name.last()), (Some("solver.c"), "step"));
        assert_eq!(FunctionName::parse("sim::step").file, None);
    }
}
