//! Trip counts, compared with actual loops.

use crate::support::{counted, java};

/// Compares the trip count in the model of a loop around an assignment with that of `by_hand`.
fn compare(loop_text: &str, by_hand: impl Fn(i64, i64) -> i64) {
    let program = format!("class A {{ static void run(int n, int m, float[] mark) {{ {loop_text} }} }}");
    let compiled = java(&program, "run");
    assert_eq!(compiled.notes, [], "{loop_text}");
    for n in 0..26 {
        for m in [0, 1, 2, 5, 11] {
            let counts = counted(&compiled.model, &[("n", n as f64), ("m", m as f64)]);
            let found = counts.get("store_float").copied().unwrap_or(0.0);
            let expected = by_hand(n, m) as f64;
            // Fractions of iterations are summed, so the sums are rounded.
            assert!((found - expected).abs() < 1e-9, "{loop_text} with n = {n}, m = {m}: {found} instead of {expected}");
        }
    }
}

macro_rules! rounds {
    ($($name:ident: $text:literal => |$n:ident, $m:ident| $by_hand:expr;)*) => {
        $(#[test] fn $name() { compare($text, |$n, $m| $by_hand); })*
    };
}

/// Executes a `while` loop and counts its iterations.
fn going<State: Copy>(mut state: State, goes_on: impl Fn(State) -> bool, next: impl Fn(State) -> State) -> i64 {
    let mut rounds = 0;
    while goes_on(state) {
        state = next(state);
        rounds += 1;
    }
    rounds
}

rounds! {
    upward: "for (int i = 0; i < n; i++) mark[i] = 1;" => |n, _m| n;
    upward_inclusive: "for (int i = 1; i <= n; i++) mark[i] = 1;" => |n, _m| n;
    upward_from_a_parameter: "for (int i = m; i < n; i++) mark[i] = 1;" => |n, m| (n - m).max(0);
    upward_by_three: "for (int i = m; i < n; i += 3) mark[i] = 1;" => |n, m| going(m, |i| i < n, |i| i + 3);
    upward_by_a_parameter: "for (int i = 0; i <= n; i += m + 1) mark[i] = 1;" => |n, m| going(0, |i| i <= n, |i| i + m + 1);
    downward: "for (int i = n - 1; i >= 0; i--) mark[i] = 1;" => |n, _m| n;
    downward_strict: "for (int i = n; i > m; i -= 2) mark[i] = 1;" => |n, m| going(n, |i| i > m, |i| i - 2);
    unequal: "for (int i = 0; i != n; i++) mark[i] = 1;" => |n, _m| n;
    mirrored: "for (int i = 0; n > i; i = i + 2) mark[i] = 1;" => |n, _m| going(0, |i| n > i, |i| i + 2);
    doubling: "for (int i = 1; i < n; i *= 2) mark[i] = 1;" => |n, _m| going(1, |i| i < n, |i| i * 2);
    doubling_by_shift: "for (int i = 3; i <= n; i <<= 1) mark[i] = 1;" => |n, _m| going(3, |i| i <= n, |i| i * 2);
    halving: "for (int i = n; i > 0; i /= 2) mark[i] = 1;" => |n, _m| going(n, |i| i > 0, |i| i / 2);
    halving_by_shift: "while (n > 1) { mark[n] = 1; n >>= 1; }" => |n, _m| going(n, |i| i > 1, |i| i / 2);
    quartering: "for (int i = n; i >= 3; i = i / 4) mark[i] = 1;" => |n, _m| going(n, |i| i >= 3, |i| i / 4);
    square_root: "for (int d = 2; d * d <= n; d++) mark[d] = 1;" => |n, _m| going(2, |d| d * d <= n, |d| d + 1);
    square_root_strict: "for (long d = 2; d * d < n; d += 2) mark[0] = 1;" => |n, _m| going(2, |d| d * d < n, |d| d + 2);
    root_function: "for (int d = 1; d <= Math.sqrt(n); d++) mark[d] = 1;" => |n, _m| going(1, |d| d * d <= n, |d| d + 1);
    both_conditions: "for (int i = 0; i < n && i < m; i++) mark[i] = 1;" => |n, m| n.min(m);
    smaller_bound: "int e = Math.min(n, m); for (int i = 0; i < e; i++) mark[i] = 1;" => |n, m| n.min(m);
    half: "for (int i = 0; i < n / 2; i++) mark[i] = 1;" => |n, _m| n / 2;
    rounded_half: "for (int i = 0; i < (n + 1) / 2 - m; i++) mark[i] = 1;" => |n, m| ((n + 1) / 2 - m).max(0);
    remainder: "for (int i = n % 7; i > 0; i--) mark[i] = 1;" => |n, _m| n % 7;
    while_counter: "int i = 0; while (i < n) { mark[i] = 1; i = i + 1; }" => |n, _m| n;
    while_counter_in_the_middle: "int i = 0; while (i < n) { i += 2; mark[i] = 1; }" => |n, _m| (n + 1) / 2;
    while_counter_in_the_condition: "while (n-- > 0) mark[n] = 1;" => |n, _m| n;
    while_counter_before_the_condition: "while (--n > 0) mark[n] = 1;" => |n, _m| (n - 1).max(0);
    do_loop: "int i = 0; do { mark[i] = 1; i++; } while (i < n);" => |n, _m| n.max(1);
    do_loop_that_steps_in_its_condition: "do { mark[0] = 1; } while (--n > 0);" => |n, _m| n.max(1);
    do_loop_that_steps_behind_its_condition: "int i = 0; do { mark[i] = 1; } while (i++ < n);" => |n, _m| n + 1;
    do_loop_that_steps_in_both: "int i = 0; do { mark[i] = 1; i += 2; } while (--n > i);"
        => |n, _m| 1 + going((2, n - 1), |(i, n)| n > i, |(i, n)| (i + 2, n - 1));
    two_counters: "int j = n; for (int i = 0; i < j; i++, j--) mark[i] = 1;" => |n, _m| (n + 1) / 2;
    square: "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) mark[j] = 1;" => |n, _m| n * n;
    triangle: "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) mark[j] = 1;" => |n, _m| n * (n + 1) / 2;
    triangle_below: "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) mark[j] = 1;" => |n, _m| n * (n - 1) / 2;
    band: "for (int i = 0; i < n; i++) for (int j = Math.max(0, i - m); j <= Math.min(n - 1, i + m); j++) mark[j] = 1;"
        => |n, m| (0..n).map(|i| (i + m).min(n - 1) - (i - m).max(0) + 1).sum();
    multiples: "for (int d = 2; d < n; d++) for (int k = d * d; k < n; k += d) mark[k] = 1;"
        => |n, _m| (2..n).map(|d| going(d * d, |k| k < n, |k| k + d)).sum();
    multiples_in_a_segment: "for (long d = 2; d * d < n; d++) { long first = Math.max(d * d, (m + d - 1) / d * d);
        for (long k = first; k < n; k += d) mark[0] = 1; }"
        => |n, m| (2..n.max(2)).take_while(|d| d * d < n).map(|d| going((d * d).max((m + d - 1) / d * d), |k| k < n, |k| k + d)).sum();
    doubling_outside: "for (int s = 1; s < n; s *= 2) for (int i = 0; i < s; i++) mark[i] = 1;"
        => |n, _m| going_sum(n);
    after_a_loop: "int c = 0; for (int i = 0; i < n; i += 2) c += 3; for (int i = 0; i < c; i++) mark[i] = 1;" => |n, _m| (n + 1) / 2 * 3;
    after_the_counter: "int i = 0; for (; i < n; i += 4) { } for (int j = 0; j < i; j++) mark[j] = 1;" => |n, _m| (n + 3) / 4 * 4;
    larger_by_condition: "int e = n; if (e < m) e = m; for (int i = 0; i < e; i++) mark[i] = 1;" => |n, m| n.max(m);
    smaller_by_choice: "int e = n < m ? n : m; for (int i = 0; i < e; i++) mark[i] = 1;" => |n, m| n.min(m);
    shadowed: "for (int i = 0; i < n; i++) { int t = i * 2; for (int j = t; j < n; j++) mark[j] = 1; }"
        => |n, _m| (0..n).map(|i| (n - 2 * i).max(0)).sum();
    skipped_rounds: "for (int i = 0; i < n; i++) { if (i < m) continue; mark[i] = 1; }" => |n, m| (n - m).max(0);
    upper_part: "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (j > i) mark[j] = 1;" => |n, _m| n * (n - 1) / 2;
    part_of_a_part: "for (int i = 0; i < n; i++) if (i >= 2 && i < m) mark[i] = 1;" => |n, m| (n.min(m) - 2).max(0);
    outside_a_part: "for (int i = 0; i < n; i++) if (i < 2 || i >= n - 2) mark[i] = 1;" => |n, _m| n.min(4);
    one_round: "for (int i = 0; i < n; i++) if (i == 0) mark[i] = 1;" => |n, _m| n.min(1);
    by_parameters: "if (n > m) for (int i = 0; i < m; i++) mark[i] = 1;" => |n, m| if n > m { m } else { 0 };
    depending_on_the_round: "for (int i = 0; i < n; i++) if (i > 3) for (int j = 0; j < i; j++) mark[j] = 1;" => |n, _m| (4..n.max(4)).sum();
    even: "for (int i = 0; i < n; i++) if ((i & 1) == 0) mark[i] = 1;" => |n, _m| (n + 1) / 2;
    not_divisible: "for (int i = 0; i < n; i++) if ((i & 3) != 0) mark[i] = 1;" => |n, _m| (0..n).filter(|i| i & 3 != 0).count() as i64;
    one_bit: "for (int i = m; i < n; i++) if ((i & 4) == 0) mark[i] = 1;" => |n, m| (m..n).filter(|i| i & 4 == 0).count() as i64;
    some_bits: "for (int i = m; i < n; i++) if (4 == (i & 5)) mark[i] = 1;" => |n, m| (m..n).filter(|i| i & 5 == 4).count() as i64;
    bits_below_zero: "for (int i = 0 - n; i < m; i++) if ((i & 3) == 1) mark[0] = 1;" => |n, m| (-n..m).filter(|i| i & 3 == 1).count() as i64;
    every_third: "for (int i = m; i < n; i++) if (i % 3 == 1) mark[i] = 1;" => |n, m| (m..n).filter(|i| i % 3 == 1).count() as i64;
    every_third_below_zero: "for (int i = 0 - n; i < m; i++) if (i % 3 == 0) mark[0] = 1;" => |n, m| (-n..m).filter(|i| i % 3 == 0).count() as i64;
    every_third_downward: "for (int i = n; i > m; i--) if (i % 3 == 1) mark[i] = 1;" => |n, m| (m + 1..=n).filter(|i| i % 3 == 1).count() as i64;
    every_mth: "for (int i = 0; i < n; i++) if (i % (m + 1) == 0) mark[i] = 1;" => |n, m| (0..n).filter(|i| i % (m + 1) == 0).count() as i64;
    all_but_every_mth: "for (int i = n; i > 0; i--) if (i % (m + 2) != 1) mark[i] = 1;"
        => |n, m| (1..=n).filter(|i| i % (m + 2) != 1).count() as i64;
    first_of_each_m: "for (int i = 0; i < n; i++) if (i % (m + 4) < 3) mark[i] = 1;" => |n, m| (0..n).filter(|i| i % (m + 4) < 3).count() as i64;
    last_of_each_five: "for (int i = m; i < n; i++) if (i % 5 >= 2) mark[i] = 1;" => |n, m| (m..n).filter(|i| i % 5 >= 2).count() as i64;
    step_without_common_divisor: "for (int i = m; i < n; i += 3) if (i % 4 == 1) mark[i] = 1;"
        => |n, m| (m..n.max(m)).step_by(3).filter(|i| i % 4 == 1).count() as i64;
    step_with_common_divisor: "for (int i = 1; i < n; i += 2) if (i % 6 == 3) mark[i] = 1;"
        => |n, _m| (1..n.max(1)).step_by(2).filter(|i| i % 6 == 3).count() as i64;
    step_that_is_the_divisor: "for (int i = 0; i < n; i += 2) if (i % 2 == 0) mark[i] = 1;" => |n, _m| (n + 1) / 2;
    chequered: "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if ((i + j) % 2 == 0) mark[j] = 1;"
        => |n, m| (0..n).map(|i| (0..m).filter(|j| (i + j) % 2 == 0).count() as i64).sum();
    bits_as_a_bound: "for (int i = 0; i < n; i++) for (int j = 0; j < (i & 7); j++) mark[j] = 1;" => |n, _m| (0..n).map(|i| i & 7).sum();
    floor_mod: "for (int i = Math.floorMod(m - n, 7); i > 0; i--) mark[i] = 1;" => |n, m| (m - n).rem_euclid(7);
    array_length: "double[] a = new double[n + 2]; for (int i = 0; i < a.length; i++) mark[i] = 1;" => |n, _m| n + 2;
    elements: "int[] a = new int[n]; for (int x : a) mark[x] = 1;" => |n, _m| n;
    rows: "int[][] a = new int[n][m]; for (int[] r : a) for (int i = 1; i < r.length; i++) mark[i] = 1;" => |n, m| n * (m - 1).max(0);
    constants: "final int k = 4; for (int i = 0; i < n * k - 1; i++) mark[i] = 1;" => |n, _m| (4 * n - 1).max(0);
}

fn going_sum(n: i64) -> i64 {
    let (mut size, mut sum) = (1, 0);
    while size < n {
        sum += size;
        size *= 2;
    }
    sum
}
