//! Names of functions, short enough for a label.

/// The name of a function without its parameters and result type; template arguments become `<…>`.
pub fn short_function_name(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let is_operator = short.ends_with("operator");
        if let Some(after) = rest.strip_prefix("(anonymous namespace)") {
            short.push_str("(anonymous)");
            rest = after;
        } else if is_operator && let Some((symbol, after)) = operator_symbol(rest) {
            short.push_str(symbol);
            rest = after;
        } else if c == '<' && short.ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            short.push_str("<…>");
            rest = after_brackets(rest, '<', '>');
        } else if rest.starts_with(" <") {
            // The template arguments of an operator.
            rest = after_brackets(&rest[1..], '<', '>');
        } else if c == '(' && !short.is_empty() {
            rest = after_brackets(rest, '(', ')');
            // What follows the parameters is part of the name in a local function or lambda only.
            if !rest.starts_with("::") && !rest.starts_with('#') && !rest.starts_with('}') {
                break;
            }
        } else {
            short.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    match short.rsplit_once(' ') {
        Some((before, last)) if !before.ends_with("operator") && !last.is_empty() => last.to_owned(),
        _ => short,
    }
}

/// The symbol of an operator whose name contains brackets, and what follows it.
fn operator_symbol(rest: &str) -> Option<(&str, &str)> {
    let symbol = ["()", "<<=", "<<", "<=>", "<=", "<", ">>=", ">>", ">=", ">"].into_iter().find(|symbol| rest.starts_with(symbol))?;
    Some(rest.split_at(symbol.len()))
}

/// What follows the brackets with which a text begins; nothing if they are not closed.
fn after_brackets(text: &str, open: char, close: char) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        // An arrow is no bracket.
        let is_arrow = c == '>' && text[..at].ends_with('-');
        depth += i32::from(c == open) - i32::from(c == close && !is_arrow);
        if depth == 0 {
            return &text[at + c.len_utf8()..];
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::short_function_name;

    #[test]
    fn signatures_are_cut_and_templates_shortened() {
        for (name, short) in [
            ("main", "main"),
            ("Domain::AllocateNodes(int)", "Domain::AllocateNodes"),
            (
                "void miniFE::cg_solve<miniFE::CSRMatrix<double, int>, miniFE::Op>(miniFE::CSRMatrix<double, int>&, int)",
                "miniFE::cg_solve<…>",
            ),
            ("(anonymous namespace)::exchange(int)", "(anonymous)::exchange"),
            ("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"),
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"),
            ("Vector<double>::operator[](int) const", "Vector<…>::operator[]"),
            ("operator new(unsigned long)", "operator new"),
            ("<module>", "<module>"),
            ("solve.<locals>.step", "solve.<locals>.step"),
            ("broken<(", "broken<…>"),
            ("", ""),
        ] {
            assert_eq!(short_function_name(name), short, "{name}");
        }
    }
}
