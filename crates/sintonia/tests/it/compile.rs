//! Tests of `sintonia compile` with models and programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const FIGURE_4: &str =
    "L = { sum_double_p; mpy_int_p; par(i=1,10) { use(p, metodo_M_p) } }\nmetodo_M_p = { seq(i=1,1000000) sum_double_p }";

fn compile(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sintonia"));
    command.current_dir(folder).arg("compile").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Standard output of a successful run.
fn shown(folder: &Path, arguments: &[&str]) -> String {
    let output = compile(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard output and error of a failing run.
fn refused(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = compile(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

#[test]
fn a_model_is_checked_and_laid_out() {
    let folder = folder(&[("a.pam", "parameter n;main{seq(i=1,n){access;compare}}")]);
    let expected = "parameter n;\n\nmain {\n    seq(i=1,n) {\n        access;\n        compare;\n    }\n}\n";
    assert_eq!(shown(folder.path(), &["a.pam"]), expected);
    assert_eq!(shown(folder.path(), &["a.pam", "-o", "b.pam"]), "");
    assert_eq!(fs::read_to_string(folder.path().join("b.pam")).unwrap(), expected);
    assert_eq!(shown(folder.path(), &["b.pam", "--check"]), "");
}

#[test]
fn nothing_is_written_over_what_is_read() {
    let folder = folder(&[("a.pam", FIGURE_4)]);
    let (_, complaint) = refused(folder.path(), &["a.pam", "-o", "./a.pam"]);
    assert!(complaint.contains("a.pam is an input file"), "{complaint}");
    assert_eq!(fs::read_to_string(folder.path().join("a.pam")).unwrap(), FIGURE_4);
    assert!(refused(folder.path(), &["a.pam", "-o", "nowhere/b.pam"]).1.contains("no directory nowhere"));
}

#[test]
fn mistakes_are_told_one_on_a_line_for_editors() {
    let folder = folder(&[("a.pam", "main {\n  acess;\n  seq(i=1 3) access;\n}\n"), ("b.pam", "main { access }")]);
    let (told, complaint) = refused(folder.path(), &["--check", "a.pam", "b.pam"]);
    let expected = "\
a.pam:2:3: error: there is no procedure and no operation `acess` (did you mean `access`?)
a.pam:3:11: error: expected the end of the formula, found `3`
";
    assert_eq!((told.as_str(), complaint.as_str()), (expected, ""));
    let (told, _) = refused(folder.path(), &["--check", "--json", "a.pam"]);
    let first: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    let message = "there is no procedure and no operation `acess`";
    let hint = "did you mean `access`?";
    let mistake = json!({"file": "a.pam", "line": 2, "column": 3, "end_column": 8, "severity": "error", "message": message, "hint": hint});
    assert_eq!(first, mistake);
    let (_, complaint) = refused(folder.path(), &["a.pam"]);
    assert!(complaint.starts_with("sintonia: a.pam:2:3: ") && complaint.contains("\n      acess;\n      ^^^^^\n"), "{complaint}");
}

#[test]
fn formulas_are_those_of_the_paper() {
    let folder = folder(&[("a.pam", FIGURE_4)]);
    let expected = "\
T0 = t_sum_double_p + t_mpy_int_p + max(i=1..10, 1000000*(t_sum_double_p))
T1 = t_sum_double_p + t_mpy_int_p + sum(i=1..10, 1000000*(t_sum_double_p))    // p
T = max(T0, T1)
";
    assert_eq!(shown(folder.path(), &["a.pam", "--formulas"]), expected);
    let told: Value = serde_json::from_str(&shown(folder.path(), &["a.pam", "--formulas", "--json"])).unwrap();
    assert_eq!([&told["formulas"][1]["name"], &told["formulas"][1]["resource"]], ["T1", "p"]);
    assert_eq!(told["procedures"][1], json!({"name": "metodo_M_p", "parameters": [], "note": null}));
}

#[test]
fn a_program_becomes_a_model_that_can_be_read() {
    let java = "class Sum {\n  static long sum(int n) {\n    long s = 0;\n    for (int i = 0; i < n; i++) s += i;\n    return s;\n  }\n}\n";
    let pasl = "application sum;\nparameter n = 100;\nbatch add { tasks: 4; run: Sum.sum(n); }\n";
    let folder = folder(&[("sum.pasl", pasl), ("Sum.java", java)]);
    shown(folder.path(), &["sum.pasl", "Sum.java", "-o", "sum.pam"]);
    let laid_out = shown(folder.path(), &["sum.pam"]);
    assert_eq!(fs::read_to_string(folder.path().join("sum.pam")).unwrap(), laid_out);
    assert!(laid_out.starts_with("language java;\n") && laid_out.contains("sum_long"), "{laid_out}");
    let told: Value = serde_json::from_str(&shown(folder.path(), &["sum.pasl", "Sum.java", "--json"])).unwrap();
    assert_eq!([&told["language"], &told["parameters"][0]["name"]], ["java", "n"]);
    fs::write(folder.path().join("Sum.java"), java.replace("i < n", "i <")).unwrap();
    let (told, _) = refused(folder.path(), &["sum.pasl", "Sum.java", "--check"]);
    assert!(told.starts_with("Sum.java:4:") && told.contains(": error: "), "{told}");
}

#[test]
fn files_that_are_no_source_are_refused_with_the_list() {
    let folder = folder(&[("a.txt", ""), ("a.pam", "main {}"), ("a.c", "int main() { return 0; }")]);
    assert!(refused(folder.path(), &["a.txt"]).1.contains(".pam (a model), .pasl, .java or .c (a program)"));
    assert!(refused(folder.path(), &["a.pam", "a.c"]).1.contains("a.pam and a.c are a model and a program source"));
    assert!(refused(folder.path(), &["b.pam"]).1.contains("b.pam: No such file"));
    assert_eq!(compile(folder.path(), &["a.pam", "a.pam"]).status.code(), Some(2));
}

#[test]
fn macros_of_c_are_defined_as_for_a_compiler() {
    let text = "#ifdef TWICE\n#define ROUNDS (2 * N)\n#else\n#define ROUNDS N\n#endif\n\
                int main(void) { double s = 0; for (int i = 0; i < ROUNDS; i++) s += 0.5; return 0; }";
    let folder = folder(&[("a.c", text), ("a.pam", "main { access }"), ("A.java", "class A { static void main() { } }")]);
    assert!(shown(folder.path(), &["a.c", "-D", "N=1000"]).contains("seq(i=1,1000)"));
    assert!(shown(folder.path(), &["a.c", "-DN=1000", "-D", "TWICE"]).contains("seq(i=1,2000)"));
    assert!(refused(folder.path(), &["a.pam", "-D", "N=1"]).1.contains("a.pam is a model, but -D defines C macros"));
    assert!(refused(folder.path(), &["A.java", "-D", "N=1"]).1.contains("macro definitions are only for C programs"));
    let wrong = compile(folder.path(), &["a.c", "-D", "4N=1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`4N` is not a macro name"), "{}", String::from_utf8_lossy(&wrong.stderr));
}
