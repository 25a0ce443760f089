/* MPI_Init called twice, which is an error that ends the run.
 * The record does not matter here; what the library says and the status of the run must be those of the bare run.
 * ranks: 1
 * status: failure
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    printf("first\n");
    fflush(stdout);
    int code = MPI_Init(&argc, &argv);
    printf("second: %d\n", code);
    MPI_Finalize();
    return code ? 1 : 0;
}
