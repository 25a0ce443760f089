//! The page as a standalone HTML file, with the answers embedded in compressed form.
//!
//! `web/src/answers/embedded-source.ts` reads this format.

mod truncate;

use std::io::{self, Write};

use flate2::Compression;

use crate::answer::QueryAnswer;
use crate::gzip::compress;

/// Placeholder for the answers in the page.
const ANSWERS_MARKER: &str = "<!--ANSWERS-->";
/// Maximum size of the file, small enough for e-mail.
const MAX_FILE_BYTES: usize = 4_900_000;

/// The page with embedded answers.
pub struct StandalonePage<'a> {
    before: &'a str,
    after: &'a str,
    answers: Vec<u8>,
    /// Remaining space, in compressed bytes.
    remaining_bytes: usize,
    /// Space reserved for the last answer.
    reserved_bytes: usize,
}

impl StandalonePage<'_> {
    /// A page without answers yet; `None` if it lacks the placeholder.
    pub fn new(page: &str) -> Option<StandalonePage<'_>> {
        let (before, after) = page.split_once(ANSWERS_MARKER)?;
        // Base64 encodes three bytes as four characters.
        let remaining_bytes = MAX_FILE_BYTES.saturating_sub(page.len()) / 4 * 3;
        Some(StandalonePage { before, after, answers: Vec::new(), remaining_bytes, reserved_bytes: 0 })
    }

    /// Reserves space for an answer at most as long as this one, to be added last.
    pub fn reserve(&mut self, longest: QueryAnswer) {
        self.reserved_bytes = truncate::gzip_size(&longest.into_bytes()).min(self.remaining_bytes);
        self.remaining_bytes -= self.reserved_bytes;
    }

    /// Adds an answer and returns whether it fits. An answer may use at most half of the remaining space and is truncated if necessary.
    pub fn add_answer(&mut self, recording: usize, query: &str, answer: QueryAnswer) -> bool {
        self.add_truncated(self.remaining_bytes / 2, recording, query, answer)
    }

    /// Adds the answer that space was reserved for.
    pub fn add_reserved(&mut self, recording: usize, query: &str, answer: QueryAnswer) -> bool {
        self.remaining_bytes += std::mem::take(&mut self.reserved_bytes);
        self.add_truncated(self.remaining_bytes, recording, query, answer)
    }

    fn add_truncated(&mut self, max_bytes: usize, recording: usize, query: &str, answer: QueryAnswer) -> bool {
        let subject = query.split('?').next().unwrap_or(query);
        let Some(bytes) = truncate::truncate_to_fit(subject, answer, max_bytes) else { return false };
        self.remaining_bytes -= truncate::gzip_size(&bytes).min(self.remaining_bytes);
        push_with_length(&mut self.answers, format!("{recording}/{query}").as_bytes());
        push_with_length(&mut self.answers, &bytes);
        true
    }

    /// Writes the HTML file.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.before.as_bytes())?;
        out.write_all(b"<script type=\"application/octet-stream\" id=\"answers\">")?;
        out.write_all(encode_base64(&compress(&self.answers, Compression::best())).as_bytes())?;
        out.write_all(b"</script>")?;
        out.write_all(self.after.as_bytes())
    }
}

/// Appends a length-prefixed piece. It is always shorter than 4 GiB because of the size limit.
fn push_with_length(all: &mut Vec<u8>, piece: &[u8]) {
    all.extend_from_slice(&(piece.len() as u32).to_le_bytes());
    all.extend_from_slice(piece);
}

/// Base64, which contains no characters with a meaning in HTML.
fn encode_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = group.iter().enumerate().fold(0, |number, (index, byte)| number | usize::from(*byte) << (16 - 8 * index));
        for index in 0..4 {
            let letter = LETTERS[number >> (18 - 6 * index) & 63];
            text.push(if index <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn base64_matches_rfc_4648() {
        // The test vectors of RFC 4648, section 10.
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")];
        pairs.iter().for_each(|(plain, text)| assert_eq!(encode_base64(plain.as_bytes()), *text));
        assert_eq!(encode_base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn embedded_answers_cannot_end_the_script() {
        let answer = r#"{"command":"</script><script>alert(1)</script><!--"}"#;
        let mut file = StandalonePage::new("<p>before</p><!--ANSWERS--><p>after</p>").unwrap();
        assert!(file.add_answer(1, "report", QueryAnswer::Json(answer.into())));
        let mut out = Vec::new();
        file.write_to(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let inside = text.strip_prefix("<p>before</p><script type=\"application/octet-stream\" id=\"answers\">").unwrap();
        let inside = inside.strip_suffix("</script><p>after</p>").unwrap();
        assert!(!inside.contains('<'));
        let expected = [&8u32.to_le_bytes()[..], b"1/report", &(answer.len() as u32).to_le_bytes(), answer.as_bytes()].concat();
        assert_eq!(unpacked(inside), expected);
    }

    #[test]
    fn the_file_size_is_limited() {
        let mut file = StandalonePage::new(ANSWERS_MARKER).unwrap();
        let added = (0..20).filter(|number| file.add_answer(*number, "timeline", noise(*number as u64, 700_000)));
        assert!(added.count() >= 3);
        let mut out = Vec::new();
        file.write_to(&mut out).unwrap();
        assert!(out.len() < 5_000_000, "{}", out.len());
    }

    #[test]
    fn the_reserved_answer_always_fits() {
        let mut file = StandalonePage::new(ANSWERS_MARKER).unwrap();
        file.reserve(noise(0, 500_000));
        let added = (1..).take_while(|number| file.add_answer(0, "timeline", noise(*number, 200_000))).count();
        assert!(added > 10 && !file.add_answer(0, "timeline", noise(0, 500_000)));
        assert!(file.add_reserved(0, "about", noise(0, 500_000)));
        let mut out = Vec::new();
        file.write_to(&mut out).unwrap();
        assert!(out.len() < 5_000_000, "{}", out.len());
    }

    #[test]
    fn a_page_needs_the_placeholder() {
        assert!(StandalonePage::new("<p>").is_none());
    }

    /// An incompressible answer, different for each seed.
    fn noise(number: u64, length: usize) -> QueryAnswer {
        let mut bytes = vec![0; length];
        fastrand::Rng::with_seed(number).fill(&mut bytes);
        QueryAnswer::Binary { header: "{}".into(), bytes }
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
            let number = group.iter().enumerate().fold(0, |number, (index, six)| number | six << (18 - 6 * index));
            number.to_be_bytes()[1..group.len()].to_vec()
        };
        let packed: Vec<u8> = letters.chunks(4).flat_map(group).collect();
        let mut all = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut all).unwrap();
        all
    }
}
