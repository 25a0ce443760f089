//! A real program nobody here wrote: HPC Challenge with HPL, as Debian packages it, built for Open MPI.

use std::path::Path;

use sintonia_tests::{Family, Mpi, NormalizedRun, Outcome, Process, for_every_mpi, fresh_dir, not_applicable, record_command, sintonia};

/// A problem small enough for a second on four ranks.
const INPUT: &str = "\
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
200          Ns
1            # of NBs
20           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
2            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
";

#[test]
fn hpcc_gives_the_same_results_and_a_graph_that_metis_takes() {
    for_every_mpi(|mpi| {
        if mpi.family != Family::OpenMpi {
            not_applicable(format!("{}: Debian builds hpcc for Open MPI", mpi.name));
            return;
        }
        let bare = fresh_dir();
        let recorded = fresh_dir();
        let run = run_hpcc(mpi, bare.path(), |launch| launch);
        let output = recorded.path().join("hpcc.sin");
        let run_recorded = run_hpcc(mpi, recorded.path(), |launch| record_command(&output, &[], launch));
        let (normal, normal_recorded) = (NormalizedRun::new(&run, bare.path()), NormalizedRun::new(&run_recorded, recorded.path()));
        assert_eq!(normal.difference(&normal_recorded), None, "{}", run_recorded.text());
        let results = results(bare.path());
        assert!(results.iter().any(|line| line.ends_with("...... PASSED")), "{results:?}");
        assert_eq!(results, self::results(recorded.path()));

        graph_is_partitioned(recorded.path());
    });
}

fn run_hpcc(mpi: &Mpi, folder: &Path, wrap: impl Fn(Vec<String>) -> Vec<String>) -> Outcome {
    std::fs::write(folder.join("hpccinf.txt"), INPUT).expect("the input of hpcc");
    let launch = mpi.launch(4, &["hpcc".to_string()]);
    let outcome = Process::new(wrap(launch)).env(&mpi.env).limit(180).run_in(folder);
    outcome.expect_status(0);
    outcome
}

/// What hpcc says of its correctness; its times differ from run to run.
fn results(folder: &Path) -> Vec<String> {
    let output = std::fs::read_to_string(folder.join("hpccoutf.txt")).expect("hpcc writes its results");
    let says = |line: &&str| {
        ["... PASSED", "... FAILED", "residual checks", "skipped because", "Errors="].iter().any(|part| line.contains(part))
            || line.starts_with("End of")
    };
    output.lines().filter(says).map(String::from).collect()
}

fn graph_is_partitioned(folder: &Path) {
    let graph = ["graph", "hpcc.sin", "--communication", "-o", "hpcc.graph"].map(String::from);
    Process::new([vec![sintonia()], graph.to_vec()].concat()).run_in(folder).expect_no_crash().expect_status(0);
    let metis = Process::new(["gpmetis", "hpcc.graph", "2"]).run_in(folder);
    metis.expect_status(0);
    assert!(!metis.text().contains("rror"), "{}", metis.text());
    let parts = std::fs::read_to_string(folder.join("hpcc.graph.part.2")).expect("gpmetis writes the parts");
    assert_eq!(parts.lines().count(), 4, "one part per rank");
    assert!(parts.lines().all(|part| part == "0" || part == "1"), "{parts}");
}
