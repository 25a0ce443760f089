/* Every blocking collective, with each rank in turn late by LATE. Arguments: bytes of a vector or block, the root. Rank 0 prints, per
 * collective, how long the ranks waited in all: a rank waited if it was in the call for more than half of LATE, and then from its entry to
 * that of the late rank. The clock is that of the host. All sleep until they enter, so that nobody who spins keeps another rank from a core.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LATE 70000 /* microseconds */
#define FIRST_CALLS 8 /* in which libraries set up a communicator */
#define MOST_RANKS 16

enum { BCAST, REDUCE, GATHER, GATHERV, SCATTER, SCATTERV, SCAN, EXSCAN, BARRIER, ALLREDUCE, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
       REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, OPERATIONS };
static const char *const names[] = {
    "bcast", "reduce", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "barrier", "allreduce", "allgather", "allgatherv",
    "alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block", "neighbor_allgather", "neighbor_alltoall"
};

static int rank, size, bytes, root, counts[MOST_RANKS], offsets[MOST_RANKS], vectors[MOST_RANKS];
static char *out, *in;
static MPI_Comm ring;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void sleep_until(double time) {
    struct timespec until = { (time_t)time, (long)(1e9 * (time - (time_t)time)) };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void call(int operation) {
    MPI_Comm all = MPI_COMM_WORLD;
    int n = bytes / 8;
    switch (operation) {
    case BCAST: MPI_Bcast(out, bytes, MPI_BYTE, root, all); break; /*site:bcast*/
    case REDUCE: MPI_Reduce(out, in, n, MPI_DOUBLE, MPI_SUM, root, all); break; /*site:reduce*/
    case GATHER: MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, all); break; /*site:gather*/
    case GATHERV: MPI_Gatherv(out, bytes, MPI_BYTE, in, counts, offsets, MPI_BYTE, root, all); break; /*site:gatherv*/
    case SCATTER: MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, all); break; /*site:scatter*/
    case SCATTERV: MPI_Scatterv(out, counts, offsets, MPI_BYTE, in, bytes, MPI_BYTE, root, all); break; /*site:scatterv*/
    case SCAN: MPI_Scan(out, in, n, MPI_DOUBLE, MPI_SUM, all); break; /*site:scan*/
    case EXSCAN: MPI_Exscan(out, in, n, MPI_DOUBLE, MPI_SUM, all); break; /*site:exscan*/
    case BARRIER: MPI_Barrier(all); break; /*site:barrier*/
    case ALLREDUCE: MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, all); break; /*site:allreduce*/
    case ALLGATHER: MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all); break; /*site:allgather*/
    case ALLGATHERV: MPI_Allgatherv(out, bytes, MPI_BYTE, in, counts, offsets, MPI_BYTE, all); break; /*site:allgatherv*/
    case ALLTOALL: MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all); break; /*site:alltoall*/
    case ALLTOALLV: MPI_Alltoallv(out, counts, offsets, MPI_BYTE, in, counts, offsets, MPI_BYTE, all); break; /*site:alltoallv*/
    case REDUCE_SCATTER: MPI_Reduce_scatter(out, in, vectors, MPI_DOUBLE, MPI_SUM, all); break; /*site:reduce_scatter*/
    case REDUCE_SCATTER_BLOCK: MPI_Reduce_scatter_block(out, in, n, MPI_DOUBLE, MPI_SUM, all); break; /*site:reduce_scatter_block*/
    case NEIGHBOR_ALLGATHER: MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring); break; /*site:neighbor_allgather*/
    case NEIGHBOR_ALLTOALL: MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring); break; /*site:neighbor_alltoall*/
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bytes = atoi(argv[1]), root = atoi(argv[2]) % size;
    out = calloc(size + 2, bytes), in = calloc(size + 2, bytes);
    for (int i = 0; i < size; i++)
        counts[i] = bytes, offsets[i] = i * bytes, vectors[i] = bytes / 8;
    int is_periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &is_periodic, 0, &ring);
    for (int i = 0; i < FIRST_CALLS; i++) {
        double one = 1, sum;
        MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Reduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int operation = 0; operation < OPERATIONS; operation++) {
        double waited = 0;
        for (int late = 0; late < size; late++) {
            double start = now() + 0.012;
            MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            sleep_until(rank == late ? start + 1e-6 * LATE : start);
            double times[2] = { now() }, all[MOST_RANKS][2];
            call(operation);
            times[1] = now();
            MPI_Gather(times, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            for (int i = 0; rank == 0 && i < size; i++) {
                double in_call = all[i][1] - all[i][0];
                if (getenv("LATE_RANK_ALL"))
                    printf("%s: late %d, rank %d: %.4f\n", names[operation], late, i, in_call);
                if (i != late && in_call > 0.5e-6 * LATE)
                    waited += all[late][0] - all[i][0];
            }
        }
        if (rank == 0)
            printf("waited at %s %.4f\n", names[operation], waited);
    }
    MPI_Finalize();
    return 0;
}
