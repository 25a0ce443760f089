/* A program that works on n times n numbers in each rank: it adds them up some times, and all agree on the sum.
 * The record: the memory that a rank uses after MPI_Init grows with 8*n^2 bytes.
 * args: 100
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    size_t n = argc > 1 ? atoi(argv[1]) : 100;
    double *numbers = malloc(n * n * sizeof(double)), sum = 0, all = 0;
    for (size_t i = 0; i < n * n; i++) numbers[i] = 1;
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < n * n; i++) sum += numbers[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 20.0 * size * n * n);
    free(numbers);
    if (rank == 0) printf("working_set: ok\n");
    MPI_Finalize();
    return 0;
}
