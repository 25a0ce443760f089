/* Three times one collective with root 0, each time after another rank has worked for 0.3 s and the others for 0.1 s. In the trees that
 * libraries use, one of the late ranks is not next to the root: another rank waits as well. Arguments: the collective, bytes of a vector or
 * block.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, bytes;
static const char *operation;
static char *out, *in;

static void __attribute__((noinline)) work_and_call(int late) {
    MPI_Comm all = MPI_COMM_WORLD;
    usleep(rank == late ? 300000 : 100000);
    if (!strcmp(operation, "reduce")) MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, all);
    if (!strcmp(operation, "bcast")) MPI_Bcast(out, bytes, MPI_BYTE, 0, all);
    if (!strcmp(operation, "gather")) MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, all);
    if (!strcmp(operation, "scan")) MPI_Scan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, all);
    MPI_Barrier(all);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    operation = argv[1], bytes = atoi(argv[2]);
    out = calloc(size, bytes), in = calloc(size, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    work_and_call(1);
    work_and_call(2);
    work_and_call(3);
    MPI_Finalize();
    return 0;
}
