/* Uses files through MPI-IO in many ways, and keeps a ledger: for each file opens, reads, writes, bytes read, bytes written, syncs and seeks of this rank.
 * Rank 0 reads the shared file through the C library as well. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPENS, READS, WRITES, READ, WRITTEN, SYNCS, SEEKS, COUNTERS };

static int rank, ranks;
static int data[4096];

static void check(int error, const char *what)
{
    if (error != MPI_SUCCESS) {
        fprintf(stderr, "%s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void count(long *ledger, int what, int bytes, long items)
{
    ledger[what]++;
    if (bytes >= 0) ledger[bytes] += items * (long)sizeof(int);
}

static void print(const char *name, const long *ledger)
{
    char line[256];
    int length = snprintf(line, sizeof line, "ledger %s", name);
    for (int i = 0; i < COUNTERS; i++) length += snprintf(line + length, sizeof line - length, " %ld", ledger[i]);
    snprintf(line + length, sizeof line - length, "\n");
    fputs(line, stdout);
}

/* One file of all ranks, with every kind of access. */
static void shared_file(void)
{
    long ledger[COUNTERS] = {0};
    MPI_File file;
    MPI_Request request;
    MPI_Offset part = (MPI_Offset)sizeof data * rank;

    check(MPI_File_open(MPI_COMM_WORLD, "mpi.shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    count(ledger, OPENS, -1, 0);
    for (int i = 0; i < 5 + rank; i++) {
        check(MPI_File_write_at(file, part, data, 100, MPI_INT, MPI_STATUS_IGNORE), "write_at");
        count(ledger, WRITES, WRITTEN, 100);
    }
    check(MPI_File_write_at_all(file, part, data, 4096, MPI_INT, MPI_STATUS_IGNORE), "write_at_all");
    count(ledger, WRITES, WRITTEN, 4096);
    check(MPI_File_iwrite_at(file, part, data, 10, MPI_INT, &request), "iwrite_at");
    count(ledger, WRITES, WRITTEN, 10);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(MPI_File_sync(file), "sync");
    count(ledger, SYNCS, -1, 0);
    check(MPI_File_seek(file, part, MPI_SEEK_SET), "seek");
    count(ledger, SEEKS, -1, 0);
    check(MPI_File_read(file, data, 1000, MPI_INT, MPI_STATUS_IGNORE), "read");
    count(ledger, READS, READ, 1000);
    check(MPI_File_set_view(file, part, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    count(ledger, SEEKS, -1, 0);
    check(MPI_File_read_all(file, data, 200, MPI_INT, MPI_STATUS_IGNORE), "read_all");
    count(ledger, READS, READ, 200);
    check(MPI_File_read_all_begin(file, data, 300, MPI_INT), "read_all_begin");
    count(ledger, READS, READ, 300);
    check(MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE), "read_all_end");
    check(MPI_File_close(&file), "close");

    if (rank == 0) {
        int posix = open("mpi.shared", O_RDONLY);
        count(ledger, OPENS, -1, 0);
        if (read(posix, data, 64) != 64) check(1, "read");
        count(ledger, READS, READ, 16);
        close(posix);
    }
    print("mpi.shared", ledger);
}

/* A file of each rank, whose name is not the shortest. */
static void own_file(void)
{
    long ledger[COUNTERS] = {0};
    char name[64], path[80];
    MPI_File file;
    snprintf(name, sizeof name, "mpi.%d", rank);
    snprintf(path, sizeof path, ".//./%s", name);
    check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
    count(ledger, OPENS, -1, 0);
    check(MPI_File_set_size(file, 1 << 16), "set_size");
    for (int i = 0; i < 20; i++) {
        check(MPI_File_write(file, data, 25, MPI_INT, MPI_STATUS_IGNORE), "write");
        count(ledger, WRITES, WRITTEN, 25);
    }
    check(MPI_File_close(&file), "close");
    print(name, ledger);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File missing;
    int error = MPI_File_open(MPI_COMM_SELF, "there/is/none", MPI_MODE_RDONLY, MPI_INFO_NULL, &missing);
    if (error == MPI_SUCCESS) return 4;
    shared_file();
    own_file();
    MPI_Finalize();
    return 0;
}
