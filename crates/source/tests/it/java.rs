//! Java: operations by type, calls, conditions, and what cannot be derived.

use crate::support::{counted, error, java, lines};

/// The lines of `A.run` with this body; parameters are `n`, `x` and the arrays `a` and `b`.
fn body(text: &str) -> Vec<String> {
    let program = format!("class A {{ static void run(int n, double x, int[] a, double[][] b) {{ {text} }} }}");
    lines(&java(&program, "run").model, "A_run").split_off(2)
}

#[test]
fn operations_have_the_type_they_are_done_in() {
    assert_eq!(body("long k = n * 3L;"), ["access_int", "convert_long", "mpy_long", "assign_long"]);
    assert_eq!(body("float f = n / 2;"), ["access_int", "div_int", "convert_float", "assign_float"]);
    assert_eq!(body("int k = (int) (x % 2);"), ["access_double", "mod_double", "convert_double", "assign_int"]);
    assert_eq!(body("byte t = 1; int k = t << n;"), ["assign_int(2)", "access_int(2)", "shift_int"]);
    assert_eq!(body("boolean t = (n & 1) != 0;"), ["access_int", "bits_int", "compare_int", "assign_int"]);
    assert_eq!(body("x += n;"), ["assign_double", "access_double", "access_int", "convert_double", "sum_double"]);
}

#[test]
fn elements_and_fields_are_loaded_and_stored() {
    assert_eq!(body("a[n] = a[n + 1];"), ["store_int", "load_int"]);
    assert_eq!(body("b[n][2] += x;"), ["load_long", "store_double", "load_double", "access_double", "sum_double"]);
    let program = "class A { static int count; int own; void run(A other) { count++; own = other.own; } }";
    assert_eq!(lines(&java(program, "run").model, "A_run"), ["store_int(2)", "load_int(2)", "sum_int"]);
}

#[test]
fn where_an_element_is_costs_nothing_unless_it_jumps() {
    assert_eq!(body("a[n * n + 2 * n - 1] = 0;"), ["store_int"]);
    assert_eq!(body("a[n % 7] = 0;"), ["access_int", "mod_int", "store_int"]);
    assert_eq!(body("a[a[n]] = 0;"), ["load_int", "store_int"]);
    assert_eq!(body("a[(int) x] = 0;"), ["access_double", "convert_double", "store_int"]);
}

#[test]
fn functions_of_numbers_are_operations() {
    assert_eq!(body("x = Math.sqrt(n);"), ["assign_double", "access_int", "convert_double", "sqrt_double"]);
    assert_eq!(
        body("x = Math.pow(x, 2) + Math.random();"),
        ["assign_double", "access_double", "pow_double", "random_double", "sum_double"]
    );
    assert_eq!(body("n = Math.max(n, a.length);"), ["assign_int(2)", "access_int", "load_int", "compare_int"]);
}

#[test]
fn constants_are_folded() {
    assert_eq!(body("int k = 3 * 4 + 2;"), ["assign_int"]);
    let program = "class A { static final int SIZE = 10; static void run(int[] a) { for (int i = 0; i < 2 * SIZE; i++) a[i] = SIZE; } }";
    assert!(lines(&java(program, "run").model, "A_run").contains(&"seq(i=1,20)".to_owned()));
}

#[test]
fn fields_that_somebody_changes_are_not_constant() {
    let run = "static void run(A o, int[] a) { for (int i = 0; i < n; i++) a[i] = 0; }";
    let rounds = |rest: &str| {
        let found = lines(&java(&format!("class A {{ static int n = 4; {rest} {run} }}"), "run").model, "A_run");
        found.into_iter().find(|line| line.starts_with("seq")).expect("a loop")
    };
    assert_eq!(rounds(""), "seq(i=1,4)");
    assert_eq!(rounds("static { n = 5; }"), "seq(i=1,trips_A_1)");
    assert_eq!(rounds("static void f(A o) { o.n = 6; }"), "seq(i=1,trips_A_1)");
}

#[test]
fn a_condition_that_is_never_true_has_no_rounds() {
    assert!(body("do { a[0] = 1; } while (false);").contains(&"seq(round=1,1)".to_owned()));
}

#[test]
fn allocation_counts_bytes() {
    assert_eq!(body("double[] c = new double[n];"), ["access_int", "new(8*n + 16)"]);
    assert_eq!(body("int[][] c = new int[n][4];"), ["access_int", "new(16*n + 16)"]);
    assert_eq!(body("int[] c; c = new int[] { 1, 2 };"), ["store_int(2)", "new(24)"]);
    assert_eq!(body("int[] c = { 1, 2, n };"), ["store_int(3)", "access_int", "new(28)"]);
}

#[test]
fn the_second_operand_of_and_is_conditional() {
    let found = body("if (n > 0 && x > 1) n = 1;");
    assert_eq!(
        found,
        ["access_int", "compare_int", "if A.java:1:82 (min(1, n))", "  access_double", "  compare_double", "if A.java:1", "  assign_int"]
    );
}

#[test]
fn a_routine_is_one_procedure_with_parameters() {
    let program = "class A {
        static void run(int n) { twice(n); twice(2 * n); }
        static void twice(int m) { once(m, 5); once(m + 1, 5); }
        static void once(int k, int unused) { for (int i = 0; i < k; i++) { } }
    }";
    let model = java(program, "run").model;
    let heads: Vec<String> =
        model.procedures.iter().map(|procedure| format!("{}({})", procedure.name, procedure.parameters.join(", "))).collect();
    assert_eq!(heads, ["main()", "A_run(n)", "A_twice(m)", "A_once(k)"]);
    assert_eq!(lines(&model, "A_run"), ["assign_int", "access_int", "call", "A_twice(n)", "access_int", "mpy_int", "call", "A_twice(2*n)"]);
}

#[test]
fn what_a_routine_returns_is_followed() {
    let program = "class A {
        static int area(int b, int a) { return a * b; }
        static void run(int a, int n, double[] v) { int size = area(a + 1, n); for (int i = 0; i < size; i++) v[i] = 0; }
    }";
    let counts = counted(&java(program, "run").model, &[("a", 3.0), ("n", 5.0)]);
    assert_eq!(counts["store_double"], 20.0);
}

#[test]
fn recursion_is_refused_with_the_way_round() {
    let program = "class A {\n static int f(int n) { return n < 2 ? 1 : g(n - 1); }\n static int g(int n) { return f(n) + 1; }\n}";
    let found = error(&[("A.java", program)], Some("f"));
    assert!(found.starts_with("A.java:3:31: this call is recursive: `A.f` (A.java:2) -> `A.g` (A.java:3) -> `A.f`"), "{found}");
    assert!(found.contains("return f(n) + 1;"), "{found}");
}

#[test]
fn rounds_that_cannot_be_derived_are_a_parameter_with_a_note() {
    let program = "class A { static int run(int n) {\n int c = 0;\n while (n != 1) {\n if (n % 2 == 0) n = n / 2; else n = 3 * n + 1; c++; }\n return c; } }";
    let compiled = java(program, "run");
    assert!(lines(&compiled.model, "A_run").contains(&"seq(c=1,trips_A_3)".to_owned()), "{:?}", lines(&compiled.model, "A_run"));
    let parameter = compiled.model.parameters.iter().find(|parameter| parameter.name == "trips_A_3").expect("the parameter");
    assert_eq!(parameter.value, None);
    assert_eq!(
        compiled.notes[0].to_string(),
        "A.java:3:2: the trip count of this loop cannot be derived, because the value of `n` is unknown: set it with -p trips_A_3=…"
    );
}

#[test]
fn a_loop_that_may_be_left_does_between_one_and_all_of_its_rounds() {
    let program = "class A { static int run(int n, int[] a) {\n for (int i = 0; i < n; i++)\n if (a[i] == 7) return i;\n return -1; } }";
    let compiled = java(program, "run");
    let found = lines(&compiled.model, "A_run");
    assert!(found.iter().any(|line| line.starts_with("seq(i=1,") && line.contains("part_A_2")), "{found:?}");
    let rounds = |part: f64| counted(&compiled.model, &[("n", 10.0), ("part_A_2", part)])["load_int"];
    assert_eq!((rounds(0.0), rounds(1.0)), (1.0, 10.0));
}

#[test]
fn exceptions_are_taken_not_to_happen() {
    let found = body("if (a[0] < 0) throw new RuntimeException(); n = 2;");
    assert_eq!(found, ["load_int", "compare_int", "if A.java:1 (0)", "else", "  assign_int"]);
}

#[test]
fn calls_of_other_libraries_cost_a_parameter() {
    let compiled = java("class A { static void run(int n) { System.out.println(n); } }", "run");
    assert!(lines(&compiled.model, "A_run").contains(&"delay(cost_System_out_println)".to_owned()));
    assert!(compiled.notes[0].text.contains("-p cost_System_out_println=…"), "{:?}", compiled.notes);
}

#[test]
fn random_numbers_are_below_a_bound_in_its_share_of_cases() {
    assert!(body("if (Math.random() < 0.25) n = 1;").contains(&"if A.java:1 (0.25)".to_owned()));
    assert!(body("double r = 4 * Math.random(); if (r > 1) n = 1;").contains(&"if A.java:1 (0.75)".to_owned()));
    assert!(body("if ((int) (6 * Math.random()) == 3) n = 1;").contains(&"if A.java:1 (1/6)".to_owned()));
}

#[test]
fn bounds_decide_conditions() {
    assert_eq!(body("for (int i = 0; i < n; i++) if (i < n + 2) a[i] = 0;").last().map(String::as_str), Some("  store_int"));
    assert!(!body("int r = Math.abs(a[0]) % 7; if (r > 6) a[0] = 1;").contains(&"store_int".to_owned()));
}

#[test]
fn syntax_errors_say_where_what_was_expected_and_who_explains_them() {
    for (text, expected) in [
        ("class A { void f() { int x = 1 } }", "A.java:1:31: expected `;`"),
        ("class A {\n int f() {\n  return 1\n }\n}", "A.java:3:11: expected `;`"),
        ("class A {\n void f() { x = ; }\n}", "A.java:2:17: expected an expression, found `;`"),
        ("class A { void f() { ", "A.java:1:21: expected `}`"),
        ("class A { int f() { for (int i = 0; i < 3 i++) { } } }", "A.java:1:43: expected an operator or `;`"),
        ("class A { int f() { return 3 4; } }", "A.java:1:30: expected an operator or `;`"),
        ("class A { int f() { if (x { } } }", "A.java:1:26: expected `)`"),
        (
            "class A { int f() {\n for (int i = 0; i < 3; i++ {\n } } }",
            "A.java:3:4: expected `)` for the `(` of line 2, column 6, found `}`",
        ),
        ("class A {\n void f() {\n  g(1)\n  g(2);\n }\n}", "A.java:3:"),
        ("class A {\n void f() { } }\n}", "A.java:3:1: unexpected `}`"),
        ("class A { void f(int n) { n = (n + 3)); } }", "A.java:1:38: unexpected `)`"),
        ("class A { void f(int n) { n = 1; else n = 2; } }", "A.java:1:34: expected a name, found `else`"),
        ("class A { void f() { switch (n) { case 1 n = 2; } } }", "A.java:1:41: expected `:`"),
        ("class A { void f(n) { } }", "A.java:1:18: unexpected `n`"),
        ("class A { void f() { String s = \"abc; } }", "A.java:1:42: expected `\"`"),
    ] {
        let found = error(&[("A.java", text)], Some("f"));
        assert!(found.starts_with(expected) && found.contains('^'), "{text}\ngave {found}");
        assert!(found.ends_with("hint: `javac A.java` explains it") && !found.contains("_"), "{text}\ngave {found}");
    }
}

#[test]
fn what_is_no_type_is_an_error_with_what_was_meant() {
    for (text, hint) in [
        ("class A { int f(int n) { retrun n; } }", "did you mean `return`?"),
        ("class A { void f(int n) { itn k = n; } }", "did you mean `int`?"),
        ("class A { static f(int n) { } }", "a method needs a return type, or `void`"),
    ] {
        let found = error(&[("A.java", text)], Some("f"));
        assert!(found.ends_with(&format!("hint: {hint}")), "{text}\ngave {found}");
    }
}

#[test]
fn comments_are_no_parts_of_expressions() {
    assert_eq!(body("n = /* a product */ n * 3;"), body("n = n * 3;"));
    let returned = |value: &str| {
        let text = format!(
            "class A {{ static int f(int k) {{ return {value}; }} static void run(int n, int[] a) {{ for (int i = 0; i < f(n); i++) a[i] = 0; }} }}"
        );
        counted(&java(&text, "run").model, &[("n", 4.0)])["store_int"]
    };
    assert_eq!((returned("k * 2"), returned("/* twice */ k * 2")), (8.0, 8.0));
}

#[test]
fn division_of_what_may_be_negative_is_not_counted_as_rounding_down() {
    let compiled = java("class A { static void run(int n, int[] a) { for (int i = 3 - n; i < -1; i /= 2) a[0] = 1; } }", "run");
    assert!(compiled.notes[0].text.contains("cannot be derived"), "{:?}", compiled.notes);
}

#[test]
fn a_switch_inside_of_a_switch_cannot_grow_without_end() {
    let cases = "case 1: n++; case 2: n++; case 3: n++; case 4: n++; case 5: n++; case 6: n++; case 7: n++; case 8:";
    let text = (0..12).fold("n--;".to_owned(), |inside, _| format!("switch (n) {{ {cases} {inside} }}"));
    let found = error(&[("A.java", &format!("class A {{ static void run(int n) {{ {text} }} }}"))], Some("run"));
    assert!(found.contains("too much fallthrough"), "{found}");
    let value =
        (0..40).fold("n".to_owned(), |inside, _| format!("switch ({inside}) {{ case 1 -> 2; case 2 -> 3; case 3 -> 4; default -> 1; }}"));
    java(&format!("class A {{ static void run(int n) {{ n = {value}; }} }}"), "run");
    let concatenation = (0..40).fold("0".to_owned(), |inside, _| format!("(s[{inside}] += 1)"));
    java(&format!("class A {{ static void run(String[] s) {{ String t = {concatenation}; }} }}"), "run");
}

#[test]
fn a_missing_entry_is_named_with_what_is_near() {
    let found = error(&[("A.java", "class A { static void search() { } }")], Some("serach"));
    assert_eq!(found, "there is no routine `serach`; did you mean `search`?");
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = format!("class A {{ static void run(int n) {{ n = {}n{}; }} }}", "(".repeat(5000), ")".repeat(5000));
    assert!(error(&[("A.java", &deep)], Some("run")).contains("are nested more than"));
    let blocks = format!("class A {{ static void run() {} }}", "{".repeat(5000) + &"}".repeat(5000));
    assert!(error(&[("A.java", &blocks)], Some("run")).contains("are nested more than"));
}

#[test]
fn cases_of_a_switch_are_as_likely_as_each_other() {
    let found = body("switch (n) { case 1: x = 1; break; case 2: x = 2; default: n = 3; }");
    let expected = [
        "access_int",
        "compare_int",
        "if - (1/3)",
        "  assign_double",
        "else",
        "  compare_int",
        "  if - (0.5)",
        "    assign_double",
        "    assign_int",
        "  else",
        "    compare_int",
        "    assign_int",
    ];
    assert_eq!(found, expected);
}
