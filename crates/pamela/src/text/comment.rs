//! The text of comments.

use super::lexer::Trivia;

/// The lines of a comment, without delimiters.
pub(super) fn comment_lines(comment: &str) -> Vec<String> {
    let Some(inside) = comment.strip_prefix("/*") else {
        return vec![comment.trim_start_matches('/').trim().to_owned()];
    };
    let inside = inside.strip_suffix("*/").unwrap_or(inside);
    let lines = inside.lines().map(|line| line.trim().trim_start_matches('*').trim());
    let mut lines: Vec<&str> = lines.skip_while(|line| line.is_empty()).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(str::to_owned).collect()
}

/// The text of the comments directly above a declaration.
pub(super) fn leading_comment(gap: Trivia) -> Option<String> {
    if gap.after_empty_line {
        return None;
    }
    let begin = gap.comments.iter().rposition(|comment| comment.after_empty_line).unwrap_or(0);
    joined(gap.comments[begin..].iter().filter(|comment| !comment.trailing).map(|comment| comment.text))
}

/// The text of the comments behind a declaration, on its line.
pub(super) fn trailing_comment(gap: &Trivia) -> Option<String> {
    joined(gap.comments.iter().filter(|comment| comment.trailing).map(|comment| comment.text))
}

fn joined<'a>(comments: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines: Vec<String> = comments.flat_map(comment_lines).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
