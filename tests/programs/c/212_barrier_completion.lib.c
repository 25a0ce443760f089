/* The library of 212_barrier_completion.c: a wrapper that keeps the caller after MPI has done its part, as a slow system would.
 * Built without MPI: a communicator is an integer or a pointer, and passes through either way. */
int PMPI_Barrier(void *communicator);
void after_barrier(void);

int MPI_Barrier(void *communicator) {
    int result = PMPI_Barrier(communicator);
    after_barrier();
    return result;
}
