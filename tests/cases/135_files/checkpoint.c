/* Rank 0 writes a checkpoint of 20 MB alone in rounds 3 and 8 of 12; with the argument `all`, each rank writes its part. The last line is
   the time of all rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char block[500000];

static void work(double seconds) {
    struct timespec t = {0, (long)(seconds * 1e9)};
    nanosleep(&t, NULL);
}

static void checkpoint(int rank, long bytes) {
    char name[32];
    sprintf(name, "checkpoint.%d", rank);
    FILE *file = fopen(name, "w");
    for (long done = 0; done < bytes; done += sizeof block) fwrite(block, 1, sizeof block, file);
    fclose(file);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double own = 1, sum;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int round = 0; round < 12; round++) {
        work(0.05);
        if (round == 3 || round == 8) {
            if (argc > 1) checkpoint(rank, 20000000 / size);
            else if (rank == 0) checkpoint(rank, 20000000);
        }
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double seconds = MPI_Wtime() - begin;
    if (rank == 0) printf("%f\n", seconds);
    MPI_Finalize();
    return 0;
}
