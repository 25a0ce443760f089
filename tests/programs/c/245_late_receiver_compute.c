/* Each rank sends a large message with a blocking Send while the other still works, and waits; sent without blocking, the message
 * would go while both work, and a turn would take half as long.
 * The report: late_receiver_compute, of the work before the Recvs (site:there, site:back).
 * ranks: 2
 */
#define TURNS 10
#include "waits.h"

enum { BYTES = 1 << 20 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char *data = calloc(BYTES, 1);
    double begin = now();
    for (turn = 0; turn < TURNS; turn++) {
        if (rank == 0) {
            MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            work(0.05);
            MPI_Recv(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:back*/
        } else {
            work(0.05);
            MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /*site:there*/
            MPI_Send(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) injected("late_receiver_compute", "there", (now() - begin) / 2);
    free(data);
    finish();
    return 0;
}
