/* A C program with functions of its own that carry lowercase MPI names, in itself and in a shared library.
 * The record: 3 Sends and 3 Recvs; the program's own functions are called with their own arguments.
 * ranks: 2
 * library: 040_own_names.lib.c
 */
#include "check.h"

const char *mpi_init(const char *name) { return name; }
double mpi_send(double a, double b) { return a + b; }
int mpi_recv_(int a) { return a + 1; } /* in the mangling of Fortran, yet not Fortran */
long mpi_wait(long a, long b, long c, long d, long e, long f, long g, long h); /* in the library */
double through_library(double x);

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = 0;
    for (int i = 0; i < 3; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        printf("%s %g %d %ld\n", mpi_init("own"), mpi_send(1.5, 2), mpi_recv_(4), mpi_wait(1, 2, 3, 4, 5, 6, 7, 8));
        printf("%g\n", through_library(2));
    }
    MPI_Finalize();
    return 0;
}
