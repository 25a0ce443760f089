/* What `waves.sin` beside this was recorded from: a string that swings, cut into pieces, one for each of six ranks. Rank 3 has twice the work.
 * The pictures of the page (`crates/view/web/test/pictures`) show that recording; it needs to be made again only when the format changes:
 *
 *     mpicc -g -O1 -ffile-prefix-map=$PWD=/home/ada/waves waves.c -o waves && sintonia record -o waves.sin -- mpirun -n 6 ./waves
 *
 * and then, in recording.json, the names of the machine and of the program's folder are replaced by `node` and /home/ada/waves.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { POINTS = 512, STEPS = 48, EACH = 8 };

static double now[POINTS + 2], before[POINTS + 2], next[POINTS + 2];

/* Asleep rather than at work, so that the picture does not depend on how many cores there are. */
static void work(double seconds) {
    struct timespec time = {0, (long)(1e9 * seconds)};
    nanosleep(&time, NULL);
    for (int i = 1; i <= POINTS; i++) next[i] = 2 * now[i] - before[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

static void exchange(int left, int right) {
    MPI_Request requests[4];
    MPI_Irecv(&now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&now[POINTS + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&now[1], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&now[POINTS], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void step(void) {
    for (int i = 1; i <= POINTS; i++) {
        before[i] = now[i];
        now[i] = next[i];
    }
}

int main(int argc, char **argv) {
    int rank, size;
    double swing = 0, most = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    if (rank == 0) now[1] = 1;
    MPI_Bcast(&swing, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int at = 1; at <= STEPS; at++) {
        exchange(left, right);
        work(rank == 3 ? 0.008 : 0.004);
        step();
        swing = now[POINTS / 2];
        if (at % EACH == 0) MPI_Allreduce(&swing, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        for (int other = 1; other < size; other++) MPI_Recv(next, POINTS, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("swing %g\n", most);
    } else {
        MPI_Send(now, POINTS, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
