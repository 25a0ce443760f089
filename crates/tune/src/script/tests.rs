//! The language of scripts, case by case.

use super::*;

/// Remembers what was said; has a function `say` and no clock.
#[derive(Default)]
struct Listener {
    said: Vec<String>,
}

impl ScriptHost for Listener {
    fn call(&mut self, name: &str, arguments: &[ScriptValue]) -> Option<Result<ScriptValue, String>> {
        match (name, arguments) {
            ("say", [value]) => {
                self.said.push(value.to_string());
                Some(Ok(ScriptValue::Unit))
            }
            ("refuse", []) => Some(Err("refused".into())),
            _ => None,
        }
    }

    fn interruption(&mut self) -> Option<String> {
        None
    }
}

/// Calls `main(2)` of a script.
fn run(text: &str) -> Result<String, ScriptError> {
    let mut this = ScriptValue::Map([].into());
    let value = Script::parse(text)?.call("main", ScriptValue::Int(2), &mut this, &mut Listener::default())?;
    Ok(if value == ScriptValue::Unit { "()".into() } else { value.to_string() })
}

/// The value of the statements of a function with a parameter `x` of 2.
fn value(body: &str) -> String {
    run(&format!("fn main(x) {{ {body} }}")).unwrap_or_else(|error| format!("error: {}", error.reason))
}

/// Numbered cases: what is evaluated, and its value, or a part of the error.
const CASES: &[(u32, &str, &str)] = &[
    // Literals.
    (1, "42", "42"),
    (2, "1_000", "1000"),
    (3, "1.5e3", "1500.0"),
    (4, "2e-3", "0.002"),
    (5, r#""a\t\"b\"\\""#, "a\t\"b\"\\"),
    (6, "`x is ${x}, twice ${ 2 * x }`", "x is 2, twice 4"),
    (7, "`${ `${ #{a: 1}.a }` }!`", "1!"),
    (8, "`${true}`", "true"),
    (9, "()", "()"),
    (10, "[1, \"a\", (), [2.0]]", "[1, \"a\", (), [2.0]]"),
    (11, "#{b: 1, \"a c\": [2]}", "#{\"a c\": [2], \"b\": 1}"),
    (12, "1 // a comment\n + /* another /* nested */ */ 1", "2"),
    (13, "`µ`", "µ"),
    (14, "9223372036854775808", "error: the number 9223372036854775808 is too large"),
    // Floats as texts.
    (20, "`${1.0} ${0.1} ${1e13} ${1e14} ${1e-13} ${1e-14} ${-0.0}`", "1.0 0.1 10000000000000.0 1e14 0.0000000000001 1e-14 0.0"),
    (21, "`${1.0 / 0.0} ${0.0 / 0.0}`", "inf NaN"),
    // Arithmetic.
    (30, "1 + 2 * 3 - 4 / 2 % 3", "5"),
    (31, "7 / 2", "3"),
    (32, "-7 / 2", "-3"),
    (33, "-7 % 3", "-1"),
    (34, "7 / 2.0", "3.5"),
    (35, "2 ** 3 ** 2", "512"),
    (36, "-2 ** 2", "4"),
    (37, "2 ** -1", "error: 2 ** -1: an integer has no negative power"),
    (38, "2.0 ** -1", "0.5"),
    (39, "1 / 0", "error: 1 / 0: division by zero"),
    (40, "9223372036854775807 + 1", "overflows"),
    (41, "2 ** 63", "overflows"),
    (42, "1 + true", "error: `+` is not for an integer and a bool"),
    (43, "- \"a\"", "error: `-` is not for a text"),
    (44, "10 - 2 - 3", "5"),
    // Texts and lists.
    (50, "\"a\" + 1 + 2.5 + true + ()", "a12.5true"),
    (51, "1 + \"a\"", "1a"),
    (52, "[1] + [2, 3]", "[1, 2, 3]"),
    (53, "[1] + 2", "error: `+` is not for a list and an integer"),
    // Comparison and logic.
    (60, "1 == 1.0", "true"),
    (61, "1 == \"1\"", "false"),
    (62, "1 != ()", "true"),
    (63, "[1, 2.0] == [1.0, 2]", "true"),
    (64, "#{a: 1} == #{a: 1.0}", "true"),
    (65, "\"a\" < \"b\"", "true"),
    (66, "() < 1", "false"),
    (67, "1 >= ()", "false"),
    (68, "2 >= 2.0 && 1 < 1.5 && !(2 <= 1) && 3 > 2", "true"),
    (69, "false && refuse()", "false"),
    (70, "true || refuse()", "true"),
    (71, "1 && true", "error: expected a bool, found an integer"),
    (72, "() ?? 3", "3"),
    (73, "0 ?? refuse()", "0"),
    (74, "2 in [1, 2] && \"a\" in #{a: ()} && \"b\" in \"abc\"", "true"),
    (75, "1 + 1 == 2 == true", "true"),
    (76, "() ?? 1 + 1", "2"),
    // Variables, fields and keys.
    (80, "let y = x + 1; y", "3"),
    (81, "let y; y", "()"),
    (82, "let y = 1; { let y = 2; } y", "1"),
    (83, "let x = x + 1; x", "3"),
    (84, "x += 3; x *= 2; x -= 1; x /= 2; x **= 2; x %= 7; x", "2"),
    (85, "let a = [1, 2, 3]; a[0] = 5; a[-1] += 1; a", "[5, 2, 4]"),
    (86, "let a = [1]; let b = a; b[0] = 2; a", "[1]"),
    (87, "let m = #{}; m.a = 1; m[\"b\"] = [#{c: 1}]; m.b[0].c += 1; m", "#{\"a\": 1, \"b\": [#{\"c\": 2}]}"),
    (88, "let m = #{}; m.missing", "()"),
    (89, "let m = #{}; m.a.b = 1;", "error: () has no entry `b`"),
    (90, "[1][1]", "error: index 1 is out of bounds: the list has 1 entries"),
    (91, "let a = [1]; a[-2]", "out of bounds"),
    (92, "x.a", "error: an integer has no entry `a`"),
    (93, "this.n = (this.n ?? 0) + 1; this.n += 1; this", "#{\"n\": 2}"),
    (94, "nothing", "error: there is no variable `nothing` here"),
    (95, "{ let y = 1; } y", "error: there is no variable `y` here"),
    (96, "1 = 2", "error: only a variable"),
    // Statements.
    (100, "if x == 2 { \"two\" } else { \"other\" }", "two"),
    (101, "let y = if x > 5 { 1 } else if x > 1 { 2 } else { 3 }; y", "2"),
    (102, "if x > 5 { 1 }", "()"),
    (103, "if x { 1 }", "error: expected a bool, found an integer"),
    (104, "let n = 0; while n < 5 { n += 1; if n == 3 { break; } } n", "3"),
    (105, "let n = 0; loop { n += 1; if n < 4 { continue; } break; } n", "4"),
    (106, "let s = 0; for i in 0..4 { s += i; } s", "6"),
    (107, "let s = 0; for i in 1..=4 { s += i; } s", "10"),
    (108, "let s = \"\"; for v in [1, \"b\"] { s += v; } s", "1b"),
    (109, "for i in 4..0 { refuse(); } 1", "1"),
    (110, "for i in 5 { }", "error: expected a list or a range, found an integer"),
    (111, "return 7; refuse()", "7"),
    (112, "return; 1", "()"),
    (113, "for i in 0..9 { if i == 3 { return i; } } 100", "3"),
    (114, "throw `no ${x}`", "error: no 2"),
    (115, "break", "error: `break` is outside of a loop"),
    (116, "1;", "1"),
    (117, "let y = 1;", "()"),
    (118, "1 2", "error: expected `;`, found 2"),
    (119, "if true { } -1", "-1"),
    // Functions of the language.
    (130, "[abs(-3), abs(-2.5), min(1, 2), max(1, 2.5)]", "[3, 2.5, 1, 2.5]"),
    (131, "[2.7.floor(), 2.2.ceiling(), 2.5.round(), (-2.7).to_int(), 3.to_float()]", "[2.0, 3.0, 3.0, -2, 3.0]"),
    (132, "[sqrt(9.0), exp(0.0), ln(1.0), log(100.0), log(8.0, 2.0)]", "[3.0, 1.0, 0.0, 2.0, 3.0]"),
    (133, "1e30.to_int()", "is not within the integers"),
    (134, "[\"aµ\".len(), [1, 2].len(), #{a: 1}.len(), len([])]", "[2, 2, 1, 0]"),
    (135, "[12.to_string(), [1].contains(1), \"abc\".contains(\"d\")]", "[\"12\", true, false]"),
    (136, "let m = #{b: 1, a: 2}; [m.keys(), m.values(), m.remove(\"b\"), m]", "[[\"a\", \"b\"], [2, 1], 1, #{\"a\": 2}]"),
    (137, "let a = []; a.push(1); a.push(2); a.insert(0, 3); [a.pop(), a.shift(), a, [].pop()]", "[2, 3, [1], ()]"),
    (138, "let a = [3, 1.5, 2]; a.sort(); a.remove(0); a", "[2, 3]"),
    (139, "this.list = []; this.list.push(x); this.list.clear(); this", "#{\"list\": []}"),
    (140, "[1, \"a\"].sort()", "error: only numbers, or only texts, can be sorted"),
    (141, "no_such(1, \"a\")", "error: there is no function `no_such` for (an integer, a text)"),
    (142, "refuse()", "error: refused"),
    (143, "().push(1)", "error: there is no function `push`"),
    // Limits.
    (150, "loop { }", "error: it took more than 1000000 steps"),
    (151, "let t = \"a\"; loop { t += t; }", "too large"),
    (152, "let l = [1]; loop { l += l; }", "too large"),
    (153, "let l = []; loop { l = [l]; }", "too large"),
    (154, "let l = [1]; loop { l = [l, l]; }", "too large"),
    (155, "loop { this.l = #{l: this.l}; }", "too large"),
    (156, "let l = []; loop { l.push(\"a long text, a long text, a long text\"); }", "too large"),
    // What Rhai has and this language has not.
    (170, "switch x { }", "error: scripts have no `switch`"),
    (171, "eval(\"1\")", "error: scripts have no `eval`"),
    (172, "import \"a\" as b;", "error: scripts have no `import`"),
    (173, "let f = |a| a;", "error: `|` is not part of the language"),
    (174, "'a'", "error: `'` is not part of the language"),
];

#[test]
fn cases() {
    let mut wrong = String::new();
    for (number, body, expected) in CASES {
        let found = value(body);
        let holds = if expected.starts_with("error") || found.starts_with("error") { found.contains(expected) } else { found == *expected };
        if !holds {
            wrong += &format!("{number}: {body}\n    {found}\n    expected {expected}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(CASES.windows(2).all(|pair| pair[0].0 < pair[1].0), "cases are numbered upwards");
}

#[test]
fn functions_call_each_other_and_share_this() {
    let text = "fn twice(n) { 2 * n }\nfn twice(n, m) { twice(n) + m }\nfn count() { this.calls = (this.calls ?? 0) + 1; }\n\
                fn main(x) { count(); this.count(); `${twice(x, 1)} ${this.calls}` }";
    assert_eq!(run(text).as_deref(), Ok("5 2"));
    assert_eq!(run("fn main(x) { main(x) }").expect_err("no end").reason, "stack overflow: more than 32 nested calls");
    assert!(run("fn main(x) { 1 }\nfn main(y) { 2 }").expect_err("twice").reason.contains("already defined"));
    assert!(run("let a = 1;").expect_err("no function").reason.contains("a script consists of functions"));
}

#[test]
fn a_host_is_called_in_order() {
    let script = Script::parse("fn main(x) { for i in 0..3 { say(i * x); } }").expect("a script");
    let mut listener = Listener::default();
    script.call("main", ScriptValue::Float(0.5), &mut ScriptValue::Unit, &mut listener).expect("no error");
    assert_eq!(listener.said, ["0.0", "0.5", "1.0"]);
    assert!(script.handles("main") && !script.handles("other"));
}

#[test]
fn errors_say_where() {
    for (text, at) in [
        ("fn main(x) {\n  1 + ;\n}", "; "),
        ("fn main(x) {\n  x.a.b;\n}", "a.b"),
        ("fn main(x) {\n  f(y);\n}", "y)"),
        ("fn main(x) {\n  let a = \"abc;\n}", "\"abc"),
        ("fn main(x) {\n  let a = `abc ${x};\n}", "};"),
        ("fn main(x) {\n  1 + true;\n}", "+ true"),
        ("fn main(x) {\n  f(x);\n}\nfn f(x) { refuse() }", "refuse"),
        ("fn main(x) {\n  /* abc", "/*"),
    ] {
        let error = run(text).expect_err(text);
        let rest = text.get(error.at..).unwrap_or("nothing");
        assert!(rest.starts_with(at.trim_end()), "{text}\n{error:?} at {rest}");
    }
}

#[test]
fn nesting_is_limited_before_the_stack_ends() {
    let cases = [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("!", "true", ""),
        ("if true {", "1", "}"),
        ("`${", "1", "}`"),
        ("1 + ", "1", ""),
        ("2 ** ", "1", ""),
        ("", "x", ".a"),
    ];
    for (open, middle, close) in cases {
        let text = |depth: usize| format!("fn main(x) {{ {}{middle}{} }}", open.repeat(depth), close.repeat(depth));
        assert!(Script::parse(&text(20)).is_ok(), "{}", text(20));
        let error = Script::parse(&text(100_000)).expect_err("too deep");
        assert!(error.reason.contains("nested too deeply"), "{error:?}");
    }
    let wide = format!("fn main(x) {{ {}main(x){} }}", "if true { [".repeat(20), "] }".repeat(20));
    assert!(run(&wide).expect_err("too deep").reason.contains("stack overflow"));
}

#[test]
fn parsing_never_panics() {
    let file = include_str!("../../../../docs/tunlets/relax-script.tunlet");
    let whole = file.split("\"\"\"").nth(1).expect("a script");
    assert!(Script::parse(whole).is_ok());
    for cut in (0..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        let _ = Script::parse(&whole[..cut]);
        let added = ["`", "${", "\"", "}", "/*", "("][cut % 6];
        let _ = Script::parse(&format!("{}{added}{}", &whole[..cut], &whole[cut..]));
    }
}
