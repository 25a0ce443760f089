//! A part in C or C++.

use std::fmt::Write;

use super::{Part, SourceFile};

/// What both files of a part begin with: for every type, how a value is made from a number, and how it enters a checksum.
const PRELUDE: &str = r#"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint64_t word;
#ifdef __cplusplus
#define FROM_C extern "C"
#else
#define FROM_C
#define bool _Bool
#endif
static const word pool[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
static inline word mix(word h, const void *data, int bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    for (int i = 0; i < bytes; i++) h = (h ^ at[i]) * 1099511628211u;
    return h ^ h >> 29;
}
static inline word next(word h) { h += 0x9e3779b97f4a7c15u; h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u; return h ^ h >> 27; }
static inline double fraction(word r) { return (double)(int64_t)(r % 2000003) / 7 - 1000; }
#define PLAIN(name, type, from) \
    typedef type name; \
    static inline name make_##name(word r) { return (name)(from); } \
    static inline word mix_##name(word h, name value) { return mix(h, &value, sizeof value); }
PLAIN(t_sc, signed char, r) PLAIN(t_uc, unsigned char, r) PLAIN(t_s, short, r) PLAIN(t_us, unsigned short, r) PLAIN(t_i, int, r)
PLAIN(t_u, unsigned, r) PLAIN(t_l, long, r) PLAIN(t_ul, unsigned long, r) PLAIN(t_ll, long long, r) PLAIN(t_b, bool, r & 1)
PLAIN(t_q, __int128, (__int128)next(r) << 64 | r) PLAIN(t_f, float, fraction(r)) PLAIN(t_d, double, fraction(r))
typedef const word *t_p;
static inline t_p make_t_p(word r) { return &pool[r % 16]; }
static inline word mix_t_p(word h, t_p value) { return mix(h, value, sizeof *value); }
typedef long double t_e;
static inline t_e make_t_e(word r) { return (t_e)fraction(r) * 3; }
static inline word mix_t_e(word h, t_e value) { return mix(h, &value, 10); }
#define COMPLEX(name, type, part) \
    typedef type name; \
    static inline name make_##name(word r) { name value; __real__ value = make_##part(r); __imag__ value = make_##part(next(r)); return value; } \
    static inline word mix_##name(word h, name value) { return mix_##part(mix_##part(h, __real__ value), __imag__ value); }
COMPLEX(t_cf, _Complex float, t_f) COMPLEX(t_cd, _Complex double, t_d) COMPLEX(t_ce, _Complex long double, t_e)
#define VECTOR(name, bytes) \
    typedef float name __attribute__((vector_size(bytes))); \
    static inline name make_##name(word r) { float all[bytes / 4]; name value; \
        for (int i = 0; i < bytes / 4; i++) { r = next(r); all[i] = make_t_f(r); } \
        memcpy(&value, all, bytes); return value; } \
    static inline word mix_##name(word h, name value) { return mix(h, &value, bytes); }
VECTOR(t_v2, 8) VECTOR(t_v4, 16) VECTOR(t_v8, 32) VECTOR(t_v16, 64)
"#;

/// Types that are the same in every place.
const PLAIN: [&str; 14] = ["t_sc", "t_uc", "t_s", "t_us", "t_i", "t_u", "t_l", "t_ul", "t_ll", "t_b", "t_f", "t_d", "t_p", "t_e"];
const UNUSUAL: [&str; 8] = ["t_q", "t_cf", "t_cd", "t_ce", "t_v2", "t_v4", "t_v8", "t_v16"];
/// Types that `va_arg` takes as they are.
const VARIADIC: [&str; 8] = ["t_i", "t_u", "t_l", "t_ul", "t_d", "t_e", "t_p", "t_cd"];

const MOST_ARGUMENTS: usize = 60;
const CALLS: usize = 3;

/// Generates a part with that many functions.
pub(super) fn generate(name: &str, random: &mut fastrand::Rng, functions: usize, cpp: bool) -> Part {
    // What functions without result leave behind.
    let header = format!("{PRELUDE}#define total {name}_total\nextern word total;\n");
    let mut part = CPart { name, random, cpp, structs: Vec::new(), header };
    part.add_structs();
    let ending = if cpp { "cpp" } else { "c" };
    let (mut callee, mut caller) = (format!("{}word total;\n", part.header), part.header.clone());
    let (mut names, mut statics, mut run) = (Vec::new(), Vec::new(), String::new());
    for number in 0..functions {
        let function = part.function(number);
        if function.is_static {
            write!(caller, "static {}", function.definition()).expect("text");
            statics.push(function.name.clone());
        } else {
            callee += &function.definition();
            writeln!(caller, "{};", function.head()).expect("text");
            names.push((function.name.clone(), CALLS));
        }
        if let Some((wrapper, definition)) = function.wrapper() {
            callee += &definition;
            writeln!(caller, "{};", function.head_of(&wrapper)).expect("text");
            names.push((wrapper, CALLS));
            // The wrapper calls it as often again.
            names.iter_mut().rev().nth(1).expect("the function").1 += CALLS;
        }
        caller += &function.caller();
        writeln!(run, "    call_{}();", function.name).expect("text");
    }
    write!(caller, "FROM_C void {name}_run(void)\n{{\n{run}}}\n").expect("text");
    let file = |what: &str, text| SourceFile { name: format!("{name}_{what}.{ending}"), text };
    Part { files: vec![file("callee", callee), file("caller", caller)], functions: names, statics }
}

struct StructType {
    name: String,
    /// Copied by the compiler as it likes.
    is_trivial: bool,
}

struct CPart<'a> {
    name: &'a str,
    random: &'a mut fastrand::Rng,
    cpp: bool,
    structs: Vec<StructType>,
    header: String,
}

/// A parameter: its type, and whether it is a reference.
struct Parameter {
    kind: String,
    is_reference: bool,
}

struct Function {
    name: String,
    result: Option<String>,
    parameters: Vec<Parameter>,
    /// Types of what is passed beyond the parameters.
    variadic: Option<Vec<String>>,
    is_static: bool,
    has_wrapper: bool,
    throws: bool,
}

impl CPart<'_> {
    fn pick(&mut self, list: &[&str]) -> String {
        list[self.random.usize(..list.len())].to_string()
    }

    fn scalar(&mut self) -> String {
        if self.random.u8(..4) == 0 { self.pick(&UNUSUAL) } else { self.pick(&PLAIN) }
    }

    fn add_structs(&mut self) {
        for number in 0..24 {
            let name = format!("{}_s{number}", self.name);
            let is_trivial = !self.cpp || self.random.u8(..4) > 0;
            let text = self.structure(&name, number, is_trivial);
            self.header += &text;
            self.structs.push(StructType { name, is_trivial });
        }
    }

    /// The first ones are small, and the last ones have up to 8 KB.
    fn structure(&mut self, name: &str, number: usize, is_trivial: bool) -> String {
        let fields = self.random.usize(..=number.min(9));
        let (mut list, mut make, mut mixed) = (String::new(), String::new(), String::new());
        for field in 0..fields {
            let kind = self.scalar();
            let longest = if number == 23 && field == 0 { 120 } else { 5 };
            let length = if self.random.bool() { 1 } else { self.random.usize(1..=longest) };
            write!(list, " {kind} f{field}[{length}];").expect("text");
            let each = format!("for (int i = 0; i < {length}; i++)");
            write!(make, " {each} {{ r = next(r); {kind} one = make_{kind}(r); memcpy(&value.f{field}[i], &one, sizeof one); }}")
                .expect("text");
            write!(mixed, " {each} {{ {kind} one; memcpy(&one, &value.f{field}[i], sizeof one); h = mix_{kind}(h, one); }}").expect("text");
        }
        let attribute = match self.random.u8(..8) {
            0 => "__attribute__((packed))",
            1 => "__attribute__((aligned(32)))",
            _ => "",
        };
        if !is_trivial {
            write!(list, " {name}() {{}} {name}(const {name} &other) {{ memcpy((void *)this, &other, sizeof *this); }} ~{name}() {{}}")
                .expect("text");
        }
        format!(
            "typedef struct {attribute} {name} {{{list} }} {name};\n\
             static inline {name} make_{name}(word r) {{ {name} value;{make} return value; }}\n\
             static inline word mix_{name}(word h, const {name} &value) {{{mixed} return h; }}\n"
        )
        .replace(&format!("const {name} &value"), &if self.cpp { format!("const {name} &value") } else { format!("{name} value") })
    }

    fn kind(&mut self) -> String {
        match self.random.u8(..10) {
            0..7 => self.scalar(),
            _ => self.structs[self.random.usize(..self.structs.len())].name.clone(),
        }
    }

    fn function(&mut self, number: usize) -> Function {
        let most = if self.random.bool() { 10 } else { MOST_ARGUMENTS };
        let count = self.random.usize(..=most);
        let mut parameters: Vec<Parameter> = (0..count)
            .map(|_| {
                let kind = self.kind();
                Parameter { kind, is_reference: self.cpp && self.random.u8(..10) == 0 }
            })
            .collect();
        let result = (self.random.u8(..10) > 0).then(|| self.kind());
        let variadic = (self.random.u8(..7) == 0).then(|| self.variadic());
        if variadic.is_some() {
            // `va_start` needs a parameter that is passed as it is.
            parameters.push(Parameter { kind: "t_i".into(), is_reference: false });
        }
        let is_static = variadic.is_none() && self.random.u8(..6) == 0;
        let has_wrapper = variadic.is_none() && !is_static && self.random.u8(..5) == 0;
        let throws = self.cpp && self.random.u8(..5) == 0;
        Function { name: format!("{}_f{number}", self.name), result, parameters, variadic, is_static, has_wrapper, throws }
    }

    fn variadic(&mut self) -> Vec<String> {
        let trivial: Vec<String> = self.structs.iter().filter(|kind| kind.is_trivial).map(|kind| kind.name.clone()).collect();
        (0..self.random.usize(..=30))
            .map(|_| match self.random.u8(..8) {
                0 => trivial[self.random.usize(..trivial.len())].clone(),
                _ => self.pick(&VARIADIC),
            })
            .collect()
    }
}

impl Function {
    fn result(&self) -> &str {
        self.result.as_deref().unwrap_or("void")
    }

    fn head(&self) -> String {
        self.head_of(&self.name)
    }

    fn head_of(&self, name: &str) -> String {
        let one = |(number, Parameter { kind, is_reference }): (usize, &Parameter)| match is_reference {
            true => format!("const {kind} &a{number}"),
            false => format!("{kind} a{number}"),
        };
        let mut list: Vec<String> = self.parameters.iter().enumerate().map(one).collect();
        list.extend(self.variadic.is_some().then(|| "...".to_string()));
        let list = if list.is_empty() { "void".to_string() } else { list.join(", ") };
        format!("__attribute__((noinline)) {} {name}({list})", self.result())
    }

    fn definition(&self) -> String {
        let mut body = format!("    word h = {};\n", self.parameters.len());
        for (number, parameter) in self.parameters.iter().enumerate() {
            writeln!(body, "    h = mix_{}(h, a{number});", parameter.kind).expect("text");
        }
        if let Some(kinds) = &self.variadic {
            writeln!(body, "    va_list rest;\n    va_start(rest, a{});", self.parameters.len() - 1).expect("text");
            for kind in kinds {
                writeln!(body, "    {{ {kind} one = va_arg(rest, {kind}); h = mix_{kind}(h, one); }}").expect("text");
            }
            body += "    va_end(rest);\n";
        }
        body += "    total = next(total ^ h);\n";
        if self.throws {
            body += "    if (h % 3 == 0) throw h;\n";
        }
        if let Some(kind) = &self.result {
            writeln!(body, "    return make_{kind}(h);").expect("text");
        }
        format!("{}\n{{\n{body}}}\n", self.head())
    }

    /// A function with the same prototype that only calls this one: often a jump, which leaves the arguments where they are.
    fn wrapper(&self) -> Option<(String, String)> {
        let name = format!("{}w", self.name);
        let arguments: Vec<String> = (0..self.parameters.len()).map(|number| format!("a{number}")).collect();
        let (head, what) = (self.head_of(&name), if self.result.is_some() { "return " } else { "" });
        let definition = format!("{head}\n{{\n    {what}{}({});\n}}\n", self.name, arguments.join(", "));
        self.has_wrapper.then_some((name, definition))
    }

    /// Calls the function with random values, and prints a checksum of its results and of what was passed.
    fn caller(&self) -> String {
        let mut text =
            format!("__attribute__((noinline)) static void call_{0}(void)\n{{\n    word h = 0, r = {1};\n", self.name, self.name.len());
        writeln!(text, "    for (int round = 0; round < {CALLS}; round++) {{").expect("text");
        let rest = self.variadic.iter().flatten();
        let kinds: Vec<&str> = self.parameters.iter().map(|parameter| &parameter.kind).chain(rest).map(String::as_str).collect();
        for (number, kind) in kinds.iter().enumerate() {
            writeln!(text, "        r = next(r + round); {kind} a{number} = make_{kind}(r);").expect("text");
        }
        for name in [Some(self.name.clone()), self.has_wrapper.then(|| format!("{}w", self.name))].into_iter().flatten() {
            text += &self.call(&name, kinds.len());
            text += "        h = next(h ^ total);\n";
        }
        for (number, kind) in kinds.iter().enumerate() {
            writeln!(text, "        h = mix_{kind}(h, a{number});").expect("text");
        }
        write!(text, "    }}\n    printf(\"{} %016lx\\n\", (unsigned long)h);\n}}\n", self.name).expect("text");
        text
    }

    fn call(&self, name: &str, arguments: usize) -> String {
        let arguments: Vec<String> = (0..arguments).map(|number| format!("a{number}")).collect();
        let call = format!("{name}({})", arguments.join(", "));
        let made = match &self.result {
            Some(kind) => format!("{{ {kind} result = {call}; h = mix_{kind}(h, result); }}"),
            None => format!("{call};"),
        };
        if self.throws {
            format!("        try {{ {made} }} catch (word thrown) {{ h = next(h ^ thrown); }}\n")
        } else {
            format!("        {made}\n")
        }
    }
}
