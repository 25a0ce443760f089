/* A mesh of points at random places of a square, each with an unknown that becomes the mean of those near it. Processes own the points around a random place of theirs, so
 * that their numbers say nothing of who is near whom; they exchange the points that others are near to.
 *
 *     mpirun -n 16 ./unstructured POINTS [STEPS] */
#include <mpi.h>
#include <stdlib.h>

typedef struct { double x, y; } Place;

static Place anywhere(unsigned *seed) {
    double x = rand_r(seed) / (double)RAND_MAX;
    return (Place){x, rand_r(seed) / (double)RAND_MAX};
}

static double apart(Place a, Place b) { return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y); }

static int nearest(Place point, const Place *centres, int count) {
    int best = 0;
    for (int i = 1; i < count; i++) if (apart(point, centres[i]) < apart(point, centres[best])) best = i;
    return best;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int points = argc > 1 ? atoi(argv[1]) : 4000, steps = argc > 2 ? atoi(argv[2]) : 50, rank, processes;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    unsigned seed = 3;
    Place *centres = malloc(processes * sizeof(Place)), *mesh = malloc(points * sizeof(Place));
    int *owners = malloc(points * sizeof(int)), *shared = calloc(processes, sizeof(int));
    if (!centres || !mesh || !owners || !shared) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < processes; i++) centres[i] = anywhere(&seed);
    for (int i = 0; i < points; i++) mesh[i] = anywhere(&seed), owners[i] = nearest(mesh[i], centres, processes);
    /* What is exchanged with each process: pairs of points near each other, one of them there; as many in both directions. */
    double reach = 8.0 / points;
    for (int i = 0; i < points; i++)
        for (int j = 0; owners[i] == rank && j < points; j++)
            if (owners[j] != rank && apart(mesh[i], mesh[j]) < reach) shared[owners[j]]++;
    double **out = calloc(processes, sizeof(double *)), **in = calloc(processes, sizeof(double *));
    MPI_Request *requests = malloc(2 * processes * sizeof(MPI_Request));
    if (!out || !in || !requests) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < processes; i++) out[i] = calloc(shared[i] + 1, sizeof(double)), in[i] = calloc(shared[i] + 1, sizeof(double));
    for (int step = 0; step < steps; step++) {
        int open = 0;
        for (int i = 0; i < processes; i++) if (shared[i]) MPI_Irecv(in[i], shared[i], MPI_DOUBLE, i, 0, MPI_COMM_WORLD, &requests[open++]);
        for (int i = 0; i < processes; i++) if (shared[i]) MPI_Isend(out[i], shared[i], MPI_DOUBLE, i, 0, MPI_COMM_WORLD, &requests[open++]);
        MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
        double change = 0, all;
        for (int i = 0; i < processes; i++) for (int j = 0; j < shared[i]; j++) change += in[i][j] - out[i][j], out[i][j] = 0.5 * (in[i][j] + step);
        if (step % 10 == 0) MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
