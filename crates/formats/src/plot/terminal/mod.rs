//! A plot as text for a terminal.
//!
//! Curves are made of the dots of Braille and points of letters that cannot be taken for them, so no colour is needed; where there are
//! several curves, a letter at the right says which is which. A terminal without UTF-8 gets letters only.

mod raster;

use raster::Raster;

use super::ticks::MOST;
use super::view::{self, Entry, Panel, Side, View};
use super::{Ink, Plot, Series, Shape};

/// A terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// How many characters fit side by side; less than 40 are as 40.
    pub columns: usize,
    /// How many lines the upper panel has; less than 4 are as 4.
    pub rows: usize,
    /// What it can show.
    pub letters: Letters,
}

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// All of Unicode, Braille among them.
    Braille,
    /// The letters of ASCII only.
    Ascii,
}

impl Screen {
    /// A plot of usual proportions on a terminal with so many columns.
    pub fn new(columns: usize, letters: Letters) -> Screen {
        Screen { columns, rows: (columns / 5).clamp(10, 20), letters }
    }
}

const RESIDUAL_ROWS: usize = 5;

/// The signs that draw a plot.
struct Signs {
    points: &'static [char],
    reference: char,
    mark: char,
    curve: &'static str,
    reference_curve: &'static str,
    band: &'static str,
    /// The axis, the axis at a tick, the corner, the lower axis, the lower axis at a tick.
    axes: [char; 5],
    /// The lower axis beside zero, where zero stands apart.
    apart: char,
}

const BRAILLE: Signs = Signs {
    points: &['●', '■', '▲', '◆', '▼', '○', '□', '△', '◇', '▽'],
    reference: '✕',
    mark: '┊',
    curve: "⠤⠒⠉",
    reference_curve: "⠄⠂⠁",
    band: "░░",
    axes: ['│', '┤', '└', '─', '┬'],
    apart: '╌',
};
const ASCII: Signs = Signs {
    points: &['o', 'x', '+', '*', '#', '@', '%', '&', '$', '='],
    reference: '^',
    mark: '!',
    curve: "...",
    reference_curve: ", ,",
    band: "::",
    axes: ['|', '+', '+', '-', '+'],
    apart: ' ',
};

/// The plot in lines of text.
pub fn text(plot: &Plot, screen: Screen) -> String {
    let screen = Screen { columns: screen.columns.max(40), rows: screen.rows.max(4), ..screen };
    // Numbers in every other row at most, so that none takes the row of another.
    let mut view = View::new(plot, [(screen.rows / 2).clamp(3, MOST), 3]);
    if screen.letters == Letters::Ascii {
        view.sides().for_each(in_ascii);
    }
    let labels = view.panels.iter().flat_map(|panel| &panel.y.ticks).map(|tick| tick.label.chars().count());
    let margin = labels.max().unwrap_or(0) + 1;
    let entries = view::legend(plot);
    let page =
        Page { screen, signs: if screen.letters == Letters::Braille { BRAILLE } else { ASCII }, view: &view, margin, entries: &entries };
    let mut lines = vec![plot.title.clone()];
    lines.extend(plot.notes.iter().cloned());
    for (number, panel) in view.panels.iter().enumerate() {
        lines.push(panel.y.caption.clone());
        lines.extend(page.panel(panel, if number == 0 { screen.rows } else { RESIDUAL_ROWS }));
    }
    lines.extend(page.x_axis());
    lines.extend(page.legend());
    let fitting = lines.iter().filter(|line| !line.is_empty()).map(|line| fitted(line, screen));
    fitting.map(|line| line + "\n").collect()
}

/// An axis whose numbers are written in ASCII, before anything is lined up with them.
fn in_ascii(side: &mut Side) {
    side.caption = ascii(&side.caption);
    for tick in &mut side.ticks {
        tick.label = ascii(&tick.label);
    }
}

/// A line as the terminal can show it.
fn fitted(line: &str, screen: Screen) -> String {
    let visible: String = line.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (line, more) = if screen.letters == Letters::Braille { (visible, "…") } else { (ascii(&visible), "...") };
    if line.chars().count() <= screen.columns {
        return line;
    }
    line.chars().take(screen.columns - more.chars().count()).chain(more.chars()).collect()
}

/// A text with letters of ASCII in place of others.
fn ascii(text: &str) -> String {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";
    let mut plain = String::new();
    let mut was_raised = false;
    for c in text.chars() {
        let raised = RAISED.chars().zip("0123456789-".chars()).find(|(raised, _)| *raised == c).map(|(_, plain)| plain);
        if raised.is_some() && !was_raised {
            plain.push('^');
        }
        was_raised = raised.is_some();
        plain.push(match c {
            _ if c.is_ascii() => c,
            'µ' => 'u',
            '×' => 'x',
            '–' | '—' | '−' => '-',
            _ => raised.unwrap_or('?'),
        });
    }
    plain
}

/// What is the same for all parts of the text.
struct Page<'a> {
    screen: Screen,
    signs: Signs,
    view: &'a View<'a>,
    /// Letters before the axis.
    margin: usize,
    entries: &'a [Entry<'a>],
}

impl Page<'_> {
    /// How many characters a panel is wide: between the axis and the letters that name curves.
    fn wide(&self) -> usize {
        (self.screen.columns - self.margin - 1 - if self.has_letters() { 2 } else { 0 }).max(8)
    }

    /// Whether curves have letters: one alone needs none.
    fn has_letters(&self) -> bool {
        self.entries.iter().filter(|entry| entry.curve).count() > 1
    }

    /// The letter of a curve.
    fn letter(&self, name: &str, ink: Ink) -> Option<char> {
        let mut curves = self.entries.iter().filter(|entry| entry.curve);
        let number = curves.position(|entry| entry.name == name && entry.ink == ink)?;
        self.has_letters().then_some(char::from(b'a' + (number % 26) as u8))
    }

    fn sign(&self, ink: Ink) -> char {
        match ink {
            Ink::Reference => self.signs.reference,
            Ink::Number(number) => self.signs.points[number % self.signs.points.len()],
        }
    }

    /// What a curve is drawn with where there is no Braille.
    fn stroke(&self, series: &Series) -> char {
        let reference = series.ink == Ink::Reference;
        self.letter(&series.name, series.ink).unwrap_or(if reference { ',' } else { '.' })
    }

    fn panel(&self, panel: &Panel, rows: usize) -> Vec<String> {
        let mut raster = Raster::new(self.wide(), rows, self.screen.letters);
        let mut ends = Vec::new();
        for series in panel.series {
            ends.extend(self.draw(&mut raster, panel, series));
        }
        let letters = in_own_rows(&mut ends, &raster, rows);
        let ruler = &panel.y.ruler;
        let mut labels = vec![None; rows];
        // Of two ticks in one row, the lower one is written.
        for tick in panel.y.ticks.iter().rev() {
            labels[raster.row(tick.place)] = Some(tick.label.as_str());
        }
        let zero = ruler.place(0.0).filter(|place| !ruler.log && *place > 0.0).map(|place| raster.row(place));
        let line = |(row, cells): (usize, String)| {
            let [axis, tick, ..] = self.signs.axes;
            let cells = if zero == Some(row) { cells.replace(' ', &self.signs.axes[3].to_string()) } else { cells };
            let stroke = if labels[row].is_some() { tick } else { axis };
            let margin = self.margin - 1;
            format!("{:>margin$} {stroke}{cells} {}", labels[row].unwrap_or_default(), letters[row])
        };
        raster.rows().enumerate().map(line).collect()
    }

    /// Draws a series; a curve with a letter says where it ends.
    fn draw(&self, raster: &mut Raster, panel: &Panel, series: &Series) -> Option<(f64, char)> {
        let (x, y) = (&self.view.x.ruler, &panel.y.ruler);
        match &series.shape {
            Shape::Band(spreads) => {
                for area in view::areas(spreads, x, y) {
                    shade(raster, &area, self.wide());
                }
            }
            Shape::Marks(marks) => {
                for place in marks.iter().filter_map(|mark| x.place(mark.at)) {
                    raster.mark(place, self.signs.mark);
                }
            }
            Shape::Curve(points) => {
                let pieces = view::cut(points, x, y);
                let gap = if series.ink == Ink::Reference { 3 } else { 1 };
                for two in pieces.iter().flat_map(|piece| piece.windows(2)) {
                    raster.line(two[0], two[1], self.stroke(series), gap);
                }
                let end = pieces.last().and_then(|piece| piece.last())?;
                return Some((end.1, self.letter(&series.name, series.ink)?));
            }
            Shape::Points(points) => {
                for point in points {
                    let (Some(at), Some(up)) = (x.place(point.x), y.place(point.y)) else { continue };
                    if let Some((low, high)) = point.between.and_then(|(low, high)| Some((y.lower_end(low)?, y.upper_end(high)?))) {
                        raster.line((at, low), (at, high), '|', 1);
                    }
                    raster.glyph((at, up), self.sign(series.ink));
                }
            }
        }
        None
    }

    /// The axis at the bottom, its numbers and its caption.
    fn x_axis(&self) -> [String; 3] {
        let wide = self.wide();
        let [_, _, corner, axis, tick] = self.signs.axes;
        let apart = (self.view.x.ruler.begin() * wide as f64) as usize;
        let mut line: Vec<char> = (0..wide).map(|column| if column < apart { self.signs.apart } else { axis }).collect();
        let mut numbers = vec![' '; self.screen.columns];
        let mut free = 0;
        for one in self.view.x.ticks.iter().take(MOST) {
            let column = ((one.place * wide as f64) as usize).min(wide - 1);
            let length = one.label.chars().count();
            let begin = (self.margin + 1 + column).saturating_sub(length / 2).min(numbers.len().saturating_sub(length));
            if begin < free || length > numbers.len() {
                continue;
            }
            line[column] = tick;
            numbers.splice(begin..begin + length, one.label.chars());
            free = begin + length + 1;
        }
        let caption = &self.view.x.caption;
        let before = self.margin + 1 + wide.saturating_sub(caption.chars().count()) / 2;
        let axis: String = line.into_iter().collect();
        [format!("{}{corner}{axis}", " ".repeat(self.margin)), numbers.into_iter().collect(), format!("{}{caption}", " ".repeat(before))]
    }

    /// What each sign stands for, in as few lines as hold it.
    fn legend(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for entry in self.entries {
            let text = format!("{} {}{}", self.sample(entry), entry.name, self.marked(entry));
            match lines.last_mut() {
                Some(line) if line.chars().count() + 3 + text.chars().count() <= self.screen.columns => {
                    line.push_str("   ");
                    line.push_str(&text);
                }
                _ => lines.push(text),
            }
        }
        lines
    }

    /// The places of marks, which have no room where they are.
    fn marked(&self, entry: &Entry) -> String {
        let own = self.view.panels[0].series.iter().filter(|series| series.name == entry.name && series.ink == entry.ink);
        let marks = own.filter_map(|series| if let Shape::Marks(marks) = &series.shape { Some(marks) } else { None }).flatten();
        let names: Vec<&str> = marks.map(|mark| mark.name.as_str()).filter(|name| !name.is_empty()).collect();
        if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
    }

    /// A bit of everything that an entry stands for.
    fn sample(&self, entry: &Entry) -> String {
        let is_reference = entry.ink == Ink::Reference;
        let curve = match (entry.curve, self.letter(entry.name, entry.ink), self.screen.letters) {
            (false, ..) => String::new(),
            (true, Some(letter), Letters::Ascii) => letter.to_string(),
            (true, letter, _) => {
                let line = if is_reference { self.signs.reference_curve } else { self.signs.curve };
                letter.map_or(line.to_owned(), |letter| format!("{letter} {line}"))
            }
        };
        let points = entry.points.then(|| self.sign(entry.ink).to_string());
        let band = entry.band.then(|| self.signs.band.to_owned());
        let marks = entry.marks.then(|| self.signs.mark.to_string());
        let parts: Vec<String> = points.into_iter().chain((!curve.is_empty()).then_some(curve)).chain(band).chain(marks).collect();
        parts.join(" ")
    }
}

/// Letters, each in a row of its own as close as can be to the one it belongs to, in the order of those.
fn in_own_rows(ends: &mut [(f64, char)], raster: &Raster, rows: usize) -> Vec<char> {
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut letters = vec![' '; rows];
    let mut next = 0;
    for (number, (place, letter)) in ends.iter().enumerate() {
        // Those that follow need a row each too.
        let last = rows.saturating_sub(ends.len() - number);
        let own = raster.row(*place).min(last).max(next);
        if let Some(place) = letters.get_mut(own) {
            *place = *letter;
        }
        next = own + 1;
    }
    letters
}

/// An area, column by column.
fn shade(raster: &mut Raster, area: &[(f64, f64, f64)], columns: usize) {
    for two in area.windows(2) {
        let ((from, ..), (to, ..)) = (two[0], two[1]);
        let steps = ((to - from) * columns as f64).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let mix = |from: f64, to: f64| from + (to - from) * share;
            raster.shade(mix(from, to), mix(two[0].1, two[1].1), mix(two[0].2, two[1].2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{laine, speed_up};
    use super::super::{Axis, Measured, Scale, Unit, sampled};
    use super::*;

    fn small() -> Plot {
        let points = [(1.0, 1.0), (2.0, 4.0), (3.0, 9.0), (4.0, 16.0)].map(|(x, y)| Measured { x, y, between: None }).to_vec();
        let ink = Ink::Number(0);
        Plot {
            title: "Squares".into(),
            notes: Vec::new(),
            x: Axis::new("n", Unit::Whole),
            y: Axis { scale: Scale::Linear, ..Axis::new("time", Unit::Seconds) },
            series: vec![
                Series::new("n²", ink, Shape::Curve(sampled(1.0, 4.0, |x| x * x))),
                Series::new("measured", ink, Shape::Points(points)),
            ],
            residuals: Vec::new(),
        }
    }

    #[test]
    fn a_small_plot_looks_like_this() {
        let screen = Screen { columns: 40, rows: 8, letters: Letters::Braille };
        let braille = "\
Squares
time (s)
15 ┤                                 ⣠●
   │                              ⢀⡠⠞⠁
   │                            ⣠⠔⠋
10 ┤                         ⣠●⠊⠁
   │                     ⢀⣠⠔⠋⠁
 5 ┤                 ⢀⣠⠴⠚⠉
   │            ⢀⣀⡤⠖⠚●
 0 ┤        ●⠒⠚⠉⠉
   └┬───────┬────────┬────────┬───────┬─
    0       1        2        3       4
                     n
⠤⠒⠉ n²   ● measured
";
        assert_eq!(text(&small(), screen), braille);
        let ascii = "\
Squares
time (s)
15 +                                 .o
   |                              ....
   |                            ...
10 +                         .o..
   |                     .....
 5 +                 .....
   |            .....o
 0 +        o....
   ++-------+--------+--------+-------+-
    0       1        2        3       4
                     n
... n^2   o measured
";
        assert_eq!(text(&small(), Screen { letters: Letters::Ascii, ..screen }), ascii);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_and_ascii_is_ascii() {
        for plot in [laine(), speed_up(), small()] {
            for columns in [0, 40, 57, 80, 200] {
                let shown = text(&plot, Screen::new(columns, Letters::Braille));
                assert!(shown.lines().all(|line| line.chars().count() <= columns.max(40)), "{shown}");
                let shown = text(&plot, Screen::new(columns, Letters::Ascii));
                assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= columns.max(40)), "{shown}");
            }
        }
    }

    #[test]
    fn curves_are_named_where_there_are_several_and_marks_say_their_places() {
        let shown = text(&laine(), Screen::new(80, Letters::Braille));
        assert!(shown.contains("● a ⠤⠒⠉ send   ■ b ⠤⠒⠉ receive   ┊ breakpoint: 64 KiB"), "{shown}");
        assert!(shown.lines().any(|line| line.ends_with(" a")) && shown.lines().any(|line| line.ends_with(" b")), "{shown}");
    }

    #[test]
    fn powers_and_units_can_be_read_in_ascii() {
        assert_eq!(ascii("2×10⁻¹² µs – é"), "2x10^-12 us - ?");
    }

    #[test]
    fn letters_of_curves_that_end_together_keep_their_order_in_rows_of_their_own() {
        let raster = Raster::new(10, 5, Letters::Braille);
        let rows = |ends: &[(f64, char)]| in_own_rows(&mut ends.to_vec(), &raster, 5).iter().collect::<String>();
        assert_eq!(rows(&[(0.5, 'a'), (0.52, 'b'), (1.0, 'c')]), "c ba ");
        assert_eq!(rows(&[(0.0, 'a'), (0.01, 'b'), (0.02, 'c')]), "  cba");
    }
}
