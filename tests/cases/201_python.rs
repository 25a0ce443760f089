//! mpi4py: Python programs, whose MPI library is opened at run time by an extension module.

use sintonia_tests::on_every_mpi;

#[test]
fn p201_pickled_objects() {
    on_every_mpi("python/201_pickle", |_, _, recording| {
        recording.run.expect_status(0);
        assert_eq!(recording.report()["ranks"], 3);
        // mpi4py makes some of its pickled collectives of messages too; those of the program carry its tags
        let received = recording.received(0);
        for tag in [7, 8] {
            assert_eq!(received.iter().filter(|message| (message.0, message.1) == (1, tag)).count(), 1, "tag {tag}");
        }
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
        assert_eq!((recording.pair(0, 1).0, recording.pair(1, 2).0), (1, 1), "the ring");
        assert_eq!(recording.counts(&["MPI_Comm_split", "MPI_Cart_create", "MPI_Accumulate"]), [3, 3, 2]);
    });
}
