/* A two-dimensional Fourier transform of n x n complex numbers, there and back, a few times: each process transforms its rows, all exchange
 * blocks with all (MPI_Alltoall), and each transforms what were columns. n is a power of two.
 *
 *     mpirun -n 2 ./transpose_fft N [TURNS] */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex number;

static void transform(number *row, int n, int sign) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            number swapped = row[i];
            row[i] = row[j];
            row[j] = swapped;
        }
    }
    for (int length = 2; length <= n; length *= 2) {
        number step = cexp(sign * 2 * I * M_PI / length);
        for (int first = 0; first < n; first += length) {
            number root = 1;
            for (int k = 0; k < length / 2; k++, root *= step) {
                number even = row[first + k], odd = root * row[first + k + length / 2];
                row[first + k] = even + odd;
                row[first + k + length / 2] = even - odd;
            }
        }
    }
}

static void transpose(number *block, number *out, number *in, int n, int rows, int processes) {
    for (int p = 0; p < processes; p++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < rows; c++) out[((size_t)p * rows + c) * rows + r] = block[(size_t)r * n + p * rows + c];
    int count = 2 * rows * rows;
    MPI_Alltoall(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int p = 0; p < processes; p++)
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < rows; c++) block[(size_t)r * n + p * rows + c] = in[((size_t)p * rows + r) * rows + c];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, processes, n = argc > 1 ? atoi(argv[1]) : 512, turns = argc > 2 ? atoi(argv[2]) : 4;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int rows = n / processes;
    size_t size = (size_t)rows * n;
    number *block = malloc(size * sizeof *block), *out = malloc(size * sizeof *out), *in = malloc(size * sizeof *in);
    for (size_t i = 0; i < size; i++) block[i] = (double)((i * 7919 + rank) % 1000) / 1000;
    number before = block[size / 2];
    for (int turn = 0; turn < turns; turn++)
        for (int sign = -1; sign <= 1; sign += 2) {
            for (int r = 0; r < rows; r++) transform(block + (size_t)r * n, n, sign);
            transpose(block, out, in, n, rows, processes);
            for (int r = 0; r < rows; r++) transform(block + (size_t)r * n, n, sign);
            transpose(block, out, in, n, rows, processes);
            for (size_t i = 0; i < size; i++) block[i] /= n;
        }
    double error = cabs(block[size / 2] - before), worst;
    MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("error %s\n", worst < 1e-9 ? "small" : "large");
    MPI_Finalize();
    return worst < 1e-9 || rank ? 0 : 1;
}
