/* Iterates until the file "go" is there, then makes calls of other functions and keeps a ledger of them. What it needs was created before:
   a communicator, a datatype, a persistent request, and a request that is pending meanwhile. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SENDRECV, ISEND, IRECV, WAITALL, WAIT, SSEND, RECV, BCAST, REDUCE, START, FUNCTIONS };
static const char *names[FUNCTIONS] = { "MPI_Sendrecv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Wait", "MPI_Ssend", "MPI_Recv",
                                        "MPI_Bcast", "MPI_Reduce", "MPI_Start" };
static double ledger[2 * FUNCTIONS];
static double times[1 << 20];

static void entry(int function, double bytes) { ledger[2 * function]++; ledger[2 * function + 1] += bytes; }

static int earlier(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b; }

static void compute(int microseconds)
{
    double end = MPI_Wtime() + 1e-6 * microseconds;
    while (MPI_Wtime() < end) usleep(200);
}

int main(int argc, char **argv)
{
    int rank, size, go = 0, n = 0, load = argc > 1 ? atoi(argv[1]) : 3000, factor = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, data[64] = { rank, 7 }, got[64], late = -1;
    MPI_Comm copy;
    MPI_Datatype triple;
    MPI_Request pending, persistent, both[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    MPI_Irecv(&late, 1, MPI_INT, left, 99, copy, &pending);
    MPI_Send_init(data, 2, MPI_INT, right, 98, copy, &persistent);
    for (double last = MPI_Wtime(); !go; n += n < (1 << 20) - 1) {
        compute(rank == 0 ? factor * load : load);
        int mine = rank == 0 && access("go", F_OK) == 0;
        MPI_Allreduce(&mine, &go, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* the iteration */
        double now = MPI_Wtime();
        times[n] = now - last;
        last = now;
    }
    long sum = 0;
    MPI_Ssend(&rank, 1, MPI_INT, right, 99, copy); entry(SSEND, 4);
    MPI_Wait(&pending, MPI_STATUS_IGNORE); entry(WAIT, 0);
    sum += late;
    for (int round = 0; round < 200; round++) {
        int count = 1 + round % 5;
        data[2] = round;
        MPI_Sendrecv(data, count, triple, right, 1, got, 20, triple, left, 1, copy, MPI_STATUS_IGNORE); entry(SENDRECV, 24 * count);
        sum += got[0] + got[2];
        MPI_Irecv(got, 20, triple, MPI_ANY_SOURCE, 2, copy, &both[0]); entry(IRECV, 240);
        MPI_Isend(data, count, triple, right, 2, copy, &both[1]); entry(ISEND, 12 * count);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE); entry(WAITALL, 12 * count);
        sum += got[1] + got[2];
        if (rank % 2 == 0 && rank + 1 < size) { MPI_Ssend(data, count, MPI_INT, rank + 1, 3, MPI_COMM_WORLD); entry(SSEND, 4 * count); }
        if (rank % 2 == 1) { MPI_Recv(got, 20, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); entry(RECV, 4 * count); }
        MPI_Start(&persistent); entry(START, 0);
        MPI_Recv(got, 2, MPI_INT, left, 98, copy, MPI_STATUS_IGNORE); entry(RECV, 8);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE); entry(WAIT, 0);
        MPI_Bcast(got, 8, MPI_INT, round % size, copy); entry(BCAST, 0);
        MPI_Reduce(&got[3], &got[9], 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); entry(REDUCE, 0);
    }
    double *all = calloc(size, sizeof ledger);
    MPI_Gather(ledger, 2 * FUNCTIONS, MPI_DOUBLE, all, 2 * FUNCTIONS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    long result = 0;
    MPI_Exscan(&sum, &result, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    qsort(times, n, sizeof *times, earlier);
    if (rank == size - 1) printf("result %ld\n", result + sum);
    if (rank == 0) {
        for (int f = 0; f < FUNCTIONS; f++) {
            double calls = 0, bytes = 0;
            for (int r = 0; r < size; r++) { calls += all[2 * (r * FUNCTIONS + f)]; bytes += all[2 * (r * FUNCTIONS + f) + 1]; }
            printf("ledger %s %.0f %.0f\n", names[f], calls, bytes);
        }
        printf("iteration %.9f %.9f\n", times[n / 20], times[n - 1 - n / 20]);
    }
    fflush(stdout);
    MPI_Request_free(&persistent);
    MPI_Type_free(&triple);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
