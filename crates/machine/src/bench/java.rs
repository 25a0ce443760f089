//! What arithmetic costs in a Java virtual machine: a Java program that measures it, and what is made of its output.
//!
//! The program is written anew from a short table, since Java has no constants as parameters: each operation of each type is four methods of
//! straight code (few steps and many, one chain and several side by side), and the machine's compiler sees them as it sees a user's loops.

use std::fmt::Write;

use super::{Manner, Quantity, Sample, assemble};
use crate::{Arithmetic, Costs, Message, Named, NumberType, PairClass, Timing};

/// The name of the class.
pub const CLASS: &str = "Costs";

/// What the virtual machine is told: to compile before it goes on, to collect memory with one thread, and not to make one method of two.
pub const OPTIONS: [&str; 5] = [
    "-Xbatch",
    "-XX:+UseSerialGC",
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=dontinline,Costs.step*",
    "-XX:CompileCommand=dontinline,Costs.called",
];

/// The part of the program that is the same for all operations.
const FRAME: &str = include_str!("java/Costs.java");

/// Chains, and their steps in the round of the short loop and of the long one: enough to keep the units of a core busy, few enough for its
/// registers and for a compiler that is waited for.
const fn shape(manner: Manner) -> (usize, [usize; 2]) {
    match manner {
        Manner::Latency => (1, [8, 24]),
        Manner::Throughput => (6, [2, 8]),
    }
}

/// The types of Java that cost something of their own.
const TYPES: [(&str, NumberType); 4] =
    [("int", NumberType::Int32), ("long", NumberType::Int64), ("float", NumberType::Float32), ("double", NumberType::Float64)];

/// What a step holds besides its operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Besides {
    Nothing,
    Addition,
    AdditionAndMultiplication,
}

/// A step: Java text of the next number, in which `$a` and `$b` stand for the last two, `$x` for one that is always the same but depends on
/// the last, and `$k` for the number of the chain.
struct Step {
    what: Arithmetic,
    types: &'static [&'static str],
    besides: Besides,
    /// What is done before.
    first: &'static str,
    text: &'static str,
    /// What is done instead for the throughput, where the compiler has something better in the best case.
    best: Option<(Besides, &'static str)>,
    /// The type that it tells something of, if not that of the chain.
    counts_for: Option<&'static str>,
}

const ALL: &[&str] = &["int", "long", "float", "double"];
const WHOLE: &[&str] = &["int", "long"];
const FRACTION: &[&str] = &["float", "double"];
const DOUBLE: &[&str] = &["double"];

const fn step(what: Arithmetic, types: &'static [&'static str], besides: Besides, text: &'static str) -> Step {
    Step { what, types, besides, first: "", text, best: None, counts_for: None }
}

/// All steps; additions and multiplications come first, because others hold them. In the best case a divisor is a constant, of which the compiler makes a
/// multiplication, and a method that is called is short, and becomes part of its caller.
const STEPS: &[Step] = &[
    step(Arithmetic::Add, ALL, Besides::Nothing, "$a + $b"),
    step(Arithmetic::Multiply, ALL, Besides::Nothing, "$a * $b"),
    step(Arithmetic::Subtract, ALL, Besides::Nothing, "$a - $b"),
    Step { best: Some((Besides::Addition, "$b / 1000003 + same")), ..step(Arithmetic::Divide, WHOLE, Besides::Nothing, "same / $b") },
    step(Arithmetic::Divide, FRACTION, Besides::Nothing, "same / $b"),
    Step {
        best: Some((Besides::Addition, "$b % 1000003 + same")),
        ..step(Arithmetic::Remainder, WHOLE, Besides::Addition, "$b % same + same")
    },
    step(Arithmetic::Remainder, FRACTION, Besides::Addition, "$b % same + same"),
    step(Arithmetic::Compare, ALL, Besides::Addition, "$a + $b; if (n < never) n = same"),
    step(Arithmetic::Bits, WHOLE, Besides::Addition, "($b ^ same) + same"),
    step(Arithmetic::Shift, WHOLE, Besides::Addition, "($b >> 3) + same"),
    step(Arithmetic::Convert, &["int"], Besides::Addition, "(short) $b + same"),
    step(Arithmetic::Convert, &["long"], Besides::Addition, "(long) (int) $b + same"),
    // A chain of whole numbers, since the way back leaves a part of its result as it was, and so waits for who wrote it last.
    Step { counts_for: Some("float"), ..step(Arithmetic::Convert, &["int"], Besides::Addition, "(int) Float.intBitsToFloat($b) + four") },
    Step {
        counts_for: Some("double"),
        ..step(Arithmetic::Convert, &["long"], Besides::Addition, "(long) Double.longBitsToDouble($b) + four")
    },
    Step { first: "write[here + $k] = $b;", ..step(Arithmetic::Store, ALL, Besides::Nothing, "again[there + $k]") },
    step(Arithmetic::Load, &["int"], Besides::Nothing, "read[$b]"),
    step(Arithmetic::Load, &["long"], Besides::Nothing, "read[(int) $b]"),
    step(Arithmetic::Load, &["float"], Besides::Nothing, "read[Float.floatToRawIntBits($b)]"),
    step(Arithmetic::Load, &["double"], Besides::Nothing, "read[(int) Double.doubleToRawLongBits($b)]"),
    step(Arithmetic::Abs, ALL, Besides::Addition, "Math.abs($b) - same"),
    step(Arithmetic::Floor, DOUBLE, Besides::AdditionAndMultiplication, "Math.floor($x)"),
    step(Arithmetic::Sqrt, DOUBLE, Besides::AdditionAndMultiplication, "Math.sqrt($x)"),
    step(Arithmetic::Sin, DOUBLE, Besides::AdditionAndMultiplication, "Math.sin($x)"),
    step(Arithmetic::Cos, DOUBLE, Besides::AdditionAndMultiplication, "Math.cos($x)"),
    step(Arithmetic::Tan, DOUBLE, Besides::AdditionAndMultiplication, "Math.tan($x)"),
    step(Arithmetic::Exp, DOUBLE, Besides::AdditionAndMultiplication, "Math.exp($x)"),
    step(Arithmetic::Log, DOUBLE, Besides::AdditionAndMultiplication, "Math.log($x)"),
    step(Arithmetic::Pow, DOUBLE, Besides::AdditionAndMultiplication, "Math.pow($x, same)"),
    step(Arithmetic::Random, DOUBLE, Besides::Nothing, "Math.random()"),
    Step { best: Some((Besides::Addition, "inlined($a, $b)")), ..step(Arithmetic::Call, &["int"], Besides::Addition, "called($a, $b)") },
];

/// The text of the program.
pub fn source() -> String {
    let mut program = Program::default();
    for step in STEPS {
        for of in step.types {
            program.measure(step, of, Manner::Latency);
            program.measure(step, of, Manner::Throughput);
        }
    }
    program.allocate("small", Manner::Latency);
    program.allocate("large", Manner::Throughput);
    program.text()
}

/// The program as far as it is written.
#[derive(Default)]
struct Program {
    methods: String,
    /// Their names, by the number that they are called by.
    names: Vec<String>,
    main: String,
}

impl Program {
    fn measure(&mut self, step: &Step, of: &str, manner: Manner) {
        let (chains, steps) = shape(manner);
        let best = step.best.filter(|_| manner == Manner::Throughput);
        let (besides, text) = best.unwrap_or((step.besides, step.text));
        let step = &Step { besides, text, ..*step };
        let [few, many] = steps.map(|steps| self.method(step, of, chains, steps));
        let end = word(manner);
        let result = match step.what {
            Arithmetic::Add => format!("double add_{of}_{end} = "),
            Arithmetic::Multiply => format!("double multiply_{of}_{end} = "),
            _ => String::new(),
        };
        let besides = match step.besides {
            Besides::Nothing => "0".to_owned(),
            Besides::Addition => format!("add_{of}_{end}"),
            Besides::AdditionAndMultiplication => format!("add_{of}_{end} + multiply_{of}_{end}"),
        };
        let name = format!("{} {} {end}", step.counts_for.unwrap_or(of), step.what.name());
        let difference = (steps[1] - steps[0]) * chains;
        self.line(&format!("{result}measure(\"{name}\", {few}, {many}, {difference}, {besides});"));
    }

    fn allocate(&mut self, method: &str, manner: Manner) {
        self.names.push(method.to_owned());
        let which = self.names.len() - 1;
        self.line(&format!("allocate(\"int new {}\", {which}, {method});", word(manner)));
    }

    /// One more method, and the number that it is called by.
    fn method(&mut self, step: &Step, of: &str, chains: usize, steps: usize) -> usize {
        let name = format!("step{}", self.names.len());
        let start = |chain: usize| match step.what {
            Arithmetic::Load => format!("{of} a{chain} = read[{chain}], b{chain} = read[{chain}];"),
            _ => format!("{of} a{chain} = first + {chain} * apart, b{chain} = second + {chain} * apart;"),
        };
        let one = |chain: usize| {
            let filled = |text: &str| {
                text.replace("$x", "(same + $b * nothing)")
                    .replace("$a", &format!("a{chain}"))
                    .replace("$b", &format!("b{chain}"))
                    .replace("$k", &chain.to_string())
            };
            format!("{}n = {}; a{chain} = b{chain}; b{chain} = n;", filled(step.first), filled(step.text))
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

    fn line(&mut self, text: &str) {
        self.main += &format!("        {text}\n");
    }

    fn text(&self) -> String {
        let Program { methods, names, main } = self;
        let cases: String =
            names.iter().enumerate().map(|(which, name)| format!("            case {which}: return {name}(rounds);\n")).collect();
        format!(
            "{FRAME}{methods}\n    static double run(int which, int rounds) {{\n        switch (which) {{\n{cases}            \
             default: return 0;\n        }}\n    }}\n\n    public static void main(String[] arguments) {{\n        roundTrip();\n{main}        \
             if (sink == 0.5) System.out.println(kept);\n    }}\n}}\n"
        )
    }
}

fn word(manner: Manner) -> &'static str {
    match manner {
        Manner::Latency => "latency",
        Manner::Throughput => "throughput",
    }
}

/// How many lines the program says of what it measured.
pub fn lines() -> usize {
    let of_steps: usize = STEPS.iter().map(|step| step.types.len()).sum();
    // One more is allocation.
    2 * (of_steps + 1)
}

/// What a line of the program's output says was measured, if it is one of those.
pub fn hear(line: &str) -> Option<Sample> {
    let mut words = line.strip_prefix("sintonia-cost ")?.split_ascii_whitespace();
    let name = words.next()?;
    let of = TYPES.iter().find(|(java, _)| *java == name)?.1;
    let what = Arithmetic::named(words.next()?)?;
    let end = words.next()?;
    let manner = [Manner::Latency, Manner::Throughput].into_iter().find(|manner| word(*manner) == end)?;
    let values = words.map(|value| value.parse().ok().filter(|value: &f64| value.is_finite())).collect::<Option<Vec<f64>>>()?;
    Sample::of(Quantity::Compute { node: 0, of, what, manner }, 0, &values).ok()
}

/// Half of the round trips of tasks of so many bytes between a coordinator and a worker on one node.
pub fn task(bytes: u64, seconds: &[f64]) -> Option<Sample> {
    Sample::of(Quantity::Message { class: PairClass::SameNode, what: Message::Task }, bytes, seconds).ok()
}

/// What a task on its way costs against its size, by what several launches measured.
pub fn timing(launches: &[Vec<Sample>]) -> Option<Timing> {
    assemble::message(PairClass::SameNode, Message::Task, launches)
}

/// What arithmetic costs, by what several launches of the program said. A comparison waits for nothing and is waited for by nothing, as its outcome is
/// guessed: behind a chain of other operations it seems to take no time, but alone it takes no less than among many.
pub fn costs(launches: &[Vec<Sample>]) -> Costs {
    let mut costs = assemble::costs(launches);
    for cost in costs.values_mut().filter_map(|costs| costs.get_mut(&Arithmetic::Compare)) {
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
        let sample = hear("sintonia-cost double divide throughput 1e-9 3e-9 2E-9").unwrap();
        assert_eq!((sample.count, sample.kept), (3, vec![1e-9, 2e-9, 3e-9]));
        for bad in [
            "",
            "hello",
            "sintonia-cost",
            "sintonia-cost double divide throughput",
            "sintonia-cost double leap latency 1",
            "sintonia-cost int add latency NaN",
        ] {
            assert_eq!(hear(bad), None, "{bad}");
        }
    }

    #[test]
    fn launches_give_costs_and_local_variables_are_free() {
        let launch = |value: f64| {
            ["latency", "throughput"].map(|manner| hear(&format!("sintonia-cost long add {manner} {value}")).unwrap()).to_vec()
        };
        let costs = costs(&[launch(1e-9), launch(3e-9), launch(2e-9)]);
        let of = &costs[&NumberType::Int64];
        assert_eq!((of[&Arithmetic::Add].latency.middle(), of[&Arithmetic::Access].latency.high()), (2e-9, 0.0));
        assert_eq!(costs.len(), 1);
    }

    #[test]
    fn the_program_measures_every_operation_of_every_type_it_has() {
        let text = source();
        assert_eq!(
            text.matches("        measure(\"").count()
                + text.matches(" = measure(\"").count()
                + text.matches("        allocate(\"").count(),
            lines()
        );
        assert!(text.contains("n = Math.abs(b0) - same;") && text.contains("n = Math.sqrt((same + b5 * nothing));"));
    }
}
