/* Two pairs of ranks: the even rank asks the odd rank for one block after another and computes with it; the odd rank
 * needs time to produce a block.
 * Problem: main() waits for each block (MPI_Wait) right after the request and computes only then: communication and
 * computation of the even rank never overlap.
 * fixed: the next block is requested before the current one is computed with, and received with MPI_Irecv. */
#include "twin.h"
#define N 20
#define BLOCKS 10

static double compute(const double *block) {
    work(90);
    return block[0];
}

static void serve(void) {
    double block[N] = {0};
    int number;
    for (int i = 0; i < BLOCKS; i++) {
        MPI_Recv(&number, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(80);
        block[0] = number;
        MPI_Send(block, N, MPI_DOUBLE, rank - 1, 2, MPI_COMM_WORLD);
    }
}

static void request(int number, double *block, MPI_Request *pending) {
    MPI_Irecv(block, N, MPI_DOUBLE, rank + 1, 2, MPI_COMM_WORLD, pending);
    MPI_Send(&number, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double blocks[2][N], sum = 0;
    MPI_Request pending;
    if (rank % 2) serve();
    else {
        if (fixed) request(0, blocks[0], &pending);
        for (int i = 0; i < BLOCKS; i++) {
            if (!fixed) request(i, blocks[i % 2], &pending);
            MPI_Wait(&pending, MPI_STATUS_IGNORE); // PROBLEM
            if (fixed && i + 1 < BLOCKS) request(i + 1, blocks[(i + 1) % 2], &pending);
            sum += compute(blocks[i % 2]);
        }
    }
    finish("no_prefetch %.0f", sum);
    return 0;
}
