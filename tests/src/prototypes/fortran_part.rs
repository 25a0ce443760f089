//! A part in Fortran: module procedures, so that every kind of argument is allowed.

use std::fmt::Write;

use super::{Part, SourceFile};

const MOST_ARGUMENTS: usize = 60;
const CALLS: usize = 3;

/// What both files of a part begin with: how a number is made from the one before, and how values enter a checksum.
const TOOLS: &str = "
 implicit none
contains
 pure integer(8) function next(h) result(r)
  integer(8), intent(in) :: h
  r = ieor(h, ishft(h, -29)) * 1099511628211_8 + 7046029254386353131_8
 end function
 pure integer(8) function mixed(h, v) result(r)
  integer(8), intent(in) :: h, v
  r = next(ieor(h, v))
 end function
 pure real(8) function fraction(h) result(r)
  integer(8), intent(in) :: h
  r = real(ibits(h, 3, 21), 8) / 7 - 1000
 end function
 pure integer(8) function bits(x) result(r)
  real(8), intent(in) :: x
  r = transfer(x, 0_8)
 end function
 pure integer(8) function text_bits(x) result(r)
  character(len=*), intent(in) :: x
  integer :: i
  r = len(x)
  do i = 1, len(x)
   r = mixed(r, int(ichar(x(i:i)), 8))
  end do
 end function
 pure integer(8) function array_bits(x) result(r)
  real(8), intent(in) :: x(:)
  integer :: i
  r = size(x)
  do i = 1, size(x)
   r = mixed(r, bits(x(i)))
  end do
 end function
";

/// How a type is declared in a function, declared by its caller, made from the number `r`, and made a number.
struct Kind {
    parameter: &'static str,
    local: &'static str,
    made: &'static str,
    bits: &'static str,
}

const fn kind(parameter: &'static str, local: &'static str, made: &'static str, bits: &'static str) -> Kind {
    Kind { parameter, local, made, bits }
}

const KINDS: [Kind; 15] = [
    kind("integer(1)", "integer(1)", "int(ibits(r, 5, 7), 1)", "int(@, 8)"),
    kind("integer(2)", "integer(2)", "int(ibits(r, 5, 15), 2)", "int(@, 8)"),
    kind("integer", "integer", "int(ibits(r, 5, 31))", "int(@, 8)"),
    kind("integer(8)", "integer(8)", "r", "@"),
    kind("integer, value", "integer", "int(ibits(r, 5, 31))", "int(@, 8)"),
    kind("real(4)", "real(4)", "real(fraction(r), 4)", "bits(real(@, 8))"),
    kind("real(8)", "real(8)", "fraction(r)", "bits(@)"),
    kind("real(8), value", "real(8)", "fraction(r)", "bits(@)"),
    kind("real(10), value", "real(10)", "real(fraction(r), 10)", "bits(real(@, 8))"),
    kind("complex(8)", "complex(8)", "cmplx(fraction(r), fraction(next(r)), 8)", "mixed(bits(real(@, 8)), bits(aimag(@)))"),
    kind("complex(4), value", "complex(4)", "cmplx(fraction(r), fraction(next(r)), 4)", "mixed(bits(real(@, 8)), bits(real(aimag(@), 8)))"),
    kind("logical", "logical", "btest(r, 9)", "merge(1_8, 0_8, @)"),
    kind("character(len=*)", "character(len=9)", "achar(97 + int(ibits(r, 4, 4))) // 'abcdefgh'", "text_bits(@)"),
    kind("real(8), dimension(:)", "real(8), dimension(5)", "fraction(r)", "array_bits(@)"),
    kind("real(8), dimension(5)", "real(8), dimension(5)", "fraction(r)", "array_bits(@)"),
];

/// Results: declaration, how it is made from `h`, and how it is made a number.
const RESULTS: [(&str, &str, &str); 6] = [
    ("integer(8)", "h", "@"),
    ("real(8)", "fraction(h)", "bits(@)"),
    ("complex(8)", "cmplx(fraction(h), fraction(next(h)), 8)", "mixed(bits(real(@, 8)), bits(aimag(@)))"),
    ("character(len=7)", "achar(97 + int(ibits(h, 4, 4))) // 'result'", "text_bits(@)"),
    ("real(8), dimension(3)", "fraction(h)", "array_bits(@)"),
    ("logical", "btest(h, 9)", "merge(1_8, 0_8, @)"),
];

/// Generates a part with that many functions.
pub(super) fn generate(name: &str, random: &mut fastrand::Rng, functions: usize) -> Part {
    let part: usize = name.trim_start_matches('p').parse().expect("a number");
    let mut callee = format!("module {name}_tools{TOOLS}end module\nmodule {name}_m\n use {name}_tools\n implicit none\ncontains\n");
    let mut caller = format!(
        "subroutine {name}_run() bind(c, name='{name}_run')\n use {name}_tools\n use {name}_m\n implicit none\n \
         interface\n  subroutine show(part, number, h) bind(c, name='show')\n   use iso_c_binding\n   \
         integer(c_int), value :: part, number\n   integer(c_long), value :: h\n  end subroutine\n end interface\n"
    );
    let (mut names, mut calls, mut callers) = (Vec::new(), String::new(), String::new());
    for number in 0..functions {
        let own = format!("{name}_f{number}");
        let most = if random.bool() { 8 } else { MOST_ARGUMENTS };
        let kinds: Vec<&Kind> = (0..random.usize(..=most)).map(|_| &KINDS[random.usize(..KINDS.len())]).collect();
        let result = (random.u8(..4) > 0).then(|| &RESULTS[random.usize(..RESULTS.len())]);
        callee += &definition(&own, &kinds, result);
        callers += &call(&own, part, number, &kinds, result);
        writeln!(calls, " call call_{own}()").expect("text");
        names.push((format!("__{name}_m_MOD_{own}"), CALLS));
    }
    callee += "end module\n";
    write!(caller, "{calls}contains\n{callers}end subroutine\n").expect("text");
    let file = |what: &str, text| SourceFile { name: format!("{name}_{what}.f90"), text };
    Part { files: vec![file("callee", callee), file("caller", caller)], functions: names, statics: Vec::new() }
}

/// `a0, a1 …`, on as many lines.
fn list(count: usize) -> String {
    let all: Vec<String> = (0..count).map(|number| format!("a{number}")).collect();
    all.join(", &\n   ")
}

fn definition(name: &str, kinds: &[&Kind], result: Option<&(&str, &str, &str)>) -> String {
    let what = if result.is_some() { "function" } else { "subroutine" };
    let mut text = format!(" {what} {name}({}){}\n", inout(kinds.len(), result), if result.is_some() { " result(res)" } else { "" });
    for (number, kind) in kinds.iter().enumerate() {
        writeln!(text, "  {} :: a{number}", kind.parameter).expect("text");
    }
    match result {
        Some((declared, _, _)) => writeln!(text, "  {declared} :: res\n  integer(8) :: h").expect("text"),
        None => text += "  integer(8) :: h\n",
    }
    writeln!(text, "  h = {}", kinds.len()).expect("text");
    for (number, kind) in kinds.iter().enumerate() {
        writeln!(text, "  h = mixed(h, {})", kind.bits.replace('@', &format!("a{number}"))).expect("text");
    }
    match result {
        Some((_, made, _)) => writeln!(text, "  res = {made}").expect("text"),
        None => text += "  total = mixed(total, h)\n",
    }
    if result.is_none() {
        text = text.replace("  integer(8) :: h\n", "  integer(8) :: h, total\n");
    }
    writeln!(text, " end {what}").expect("text");
    text
}

/// The parameters; a subroutine gives its checksum back in the last one.
fn inout(count: usize, result: Option<&(&str, &str, &str)>) -> String {
    match (result, count) {
        (Some(_), _) => list(count),
        (None, 0) => "total".to_string(),
        (None, _) => format!("{}, &\n   total", list(count)),
    }
}

fn call(name: &str, part: usize, number: usize, kinds: &[&Kind], result: Option<&(&str, &str, &str)>) -> String {
    let mut text = format!(" subroutine call_{name}()\n  integer(8) :: h, r, total\n  integer :: round\n");
    for (argument, kind) in kinds.iter().enumerate() {
        writeln!(text, "  {} :: a{argument}", kind.local).expect("text");
    }
    if let Some((declared, _, _)) = result {
        writeln!(text, "  {declared} :: res").expect("text");
    }
    writeln!(text, "  h = {number}\n  r = {number}\n  total = 0\n  do round = 1, {CALLS}").expect("text");
    for (argument, kind) in kinds.iter().enumerate() {
        writeln!(text, "   r = next(r)\n   a{argument} = {}", kind.made).expect("text");
    }
    match result {
        Some((_, _, bits)) => {
            writeln!(text, "   res = {name}({})\n   h = mixed(h, {})", list(kinds.len()), bits.replace('@', "res")).expect("text");
        }
        None => writeln!(text, "   call {name}({})\n   h = mixed(h, total)", inout(kinds.len(), None)).expect("text"),
    }
    for (argument, kind) in kinds.iter().enumerate() {
        writeln!(text, "   h = mixed(h, {})", kind.bits.replace('@', &format!("a{argument}"))).expect("text");
    }
    writeln!(text, "  end do\n  call show({part}, {number}, h)\n end subroutine").expect("text");
    text
}
