//! Renders a plot as text.
//!
//! Curves are drawn with Braille dots and points with distinct characters, so no colour is needed; several curves are labelled with letters
//! at the right. A terminal without UTF-8 gets ASCII only.

mod raster;

use raster::CharRaster;

use super::plot_layout::{self, AxisLayout, LegendEntry, PlotLayout, PlotPanel};
use super::ticks::MAX_TICKS;
use super::{Plot, PlotSeries, SeriesMark, SeriesStyle};

/// Size and character set of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Width in characters; at least 40.
    pub columns: usize,
    /// Height of the main panel in lines; at least 4.
    pub rows: usize,
    /// The character set.
    pub charset: CharSet,
}

/// The character set of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharSet {
    /// Unicode, including Braille.
    Braille,
    /// ASCII only.
    Ascii,
}

impl TerminalOptions {
    /// Usual proportions for this width.
    pub fn new(columns: usize, charset: CharSet) -> TerminalOptions {
        TerminalOptions { columns, rows: (columns / 5).clamp(10, 20), charset }
    }
}

const RESIDUAL_ROWS: usize = 5;

/// The characters of a plot.
struct GlyphSet {
    points: &'static [char],
    reference: char,
    vertical_line: char,
    curve: &'static str,
    reference_curve: &'static str,
    band: &'static str,
    /// The y axis, a tick on it, the corner, the x axis, a tick on it.
    axes: [char; 5],
    /// The x axis next to the separate zero.
    axis_break: char,
}

const BRAILLE: GlyphSet = GlyphSet {
    points: &['●', '■', '▲', '◆', '▼', '○', '□', '△', '◇', '▽'],
    reference: '✕',
    vertical_line: '┊',
    curve: "⠤⠒⠉",
    reference_curve: "⠄⠂⠁",
    band: "░░",
    axes: ['│', '┤', '└', '─', '┬'],
    axis_break: '╌',
};
const ASCII: GlyphSet = GlyphSet {
    points: &['o', 'x', '+', '*', '#', '@', '%', '&', '$', '='],
    reference: '^',
    vertical_line: '!',
    curve: "...",
    reference_curve: ", ,",
    band: "::",
    axes: ['|', '+', '+', '-', '+'],
    axis_break: ' ',
};

/// Renders the plot.
pub fn render_text(plot: &Plot, options: TerminalOptions) -> String {
    let options = TerminalOptions { columns: options.columns.max(40), rows: options.rows.max(4), ..options };
    // Ticks in every other row at most, so that labels do not collide.
    let mut layout = PlotLayout::new(plot, [(options.rows / 2).clamp(3, MAX_TICKS), 3]);
    if options.charset == CharSet::Ascii {
        layout.axes_mut().for_each(axis_to_ascii);
    }
    let labels = layout.panels.iter().flat_map(|panel| &panel.y.ticks).map(|tick| tick.label.chars().count());
    let margin = labels.max().unwrap_or(0) + 1;
    let entries = plot_layout::legend_entries(plot);
    let renderer = TextRenderer {
        options,
        glyphs: if options.charset == CharSet::Braille { BRAILLE } else { ASCII },
        layout: &layout,
        margin,
        entries: &entries,
    };
    let mut lines = vec![plot.title.clone()];
    lines.extend(plot.notes.iter().cloned());
    for (number, panel) in layout.panels.iter().enumerate() {
        lines.push(panel.y.caption.clone());
        lines.extend(renderer.panel_lines(panel, if number == 0 { options.rows } else { RESIDUAL_ROWS }));
    }
    lines.extend(renderer.x_axis_lines());
    lines.extend(renderer.legend_lines());
    let fitting = lines.iter().filter(|line| !line.is_empty()).map(|line| fit_line(line, options));
    fitting.map(|line| line + "\n").collect()
}

/// Converts the labels to ASCII before anything is aligned with them.
fn axis_to_ascii(side: &mut AxisLayout) {
    side.caption = to_ascii(&side.caption);
    for tick in &mut side.ticks {
        tick.label = to_ascii(&tick.label);
    }
}

/// Fits a line into the terminal.
fn fit_line(line: &str, options: TerminalOptions) -> String {
    let visible: String = line.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (line, more) = if options.charset == CharSet::Braille { (visible, "…") } else { (to_ascii(&visible), "...") };
    if line.chars().count() <= options.columns {
        return line;
    }
    line.chars().take(options.columns - more.chars().count()).chain(more.chars()).collect()
}

/// Replaces non-ASCII characters.
fn to_ascii(text: &str) -> String {
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

/// What all parts of the text share.
struct TextRenderer<'a> {
    options: TerminalOptions,
    glyphs: GlyphSet,
    layout: &'a PlotLayout<'a>,
    /// Width of the tick labels.
    margin: usize,
    entries: &'a [LegendEntry<'a>],
}

impl TextRenderer<'_> {
    /// Width of a panel: between the axis and the letters of the curves.
    fn panel_width(&self) -> usize {
        (self.options.columns - self.margin - 1 - if self.labels_curves() { 2 } else { 0 }).max(8)
    }

    /// Whether curves have letters: a single one needs none.
    fn labels_curves(&self) -> bool {
        self.entries.iter().filter(|entry| entry.curve).count() > 1
    }

    fn curve_letter(&self, name: &str, style: SeriesStyle) -> Option<char> {
        let mut curves = self.entries.iter().filter(|entry| entry.curve);
        let number = curves.position(|entry| entry.name == name && entry.style == style)?;
        self.labels_curves().then_some(char::from(b'a' + (number % 26) as u8))
    }

    fn point_glyph(&self, style: SeriesStyle) -> char {
        match style {
            SeriesStyle::Reference => self.glyphs.reference,
            SeriesStyle::Indexed(number) => self.glyphs.points[number % self.glyphs.points.len()],
        }
    }

    /// The character of a curve without Braille.
    fn curve_char(&self, series: &PlotSeries) -> char {
        let reference = series.style == SeriesStyle::Reference;
        self.curve_letter(&series.name, series.style).unwrap_or(if reference { ',' } else { '.' })
    }

    fn panel_lines(&self, panel: &PlotPanel, rows: usize) -> Vec<String> {
        let mut raster = CharRaster::new(self.panel_width(), rows, self.options.charset);
        let mut ends = Vec::new();
        for series in panel.series {
            ends.extend(self.draw_series(&mut raster, panel, series));
        }
        let letters = assign_letter_rows(&mut ends, &raster, rows);
        let scale = &panel.y.scale;
        let mut labels = vec![None; rows];
        // Of two ticks in one row, the lower one is shown.
        for tick in panel.y.ticks.iter().rev() {
            labels[raster.row(tick.position)] = Some(tick.label.as_str());
        }
        let zero = scale.position(0.0).filter(|position| !scale.is_log && *position > 0.0).map(|position| raster.row(position));
        let line = |(row, cells): (usize, String)| {
            let [axis, tick, ..] = self.glyphs.axes;
            let cells = if zero == Some(row) { cells.replace(' ', &self.glyphs.axes[3].to_string()) } else { cells };
            let stroke = if labels[row].is_some() { tick } else { axis };
            let margin = self.margin - 1;
            format!("{:>margin$} {stroke}{cells} {}", labels[row].unwrap_or_default(), letters[row])
        };
        raster.rows().enumerate().map(line).collect()
    }

    /// Draws a series; returns the end of a labelled curve.
    fn draw_series(&self, raster: &mut CharRaster, panel: &PlotPanel, series: &PlotSeries) -> Option<(f64, char)> {
        let (x, y) = (&self.layout.x.scale, &panel.y.scale);
        match &series.mark {
            SeriesMark::Band(spreads) => {
                for area in plot_layout::band_areas(spreads, x, y) {
                    shade_area(raster, &area, self.panel_width());
                }
            }
            SeriesMark::VerticalLines(marks) => {
                for position in marks.iter().filter_map(|mark| x.position(mark.x)) {
                    raster.draw_vertical_line(position, self.glyphs.vertical_line);
                }
            }
            SeriesMark::Curve(points) => {
                let pieces = plot_layout::clip_curve(points, x, y);
                let gap = if series.style == SeriesStyle::Reference { 3 } else { 1 };
                for two in pieces.iter().flat_map(|piece| piece.windows(2)) {
                    raster.draw_line(two[0], two[1], self.curve_char(series), gap);
                }
                let end = pieces.last().and_then(|piece| piece.last())?;
                return Some((end.1, self.curve_letter(&series.name, series.style)?));
            }
            SeriesMark::Points(points) => {
                for point in points {
                    let (Some(at), Some(up)) = (x.position(point.x), y.position(point.y)) else { continue };
                    if let Some((low, high)) =
                        point.error_bar.and_then(|(low, high)| Some((y.lower_position(low)?, y.upper_position(high)?)))
                    {
                        raster.draw_line((at, low), (at, high), '|', 1);
                    }
                    raster.put_glyph((at, up), self.point_glyph(series.style));
                }
            }
        }
        None
    }

    /// The x axis, its tick labels and its caption.
    fn x_axis_lines(&self) -> [String; 3] {
        let wide = self.panel_width();
        let [_, _, corner, axis, tick] = self.glyphs.axes;
        let apart = (self.layout.x.scale.range_start() * wide as f64) as usize;
        let mut line: Vec<char> = (0..wide).map(|column| if column < apart { self.glyphs.axis_break } else { axis }).collect();
        let mut numbers = vec![' '; self.options.columns];
        let mut free = 0;
        for one in self.layout.x.ticks.iter().take(MAX_TICKS) {
            let column = ((one.position * wide as f64) as usize).min(wide - 1);
            let length = one.label.chars().count();
            let begin = (self.margin + 1 + column).saturating_sub(length / 2).min(numbers.len().saturating_sub(length));
            if begin < free || length > numbers.len() {
                continue;
            }
            line[column] = tick;
            numbers.splice(begin..begin + length, one.label.chars());
            free = begin + length + 1;
        }
        let caption = &self.layout.x.caption;
        let before = self.margin + 1 + wide.saturating_sub(caption.chars().count()) / 2;
        let axis: String = line.into_iter().collect();
        [format!("{}{corner}{axis}", " ".repeat(self.margin)), numbers.into_iter().collect(), format!("{}{caption}", " ".repeat(before))]
    }

    /// The legend, in as few lines as possible.
    fn legend_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for entry in self.entries {
            let text = format!("{} {}{}", self.legend_sample(entry), entry.name, self.vertical_line_labels(entry));
            match lines.last_mut() {
                Some(line) if line.chars().count() + 3 + text.chars().count() <= self.options.columns => {
                    line.push_str("   ");
                    line.push_str(&text);
                }
                _ => lines.push(text),
            }
        }
        lines
    }

    /// The labels of vertical lines, which do not fit next to them.
    fn vertical_line_labels(&self, entry: &LegendEntry) -> String {
        let own = self.layout.panels[0].series.iter().filter(|series| series.name == entry.name && series.style == entry.style);
        let marks = own.filter_map(|series| if let SeriesMark::VerticalLines(marks) = &series.mark { Some(marks) } else { None }).flatten();
        let names: Vec<&str> = marks.map(|mark| mark.label.as_str()).filter(|name| !name.is_empty()).collect();
        if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
    }

    /// A sample of every mark of an entry.
    fn legend_sample(&self, entry: &LegendEntry) -> String {
        let is_reference = entry.style == SeriesStyle::Reference;
        let curve = match (entry.curve, self.curve_letter(entry.name, entry.style), self.options.charset) {
            (false, ..) => String::new(),
            (true, Some(letter), CharSet::Ascii) => letter.to_string(),
            (true, letter, _) => {
                let line = if is_reference { self.glyphs.reference_curve } else { self.glyphs.curve };
                letter.map_or(line.to_owned(), |letter| format!("{letter} {line}"))
            }
        };
        let points = entry.points.then(|| self.point_glyph(entry.style).to_string());
        let band = entry.band.then(|| self.glyphs.band.to_owned());
        let marks = entry.vertical_lines.then(|| self.glyphs.vertical_line.to_string());
        let parts: Vec<String> = points.into_iter().chain((!curve.is_empty()).then_some(curve)).chain(band).chain(marks).collect();
        parts.join(" ")
    }
}

/// Assigns each letter a row of its own, as close as possible to its curve's end and in the same order.
fn assign_letter_rows(ends: &mut [(f64, char)], raster: &CharRaster, rows: usize) -> Vec<char> {
    ends.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut letters = vec![' '; rows];
    let mut next = 0;
    for (number, (position, letter)) in ends.iter().enumerate() {
        // Leave a row for each of the following ones.
        let last = rows.saturating_sub(ends.len() - number);
        let own = raster.row(*position).min(last).max(next);
        if let Some(position) = letters.get_mut(own) {
            *position = *letter;
        }
        next = own + 1;
    }
    letters
}

/// Shades an area column by column.
fn shade_area(raster: &mut CharRaster, area: &[(f64, f64, f64)], columns: usize) {
    for two in area.windows(2) {
        let ((from, ..), (to, ..)) = (two[0], two[1]);
        let steps = ((to - from) * columns as f64).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let mix = |from: f64, to: f64| from + (to - from) * share;
            raster.shade_column(mix(from, to), mix(two[0].1, two[1].1), mix(two[0].2, two[1].2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{laine, speed_up};
    use super::super::{AxisSpec, AxisUnit, MeasuredPoint, ScaleType, sample_curve};
    use super::*;

    fn small() -> Plot {
        let points = [(1.0, 1.0), (2.0, 4.0), (3.0, 9.0), (4.0, 16.0)].map(|(x, y)| MeasuredPoint { x, y, error_bar: None }).to_vec();
        let style = SeriesStyle::Indexed(0);
        Plot {
            title: "Squares".into(),
            notes: Vec::new(),
            x: AxisSpec::new("n", AxisUnit::Count),
            y: AxisSpec { scale: ScaleType::Linear, ..AxisSpec::new("time", AxisUnit::Seconds) },
            series: vec![
                PlotSeries::new("n²", style, SeriesMark::Curve(sample_curve(1.0, 4.0, |x| x * x))),
                PlotSeries::new("measured", style, SeriesMark::Points(points)),
            ],
            residuals: Vec::new(),
        }
    }

    #[test]
    fn a_small_plot_looks_like_this() {
        let options = TerminalOptions { columns: 40, rows: 8, charset: CharSet::Braille };
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
        assert_eq!(render_text(&small(), options), braille);
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
        assert_eq!(render_text(&small(), TerminalOptions { charset: CharSet::Ascii, ..options }), ascii);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_and_ascii_is_ascii() {
        for plot in [laine(), speed_up(), small()] {
            for columns in [0, 40, 57, 80, 200] {
                let shown = render_text(&plot, TerminalOptions::new(columns, CharSet::Braille));
                assert!(shown.lines().all(|line| line.chars().count() <= columns.max(40)), "{shown}");
                let shown = render_text(&plot, TerminalOptions::new(columns, CharSet::Ascii));
                assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= columns.max(40)), "{shown}");
            }
        }
    }

    #[test]
    fn several_curves_are_named_and_vertical_lines_labelled() {
        let shown = render_text(&laine(), TerminalOptions::new(80, CharSet::Braille));
        assert!(shown.contains("● a ⠤⠒⠉ send   ■ b ⠤⠒⠉ receive   ┊ breakpoint: 64 KiB"), "{shown}");
        assert!(shown.lines().any(|line| line.ends_with(" a")) && shown.lines().any(|line| line.ends_with(" b")), "{shown}");
    }

    #[test]
    fn powers_and_units_can_be_read_in_ascii() {
        assert_eq!(to_ascii("2×10⁻¹² µs – é"), "2x10^-12 us - ?");
    }

    #[test]
    fn letters_of_curves_that_end_together_keep_their_order_in_rows_of_their_own() {
        let raster = CharRaster::new(10, 5, CharSet::Braille);
        let rows = |ends: &[(f64, char)]| assign_letter_rows(&mut ends.to_vec(), &raster, 5).iter().collect::<String>();
        assert_eq!(rows(&[(0.5, 'a'), (0.52, 'b'), (1.0, 'c')]), "c ba ");
        assert_eq!(rows(&[(0.0, 'a'), (0.01, 'b'), (0.02, 'c')]), "  cba");
    }
}
