/* The library of 251_io_by_one_rank.c: a wrapper that makes writing as slow as a busy file system would.
 * Built without MPI: a handle is an integer or a pointer, and passes through either way. */
int PMPI_File_write_at(void *file, long long offset, const void *data, int count, void *type, void *status);
void before_write(void);

int MPI_File_write_at(void *file, long long offset, const void *data, int count, void *type, void *status) {
    before_write();
    return PMPI_File_write_at(file, offset, data, count, type, status);
}
