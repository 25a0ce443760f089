// Regions that do nothing, many times.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long sum = 0;
    for (int round = 0; round < 200000; round++) {
#pragma omp parallel num_threads(1) reduction(+ : sum)
        sum += 1;
    }
    printf("%ld\n", sum);
    MPI_Finalize();
}
