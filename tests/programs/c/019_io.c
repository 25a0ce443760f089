/* MPI-IO: a file written and read by offset, collectively, nonblocking, by the shared pointer and through a view.
 * The record: File_open, File_write_at_all, File_read_at, File_iwrite_at with its Wait, File_write_ordered, File_close.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *name = "019_io.data";
    int out[4] = {rank, rank + 10, rank + 20, rank + 30}, in[4] = {0};
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "access_style", "write_once");

    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS); /*site:open*/
    MPI_Info_free(&info);
    MPI_File_write_at_all(file, rank * 16, out, 4, MPI_INT, &status); /*site:write_at_all*/
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_read_at(file, (1 - rank) * 16, in, 4, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(in[3] == 31 - rank);
    MPI_File_iwrite_at(file, 32 + rank * 4, out, 1, MPI_INT, &request); /*site:iwrite_at*/
    MPI_Wait(&request, &status);
    MPI_File_seek_shared(file, 40, MPI_SEEK_SET);
    MPI_File_write_ordered(file, out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 8 + rank, MPI_SEEK_SET);
    MPI_File_read(file, in, 1, MPI_INT, &status);
    CHECK(in[0] == rank);
    MPI_File_read_all(file, in, 0, MPI_INT, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset bytes;
    MPI_File_get_size(file, &bytes);
    MPI_File_close(&file);
    if (rank == 0) {
        printf("io: %lld bytes\n", (long long)bytes);
        MPI_File_delete(name, MPI_INFO_NULL);
    }
    MPI_Finalize();
    return 0;
}
