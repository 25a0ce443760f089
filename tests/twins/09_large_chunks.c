/* A pipeline of 4 stages (the ranks): each stage receives a chunk from the one before, processes it and passes it on.
 * Problem: the data is cut into 4 chunks only (chunks), so the last stages wait long for the first chunk and the first
 * stages are idle at the end: filling and draining take nearly half of the run.
 * fixed: 24 chunks, each a sixth as large; the amount of work is the same. */
#include "twin.h"
#define DATA 24000
#define TOTAL_MS 1000.0
static double data[DATA];

static void process(double *chunk, int n) {
    work(TOTAL_MS * n / DATA);
    for (int i = 0; i < n; i++) chunk[i] += 1;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int chunks = fixed ? 24 : 4; // PROBLEM
    int n = DATA / chunks;
    for (int c = 0; c < chunks; c++) {
        double *chunk = data + c * n;
        if (rank > 0) MPI_Recv(chunk, n, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        process(chunk, n);
        if (rank < size - 1) MPI_Send(chunk, n, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
    }
    double mine = 0, sum;
    if (rank == size - 1)
        for (int i = 0; i < DATA; i++) mine += data[i];
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("large_chunks %.0f", sum);
    return 0;
}
