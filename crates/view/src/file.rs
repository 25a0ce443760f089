//! The page as one file: the answers to the plain questions lie beside it, packed, and it asks nobody.
//!
//! `web/src/answers/embedded.ts` reads what is written here.

mod cut;

use std::io::{self, Write};

use flate2::Compression;

use crate::answer::Answer;
use crate::gzip::packed;

/// Where the answers go in the page.
const PLACE: &str = "<!--ANSWERS-->";
/// The most bytes of the whole file: it goes by mail.
const MOST_BYTES: usize = 4_900_000;

/// The page with answers.
pub struct File<'a> {
    before: &'a str,
    after: &'a str,
    answers: Vec<u8>,
    /// How many bytes there is room for, packed.
    room: usize,
    /// How many more are kept for the answer that comes last.
    kept: usize,
}

impl File<'_> {
    /// A page that answers will lie beside; `None` if it has no place for them.
    pub fn new(page: &str) -> Option<File<'_>> {
        let (before, after) = page.split_once(PLACE)?;
        // Four letters stand for three bytes.
        let room = MOST_BYTES.saturating_sub(page.len()) / 4 * 3;
        Some(File { before, after, answers: Vec::new(), room, kept: 0 })
    }

    /// Keeps room for an answer that is no longer than this one, to be added last.
    pub fn keep_room(&mut self, longest: Answer) {
        self.kept = cut::size(&longest.into_bytes()).min(self.room);
        self.room -= self.kept;
    }

    /// Adds an answer, and says whether there was room for it. One that is long is cut: it must leave half of the room to others.
    pub fn add(&mut self, recording: usize, question: &str, answer: Answer) -> bool {
        self.add_within(self.room / 2, recording, question, answer)
    }

    /// Adds the answer that room was kept for.
    pub fn add_last(&mut self, recording: usize, question: &str, answer: Answer) -> bool {
        self.room += std::mem::take(&mut self.kept);
        self.add_within(self.room, recording, question, answer)
    }

    fn add_within(&mut self, most: usize, recording: usize, question: &str, answer: Answer) -> bool {
        let subject = question.split('?').next().unwrap_or(question);
        let Some(bytes) = cut::to_fit(subject, answer, most) else { return false };
        self.room -= cut::size(&bytes).min(self.room);
        add(&mut self.answers, format!("{recording}/{question}").as_bytes());
        add(&mut self.answers, &bytes);
        true
    }

    /// Writes all of it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.before.as_bytes())?;
        out.write_all(b"<script type=\"application/octet-stream\" id=\"answers\">")?;
        out.write_all(base64(&packed(&self.answers, Compression::best())).as_bytes())?;
        out.write_all(b"</script>")?;
        out.write_all(self.after.as_bytes())
    }
}

/// Adds a piece behind its length; what fits into a file is never longer than that can tell.
fn add(all: &mut Vec<u8>, piece: &[u8]) {
    all.extend_from_slice(&(piece.len() as u32).to_le_bytes());
    all.extend_from_slice(piece);
}

/// Bytes as letters that mean nothing in HTML.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = group.iter().enumerate().fold(0, |number, (place, byte)| number | usize::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let letter = LETTERS[number >> (18 - 6 * place) & 63];
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn base64_is_that_of_the_standard() {
        // The test vectors of RFC 4648, section 10.
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")];
        pairs.iter().for_each(|(plain, text)| assert_eq!(base64(plain.as_bytes()), *text));
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn answers_lie_in_the_page_and_cannot_end_it() {
        let answer = r#"{"command":"</script><script>alert(1)</script><!--"}"#;
        let mut file = File::new("<p>before</p><!--ANSWERS--><p>after</p>").unwrap();
        assert!(file.add(1, "report", Answer::Json(answer.into())));
        let mut out = Vec::new();
        file.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let inside = text.strip_prefix("<p>before</p><script type=\"application/octet-stream\" id=\"answers\">").unwrap();
        let inside = inside.strip_suffix("</script><p>after</p>").unwrap();
        assert!(!inside.contains('<'));
        let expected = [&8u32.to_le_bytes()[..], b"1/report", &(answer.len() as u32).to_le_bytes(), answer.as_bytes()].concat();
        assert_eq!(unpacked(inside), expected);
    }

    #[test]
    fn however_much_there_is_to_tell_the_file_stays_small() {
        let mut file = File::new(PLACE).unwrap();
        let added = (0..20).filter(|number| file.add(*number, "timeline", noise(*number as u64, 700_000)));
        assert!(added.count() >= 3);
        let mut out = Vec::new();
        file.write(&mut out).unwrap();
        assert!(out.len() < 5_000_000, "{}", out.len());
    }

    #[test]
    fn however_full_it_is_there_is_room_for_what_comes_last() {
        let mut file = File::new(PLACE).unwrap();
        file.keep_room(noise(0, 500_000));
        let added = (1..).take_while(|number| file.add(0, "timeline", noise(*number, 200_000))).count();
        assert!(added > 10 && !file.add(0, "timeline", noise(0, 500_000)));
        assert!(file.add_last(0, "about", noise(0, 500_000)));
        let mut out = Vec::new();
        file.write(&mut out).unwrap();
        assert!(out.len() < 5_000_000, "{}", out.len());
    }

    #[test]
    fn a_page_needs_a_place_for_answers() {
        assert!(File::new("<p>").is_none());
    }

    /// An answer that cannot be packed, another one for each number.
    fn noise(number: u64, length: usize) -> Answer {
        let next = |state: &u64| Some(state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        let bytes = std::iter::successors(Some(number), next).skip(1).map(|state| (state >> 40) as u8).take(length).collect();
        Answer::Binary { header: "{}".into(), bytes }
    }

    fn unpacked(base64: &str) -> Vec<u8> {
        let value = |letter: u8| match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let letters: Vec<u32> = base64.bytes().filter(|letter| *letter != b'=').map(|letter| u32::from(value(letter))).collect();
        let group = |group: &[u32]| {
            let number = group.iter().enumerate().fold(0, |number, (place, six)| number | six << (18 - 6 * place));
            number.to_be_bytes()[1..group.len()].to_vec()
        };
        let packed: Vec<u8> = letters.chunks(4).flat_map(group).collect();
        let mut all = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut all).unwrap();
        all
    }
}
