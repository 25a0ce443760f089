// HPL alone: starts the HPL that comes with the HPC Challenge benchmark, whose own main runs many other programs as well.
//
//     mpirun -n 2 ./hpl FOLDER        the problem is in FOLDER/hpccinf.txt, the result is appended to FOLDER/hpccoutf.txt
#include "hpl.h"

#include <mpi.h>
#include <unistd.h>

int HPL_main(int, char **, HPL_RuntimeData *, int *);

// HPL calls this if the problem cannot be read; that of HPC Challenge would take one as large as the memory.
int HPCC_Defaults(void) { return MPI_Abort(MPI_COMM_WORLD, 1); }

int main(int count, char **words) {
    HPL_RuntimeData fastest = {0};
    int failed = 0;
    MPI_Init(&count, &words);
    if (count < 2 || chdir(words[1])) return HPCC_Defaults();
    HPL_main(count, words, &fastest, &failed);
    MPI_Bcast(&failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
