//! The few SVG elements that drawings need, and their common style.

use std::fmt::Write;

/// Pixels to the right and down.
pub(crate) type Point = (f64, f64);

/// Length of an arrow head.
const ARROW_HEAD_LENGTH: f64 = 7.0;
const MARGIN: f64 = 24.0;
/// Font size that gives the width of the bold 15 px title.
const TITLE_TEXT_SIZE: f64 = 1.15 * 15.0;
/// A longer title does not widen the drawing.
const MAX_TITLE_WIDTH: f64 = 1400.0;
const NOTE_LINE_HEIGHT: f64 = 14.0;

/// Style shared by all drawings.
const BASE_STYLE: &str = "\
text { font-family: 'DejaVu Sans', Verdana, Arial, Helvetica, sans-serif; font-size: 11px; fill: #222222; }
.title { font-size: 15px; font-weight: bold; }
.note { font-size: 10px; fill: #555555; }
.way { fill: none; stroke: #555555; }
.way-head { fill: #555555; }
";

/// Title and notes above a drawing.
pub(crate) struct TitleBlock<'a> {
    pub title: &'a str,
    /// Notes, one line each.
    pub notes: &'a [String],
}

impl TitleBlock<'_> {
    /// Width it wants, and height it takes.
    pub(crate) fn size(&self) -> Point {
        (text_width(self.title, TITLE_TEXT_SIZE).min(MAX_TITLE_WIDTH) + 2.0 * MARGIN, 34.0 + NOTE_LINE_HEIGHT * self.notes.len() as f64)
    }

    /// Draws it on a drawing of this width.
    pub(crate) fn draw(&self, canvas: &mut SvgCanvas, width: f64) {
        canvas.text("title", (MARGIN, 28.0), &truncate_end(self.title, TITLE_TEXT_SIZE, width - 2.0 * MARGIN));
        for (line, note) in self.notes.iter().enumerate() {
            canvas.text("note", (MARGIN, 45.0 + NOTE_LINE_HEIGHT * line as f64), note);
        }
    }
}

/// Text alternative for screen readers.
pub(crate) struct AltText<'a> {
    pub title: &'a str,
    pub description: &'a str,
}

/// An SVG drawing under construction.
#[derive(Default)]
pub(crate) struct SvgCanvas {
    body: String,
}

impl SvgCanvas {
    /// A rectangle with round corners.
    pub(crate) fn rectangle(&mut self, class: &str, (x, y): Point, (width, height): Point) {
        self.element(format_args!(r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#));
    }

    /// A rectangle with a fill colour.
    pub(crate) fn filled_rectangle(&mut self, class: &str, fill: &str, (x, y): Point, (width, height): Point) {
        self.element(format_args!(
            r#"<rect class="{class}" fill="{fill}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, (x, y): Point, radius: f64) {
        self.element(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"/>"#));
    }

    pub(crate) fn polygon(&mut self, class: &str, points: &[Point]) {
        let points = points_attribute(points);
        self.element(format_args!(r#"<polygon class="{class}" points="{points}"/>"#));
    }

    pub(crate) fn line(&mut self, class: &str, width: f64, points: &[Point]) {
        let points = points_attribute(points);
        self.element(format_args!(r#"<polyline class="{class}" stroke-width="{width:.1}" points="{points}"/>"#));
    }

    /// A polyline with an arrow head; the class of the head is that of the line with `-head` appended.
    pub(crate) fn arrow(&mut self, class: &str, width: f64, points: &[Point]) {
        let [.., before, (x, y)] = points else { return };
        let (dx, dy) = (x - before.0, y - before.1);
        let length = dx.hypot(dy).max(1e-9);
        let (dx, dy) = (dx / length, dy / length);
        let back = (x - dx * ARROW_HEAD_LENGTH, y - dy * ARROW_HEAD_LENGTH);
        let side = ARROW_HEAD_LENGTH * 0.45;
        let mut shaft = points.to_vec();
        shaft.pop();
        shaft.push(back);
        self.line(class, width, &shaft);
        self.polygon(
            &format!("{class}-head"),
            &[(*x, *y), (back.0 - dy * side, back.1 + dx * side), (back.0 + dy * side, back.1 - dx * side)],
        );
    }

    /// A text that starts at a point.
    pub(crate) fn text(&mut self, class: &str, (x, y): Point, text: &str) {
        let text = escape_xml(text);
        self.element(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    /// A text that ends at a point.
    pub(crate) fn right_aligned_text(&mut self, class: &str, (x, y): Point, text: &str) {
        let text = escape_xml(text);
        self.element(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="end">{text}</text>"#));
    }

    /// A text followed by another one of another class.
    pub(crate) fn text_pair(&mut self, (first, second): (&str, &str), (x, y): Point, text: &str, more: &str) {
        let (text, more) = (escape_xml(text), escape_xml(more));
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}"><tspan class="{first}">{text}</tspan><tspan class="{second}" dx="9">{more}</tspan></text>"#
        ));
    }

    /// Draws with a tooltip.
    pub(crate) fn with_tooltip(&mut self, details: &str, draw: impl FnOnce(&mut SvgCanvas)) {
        self.element(format_args!("<g><title>{}</title>", escape_xml(details)));
        draw(self);
        self.element(format_args!("</g>"));
    }

    /// Draws what folds or unfolds a scope, given by its number; the page finds it by this mark.
    pub(crate) fn in_scope(&mut self, action: &str, scope: Option<usize>, draw: impl FnOnce(&mut SvgCanvas)) {
        let Some(scope) = scope else { return draw(self) };
        self.element(format_args!(r#"<g class="{action} scope-{scope}">"#));
        draw(self);
        self.element(format_args!("</g>"));
    }

    /// The SVG file, with additional style rules and a text alternative.
    pub(crate) fn finish(self, (width, height): Point, style: &str, words: AltText) -> String {
        let [title, description] = [words.title, words.description].map(escape_xml);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <style>\n{BASE_STYLE}{style}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    fn element(&mut self, element: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

fn points_attribute(points: &[Point]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// Escapes XML; characters that XML forbids become spaces.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Estimated width of a text in a sans-serif font of this size.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' => 0.32,
        'f' | 'r' | 't' | '(' | ')' | '-' | '/' => 0.4,
        'm' | 'w' | '%' | 'M' | 'W' | '×' | '±' => 0.9,
        c if c.is_uppercase() => 0.68,
        _ => 0.6,
    };
    text.chars().map(letter).sum::<f64>() * size
}

/// Shortens a text at its end to fit.
pub(crate) fn truncate_end(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.into();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if text_width(&short, size) > room - size {
            break;
        }
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_what_xml_forbids_is_a_blank() {
        assert_eq!(escape_xml("a<b> & \"c\"\u{1}d\u{ffff}"), "a&lt;b&gt; &amp; &quot;c&quot; d ");
    }

    #[test]
    fn a_drawing_says_in_words_what_it_shows() {
        let svg = SvgCanvas::default().finish((10.0, 20.0), "", AltText { title: "a<b", description: "from a & to b" });
        assert!(svg.contains("<title>a&lt;b</title>\n<desc>from a &amp; to b</desc>\n<style>"), "{svg}");
    }

    #[test]
    fn long_texts_are_cut_at_the_end() {
        assert_eq!(truncate_end("short", 10.0, 100.0), "short");
        let cut = truncate_end("solve_the_equations src/solver.c:12", 10.0, 80.0);
        assert!(cut.starts_with("solve") && cut.ends_with('…') && text_width(&cut, 10.0) < 90.0);
    }

    #[test]
    fn an_arrow_ends_at_its_point() {
        let mut canvas = SvgCanvas::default();
        canvas.arrow("way", 1.0, &[(0.0, 0.0), (0.0, 20.0)]);
        let svg = canvas.finish((10.0, 20.0), "", AltText { title: "", description: "" });
        assert!(svg.contains(r#"points="0.0,0.0 0.0,13.0""#) && svg.contains(r#"class="way-head" points="0.0,20.0"#), "{svg}");
    }
}
