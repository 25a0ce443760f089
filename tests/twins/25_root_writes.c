/* 4 ranks compute for three steps and write the result of each to a file, block by block of 64 KB; the file system gives
 * each writer a limited rate (write_block waits 10 ms per block).
 * Problem: in output() rank 0 gathers all data and writes the whole file, while the others wait for the next step.
 * fixed: each rank writes its own part of the file with MPI_File_write_at. */
#include "twin.h"
#define BLOCK 8192
#define BLOCKS 12 /* per rank */
static double mine[BLOCKS][BLOCK], all[8 * BLOCKS][BLOCK];

static void write_block(MPI_File file, int number, const double *block) {
    work(10);
    MPI_File_write_at(file, (MPI_Offset)number * sizeof mine[0], block, BLOCK, MPI_DOUBLE, MPI_STATUS_IGNORE);
}

static void output(MPI_File file) {
    if (fixed) {
        for (int b = 0; b < BLOCKS; b++) write_block(file, rank * BLOCKS + b, mine[b]);
    } else {
        MPI_Gather(mine, BLOCKS * BLOCK, MPI_DOUBLE, all, BLOCKS * BLOCK, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0)
            for (int b = 0; b < size * BLOCKS; b++) write_block(file, b, all[b]); // PROBLEM
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the file is complete */
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_File file;
    char name[200];
    snprintf(name, sizeof name, "%s/twin_root_writes.data", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    for (int step = 0; step < 3; step++) {
        work(120);
        for (int b = 0; b < BLOCKS; b++) mine[b][0] = step + rank + b;
        output(file);
    }
    double sum = 0, value;
    for (int b = 0; rank == 0 && b < size * BLOCKS; b++) {
        MPI_File_read_at(file, (MPI_Offset)b * sizeof mine[0], &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
        sum += value;
    }
    MPI_File_close(&file);
    finish("root_writes %.0f", sum);
    return 0;
}
