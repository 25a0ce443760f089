/* Two pairs of ranks: the even rank produces records, the odd rank consumes them; both need 50 or 150 ms for a record.
 * Problem: a record is padded (LENGTH_PADDED) to just above the size up to which MPI_Send returns without the receiver
 * (256 bytes in Open MPI with shared memory, 8 KB in MPICH), so MPI_Send in produce_all() waits for it in each step.
 * fixed: only the used part of the record is sent, which is just below the limit and is buffered by the library. */
#include "twin.h"
#ifdef OPEN_MPI
#define LENGTH 28 /* doubles */
#else
#define LENGTH 960
#endif
#define LENGTH_PADDED (LENGTH * 5 / 4)
#define RECORDS 12
static double record[LENGTH_PADDED];

static void produce_all(int length) {
    for (int i = 0; i < RECORDS; i++) {
        work(i % 2 ? 150 : 50);
        record[0] = i;
        MPI_Send(record, length, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD); // PROBLEM
    }
}

static double consume_all(int length) {
    double sum = 0;
    for (int i = 0; i < RECORDS; i++) {
        MPI_Recv(record, length, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(i % 2 ? 150 : 50);
        sum += record[0];
    }
    return sum;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int length = fixed ? LENGTH : LENGTH_PADDED;
    double mine = 0, sum;
    if (rank % 2 == 0) produce_all(length);
    else mine = consume_all(length);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("above_eager_limit %.0f", sum);
    return 0;
}
