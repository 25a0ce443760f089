/* How long a short broadcast takes, by how many like it came just before, and by whether other messages came before those.
 *
 *     mpicc -O2 bcast.c -o bcast && mpirun -n 2 ./bcast
 *
 * Each broadcast follows a barrier; of each, the time of the process that was in it longest counts. The median of 800 is printed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 22, VISITS = 100, TIMES = 8, OTHER = 262144 };

static char *buffer, *given, *taken;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static char *room(void) {
    char *memory = aligned_alloc(4096, ROOM);
    return memset(memory, 1, ROOM);
}

/* The median of the longest times, on the first process. */
static double measure(int bytes, int before, int disturbed) {
    static double own[VISITS * TIMES], longest[VISITS * TIMES];
    int count = 0;
    for (int visit = 0; visit < VISITS; visit++) {
        for (int i = 0; i < 4 * disturbed; i++)
            MPI_Alltoall(given, OTHER, MPI_BYTE, taken, OTHER, MPI_BYTE, MPI_COMM_WORLD);
        for (int i = -before; i < TIMES; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double began = MPI_Wtime();
            MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
            double seconds = MPI_Wtime() - began;
            if (i >= 0)
                own[count++] = seconds;
        }
    }
    MPI_Reduce(own, longest, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    qsort(longest, count, sizeof *longest, by_size);
    return longest[count / 2];
}

int main(int argc, char **argv) {
    static const int sizes[] = {64, 256, 1024, 4096, 16384}, before[] = {1, 4, 16, 64, 256};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    buffer = room(), given = room(), taken = room();
    if (rank == 0)
        printf("microseconds    bytes   after %d     %d    %d    %d   %d of its like\n", before[0], before[1], before[2], before[3], before[4]);
    for (int disturbed = 0; disturbed < 2; disturbed++)
        for (int s = 0; s < 5; s++) {
            double seconds[5];
            for (int b = 0; b < 5; b++)
                seconds[b] = measure(sizes[s], before[b], disturbed);
            if (rank == 0)
                printf("%-14s %6d   %5.2f %5.2f %5.2f %5.2f %5.2f\n", disturbed ? "after others" : "alone", sizes[s], seconds[0] * 1e6,
                       seconds[1] * 1e6, seconds[2] * 1e6, seconds[3] * 1e6, seconds[4] * 1e6);
        }
    MPI_Finalize();
}
