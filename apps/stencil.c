/* Heat spreading over a square plate of n x n points: every step each point becomes the mean of its four neighbours.
 * The plate is cut into blocks, one per process, which exchange their borders; every ten steps all agree on the largest change.
 *
 *     mpirun -n 4 ./stencil N [STEPS] */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WEST, EAST, NORTH, SOUTH };

typedef struct {
    int rows, columns; /* without the border */
    double *now, *next;
} Block;

static size_t at(const Block *block, int row, int column) { return (size_t)row * (block->columns + 2) + column; }

static int share(int n, int parts, int part) { return n / parts + (part < n % parts); }

static Block new_block(int rows, int columns, int is_hot) {
    Block block = {rows, columns, NULL, NULL};
    size_t points = (size_t)(rows + 2) * (columns + 2);
    block.now = calloc(points, sizeof(double));
    block.next = calloc(points, sizeof(double));
    if (!block.now || !block.next) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int column = 0; is_hot && column < columns + 2; column++) block.now[column] = block.next[column] = 100.0;
    return block;
}

static void exchange_borders(Block *block, const int *neighbours, MPI_Datatype column, MPI_Comm grid) {
    MPI_Request requests[8];
    double *p = block->now;
    int rows = block->rows, columns = block->columns;
    MPI_Irecv(&p[at(block, 0, 1)], columns, MPI_DOUBLE, neighbours[NORTH], 0, grid, &requests[0]);
    MPI_Irecv(&p[at(block, rows + 1, 1)], columns, MPI_DOUBLE, neighbours[SOUTH], 0, grid, &requests[1]);
    MPI_Irecv(&p[at(block, 1, 0)], 1, column, neighbours[WEST], 0, grid, &requests[2]);
    MPI_Irecv(&p[at(block, 1, columns + 1)], 1, column, neighbours[EAST], 0, grid, &requests[3]);
    MPI_Isend(&p[at(block, 1, 1)], columns, MPI_DOUBLE, neighbours[NORTH], 0, grid, &requests[4]);
    MPI_Isend(&p[at(block, rows, 1)], columns, MPI_DOUBLE, neighbours[SOUTH], 0, grid, &requests[5]);
    MPI_Isend(&p[at(block, 1, 1)], 1, column, neighbours[WEST], 0, grid, &requests[6]);
    MPI_Isend(&p[at(block, 1, columns)], 1, column, neighbours[EAST], 0, grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static double step(Block *block) {
    double largest = 0.0;
    for (int row = 1; row <= block->rows; row++)
        for (int column = 1; column <= block->columns; column++) {
            const double *p = &block->now[at(block, row, column)];
            double mean = 0.25 * (p[-1] + p[1] + p[-(block->columns + 2)] + p[block->columns + 2]);
            largest = fmax(largest, fabs(mean - *p));
            block->next[at(block, row, column)] = mean;
        }
    double *old = block->now;
    block->now = block->next;
    block->next = old;
    return largest;
}

int main(int argc, char **argv) {
    int size, rank, shape[2] = {0, 0}, periods[2] = {0, 0}, place[2], neighbours[4];
    MPI_Init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 100;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, shape);
    if (n < shape[0]) {
        fprintf(stderr, "stencil: the plate needs at least %d points a side\n", shape[0]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place);
    MPI_Cart_shift(grid, 0, 1, &neighbours[NORTH], &neighbours[SOUTH]);
    MPI_Cart_shift(grid, 1, 1, &neighbours[WEST], &neighbours[EAST]);

    Block block = new_block(share(n, shape[0], place[0]), share(n, shape[1], place[1]), place[0] == 0);
    MPI_Datatype column;
    MPI_Type_vector(block.rows, 1, block.columns + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);

    double change = 0.0;
    for (int i = 1; i <= steps; i++) {
        exchange_borders(&block, neighbours, column, grid);
        double mine = step(&block);
        if (i % 10 == 0) MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    if (rank == 0) printf("largest change after %d steps: %.6f\n", steps, change);
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);
    free(block.now);
    free(block.next);
    MPI_Finalize();
    return 0;
}
