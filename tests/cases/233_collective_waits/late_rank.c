/* Blocking collectives, and most nonblocking ones followed by MPI_Wait, with each rank in turn late by LATE. Arguments: bytes of a vector or block, the root. Rank 0 prints, per
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
       REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, ALLTOALLW, NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, IBCAST, IREDUCE,
       IGATHER, IGATHERV, ISCATTER, ISCATTERV, ISCAN, IEXSCAN, IBARRIER, IALLREDUCE, IALLGATHER, IALLGATHERV, IALLTOALL, IALLTOALLV,
       IALLTOALLW, IREDUCE_SCATTER, IREDUCE_SCATTER_BLOCK, INEIGHBOR_ALLGATHER, INEIGHBOR_ALLTOALL, OPERATIONS };
static const char *const names[] = {
    "bcast", "reduce", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan", "barrier", "allreduce", "allgather", "allgatherv",
    "alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block", "alltoallw", "neighbor_allgather",
    "neighbor_alltoall", "neighbor_allgatherv", "neighbor_alltoallv", "neighbor_alltoallw", "ibcast", "ireduce", "igather", "igatherv",
    "iscatter", "iscatterv", "iscan", "iexscan", "ibarrier", "iallreduce", "iallgather", "iallgatherv", "ialltoall", "ialltoallv",
    "ialltoallw", "ireduce_scatter", "ireduce_scatter_block", "ineighbor_allgather", "ineighbor_alltoall"
};

static int rank, size, bytes, root, counts[MOST_RANKS], offsets[MOST_RANKS], vectors[MOST_RANKS];
static char *out, *in;
static MPI_Comm ring;
static MPI_Datatype types[MOST_RANKS];
static MPI_Aint displacements[MOST_RANKS];

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
    MPI_Request request;
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
    case ALLTOALLW: MPI_Alltoallw(out, counts, offsets, types, in, counts, offsets, types, all); break; /*site:alltoallw*/
    case NEIGHBOR_ALLGATHERV: MPI_Neighbor_allgatherv(out, bytes, MPI_BYTE, in, counts, offsets, MPI_BYTE, ring); break; /*site:neighbor_allgatherv*/
    case NEIGHBOR_ALLTOALLV: MPI_Neighbor_alltoallv(out, counts, offsets, MPI_BYTE, in, counts, offsets, MPI_BYTE, ring); break; /*site:neighbor_alltoallv*/
    case NEIGHBOR_ALLTOALLW: MPI_Neighbor_alltoallw(out, counts, displacements, types, in, counts, displacements, types, ring); break; /*site:neighbor_alltoallw*/
    case NEIGHBOR_ALLGATHER: MPI_Neighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring); break; /*site:neighbor_allgather*/
    case NEIGHBOR_ALLTOALL: MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring); break; /*site:neighbor_alltoall*/
    case IBCAST:
        MPI_Ibcast(out, bytes, MPI_BYTE, root, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ibcast*/
        break;
    case IREDUCE:
        MPI_Ireduce(out, in, n, MPI_DOUBLE, MPI_SUM, root, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ireduce*/
        break;
    case IGATHER:
        MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:igather*/
        break;
    case IGATHERV:
        MPI_Igatherv(out, bytes, MPI_BYTE, in, counts, offsets, MPI_BYTE, root, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:igatherv*/
        break;
    case ISCATTER:
        MPI_Iscatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iscatter*/
        break;
    case ISCATTERV:
        MPI_Iscatterv(out, counts, offsets, MPI_BYTE, in, bytes, MPI_BYTE, root, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iscatterv*/
        break;
    case ISCAN:
        MPI_Iscan(out, in, n, MPI_DOUBLE, MPI_SUM, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iscan*/
        break;
    case IEXSCAN:
        MPI_Iexscan(out, in, n, MPI_DOUBLE, MPI_SUM, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iexscan*/
        break;
    case IBARRIER:
        MPI_Ibarrier(all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ibarrier*/
        break;
    case IALLREDUCE:
        MPI_Iallreduce(out, in, n, MPI_DOUBLE, MPI_SUM, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iallreduce*/
        break;
    case IALLGATHER:
        MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iallgather*/
        break;
    case IALLGATHERV:
        MPI_Iallgatherv(out, bytes, MPI_BYTE, in, counts, offsets, MPI_BYTE, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:iallgatherv*/
        break;
    case IALLTOALL:
        MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ialltoall*/
        break;
    case IALLTOALLV:
        MPI_Ialltoallv(out, counts, offsets, MPI_BYTE, in, counts, offsets, MPI_BYTE, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ialltoallv*/
        break;
    case IALLTOALLW:
        MPI_Ialltoallw(out, counts, offsets, types, in, counts, offsets, types, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ialltoallw*/
        break;
    case IREDUCE_SCATTER:
        MPI_Ireduce_scatter(out, in, vectors, MPI_DOUBLE, MPI_SUM, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ireduce_scatter*/
        break;
    case IREDUCE_SCATTER_BLOCK:
        MPI_Ireduce_scatter_block(out, in, n, MPI_DOUBLE, MPI_SUM, all, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ireduce_scatter_block*/
        break;
    case INEIGHBOR_ALLGATHER:
        MPI_Ineighbor_allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ineighbor_allgather*/
        break;
    case INEIGHBOR_ALLTOALL:
        MPI_Ineighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /*site:ineighbor_alltoall*/
        break;
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bytes = atoi(argv[1]), root = atoi(argv[2]) % size;
    out = calloc(size + 2, bytes), in = calloc(size + 2, bytes);
    for (int i = 0; i < size; i++)
        counts[i] = bytes, offsets[i] = i * bytes, vectors[i] = bytes / 8, types[i] = MPI_BYTE, displacements[i] = offsets[i];
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
