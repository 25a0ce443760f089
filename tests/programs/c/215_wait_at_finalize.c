/* Rank 0 is in MPI_Finalize 600 ms before rank 1.
 * The report: wait_at_finalize on rank 0, at the Finalize (site:finalize).
 * ranks: 2
 */
#include "waits.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (rank == 1) nap(0.6);
    entering(0);
    MPI_Finalize(); /*site:finalize*/
    left(0);
    meet();
    if (rank == 0) injected("wait_at_finalize", "finalize", waited(0, 0, 1));
    return 0;
}
