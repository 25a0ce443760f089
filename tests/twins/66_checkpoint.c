/* 4 ranks compute; every fourth step a checkpoint is written, record by record, on a slow file system (3 ms per record).
 * Problem: in checkpoint() rank 0 gathers the data of all ranks and writes all of it with fwrite, while the others wait in
 * the MPI_Barrier that ends the checkpoint.
 * fixed: each rank writes its own file. */
#include "twin.h"
#define RECORDS 40 /* per rank */
#define LENGTH 256
static double mine[RECORDS * LENGTH], all[8 * RECORDS * LENGTH];

static void write_records(FILE *file, const double *data, int n) {
    for (int r = 0; r < n; r++) {
        work(3);
        fwrite(data + r * LENGTH, sizeof(double), LENGTH, file);
        fflush(file);
    }
}

static void checkpoint(const char *name) {
    char own[300];
    if (!fixed) MPI_Gather(mine, RECORDS * LENGTH, MPI_DOUBLE, all, RECORDS * LENGTH, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    snprintf(own, sizeof own, "%s.%d", name, rank);
    if (fixed || rank == 0) {
        FILE *file = fopen(own, "w");
        if (fixed) write_records(file, mine, RECORDS);
        else write_records(file, all, size * RECORDS); // PROBLEM
        fclose(file);
        unlink(own);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char name[200];
    double sum = 0, total;
    snprintf(name, sizeof name, "%s/twin_checkpoint", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    for (int step = 0; step < 8; step++) {
        work(90);
        mine[0] += rank + step;
        MPI_Allreduce(mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (step % 4 == 3) checkpoint(name);
    }
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("checkpoint %.0f", total);
    return 0;
}
