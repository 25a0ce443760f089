/* Rank 1 comes 80 ms late to the opening of a file, which all ranks do together, eight times.
 * The report: wait_at_collective_io on rank 0, at the File_open (site:open).
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_File file;
    for (turn = 0; turn < TURNS; turn++) {
        come(0, 1);
        MPI_File_open(MPI_COMM_WORLD, "result", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file); /*site:open*/
        left(0);
        meet();
        MPI_File_close(&file);
    }
    meet();
    if (rank == 0) injected("wait_at_collective_io", "open", waited(0, 0, 1));
    finish();
    return 0;
}
