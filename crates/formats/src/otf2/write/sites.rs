//! Call sites as OTF2 knows them: source lines, and calling contexts.
//!
//! Each site is a calling context of its own, inside the contexts of the functions that it was inlined into; those are shared. Contexts
//! are numbered in the order in which they are defined, and a context comes after the one around it.

use std::collections::HashMap;

use sintonia_recording::header::{Frame, Site};

/// The call sites of a recording.
#[derive(Default)]
pub struct Sites {
    /// Each source line: its file and number.
    pub lines: Vec<(String, u32)>,
    /// The calling contexts.
    pub contexts: Vec<Context>,
    /// The context of each site.
    of_sites: Vec<u32>,
}

/// A calling context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// The function; empty if it is not known.
    pub function: String,
    /// Its file.
    pub file: Option<String>,
    /// The number of its line.
    pub line: Option<u32>,
    /// The context around it.
    pub around: Option<u32>,
    /// The site, if it is one.
    pub site: Option<u32>,
}

impl Sites {
    /// Finds the lines and contexts of all sites.
    pub fn new(sites: &[Site]) -> Sites {
        let mut all = Sites::default();
        let (mut lines, mut shared) = (HashMap::new(), HashMap::new());
        let nothing = Frame::default();
        for (number, site) in (0..).zip(sites) {
            let (innermost, around) = site.frames.split_first().unwrap_or((&nothing, &[]));
            let mut parent = None;
            for frame in around.iter().rev() {
                let context = all.context(&mut lines, frame, parent, None);
                parent = Some(*shared.entry(context).or_insert_with_key(|context| all.add(context.clone())));
            }
            let context = all.context(&mut lines, innermost, parent, Some(number));
            let place = all.add(context);
            all.of_sites.push(place);
        }
        all
    }

    fn context(&mut self, lines: &mut HashMap<(String, u32), u32>, frame: &Frame, around: Option<u32>, site: Option<u32>) -> Context {
        let line = line(frame).map(|line| {
            *lines.entry(line).or_insert_with_key(|line| {
                self.lines.push(line.clone());
                self.lines.len() as u32 - 1
            })
        });
        Context { function: frame.function.clone().unwrap_or_default(), file: frame.file.clone(), line, around, site }
    }

    fn add(&mut self, context: Context) -> u32 {
        self.contexts.push(context);
        self.contexts.len() as u32 - 1
    }

    /// The context of a site, and the number of its line.
    pub fn of(&self, site: u32) -> Option<(u32, Option<u32>)> {
        let context = *self.of_sites.get(site as usize)?;
        Some((context, self.contexts[context as usize].line))
    }
}

/// The file and line of a frame; 0 stands for a line that is not known, as in debug information.
fn line(frame: &Frame) -> Option<(String, u32)> {
    let known = frame.file.is_some() || frame.line.is_some();
    known.then(|| (frame.file.clone().unwrap_or_default(), frame.line.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_come_after_those_around_them_and_outer_ones_are_shared() {
        let frame = |function: &str, line| Frame { function: Some(function.into()), file: Some("a.c".into()), line: Some(line) };
        let site = |frames: &[Frame]| Site { frames: frames.to_vec(), ..Site::default() };
        let sites = Sites::new(&[site(&[frame("inner", 5), frame("main", 9)]), site(&[]), site(&[frame("inner", 6), frame("main", 9)])]);
        let shown: Vec<_> = sites.contexts.iter().map(|c| (c.function.as_str(), c.line, c.around, c.site)).collect();
        let expected = [
            ("main", Some(0), None, None),
            ("inner", Some(1), Some(0), Some(0)),
            ("", None, None, Some(1)),
            ("inner", Some(2), Some(0), Some(2)),
        ];
        assert_eq!(shown, expected);
        assert_eq!((sites.of(2), sites.of(1), sites.of(7)), (Some((3, Some(2))), Some((2, None)), None));
    }
}
