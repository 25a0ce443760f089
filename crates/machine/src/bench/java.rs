//! Costs of arithmetic in a Java virtual machine: a generated Java program that measures them, and a parser for its output.
//!
//! The program is generated from a short table, since Java has no constant generics: each operation of each type becomes four methods of
//! straight-line code (few and many steps, one chain and several), and the JIT compiles them as it does a user's loops.

use std::fmt::Write;

use super::{BenchQuantity, BenchSample, CostMode, assemble};
use crate::{ArithmeticCosts, ArithmeticOp, MessageMetric, Named, NumberType, OperationTiming, PairClass};

/// Class name of the program.
pub const CLASS_NAME: &str = "Costs";

/// JVM options: compile before continuing, collect garbage with one thread, and do not inline these methods.
pub const JVM_FLAGS: [&str; 5] = [
    "-Xbatch",
    "-XX:+UseSerialGC",
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=dontinline,Costs.step*",
    "-XX:CompileCommand=dontinline,Costs.called",
];

/// The part of the program that is the same for all operations.
const TEMPLATE: &str = include_str!("java/Costs.java");

/// Number of chains, and their steps in a round of the short and the long loop: enough to keep the execution units busy, few enough for the
/// registers and for the JIT.
const fn loop_shape(manner: CostMode) -> (usize, [usize; 2]) {
    match manner {
        CostMode::Latency => (1, [8, 24]),
        CostMode::Throughput => (6, [2, 8]),
    }
}

/// The Java types that have their own costs.
const TYPES: [(&str, NumberType); 4] =
    [("int", NumberType::Int32), ("long", NumberType::Int64), ("float", NumberType::Float32), ("double", NumberType::Float64)];

/// Operations of a step besides the measured one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JavaStepOverhead {
    Nothing,
    Addition,
    AdditionAndMultiplication,
}

/// A step: the Java expression of the next number, where `$a` and `$b` stand for the last two, `$x` for a constant that depends on the last,
/// and `$k` for the index of the chain.
struct JavaStep {
    what: ArithmeticOp,
    types: &'static [&'static str],
    overhead: JavaStepOverhead,
    /// Statement before the expression.
    prologue: &'static str,
    expression: &'static str,
    /// Replacement for the throughput, where the compiler does better in the best case.
    best_case: Option<(JavaStepOverhead, &'static str)>,
    /// The type whose cost is measured, if not that of the chain.
    measured_type: Option<&'static str>,
}

const ALL: &[&str] = &["int", "long", "float", "double"];
const INTEGER: &[&str] = &["int", "long"];
const FLOATING: &[&str] = &["float", "double"];
const DOUBLE: &[&str] = &["double"];

const fn java_step(what: ArithmeticOp, types: &'static [&'static str], besides: JavaStepOverhead, text: &'static str) -> JavaStep {
    JavaStep { what, types, overhead: besides, prologue: "", expression: text, best_case: None, measured_type: None }
}

/// All steps; additions and multiplications come first, because others contain them. In the best case a divisor is a constant, which becomes a
/// multiplication, and a called method is short, and is inlined.
const STEPS: &[JavaStep] = &[
    java_step(ArithmeticOp::Add, ALL, JavaStepOverhead::Nothing, "$a + $b"),
    java_step(ArithmeticOp::Multiply, ALL, JavaStepOverhead::Nothing, "$a * $b"),
    java_step(ArithmeticOp::Subtract, ALL, JavaStepOverhead::Nothing, "$a - $b"),
    JavaStep {
        best_case: Some((JavaStepOverhead::Addition, "$b / 1000003 + same")),
        ..java_step(ArithmeticOp::Divide, INTEGER, JavaStepOverhead::Nothing, "same / $b")
    },
    java_step(ArithmeticOp::Divide, FLOATING, JavaStepOverhead::Nothing, "same / $b"),
    JavaStep {
        best_case: Some((JavaStepOverhead::Addition, "$b % 1000003 + same")),
        ..java_step(ArithmeticOp::Remainder, INTEGER, JavaStepOverhead::Addition, "$b % same + same")
    },
    java_step(ArithmeticOp::Remainder, FLOATING, JavaStepOverhead::Addition, "$b % same + same"),
    java_step(ArithmeticOp::Compare, ALL, JavaStepOverhead::Addition, "$a + $b; if (n < never) n = same"),
    java_step(ArithmeticOp::Bits, INTEGER, JavaStepOverhead::Addition, "($b ^ same) + same"),
    java_step(ArithmeticOp::Shift, INTEGER, JavaStepOverhead::Addition, "($b >> 3) + same"),
    java_step(ArithmeticOp::Convert, &["int"], JavaStepOverhead::Addition, "(short) $b + same"),
    java_step(ArithmeticOp::Convert, &["long"], JavaStepOverhead::Addition, "(long) (int) $b + same"),
    // A chain of integers, since the conversion back writes only part of a register, and so depends on its last writer.
    JavaStep {
        measured_type: Some("float"),
        ..java_step(ArithmeticOp::Convert, &["int"], JavaStepOverhead::Addition, "(int) Float.intBitsToFloat($b) + four")
    },
    JavaStep {
        measured_type: Some("double"),
        ..java_step(ArithmeticOp::Convert, &["long"], JavaStepOverhead::Addition, "(long) Double.longBitsToDouble($b) + four")
    },
    JavaStep { prologue: "write[here + $k] = $b;", ..java_step(ArithmeticOp::Store, ALL, JavaStepOverhead::Nothing, "again[there + $k]") },
    java_step(ArithmeticOp::Load, &["int"], JavaStepOverhead::Nothing, "read[$b]"),
    java_step(ArithmeticOp::Load, &["long"], JavaStepOverhead::Nothing, "read[(int) $b]"),
    java_step(ArithmeticOp::Load, &["float"], JavaStepOverhead::Nothing, "read[Float.floatToRawIntBits($b)]"),
    java_step(ArithmeticOp::Load, &["double"], JavaStepOverhead::Nothing, "read[(int) Double.doubleToRawLongBits($b)]"),
    java_step(ArithmeticOp::Abs, ALL, JavaStepOverhead::Addition, "Math.abs($b) - same"),
    java_step(ArithmeticOp::Floor, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.floor($x)"),
    java_step(ArithmeticOp::Sqrt, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.sqrt($x)"),
    java_step(ArithmeticOp::Sin, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.sin($x)"),
    java_step(ArithmeticOp::Cos, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.cos($x)"),
    java_step(ArithmeticOp::Tan, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.tan($x)"),
    java_step(ArithmeticOp::Exp, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.exp($x)"),
    java_step(ArithmeticOp::Log, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.log($x)"),
    java_step(ArithmeticOp::Pow, DOUBLE, JavaStepOverhead::AdditionAndMultiplication, "Math.pow($x, same)"),
    java_step(ArithmeticOp::Random, DOUBLE, JavaStepOverhead::Nothing, "Math.random()"),
    JavaStep {
        best_case: Some((JavaStepOverhead::Addition, "inlined($a, $b)")),
        ..java_step(ArithmeticOp::Call, &["int"], JavaStepOverhead::Addition, "called($a, $b)")
    },
];

/// Source text of the program.
pub fn program_source() -> String {
    let mut program = JavaProgram::default();
    for step in STEPS {
        for of in step.types {
            program.measure(step, of, CostMode::Latency);
            program.measure(step, of, CostMode::Throughput);
        }
    }
    program.allocate("small", CostMode::Latency);
    program.allocate("large", CostMode::Throughput);
    program.text()
}

/// The program under construction.
#[derive(Default)]
struct JavaProgram {
    methods: String,
    /// Method names, by the index that calls them.
    names: Vec<String>,
    main: String,
}

impl JavaProgram {
    fn measure(&mut self, step: &JavaStep, of: &str, manner: CostMode) {
        let (chains, steps) = loop_shape(manner);
        let best = step.best_case.filter(|_| manner == CostMode::Throughput);
        let (besides, text) = best.unwrap_or((step.overhead, step.expression));
        let step = &JavaStep { overhead: besides, expression: text, ..*step };
        let [few, many] = steps.map(|steps| self.method(step, of, chains, steps));
        let end = mode_name(manner);
        let result = match step.what {
            ArithmeticOp::Add => format!("double add_{of}_{end} = "),
            ArithmeticOp::Multiply => format!("double multiply_{of}_{end} = "),
            _ => String::new(),
        };
        let besides = match step.overhead {
            JavaStepOverhead::Nothing => "0".to_owned(),
            JavaStepOverhead::Addition => format!("add_{of}_{end}"),
            JavaStepOverhead::AdditionAndMultiplication => format!("add_{of}_{end} + multiply_{of}_{end}"),
        };
        let name = format!("{} {} {end}", step.measured_type.unwrap_or(of), step.what.name());
        let difference = (steps[1] - steps[0]) * chains;
        self.add_line(&format!("{result}measure(\"{name}\", {few}, {many}, {difference}, {besides});"));
    }

    fn allocate(&mut self, method: &str, manner: CostMode) {
        self.names.push(method.to_owned());
        let which = self.names.len() - 1;
        self.add_line(&format!("allocate(\"int new {}\", {which}, {method});", mode_name(manner)));
    }

    /// Adds a method; returns its index.
    fn method(&mut self, step: &JavaStep, of: &str, chains: usize, steps: usize) -> usize {
        let name = format!("step{}", self.names.len());
        let start = |chain: usize| match step.what {
            ArithmeticOp::Load => format!("{of} a{chain} = read[{chain}], b{chain} = read[{chain}];"),
            _ => format!("{of} a{chain} = first + {chain} * apart, b{chain} = second + {chain} * apart;"),
        };
        let one = |chain: usize| {
            let filled = |text: &str| {
                text.replace("$x", "(same + $b * nothing)")
                    .replace("$a", &format!("a{chain}"))
                    .replace("$b", &format!("b{chain}"))
                    .replace("$k", &chain.to_string())
            };
            format!("{}n = {}; a{chain} = b{chain}; b{chain} = n;", filled(step.prologue), filled(step.expression))
        };
        let each = |part: &dyn Fn(usize) -> String| (0..chains).map(part).collect::<Vec<_>>().join(" ");
        let (starts, round, sum) = (each(&start), each(&one), each(&|chain| format!("+ a{chain} + b{chain}")));
        let fields = format!(
            "{of} first = first_{of}, second = second_{of}, apart = apart_{of}, same = same_{of}, nothing = nothing_{of}, never = never_{of}, four = four_{of}, n; \
             {of}[] read = read_{of}, write = write_{of}, again = again_{of}; int here = Costs.here, there = Costs.there;"
        );
        let rounds = vec![round; steps].join("\n            ");
        let _ = write!(
            self.methods,
            "\n    static double {name}(int rounds) {{\n        {fields}\n        {starts}\n        \
             for (int round = 0; round < rounds; round++) {{\n            {rounds}\n        }}\n        return 0.0 {sum};\n    }}\n"
        );
        self.names.push(name);
        self.names.len() - 1
    }

    fn add_line(&mut self, text: &str) {
        self.main += &format!("        {text}\n");
    }

    fn text(&self) -> String {
        let JavaProgram { methods, names, main } = self;
        let cases: String =
            names.iter().enumerate().map(|(which, name)| format!("            case {which}: return {name}(rounds);\n")).collect();
        format!(
            "{TEMPLATE}{methods}\n    static double run(int which, int rounds) {{\n        switch (which) {{\n{cases}            \
             default: return 0;\n        }}\n    }}\n\n    public static void main(String[] arguments) {{\n        roundTrip();\n{main}        \
             if (sink == 0.5) System.out.println(kept);\n    }}\n}}\n"
        )
    }
}

fn mode_name(manner: CostMode) -> &'static str {
    match manner {
        CostMode::Latency => "latency",
        CostMode::Throughput => "throughput",
    }
}

/// Number of result lines that the program prints.
pub fn line_count() -> usize {
    let of_steps: usize = STEPS.iter().map(|step| step.types.len()).sum();
    // One more for allocation.
    2 * (of_steps + 1)
}

/// Parses a result line of the program; none for other output.
pub fn parse_line(line: &str) -> Option<BenchSample> {
    let mut words = line.strip_prefix("sintonia-cost ")?.split_ascii_whitespace();
    let name = words.next()?;
    let of = TYPES.iter().find(|(java, _)| *java == name)?.1;
    let what = ArithmeticOp::from_name(words.next()?)?;
    let end = words.next()?;
    let manner = [CostMode::Latency, CostMode::Throughput].into_iter().find(|manner| mode_name(*manner) == end)?;
    let values = words.map(|value| value.parse().ok().filter(|value: &f64| value.is_finite())).collect::<Option<Vec<f64>>>()?;
    BenchSample::from_values(BenchQuantity::Compute { node: 0, of, what, manner }, 0, &values).ok()
}

/// A sample of half round trips of tasks between coordinator and worker on one node.
pub fn task_sample(bytes: u64, seconds: &[f64]) -> Option<BenchSample> {
    BenchSample::from_values(BenchQuantity::Message { class: PairClass::SameNode, what: MessageMetric::Task }, bytes, seconds).ok()
}

/// Cost of a task message by size, from several launches.
pub fn task_timing(launches: &[Vec<BenchSample>]) -> Option<OperationTiming> {
    assemble::message_timing(PairClass::SameNode, MessageMetric::Task, launches)
}

/// Costs of arithmetic from several launches. A predicted comparison has no dependent: after a chain of other operations it seems free, so its
/// latency is at least its throughput.
pub fn costs(launches: &[Vec<BenchSample>]) -> ArithmeticCosts {
    let mut costs = assemble::costs_from_samples(launches);
    for cost in costs.values_mut().filter_map(|costs| costs.get_mut(&ArithmeticOp::Compare)) {
        if cost.latency.middle() < cost.throughput.middle() {
            cost.latency = cost.throughput;
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_sample_and_anything_else_is_none() {
        let sample = parse_line("sintonia-cost double divide throughput 1e-9 3e-9 2E-9").unwrap();
        assert_eq!((sample.count, sample.kept), (3, vec![1e-9, 2e-9, 3e-9]));
        for bad in [
            "",
            "hello",
            "sintonia-cost",
            "sintonia-cost double divide throughput",
            "sintonia-cost double leap latency 1",
            "sintonia-cost int add latency NaN",
        ] {
            assert_eq!(parse_line(bad), None, "{bad}");
        }
    }

    #[test]
    fn launches_give_costs_and_local_variables_are_free() {
        let launch = |value: f64| {
            ["latency", "throughput"].map(|manner| parse_line(&format!("sintonia-cost long add {manner} {value}")).unwrap()).to_vec()
        };
        let costs = costs(&[launch(1e-9), launch(3e-9), launch(2e-9)]);
        let of = &costs[&NumberType::Int64];
        assert_eq!((of[&ArithmeticOp::Add].latency.middle(), of[&ArithmeticOp::Access].latency.high()), (2e-9, 0.0));
        assert_eq!(costs.len(), 1);
    }

    #[test]
    fn the_program_measures_every_operation_of_every_type_it_has() {
        let text = program_source();
        assert_eq!(
            text.matches("        measure(\"").count()
                + text.matches(" = measure(\"").count()
                + text.matches("        allocate(\"").count(),
            line_count()
        );
        assert!(text.contains("n = Math.abs(b0) - same;") && text.contains("n = Math.sqrt((same + b5 * nothing));"));
    }
}
