//! The few elements of SVG that drawings need, with their texts escaped and their numbers short, and the look that all drawings share.

use std::fmt::Write;

/// A point: to the right, and down.
pub type Point = (f64, f64);

/// How long the head of an arrow is.
const HEAD: f64 = 7.0;
const MARGIN: f64 = 24.0;
/// Letters of a title take as much room as plain ones of this size: they have 15 pixels, and are bold.
const TITLE: f64 = 1.15 * 15.0;
/// A title that is wider than this makes no drawing wider.
const WIDEST_TITLE: f64 = 1400.0;
const NOTE_LINE: f64 = 14.0;

/// What texts and plain arrows look like in every drawing.
const STYLE: &str = "\
text { font-family: 'DejaVu Sans', Verdana, Arial, Helvetica, sans-serif; font-size: 11px; fill: #222222; }
.title { font-size: 15px; font-weight: bold; }
.note { font-size: 10px; fill: #555555; }
.way { fill: none; stroke: #555555; }
.way-head { fill: #555555; }
";

/// What stands above a drawing.
pub struct Heading<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What a reader should know, one line each.
    pub notes: &'a [String],
}

impl Heading<'_> {
    /// How wide a drawing should be for it, and how high it is.
    pub fn size(&self) -> Point {
        (width(self.title, TITLE).min(WIDEST_TITLE) + 2.0 * MARGIN, 34.0 + NOTE_LINE * self.notes.len() as f64)
    }

    /// Draws it on a drawing of this width.
    pub fn draw(&self, canvas: &mut Canvas, width: f64) {
        canvas.text("title", (MARGIN, 28.0), &head(self.title, TITLE, width - 2.0 * MARGIN));
        for (line, note) in self.notes.iter().enumerate() {
            canvas.text("note", (MARGIN, 45.0 + NOTE_LINE * line as f64), note);
        }
    }
}

/// A drawing in words.
pub struct Words<'a> {
    /// What it is called.
    pub title: &'a str,
    /// What it shows.
    pub description: &'a str,
}

/// An SVG drawing under construction.
#[derive(Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    /// A rectangle with round corners.
    pub fn rectangle(&mut self, class: &str, (x, y): Point, (width, height): Point) {
        self.element(format_args!(r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#));
    }

    /// The same in a colour of its own.
    pub fn filled(&mut self, class: &str, fill: &str, (x, y): Point, (width, height): Point) {
        self.element(format_args!(
            r#"<rect class="{class}" fill="{fill}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#
        ));
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, (x, y): Point, radius: f64) {
        self.element(format_args!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"/>"#));
    }

    /// An area between points.
    pub fn polygon(&mut self, class: &str, points: &[Point]) {
        let points = list(points);
        self.element(format_args!(r#"<polygon class="{class}" points="{points}"/>"#));
    }

    /// A line from point to point.
    pub fn line(&mut self, class: &str, width: f64, points: &[Point]) {
        let points = list(points);
        self.element(format_args!(r#"<polyline class="{class}" stroke-width="{width:.1}" points="{points}"/>"#));
    }

    /// A line with a head at its end; the class of the head is that of the line with `-head` after it.
    pub fn arrow(&mut self, class: &str, width: f64, points: &[Point]) {
        let [.., before, (x, y)] = points else { return };
        let (dx, dy) = (x - before.0, y - before.1);
        let length = dx.hypot(dy).max(1e-9);
        let (dx, dy) = (dx / length, dy / length);
        let back = (x - dx * HEAD, y - dy * HEAD);
        let side = HEAD * 0.45;
        let mut shaft = points.to_vec();
        shaft.pop();
        shaft.push(back);
        self.line(class, width, &shaft);
        self.polygon(
            &format!("{class}-head"),
            &[(*x, *y), (back.0 - dy * side, back.1 + dx * side), (back.0 + dy * side, back.1 - dx * side)],
        );
    }

    /// A text that begins at a point.
    pub fn text(&mut self, class: &str, (x, y): Point, text: &str) {
        let text = escaped(text);
        self.element(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    /// A text that ends at a point.
    pub fn text_before(&mut self, class: &str, (x, y): Point, text: &str) {
        let text = escaped(text);
        self.element(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="end">{text}</text>"#));
    }

    /// A text that begins at a point, and another of another class after it.
    pub fn texts(&mut self, (first, second): (&str, &str), (x, y): Point, text: &str, more: &str) {
        let (text, more) = (escaped(text), escaped(more));
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}"><tspan class="{first}">{text}</tspan><tspan class="{second}" dx="9">{more}</tspan></text>"#
        ));
    }

    /// What `draw` draws, with a text that is shown when one points at it.
    pub fn explained(&mut self, details: &str, draw: impl FnOnce(&mut Canvas)) {
        self.element(format_args!("<g><title>{}</title>", escaped(details)));
        draw(self);
        self.element(format_args!("</g>"));
    }

    /// The whole file, with what this drawing adds to the look of all, and with what it shows in words for whoever hears it read.
    pub fn finish(self, (width, height): Point, style: &str, words: Words) -> String {
        let [title, description] = [words.title, words.description].map(escaped);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>{title}</title>\n<desc>{description}</desc>\n\
             <style>\n{STYLE}{style}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    fn element(&mut self, element: std::fmt::Arguments) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

fn list(points: &[Point]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// A text as XML takes it; what no XML may hold is a blank.
fn escaped(text: &str) -> String {
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

/// About how wide a text is, in a usual font of this size.
pub fn width(text: &str, size: f64) -> f64 {
    let letter = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' => 0.32,
        'f' | 'r' | 't' | '(' | ')' | '-' | '/' => 0.4,
        'm' | 'w' | '%' | 'M' | 'W' | '×' | '±' => 0.9,
        c if c.is_uppercase() => 0.68,
        _ => 0.6,
    };
    text.chars().map(letter).sum::<f64>() * size
}

/// The beginning of a text that is too wide.
pub fn head(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&short, size) > room - size {
            break;
        }
    }
    short.push('…');
    short
}

/// The end of a text that is too wide: of a path, it says more than the beginning.
pub fn tail(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let reversed: String = text.chars().rev().collect();
    head(&reversed, size, room).chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_what_xml_forbids_is_a_blank() {
        assert_eq!(escaped("a<b> & \"c\"\u{1}d\u{ffff}"), "a&lt;b&gt; &amp; &quot;c&quot; d ");
    }

    #[test]
    fn a_drawing_says_in_words_what_it_shows() {
        let svg = Canvas::default().finish((10.0, 20.0), "", Words { title: "a<b", description: "from a & to b" });
        assert!(svg.contains("<title>a&lt;b</title>\n<desc>from a &amp; to b</desc>\n<style>"), "{svg}");
    }

    #[test]
    fn long_texts_are_cut_at_the_end_that_matters_less() {
        assert_eq!((head("short", 10.0, 100.0), tail("short", 10.0, 100.0)), ("short".into(), "short".into()));
        let long = "a/very/long/path/to/some/file.c:12";
        assert!(head(long, 10.0, 80.0).starts_with("a/very") && head(long, 10.0, 80.0).ends_with('…'));
        assert!(tail(long, 10.0, 80.0).ends_with("file.c:12") && width(&tail(long, 10.0, 80.0), 10.0) < 90.0);
    }

    #[test]
    fn an_arrow_ends_at_its_point() {
        let mut canvas = Canvas::default();
        canvas.arrow("way", 1.0, &[(0.0, 0.0), (0.0, 20.0)]);
        let svg = canvas.finish((10.0, 20.0), "", Words { title: "", description: "" });
        assert!(svg.contains(r#"points="0.0,0.0 0.0,13.0""#) && svg.contains(r#"class="way-head" points="0.0,20.0"#), "{svg}");
    }
}
