/* Heat in a cube cut into blocks, one per process: all 26 neighbours exchange the faces, edges and corners of their blocks.
 *
 *     mpirun -n 27 ./blocks POINTS [STEPS]        POINTS in each dimension of a block */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int points = argc > 1 ? atoi(argv[1]) : 16, steps = argc > 2 ? atoi(argv[2]) : 20;
    int processes, shape[3] = {0, 0, 0}, periods[3] = {0, 0, 0}, own[3], rank;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Dims_create(processes, 3, shape);
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 3, shape, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 3, own);
    int others[26], doubles[26], count = 0;
    for (int way = 0; way < 27; way++) {
        int step[3] = {way / 9 - 1, way / 3 % 3 - 1, way % 3 - 1}, there[3], inside = way != 13, size = 1;
        for (int i = 0; i < 3; i++) {
            there[i] = own[i] + step[i];
            inside = inside && there[i] >= 0 && there[i] < shape[i];
            size *= step[i] ? 1 : points;
        }
        if (!inside) continue;
        MPI_Cart_rank(grid, there, &others[count]);
        doubles[count++] = size;
    }
    double *in = calloc((size_t)26 * points * points, sizeof(double)), *out = calloc((size_t)26 * points * points, sizeof(double));
    if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[52];
        for (int i = 0; i < count; i++) {
            size_t at = (size_t)i * points * points;
            MPI_Irecv(in + at, doubles[i], MPI_DOUBLE, others[i], 0, grid, &requests[2 * i]);
            MPI_Isend(out + at, doubles[i], MPI_DOUBLE, others[i], 0, grid, &requests[2 * i + 1]);
        }
        MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
        for (size_t i = 0; i < (size_t)count * points * points; i++) out[i] = 0.5 * (in[i] + step);
    }
    free(in), free(out);
    MPI_Finalize();
    return 0;
}
