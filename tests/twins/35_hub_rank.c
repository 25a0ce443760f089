/* A graph on 6 ranks with an irregular set of neighbours; each edge between two ranks needs a message each way and 40 ms of
 * computation with what was received, on the rank that owns the edge.
 * Problem: owns() gives an edge to its lower end, so rank 0, which has an edge to all others, owns five of the nine edges and
 * computes longer than the others in interact(); they wait for its answers.
 * fixed: the edges are assigned so that no rank owns more than two (owner_balanced). */
#include "twin.h"
#define EDGES 9
static const int edges[EDGES][2] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
static const int owner_balanced[EDGES] = {0, 0, 3, 4, 5, 1, 2, 3, 4};

static int owns(int e) { return rank == (fixed ? owner_balanced[e] : edges[e][0]); } // PROBLEM

static double interact(double value) {
    work(40);
    return value + 1;
}

static double iterate(double mine) {
    double sent = mine, answer = 0, received, forces = 0;
    MPI_Request requests[EDGES];
    int n = 0;
    for (int e = 0; e < EDGES; e++) { /* the end that does not own the edge sends its value */
        int at_end = edges[e][0] == rank || edges[e][1] == rank, other = edges[e][0] + edges[e][1] - rank;
        if (at_end && !owns(e)) MPI_Isend(&sent, 1, MPI_DOUBLE, other, e, MPI_COMM_WORLD, requests + n++);
    }
    for (int e = 0; e < EDGES; e++) { /* the owner computes and sends the force back */
        if (!owns(e)) continue;
        int other = edges[e][0] + edges[e][1] - rank;
        MPI_Recv(&received, 1, MPI_DOUBLE, other, e, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        answer = interact(received + mine);
        MPI_Send(&answer, 1, MPI_DOUBLE, other, EDGES + e, MPI_COMM_WORLD);
        forces += answer;
    }
    for (int e = 0; e < EDGES; e++) {
        int at_end = edges[e][0] == rank || edges[e][1] == rank, other = edges[e][0] + edges[e][1] - rank;
        if (!at_end || owns(e)) continue;
        MPI_Recv(&answer, 1, MPI_DOUBLE, other, EDGES + e, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        forces += answer;
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    return forces / 16;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double mine = rank, sum;
    for (int step = 0; step < 8; step++) mine = iterate(mine);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("hub_rank %.6f", sum);
    return 0;
}
