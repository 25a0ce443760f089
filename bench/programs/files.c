/* What calls cost that use a file whose pages are in memory: files [BATCHES [REPETITIONS]]. A byte each (16 for fwrite), so that next to all of it is the cost of the call. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include "bench.h"

#define MEASURE(NAME, BODY)                                        \
    do {                                                           \
        for (int batch = -1; batch < k; batch++) {                 \
            double begin = now(CLOCK_THREAD_CPUTIME_ID);           \
            for (int i = 0; i < n; i++) { BODY; }                  \
            double end = now(CLOCK_THREAD_CPUTIME_ID);             \
            if (batch >= 0) batches[batch] = (end - begin) / n;    \
        }                                                          \
        tell(NAME, batches, k);                                    \
        MPI_Barrier(MPI_COMM_SELF);                                \
    } while (0)

static void fail(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    int k = argument(argc, argv, 1, 20), n = argument(argc, argv, 2, 5000);
    double *batches = malloc(k * sizeof *batches);
    char path[] = "bench-file-XXXXXX", byte = 1, line[16] = "fifteen letters";
    MPI_Init(&argc, &argv);
    tell_library();

    int file = mkstemp(path);
    if (file < 0 || ftruncate(file, (k + 1L) * n) != 0) fail(path);
    MEASURE("open_close", {
        int again = open(path, O_RDONLY);
        if (again < 0 || close(again) != 0) fail("open");
    });
    MEASURE("read", if (read(file, &byte, 1) != 1) fail("read"));
    MEASURE("pwrite", if (pwrite(file, &byte, 1, i) != 1) fail("pwrite"));
    FILE *stream = fdopen(file, "r+");
    rewind(stream);
    MEASURE("fread", if (fread(&byte, 1, 1, stream) != 1) fail("fread"));
    rewind(stream);
    MEASURE("fgetc", if (fgetc(stream) == EOF) fail("fgetc"));
    rewind(stream);
    MEASURE("fputc", if (fputc(1, stream) == EOF) fail("fputc"));
    rewind(stream);
    MEASURE("fwrite", if (fwrite(line, 16, 1, stream) != 1) fail("fwrite"));

    fclose(stream);
    unlink(path);
    printf("bench: calls 7\n");
    fflush(stdout);
    MPI_Finalize();
    free(batches);
    return 0;
}
