//! mpi4py: Python programs, whose MPI library is opened at run time by an extension module.

use sintonia_tests::on_every_mpi;

#[test]
fn p201_pickled_objects() {
    on_every_mpi("python/201_pickle", |_, _, recording| {
        recording.run.expect_status(0);
        assert_eq!(recording.report()["ranks"], 3);
        assert_eq!(recording.pair(1, 0).0, 2);
        assert_eq!(recording.pair(0, 1).0, 0);
        let mut tags: Vec<i64> = recording.received(0).into_iter().map(|(_, tag, _)| tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, [7, 8]);
    });
}

#[test]
fn p202_buffers() {
    on_every_mpi("python/202_buffers", |_, _, recording| {
        recording.run.expect_status(0);
        assert_eq!(recording.pair(0, 1), (7, 112));
        let mut expected = vec![(0, 1, 16), (0, 2, 16)];
        expected.extend([(0, 3, 16); 5]);
        assert_eq!(recording.received(1), expected);
        assert_eq!(recording.counts(&["MPI_Bcast", "MPI_Allreduce", "MPI_Start"]), [2, 2, 10]);
    });
}

#[test]
fn p203_communicators_and_windows() {
    on_every_mpi("python/203_communicators", |_, _, recording| {
        recording.run.expect_status(0);
        assert_eq!(recording.pair(2, 1).0, 1);
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            assert_eq!(recording.pair(from, to).0, 1, "the ring, {from} to {to}");
        }
        assert_eq!(recording.counts(&["MPI_Comm_split", "MPI_Cart_create", "MPI_Accumulate"]), [3, 3, 2]);
    });
}
