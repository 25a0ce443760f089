/* A program of a size: as many rounds as its size, in each of which every rank works a while and all agree on a thousand
 * times as many numbers: so many that agreeing takes a part of the time on any machine.
 * The record: the time grows with the size, the calls with it and the bytes with its square, whatever the machine does.
 * args: 10
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 10;
    int numbers = 1000 * n;
    double *mine = calloc(numbers, sizeof(double)), *all = calloc(numbers, sizeof(double));
    for (int round = 0; round < n; round++) {
        usleep(5000);
        mine[0] = round;
        MPI_Allreduce(mine, all, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /*site:agree*/
        CHECK(all[0] == (double)round * size);
    }
    if (rank == 0) printf("sizes: ok\n");
    MPI_Finalize();
    return 0;
}
