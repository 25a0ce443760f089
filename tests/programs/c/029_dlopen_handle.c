/* A program not linked with MPI that opens the library for itself alone and calls through the handle it got.
 * The record may be empty: such calls cannot be intercepted by name. The program must not notice anything.
 * ranks: 2
 * args: {soname} local
 * link: none
 * compile: -ldl
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifdef OPEN_MPI /* its handles are the addresses of objects inside the library */
#define WORLD ((MPI_Comm)dlsym(library, "ompi_mpi_comm_world"))
#define INT ((MPI_Datatype)dlsym(library, "ompi_mpi_int"))
#else
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#endif

int main(int argc, char **argv) {
    int global = argc > 2 && strcmp(argv[2], "global") == 0;
    void *library = dlopen(argv[1], RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *where = global ? RTLD_DEFAULT : library;
    int (*init)(int *, char ***) = dlsym(where, "MPI_Init");
    int (*comm_rank)(MPI_Comm, int *) = dlsym(where, "MPI_Comm_rank");
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(where, "MPI_Send");
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) = dlsym(where, "MPI_Recv");
    int (*finalize)(void) = dlsym(where, "MPI_Finalize");
    int rank, value = 0;
    init(&argc, &argv);
    comm_rank(WORLD, &rank);
    for (int i = 0; i < 5; i++) {
        if (rank == 0) send(&i, 1, INT, 1, i, WORLD); /*site:send*/
        if (rank == 1) recv(&value, 1, INT, 0, i, WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) printf("five sent through dlsym\n");
    finalize();
    return 0;
}
