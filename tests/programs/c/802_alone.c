/* Nobody says anything to anybody.
 * The record: there is nothing to place ranks by.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank == 0) printf("alone: ok\n");
    MPI_Finalize();
    return 0;
}
