//! No text makes a front end panic, hang or exhaust memory.

use proptest::prelude::*;
use sintonia_source::{SourceFile, compile_texts, pasl};

const PASL: &str = "application primes; parameter tasks = 100; parameter upto = 1000*tasks;
batch search { tasks: tasks; run: Primes.search((task - 1)*upto/tasks, task*upto/tasks); }
batch total { run: Primes.total(search); } flow search -> total { bytes: 8; }";

const JAVA: &str = "class A { static final int K = 3; int[] f = {1, 2};
static long run(int n, double[] a) { long s = 0; for (int i = 0; i < n; i += K) { if (i % 2 == 0 && a[i] > 1.5) s += (int) a[i]; else s--; }
while (n > 1) { n /= 2; switch (n) { case 1: s++; break; default: s = -s; } } do { s = Math.max(s, f(n)); } while (s < 0 || s > n);
for (double x : a) { s += x > 0 ? 1 : 2; } int[][] m = new int[n][n + 1]; return m[0].length + s; }
static int f(int k) { if (k < 3) return 1; return k * k >> 2; } }";

/// A text with some bytes removed, inserted or changed.
fn damaged(text: &'static str, words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let change = (0..text.len(), 0..20usize, prop::sample::select(words));
    prop::collection::vec(change, 1..4).prop_map(move |changes| {
        let mut result = text.to_owned();
        for (at, gone, word) in changes {
            let at = (0..=at.min(result.len())).rev().find(|at| result.is_char_boundary(*at)).unwrap_or(0);
            let end = (at + gone).min(result.len());
            let end = (end..=result.len()).find(|end| result.is_char_boundary(*end)).unwrap_or(result.len());
            result.replace_range(at..end, word);
        }
        result
    })
}

const WORDS: &[&str] = &[
    "",
    "(",
    ")",
    "{",
    "}",
    ";",
    "task",
    "n",
    "1e999",
    "0x",
    "++",
    "/ 0",
    "-1",
    "%",
    "for (;;)",
    "é",
    "\"",
    "/*",
    "9999999999999",
    "[",
    "run",
    "->",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_an_application_or_an_error(text in "[ -~\\n]{0,200}") {
        let _ = pasl::parse(&SourceFile::new("a.pasl", text));
    }

    #[test]
    fn a_damaged_application_is_one_or_an_error(text in damaged(PASL, WORDS)) {
        let _ = pasl::parse(&SourceFile::new("a.pasl", text));
    }

    #[test]
    fn any_text_is_java_or_an_error(text in "[ -~\\n]{0,200}") {
        let _ = compile_texts(&[SourceFile::new("A.java", text)], Some("run"));
    }

    #[test]
    fn damaged_java_is_java_or_an_error(text in damaged(JAVA, WORDS)) {
        let _ = compile_texts(&[SourceFile::new("A.java", text)], Some("run"));
    }
}
