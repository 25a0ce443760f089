//! Every variable of some programs in C, C++ and Fortran has the value that gdb reads at the same moment, or is refused with a reason.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sintonia_link::value_location::ValueLocation;
use sintonia_symbols::{ModuleCache, ProgramImage, ResolvedVariable, ValueType};

/// Stops a program for the debugger, which need not be its parent.
const STOP: &str = r#"
#include <sys/prctl.h>
#include <unistd.h>
void stop_here(void) { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); if (write(1, "ready\n", 6) == 6) for (;;) pause(); }
"#;

const C: &str = r#"
#include <stdlib.h>
#include <stdbool.h>
#include <stdatomic.h>
void stop_here(void);
struct inner { short a[4]; bool on; };
struct node { int n; double w; struct inner in; struct node *next; unsigned bits : 3, more : 5; int low : 4; unsigned long wide : 40; bool yes : 1; };
struct __attribute__((packed)) tight { char c; int misplaced; unsigned x : 7; unsigned long y : 60; };
struct flexible { int count; int data[]; };
enum color { red, green = 7 }; enum sign { minus = -5, plus = 5 };
typedef const volatile unsigned short limited;
struct node good = { 5, 2.5, { { 1, -2, 3, 4 }, true }, 0, 3, 7, -6, 0x123456789aUL, true };
struct node second = { 6, 3.5, { { 5, 6, 7, 8 }, false }, &good, 1, 2, 3, 4, false };
struct node *chain = &second, *nothing = 0, *wild = (struct node *)0x10;
struct node several[3] = { { 1 }, { 2 }, { 3 } };
struct tight tight = { 'x', 123456, 77, 0x0fedcba987654321UL };
struct flexible *flexible; int **rows; int (*matrix)[4];
union { int whole; float part; } both = { .part = 1.5f };
struct { union { int hidden; float other; }; int after; } anonymous = { { 42 }, 43 };
int table[2][3][4]; double plane[3][2] = { { 1.5, 2.5 }, { 3.5, 4.5 }, { 5.5, 6.5 } };
enum color color = green; enum sign sign = minus; limited lim = 60000;
unsigned char uc = 200; signed char sc = -3; long long ll = 1LL << 40; float fl = 1.25f; bool flag = true; unsigned long ul = 1UL << 50;
_Atomic int counter = 9; const int constant = 5; static volatile int hidden = 11; _Thread_local int own = 4; static _Thread_local long other = 40;
long double extended = 1.0L; double _Complex number = 1.0; _Float16 half = 2.0; __int128 huge = 3; unsigned long copy_of_y;
int main(void) {
    for (int i = 0; i < 24; i++) ((int *)table)[i] = 100 + i;
    flexible = malloc(64); flexible->count = 3; for (int i = 0; i < 3; i++) flexible->data[i] = 70 + i;
    rows = malloc(2 * sizeof(int *)); for (int i = 0; i < 2; i++) { rows[i] = malloc(8); rows[i][0] = 10 * i; rows[i][1] = 10 * i + 1; }
    matrix = malloc(3 * sizeof *matrix); for (int i = 0; i < 12; i++) ((int *)matrix)[i] = 500 + i;
    own += 2; other += hidden; copy_of_y = tight.y; stop_here(); return own + (int)other;
}
"#;

const CPP: &str = r#"
#include <array>
#include <atomic>
#include <vector>
extern "C" void stop_here(void);
struct Base { int b = 31; virtual ~Base() {} };
struct Left : virtual Base { int l = 32; };
struct Plain { int p = 33; static int members; };
struct Derived : Plain { int d = 34; static int count; static inline long shared = 36; static const int limit = 9; int &link; Derived(int &link) : link(link) {} };
int Plain::members = 37; int Derived::count = 35;
template <class T> struct Box { static T held; T inside; }; template <class T> T Box<T>::held = 38; template struct Box<double>; template struct Box<int>;
namespace sim { namespace deep { int level = 41; struct Inner { static int state; }; int Inner::state = 42; } namespace { int unnamed = 43; } Derived *object; }
int numbers[8] = { 0, 1, 2, 3, 4, 55, 6, 7 }; int &reference = numbers[5]; const int &fixed_reference = numbers[6];
Left left; Derived derived(numbers[3]); Box<int> box{ 39 };
std::atomic<int> ai{ -4 }; std::atomic<bool> ab{ true }; std::atomic<double> ad{ 2.5 }; std::atomic<long> al{ 1L << 40 }; std::atomic<unsigned char> ac{ 250 };
std::vector<int> vec{ 1, 2, 3 }; std::vector<double> empty; std::vector<std::vector<int>> nested{ { 1, 2 }, { 3, 4, 5 } }; std::vector<bool> packed{ true };
std::vector<Plain> objects(4); std::array<double, 4> fixed{ 1.5, 2.5, 3.5, 4.5 }; std::vector<std::array<int, 2>> pairs{ { { 1, 2 } }, { { 3, 4 } } };
enum Small : unsigned char { big = 200 }; Small small = big; enum class Scoped : short { negative = -9 }; Scoped scoped = Scoped::negative;
thread_local int own = 61; extern const int constant; const int constant = 62;
int main() { sim::object = &derived; objects[2].p = 77; own++; vec.push_back(4); sim::unnamed++; stop_here(); return own + fixed_reference + Derived::limit + Derived::shared; }
"#;

const FORTRAN: &str = r#"
module conf
  type cell
    integer :: id = 4
    real(8), allocatable :: w(:)
    type(cell), pointer :: next => null()
  end type
  type(cell), target :: cfg
  type(cell), allocatable :: cells(:)
  integer, allocatable, target :: work(:), plane(:, :), cube(:, :, :), absent(:)
  integer, pointer :: every(:), reversed(:), nowhere(:), one, none
  integer, allocatable :: scalar
  integer, target :: grid(2, 3), low(-2:4)
  real(4) :: single = 1.25
  logical :: on = .true.
  integer(1) :: tiny = -7
  integer(8) :: large = 1099511627776_8
  complex(8) :: number
  character(8) :: text = 'abc'
  integer, parameter :: fixed = 8
  integer :: first, last
end module
subroutine fill()
  use conf
  integer :: i, j, k
  allocate(work(10), plane(0:3, 2), cube(2, -1:1, 3), cells(2), scalar)
  do i = 1, 10
    work(i) = 100 + i
  end do
  do i = 0, 3
    do j = 1, 2
      plane(i, j) = 10 * i + j
    end do
  end do
  do i = 1, 2
    do j = -1, 1
      do k = 1, 3
        cube(i, j, k) = 100 * i + 10 * j + k
      end do
    end do
  end do
  grid = reshape([11, 21, 12, 22, 13, 23], [2, 3])
  low = [1, 2, 3, 4, 5, 6, 7]
  allocate(cells(2)%w(3:5), cfg%w(2))
  cells(2)%w = [0.5d0, 1.5d0, 2.5d0]
  cfg%w = [7.5d0, 8.5d0]
  cells(1)%id = 41
  cells(1)%next => cfg
  every => work(2:10:3)
  reversed => work(10:1:-1)
  first = reversed(1)
  last = reversed(10)
  nullify(nowhere, none)
  one => grid(2, 2)
  scalar = 17
end subroutine
program main
  use conf
  interface
    subroutine stop_here() bind(c)
    end subroutine
  end interface
  integer :: shared
  common /opts/ shared
  shared = 6
  call fill()
  call stop_here()
  print *, work, plane, cube, every, reversed, fixed, shared, on, single, tiny, large, number, text, low, one, scalar
end program
"#;

/// A stopped program.
struct Stopped {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stopped {
    fn start(compiler: &str, file: &str, text: &str, options: &[&str]) -> Stopped {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("stop.c"), STOP).expect("written");
        std::fs::write(folder.path().join(file), text).expect("written");
        run(folder.path(), "cc", &["-O1", "-c", "stop.c"]);
        run(folder.path(), compiler, &[options, &["-w", "-o", "program", file, "stop.o"]].concat());
        let mut child = Command::new(folder.path().join("program")).stdout(Stdio::piped()).spawn().expect("runs");
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut String::new()).expect("ready");
        Stopped { child, folder }
    }

    /// What gdb prints for each expression with its command; nothing for those it refuses.
    fn debugger(&self, language: &str, expressions: &[(&str, String)]) -> HashMap<String, String> {
        let mut command = Command::new("gdb");
        command.args(["-nx", "-batch", "-p", &self.child.id().to_string(), "-ex", &format!("set language {language}")]);
        for (number, (_, print)) in expressions.iter().enumerate() {
            command.args(["-ex", &format!("echo \\n@{number}="), "-ex", print]);
        }
        command.args(["-ex", "echo \\n"]);
        let output = command.current_dir(self.folder.path()).stdin(Stdio::null()).output().expect("the test needs gdb");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let answers = text.lines().filter_map(|line| line.strip_prefix('@')?.split_once('='));
        answers
            .filter_map(|(number, value)| Some((expressions[number.parse::<usize>().ok()?].0.to_owned(), value.trim().to_owned())))
            .collect()
    }

    /// The bits of a value.
    fn read(&self, location: &ValueLocation, thread_pointer: u64) -> Result<u64, String> {
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.child.id())).expect("may be read");
        let load = |address| {
            let mut word = [0; 8];
            memory.read_exact_at(&mut word, address).ok().map(|()| u64::from_le_bytes(word))
        };
        let address = location.address(thread_pointer, load).map_err(|reason| reason.to_string())?;
        let mut bytes = [0; 16];
        let touched = (usize::from(location.first_bit) + usize::from(location.bits)).div_ceil(8);
        memory.read_exact_at(&mut bytes[..touched], address).map_err(|problem| problem.to_string())?;
        Ok((u128::from_le_bytes(bytes) >> location.first_bit) as u64 & location.mask())
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let status = Command::new(program).current_dir(folder).args(arguments).status().expect("the compiler runs");
    assert!(status.success(), "{program} failed");
}

fn number(kind: &ValueType, bits: u64) -> f64 {
    let signed = |size: u32| ((bits << (64 - size)) as i64 >> (64 - size)) as f64;
    match kind {
        ValueType::Integer { signed: true, bytes } => signed(8 * *bytes as u32),
        ValueType::BitField { signed: true, bits } => signed(u32::from(*bits)),
        ValueType::Float { bytes: 4 } => f64::from(f32::from_bits(bits as u32)),
        ValueType::Float { .. } => f64::from_bits(bits),
        _ => bits as f64,
    }
}

/// Compares each path with what gdb reads for an expression.
fn compare(stopped: &Stopped, language: &str, pairs: &[(&str, &str)], refused: &[(&str, &str)], name: &str) {
    let image = ProgramImage::from_process(stopped.child.id(), &mut ModuleCache::default()).expect("seen");
    let resolve = |path: &str| -> ResolvedVariable { image.variable(path).unwrap_or_else(|problem| panic!("{name}: {path}: {problem}")) };
    let found: Vec<(&str, &str, ResolvedVariable)> = pairs.iter().map(|(path, expression)| (*path, *expression, resolve(path))).collect();
    // A cast makes gdb print a number whatever the type, and keeps the sign that gdb sees.
    let as_number = |expression: &str, kind: &ValueType| match kind {
        ValueType::Float { .. } => format!("output {expression}"),
        _ if language == "fortran" => format!("output/d {expression}"),
        _ => format!("output (long long)({expression})"),
    };
    let mut expressions: Vec<(&str, String)> =
        found.iter().map(|(_, expression, variable)| (*expression, as_number(expression, &variable.value_type))).collect();
    expressions.push(("$fs_base", "output/d $fs_base".into()));
    let answers = stopped.debugger(language, &expressions);
    let thread_pointer: u64 = answers.get("$fs_base").and_then(|text| text.parse().ok()).expect("gdb reads the thread pointer");
    for (path, expression, variable) in found {
        assert!(variable.value_type.is_scalar(), "{name}: {path} is {}", variable.value_type);
        let answer = answers.get(expression).unwrap_or_else(|| panic!("{name}: gdb prints nothing for {expression}"));
        // Before the value of a reference gdb prints its address.
        let answer = answer.rsplit(": ").next().unwrap_or(answer);
        let expected: f64 = answer.parse().unwrap_or_else(|_| panic!("{name}: gdb prints {answer} for {expression}"));
        let value = stopped.read(&variable.location, thread_pointer).unwrap_or_else(|problem| panic!("{name}: {path}: {problem}"));
        assert_eq!(number(&variable.value_type, value), expected, "{name}: {path}, {}", variable.value_type);
    }
    for (path, why) in refused {
        let said = match image.variable(path) {
            Err(problem) => problem.to_string(),
            Ok(variable) if !variable.value_type.is_scalar() => variable.value_type.to_string(),
            Ok(variable) => {
                stopped.read(&variable.location, thread_pointer).map(|bits| format!("the value {bits}")).unwrap_or_else(|why| why)
            }
        };
        assert!(said.contains(why), "{name}: {path}: {said}");
    }
}

/// Paths that gdb takes as they are.
fn same<'text>(paths: &[&'text str]) -> Vec<(&'text str, &'text str)> {
    paths.iter().map(|path| (*path, *path)).collect()
}

#[test]
fn t101_variables_of_c_have_the_values_of_the_debugger() {
    let mut paths = same(&[
        "good.n",
        "good.w",
        "good.in.a[1]",
        "good.in.on",
        "good.bits",
        "good.more",
        "good.low",
        "good.wide",
        "good.yes",
        "second.low",
        "chain->n",
        "chain->next->n",
        "chain->next->in.a[3]",
        "chain->next->bits",
        "chain->next->wide",
        "chain[0].w",
        "several[2].n",
        "tight.c",
        "tight.misplaced",
        "tight.x",
        "flexible->count",
        "flexible->data[2]",
        "rows[1][1]",
        "matrix[2][3]",
        "both.whole",
        "both.part",
        "anonymous.hidden",
        "anonymous.after",
        "table[1][2][3]",
        "table[0][1][0]",
        "plane[2][1]",
        "color",
        "sign",
        "lim",
        "uc",
        "sc",
        "ll",
        "fl",
        "flag",
        "ul",
        "counter",
        "constant",
        "hidden",
        "own",
        "other",
        "chain",
        "nothing",
    ]);
    // gdb refuses a bit field in nine bytes; the program has a copy.
    paths.push(("tight.y", "copy_of_y"));
    let refused = [
        ("nothing->n", "null"),
        ("wild->n", "Input/output error"),
        ("table[2][0][0]", "only the elements 0 to 1"),
        ("table[1]", "3 dimensions"),
        ("good.in.a[4]", "only the elements 0 to 3"),
        ("good", "a struct `node`"),
        ("extended", "floating-point number of 16 bytes"),
        ("half", "floating-point number of 2 bytes"),
        ("huge", "integer of 16 bytes"),
        ("number", "not a value"),
    ];
    for level in ["-O0", "-O2"] {
        compare(&Stopped::start("cc", "a.c", C, &["-g", level]), "c", &paths, &refused, level);
    }
    // Older formats describe bit fields and fields differently.
    for version in ["-gdwarf-2", "-gdwarf-3", "-gdwarf-4"] {
        compare(&Stopped::start("cc", "a.c", C, &[version, "-gstrict-dwarf", "-O1"]), "c", &paths, &refused, version);
    }
}

#[test]
fn t102_variables_of_cpp_have_the_values_of_the_debugger() {
    let mut paths = same(&[
        "Derived::count",
        "Derived::shared",
        "Plain::members",
        "Box<double>::held",
        "Box<int>::held",
        "sim::deep::level",
        "sim::deep::Inner::state",
        "sim::object->d",
        "sim::object->p",
        "sim::object->link",
        "reference",
        "fixed_reference",
        "numbers[5]",
        "left.l",
        "derived.p",
        "derived.link",
        "box.inside",
        "small",
        "scoped",
        "own",
        "constant",
    ]);
    paths.extend([
        ("sim::unnamed", "'sim::(anonymous namespace)::unnamed'"),
        ("ai", "ai._M_i"),
        ("ab", "ab._M_base._M_i"),
        ("ad", "ad._M_i"),
        ("al", "al._M_i"),
        ("ac", "ac._M_i"),
        ("vec[0]", "vec._M_impl._M_start[0]"),
        ("vec[3]", "vec._M_impl._M_start[3]"),
        ("nested[1][2]", "nested._M_impl._M_start[1]._M_impl._M_start[2]"),
        ("objects[2].p", "objects._M_impl._M_start[2].p"),
        ("fixed[3]", "fixed._M_elems[3]"),
        ("pairs[1][0]", "pairs._M_impl._M_start[1]._M_elems[0]"),
    ]);
    let refused = [
        ("left.b", "virtual base class"),
        ("vec[4]", "no such element"),
        ("empty[0]", "no such element"),
        ("nested[0][2]", "no such element"),
        ("packed[0]", "vector of bool"),
        ("fixed[4]", "only the elements 0 to 3"),
        ("Derived::limit", "constant"),
        ("vec", "a struct `vector<"),
    ];
    for level in ["-O0", "-O2"] {
        compare(&Stopped::start("g++", "a.cpp", CPP, &["-g", "-std=c++17", level]), "c++", &paths, &refused, level);
    }
    compare(&Stopped::start("g++", "a.cpp", CPP, &["-gdwarf-4", "-std=c++17", "-O1"]), "c++", &paths, &refused, "-gdwarf-4");
}

#[test]
fn t103_variables_of_fortran_have_the_values_of_the_debugger() {
    let mut pairs = same(&[
        "conf::work(3)",
        "conf::work(10)",
        "conf::plane(0,1)",
        "conf::plane(3,2)",
        "conf::cube(2,-1,3)",
        "conf::cube(1,1,2)",
        "conf::grid(2,3)",
        "conf::grid(1,2)",
        "conf::low(-2)",
        "conf::low(4)",
        "conf::every(1)",
        "conf::every(3)",
        "conf::cfg%id",
        "conf::cfg%w(2)",
        "conf::cells(1)%id",
        "conf::cells(2)%w(3)",
        "conf::cells(2)%w(5)",
        "conf::single",
        "conf::on",
        "conf::tiny",
        "conf::large",
    ]);
    pairs.extend([
        ("work[3]", "conf::work(3)"),
        ("cfg.id", "conf::cfg%id"),
        ("conf::one", "*conf::one"),
        ("conf::scalar", "*conf::scalar"),
        // gdb 13 takes no account of a negative stride; the program has copies.
        ("conf::reversed(1)", "conf::first"),
        ("conf::reversed(10)", "conf::last"),
    ]);
    let refused = [
        ("conf::work(0)", "no such element"),
        ("conf::work(11)", "no such element"),
        ("conf::plane(1)", "2 dimensions"),
        ("conf::low(5)", "only the elements -2 to 4"),
        ("conf::grid(3,1)", "only the elements 1 to 2"),
        ("conf::absent(1)", "not allocated"),
        ("conf::nowhere(1)", "not allocated, or not associated"),
        ("conf::none", "null"),
        ("conf::cells(1)%w(1)", "not allocated"),
        ("conf::fixed", "constant"),
        ("conf::work", "an array"),
        ("conf::number", "not a value"),
    ];
    for level in ["-O0", "-O2"] {
        let stopped = Stopped::start("gfortran", "a.f90", FORTRAN, &["-g", level]);
        compare(&stopped, "fortran", &pairs, &refused, level);
        // The common block is known inside the main program only, which gdb is not in.
        let image = ProgramImage::from_process(stopped.child.id(), &mut ModuleCache::default()).expect("seen");
        assert_eq!(stopped.read(&image.variable("shared").expect("found").location, 0), Ok(6), "{level}");
        let next = image.variable("conf::cells(1)%next%w(1)").expect("found");
        assert_eq!(stopped.read(&next.location, 0).map(f64::from_bits), Ok(7.5), "{level}");
    }
}
