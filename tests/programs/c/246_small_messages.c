/* A vector goes to the other rank and back number by number: twenty times 5000 messages of 8 bytes, which take at least a
 * fifth of the time.
 * The report: small_messages, at the Send (site:send).
 * ranks: 2
 */
#define TURNS 20
#include "waits.h"

enum { COUNT = 5000 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double vector[COUNT] = {0}, spent = 0;
    for (turn = 0; turn < TURNS; turn++) {
        work(0.001);
        double begin = now();
        for (int i = 0; i < COUNT; i++) {
            if (turn % 2 == rank) MPI_Send(&vector[i], 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD); /*site:send*/
            else MPI_Recv(&vector[i], 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        spent += now() - begin;
    }
    if (rank == 0) injected("small_messages", "send", spent);
    finish();
    return 0;
}
