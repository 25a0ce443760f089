/* The ranks gather their data on rank 0, which writes all of it for 40 ms while the others wait for it to go on.
 * The report: io_by_one_rank, at the write (site:write).
 * ranks: 3
 * library: 251_io_by_one_rank.lib.c
 */
#define TURNS 12
#include "waits.h"

void before_write(void) { nap(0.04); }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, all[RANKS] = {0}, spent = 0;
    int go_on = 1;
    MPI_File file;
    if (rank == 0) MPI_File_open(MPI_COMM_SELF, "result", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    meet();
    for (turn = 0; turn < TURNS; turn++) {
        work(0.01);
        MPI_Gather(&out, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        double begin = now();
        if (rank == 0) MPI_File_write_at(file, turn * sizeof all, all, RANKS, MPI_DOUBLE, MPI_STATUS_IGNORE); /*site:write*/
        spent += now() - begin;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) MPI_File_close(&file);
    if (rank == 0) injected("io_by_one_rank", "write", spent);
    finish();
    return 0;
}
