//! Macros defined on the command line, as with a compiler's `-D`: programs often size their arrays and select variants that way.

use std::str::FromStr;

/// A macro definition, as it would follow `#define`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacroDefinition(String);

impl MacroDefinition {
    /// The `#define` line.
    pub(super) fn define_line(&self) -> String {
        format!("#define {}\n", self.0)
    }
}

/// Why a text is not a macro definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MacroDefinitionError {
    /// The part before `=` is not a macro name, with or without parameters.
    #[error("`{0}` is not a macro name: write NAME, NAME=VALUE or NAME(a,b)=VALUE")]
    Name(String),
    /// The value spans several lines.
    #[error("the value of a macro must be on one line")]
    Lines,
}

impl FromStr for MacroDefinition {
    type Err = MacroDefinitionError;

    /// `NAME`, which is 1 as for compilers, `NAME=VALUE`, or `NAME(a,b)=VALUE`.
    fn from_str(text: &str) -> Result<MacroDefinition, MacroDefinitionError> {
        let (macro_name, value) = text.split_once('=').unwrap_or((text, "1"));
        if value.contains(['\n', '\r']) {
            return Err(MacroDefinitionError::Lines);
        }
        let (name, parameters) = match macro_name.split_once('(') {
            Some((name, list)) => (name, list.strip_suffix(')')),
            None => (macro_name, Some("")),
        };
        let is_parameter = |text: &str| text.is_empty() || text == "..." || is_name(text);
        if !is_name(name) || !parameters.is_some_and(|list| list.split(',').all(|parameter| is_parameter(parameter.trim()))) {
            return Err(MacroDefinitionError::Name(macro_name.to_owned()));
        }
        Ok(MacroDefinition(format!("{macro_name} {value}")))
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_those_of_compilers() {
        let line = |text: &str| text.parse::<MacroDefinition>().map(|definition| definition.define_line());
        assert_eq!(line("N=400"), Ok("#define N 400\n".into()));
        assert_eq!(line("DEBUG"), Ok("#define DEBUG 1\n".into()));
        assert_eq!(line("EMPTY="), Ok("#define EMPTY \n".into()));
        assert_eq!(line("SAME=a==b"), Ok("#define SAME a==b\n".into()));
        assert_eq!(line("MAX(a, b)=((a)>(b)?(a):(b))"), Ok("#define MAX(a, b) ((a)>(b)?(a):(b))\n".into()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "=3", "4N=2", "a-b", "F(=1", "F(a;b)=1", "(a)=1", "é=1"] {
            let before = text.split('=').next().unwrap_or_default().to_owned();
            assert_eq!(text.parse::<MacroDefinition>(), Err(MacroDefinitionError::Name(before)), "{text}");
        }
        assert_eq!("N=1\n#define M 2".parse::<MacroDefinition>(), Err(MacroDefinitionError::Lines));
    }
}
