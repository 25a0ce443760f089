//! `sintonia tune` reads and sets variables as a debugger would, and refuses what it cannot: the program prints what it holds itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::fire::tuning;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, sintonia};

/// Prints its variables at the end; `step` is called 200 times.
const CPP: &str = r#"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <unistd.h>
#include <vector>
struct Node { int n; double w; Node *next; unsigned bits : 3, more : 5; int low : 4; unsigned last : 20; };
Node good{5, 2.5, nullptr, 3, 7, -6, 99}; Node first{1, 1.5, &good, 1, 2, 3, 4};
Node *chain = &first, *lost = nullptr;
struct Plan { static int size; }; int Plan::size = 12;
std::atomic<int> counter{13}; std::vector<int> sizes{1, 2, 3}; int table[2][3] = {{1, 2, 3}, {4, 5, 6}}; int &alias = table[1][1];
thread_local int own = 17; extern const int constant; const int constant = 18;
__attribute__((noinline)) void step(int i)
{
    asm volatile("" ::"r"(i) : "memory");
    static Node *const pointers[4] = {nullptr, &good, (Node *)0x10, (Node *)0x7eadbeef0000};
    lost = pointers[i % 4];
}
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    own = 21;
    for (int i = 0; i < 200; i++) { step(i); usleep(5000); }
    std::printf("n %d next %d bits %d more %d low %d last %d size %d counter %d sizes %d %d %d table %d %d %d own %d constant %d\n", chain->n,
                chain->next->n, good.bits, good.more, good.low, good.last, Plan::size, counter.load(), sizes[0], sizes[1], sizes[2], table[1][0],
                table[1][1], table[1][2], own, *(const volatile int *)&constant);
    MPI_Finalize();
}
"#;

const FORTRAN: &str = r#"
module conf
  type cell
    integer :: n = 4
    real(8), allocatable :: w(:)
  end type
  type(cell) :: cfg
  integer, allocatable, target :: work(:), plane(:, :), absent(:)
  integer, pointer :: every(:)
end module
subroutine step(i, s)
  use conf
  integer, intent(in) :: i
  real(8), intent(inout) :: s
  s = s + i
end subroutine
program main
  use mpi
  use iso_c_binding
  use conf
  interface
    integer(c_int) function us(x) bind(c, name='usleep')
      import c_int
      integer(c_int), value :: x
    end function
  end interface
  integer :: ierr, i
  real(8) :: s
  call MPI_Init(ierr)
  allocate(work(10), plane(0:2, 2), cfg%w(3))
  work = 2
  plane = 3
  cfg%w = 1.5d0
  every => work(2:10:3)
  s = 0
  do i = 1, 200
    call step(i, s)
    ierr = us(5000)
  end do
  print '(10i4)', work
  print '(6i4)', plane
  print '(i4, 3f6.2, f9.1)', cfg%n, cfg%w, s
  call MPI_Finalize(ierr)
end program
"#;

fn build(compiler: &[String], link: &[String], folder: &Path, file: &str, text: &str) -> PathBuf {
    std::fs::write(folder.join(file), text).expect("written");
    let mut command = Command::new(&compiler[0]);
    // Not optimised: `step` must stay a function of its own.
    command.args(&compiler[1..]).args(["-g", "-O0", "-o", "program", file]).args(link).current_dir(folder);
    assert!(command.status().expect("the compiler runs").success());
    folder.join("program")
}

/// Runs the program under a tunlet; without one if there is no text.
fn run(mpi: &Mpi, folder: &Path, program: &Path, tunlet: &str) -> Outcome {
    let launched = mpi.launch(1, &[program.display().to_string()]);
    let own = match tunlet {
        "" => Vec::new(),
        text => {
            std::fs::write(folder.join("case.tunlet"), text).expect("written");
            let words = [&sintonia(), "tune", "--force", "-o", "run.sin", "--json", "--tunlet", "case.tunlet", "--"];
            words.map(ToString::to_string).to_vec()
        }
    };
    Process::new(own.into_iter().chain(launched)).env(&mpi.env).limit(100).run_in(folder)
}

/// A tunlet that reads values at every call of `step` and sets variables once.
fn tunlet(reads: &[&str], sets: &[(&str, &str)]) -> String {
    let values: Vec<String> = reads.iter().enumerate().map(|(index, path)| format!("v{index} = \"{path}\"")).collect();
    let shown: Vec<String> = (0..reads.len()).map(|index| format!("{{step.v{index}}}")).collect();
    let measure = format!(
        "guard = false\nperiod = \"step\"\n[[measure]]\nname = \"step\"\nfunction = \"step\"\nside = \"call\"\nvalues = {{ {} }}\n",
        values.join(", ")
    );
    let set = |(variable, value): &(&str, &str)| {
        let why = shown.join(" ");
        format!(
            "[[tune]]\nvariable = \"{variable}\"\nrange = [-1000, 1000]\nvalue = \"{value}\"\nif = \"step.count > 5\"\nleast = 1\nwhy = \"{why}\"\n"
        )
    };
    measure + &sets.iter().map(set).collect::<String>()
}

/// The decision about a variable.
fn decision<'report>(report: &'report Value, variable: &str) -> &'report Value {
    let all = report["decisions"].as_array().expect("decisions");
    all.iter().find(|one| one["action"] == variable).unwrap_or_else(|| panic!("no decision about {variable}: {report}"))
}

#[test]
fn c660_variables_of_cpp_are_read_and_set_beside_their_neighbours() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = build(&mpi.cxx, &mpi.link, folder.path(), "a.cpp", CPP);
        let reads = ["chain->next->n", "good.low", "counter", "sizes[2]", "own"];
        let sets = [("good.bits", "1"), ("good.low", "-1"), ("Plan::size", "44"), ("counter", "45"), ("sizes[1]", "46"), ("alias", "47")];
        let more = [("chain->next->n", "48"), ("constant", "9"), ("own", "5"), ("sizes[7]", "1"), ("good.more", "77")];
        let outcome = run(mpi, folder.path(), &program, &tunlet(&reads, &[&sets[..], &more].concat()));
        outcome.expect_status(0);
        let expected = "n 1 next 48 bits 1 more 7 low -1 last 99 size 44 counter 45 sizes 1 46 3 table 4 47 6 own 21 constant 18\n";
        assert_eq!(outcome.stdout.lines().next().map(|line| format!("{line}\n")).as_deref(), Some(expected), "{}", outcome.text());
        let report = tuning(&outcome);
        assert_eq!(decision(&report, "good.bits")["why"], "5 -6 13 3 21", "{report}");
        assert_eq!(decision(&report, "good.low")["old"], -6.0, "{report}");
        let refused = |variable: &str| decision(&report, variable)["refused"].to_string();
        assert!(refused("constant").contains("read-only memory"), "{report}");
        assert!(refused("sizes[7]").contains("no such element"), "{report}");
        assert!(refused("good.more").contains("77"), "{report}");
        assert!(outcome.text().contains("every thread has a variable `own`"), "{}", outcome.text());
    });
}

#[test]
fn c661_a_pointer_that_leads_nowhere_harms_nothing_and_is_reported() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = build(&mpi.cxx, &mpi.link, folder.path(), "a.cpp", CPP);
        let bare = run(mpi, folder.path(), &program, "");
        bare.expect_status(0);
        let outcome = run(mpi, folder.path(), &program, &tunlet(&["lost->n", "lost->next->n"], &[("lost->bits", "3")]));
        outcome.expect_status(0);
        assert_eq!(outcome.stdout.lines().next(), bare.stdout.lines().next(), "{}", outcome.text());
        assert!(outcome.text().contains("`lost->n` could not be read at a call of `step`"), "{}", outcome.text());
    });
}

#[test]
fn c662_elements_behind_descriptors_of_fortran_are_read_and_set() {
    for_every_mpi(|mpi| {
        let Some(fortran) = &mpi.fortran else { return };
        let folder = fresh_dir();
        let program = build(fortran, &mpi.link_fortran, folder.path(), "a.f90", FORTRAN);
        let reads = ["work(3)", "plane(2,1)", "cfg%w(3)", "every(2)", "cfg%n"];
        let sets = [("work[3]", "7"), ("plane(2,1)", "8"), ("cfg%w(3)", "9.25"), ("every(2)", "11"), ("cfg%n", "12"), ("absent(1)", "1")];
        let outcome = run(mpi, folder.path(), &program, &tunlet(&reads, &sets));
        outcome.expect_status(0);
        let lines: Vec<Vec<f64>> =
            outcome.stdout.lines().take(3).map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect()).collect();
        assert_eq!(lines[0], [2.0, 2.0, 7.0, 2.0, 11.0, 2.0, 2.0, 2.0, 2.0, 2.0], "{}", outcome.text());
        assert_eq!(lines[1], [3.0, 3.0, 8.0, 3.0, 3.0, 3.0], "{}", outcome.text());
        assert_eq!(lines[2], [12.0, 1.5, 1.5, 9.25, 20100.0], "{}", outcome.text());
        let report = tuning(&outcome);
        assert_eq!(decision(&report, "work[3]")["why"], "2 3 1.5 2 4", "{report}");
        assert!(decision(&report, "absent(1)")["refused"].to_string().contains("not allocated"), "{report}");
    });
}
