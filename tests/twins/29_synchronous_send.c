/* Two pairs of ranks: the even rank produces items, the odd rank consumes them; both need 50 or 150 ms for an item.
 * Problem: produce_all() sends each item with MPI_Ssend, so the producer waits for the consumer to take it, and each step
 * takes as long as the slower of the two, although both need the same time on average.
 * fixed: MPI_Send (the items are small, the library buffers them). */
#include "twin.h"
#define ITEMS 12
#define N 20

static void produce_all(void) {
    double item[N] = {0};
    for (int i = 0; i < ITEMS; i++) {
        work(i % 2 ? 150 : 50);
        item[0] = i;
        if (fixed) MPI_Send(item, N, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        else MPI_Ssend(item, N, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD); // PROBLEM
    }
}

static double consume_all(void) {
    double item[N], sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        MPI_Recv(item, N, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(i % 2 ? 150 : 50);
        sum += item[0];
    }
    return sum;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double mine = 0, sum;
    if (rank % 2 == 0) produce_all();
    else mine = consume_all();
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("synchronous_send %.0f", sum);
    return 0;
}
