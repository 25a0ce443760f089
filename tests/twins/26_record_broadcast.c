/* Rank 0 reads an input file of 40000 records of 64 bytes, which both ranks need, and all compute with it.
 * Problem: read_input() broadcasts each record as soon as it is read, 40000 broadcasts of 64 bytes.
 * fixed: the whole file is read, then broadcast at once. */
#include "twin.h"
#define RECORDS 40000
#define LENGTH 64
static char records[RECORDS][LENGTH];

static void write_file(const char *name) {
    FILE *file = fopen(name, "w");
    for (int r = 0; r < RECORDS; r++) {
        memset(records[r], 'a' + r % 26, LENGTH);
        fwrite(records[r], 1, LENGTH, file);
    }
    fclose(file);
    memset(records, 0, sizeof records);
}

static void read_input(const char *name) {
    FILE *file = rank == 0 ? fopen(name, "r") : NULL;
    for (int r = 0; r < RECORDS; r++) {
        if (rank == 0 && fread(records[r], 1, LENGTH, file) != LENGTH) MPI_Abort(MPI_COMM_WORLD, 1);
        if (!fixed) MPI_Bcast(records[r], LENGTH, MPI_CHAR, 0, MPI_COMM_WORLD); // PROBLEM
    }
    if (fixed) MPI_Bcast(records, sizeof records, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) fclose(file);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char name[200];
    snprintf(name, sizeof name, "%s/twin_record_broadcast.data", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (rank == 0) write_file(name);
    double mine = 0, sum;
    for (int pass = 0; pass < 8; pass++) {
        read_input(name);
        work(30);
        for (int r = 0; r < RECORDS; r++) mine += records[r][LENGTH - 1];
    }
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) unlink(name);
    finish("record_broadcast %.0f", sum);
    return 0;
}
