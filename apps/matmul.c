/* Multiplies two n x n matrices: rank 0 hands out rows and collects the results, the others compute.
 * The program of J. M. Laine's dissertation (2003) on predicting MPI programs, in the smallest form that keeps its structure.
 * Usage: mpirun -n 4 ./matmul [n] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS, RESULT };

static double *matrix(int n) { return calloc((size_t)n * n, sizeof(double)); }

static void multiply(const double *a, const double *b, double *c, int rows, int n) {
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
}

static int rows_of(int worker, int workers, int n) { return n / workers + (worker < n % workers); }

static void master(int workers, int n, double *b) {
    double *a = matrix(n), *c = matrix(n);
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    MPI_Bcast(b, n * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int w = 0, first = 0; w < workers; first += rows_of(w++, workers, n))
        MPI_Send(a + (size_t)first * n, rows_of(w, workers, n) * n, MPI_DOUBLE, w + 1, ROWS, MPI_COMM_WORLD);
    for (int w = 0, first = 0; w < workers; first += rows_of(w++, workers, n))
        MPI_Recv(c + (size_t)first * n, rows_of(w, workers, n) * n, MPI_DOUBLE, w + 1, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double sum = 0;
    for (int i = 0; i < n * n; i++)
        sum += c[i];
    printf("n %d, %d workers, sum of the product %.0f\n", n, workers, sum);
}

static void worker(int me, int workers, int n, double *b) {
    int rows = rows_of(me - 1, workers, n);
    double *a = matrix(n), *c = matrix(n);
    MPI_Bcast(b, n * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Recv(a, rows * n, MPI_DOUBLE, 0, ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    multiply(a, b, c, rows, n);
    MPI_Send(c, rows * n, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int me, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = argc > 1 ? atoi(argv[1]) : 400;
    if (size < 2 || n < 1) {
        if (me == 0)
            fprintf(stderr, "usage: mpirun -n P matmul [n], with at least 2 processes and n >= 1\n");
        MPI_Finalize();
        return 1;
    }
    double *b = matrix(n);
    if (me == 0)
        master(size - 1, n, b);
    else
        worker(me, size - 1, n, b);
    MPI_Finalize();
    return 0;
}
