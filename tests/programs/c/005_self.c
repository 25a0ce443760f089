/* Requests to oneself, which some libraries complete at once and give one shared handle.
 * The record: 100 Isend, 100 Irecv, 100 Waitall; every receive is completed once, with 8 bytes from rank 0.
 * ranks: 1
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    double sum = 0;
    for (int i = 0; i < 100; i++) {
        double out = i, in = 0;
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, i, MPI_COMM_SELF, &requests[0]); /*site:irecv*/
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, i, MPI_COMM_SELF, &requests[1]); /*site:isend*/
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /*site:waitall*/
        sum += in;
    }
    printf("sum %g\n", sum);
    MPI_Finalize();
    return 0;
}
