//! Examples for `--help` that work when pasted: they need only an MPI compiler.

/// The text after a verb's help: how to get a recording, and what to do with it.
macro_rules! example {
    ($command:literal) => {
        concat!(
            "Example:\n",
            "  echo 'int main() { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }' > hello.c\n",
            "  mpicc -g -include mpi.h hello.c -o hello\n",
            "  sintonia record -o hello.sin -- mpirun -n 2 ./hello\n",
            "  ",
            $command
        )
    };
}

pub(crate) use example;
