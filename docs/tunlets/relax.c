/* Each process relaxes a rod of its own to its steady heat, step after step. All go on until all are calm, and they look whether that is so
   once in `patience` sweeps: looking costs a message to everybody, not looking costs sweeps that nobody needs. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 200

int patience = 1;      /* sweeps between two looks: the knob */
long sweeps;           /* sweeps of the latest step */
static double rod[CELLS + 2];

static double sweep(void)
{
    double change = 0;
    for (int i = 1; i <= CELLS; i++) {
        double new = rod[i] + 1.98 * ((rod[i - 1] + rod[i + 1]) / 2 - rod[i]);
        change = fmax(change, fabs(new - rod[i]));
        rod[i] = new;
    }
    return change;
}

__attribute__((noinline)) int calm(double change)
{
    double largest;
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest < 1e-9;
}

__attribute__((noinline)) void relax(double heat)
{
    double change;
    rod[0] = heat;
    sweeps = 0;
    do {
        for (int i = 0; i < patience; i++, sweeps++)
            change = sweep();
    } while (!calm(change));
}

int main(int argc, char **argv)
{
    int rank, steps = argc > 1 ? atoi(argv[1]) : 200;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++)
        relax(100 + step % 7);
    if (rank == 0) {
        printf("the middle is at %.3f\n", rod[CELLS / 2]);
        fprintf(stderr, "%d steps in %.2f s\n", steps, MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return 0;
}
