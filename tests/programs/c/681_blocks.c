/* A farm that is bound by its messages: a master sends blocks of numbers, and workers return their sums. Each round is timed in a ledger.
 * The master packs every second byte of a buffer: a message costs its time, not that of the workers. Workers sleep while they have no block.
 * Arguments: LEDGER ROUNDS BLOCKS kB WORKERS, and the microseconds that a worker waits for each block.
 * The record: a master and its workers, whichever of them are used.
 * ranks: 4
 * args: /dev/null 3 20 8 3 0
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 11, SUM = 12, END = 13 };

static int in_use; /* workers that get blocks */

/* Writes a number to every second byte. */
static void put(char *packed_from, int index, double number)
{
    const char *bytes = (const char *)&number;
    for (size_t i = 0; i < sizeof number; i++) packed_from[2 * (index * sizeof number + i)] = bytes[i];
}

static double master(int rounds, int blocks, int count, FILE *ledger)
{
    const int bytes = count * (int)sizeof(double);
    char *packed_from = malloc(2 * (size_t)bytes);
    double *sums = calloc((size_t)blocks, sizeof *sums), all = 0;
    int size, *has = calloc(1024, sizeof *has);
    MPI_Datatype every_second;
    MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++) put(packed_from, i, 1.0 / (i + 1));
    for (int round = 0; round < rounds; round++) {
        double begin = MPI_Wtime();
        int workers = in_use < 1 ? 1 : in_use >= size ? size - 1 : in_use, sent = 0, busy = 0;
        for (int worker = 1; worker <= workers && sent < blocks; worker++, busy++) {
            put(packed_from, 0, has[worker] = sent++);
            MPI_Send(packed_from, 1, every_second, worker, BLOCK, MPI_COMM_WORLD);
        }
        while (busy > 0) {
            double sum;
            MPI_Status status;
            MPI_Recv(&sum, 1, MPI_DOUBLE, MPI_ANY_SOURCE, SUM, MPI_COMM_WORLD, &status);
            int worker = status.MPI_SOURCE;
            sums[has[worker]] = sum;
            if (sent < blocks) {
                put(packed_from, 0, has[worker] = sent++);
                MPI_Send(packed_from, 1, every_second, worker, BLOCK, MPI_COMM_WORLD);
            } else {
                busy--;
            }
        }
        fprintf(ledger, "round %d %d %.9f\n", round, workers, MPI_Wtime() - begin);
        for (int block = 0; block < blocks; block++) all = all * 0.5 + sums[block];
    }
    for (int worker = 1; worker < size; worker++) MPI_Send(NULL, 0, MPI_BYTE, worker, END, MPI_COMM_WORLD);
    MPI_Type_free(&every_second);
    free(packed_from);
    free(sums);
    free(has);
    return all;
}

static void worker(int count, int wait_us)
{
    double *numbers = malloc((size_t)count * sizeof *numbers);
    for (;;) {
        MPI_Status status;
        for (int is_there = 0; !is_there; usleep(is_there ? 0 : 200)) MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
        MPI_Recv(numbers, count * (int)sizeof *numbers, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == END) break;
        double sum = 0;
        for (int i = 0; i < count; i++) sum += numbers[i];
        if (wait_us > 0) usleep((useconds_t)wait_us);
        MPI_Send(&sum, 1, MPI_DOUBLE, 0, SUM, MPI_COMM_WORLD);
    }
    free(numbers);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 2 ? atoi(argv[2]) : 10, blocks = argc > 3 ? atoi(argv[3]) : 50, count = 128 * (argc > 4 ? atoi(argv[4]) : 64);
    in_use = argc > 5 ? atoi(argv[5]) : size - 1;
    if (rank == 0) {
        FILE *ledger = fopen(argc > 1 ? argv[1] : "/dev/null", "w");
        if (!ledger) MPI_Abort(MPI_COMM_WORLD, 1);
        printf("%.17g\n", master(rounds, blocks, count, ledger));
        fclose(ledger);
    } else {
        worker(count, argc > 6 ? atoi(argv[6]) : 0);
    }
    MPI_Finalize();
    return 0;
}
