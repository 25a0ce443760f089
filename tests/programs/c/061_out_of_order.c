/* Small sends, which most libraries complete at once with one handle for all of them, completed in another order than they were started.
 * The record: each Wait completes the send whose request variable it was given. A copied handle is named if only one send is pending.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[4] = {0};
    MPI_Request first, second, copy, both[3];
    for (int i = 0; i < 50; i++) {
        if (rank == 0) {
            MPI_Isend(data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &first);
            MPI_Isend(data, 4, MPI_INT, 1, 2, MPI_COMM_WORLD, &second);
            MPI_Wait(&second, MPI_STATUS_IGNORE); /*site:second*/
            MPI_Wait(&first, MPI_STATUS_IGNORE); /*site:first*/

            MPI_Isend(data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &first);
            copy = first;
            MPI_Wait(&copy, MPI_STATUS_IGNORE); /*site:copy*/

            for (int k = 0; k < 3; k++) {
                MPI_Isend(data, 1, MPI_INT, 1, 4 + k, MPI_COMM_WORLD, &first);
                both[k] = first;
            }
            MPI_Wait(&both[1], MPI_STATUS_IGNORE); /*site:one_of_three*/
            MPI_Wait(&both[2], MPI_STATUS_IGNORE);
            MPI_Wait(&both[0], MPI_STATUS_IGNORE);
        } else {
            int bytes[6] = {1, 4, 1, 1, 1, 1};
            for (int k = 0; k < 6; k++) MPI_Recv(data, bytes[k], MPI_INT, 0, k + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) printf("out of order: done\n");
    MPI_Finalize();
    return 0;
}
