/* A program that asks at run time whether its MPI has newer functions: weak references, null where it has not.
 * The record does not matter here; each answer must be that of the bare run.
 * ranks: 1
 */
#include "check.h"

#define WEAK(name) extern char weak_##name[] __asm__(#name) __attribute__((weak))
WEAK(MPI_Send);
WEAK(MPI_Send_c);
WEAK(MPI_Session_init);
WEAK(MPI_Isendrecv);
WEAK(MPI_Psend_init);
WEAK(MPI_Bcast_init);
WEAK(MPI_Comm_create_from_group);
WEAK(MPI_Abi_get_version);
WEAK(MPI_Get_library_version);
WEAK(mpi_send_);
WEAK(mpi_send_f08_);
WEAK(mpi_send_f08ts_);

#define SHOW(name) printf("%-28s %s\n", #name, weak_##name ? "yes" : "no")

int main(int argc, char **argv) {
    start(&argc, &argv);
    SHOW(MPI_Send);
    SHOW(MPI_Send_c);
    SHOW(MPI_Session_init);
    SHOW(MPI_Isendrecv);
    SHOW(MPI_Psend_init);
    SHOW(MPI_Bcast_init);
    SHOW(MPI_Comm_create_from_group);
    SHOW(MPI_Abi_get_version);
    SHOW(MPI_Get_library_version);
    SHOW(mpi_send_);
    SHOW(mpi_send_f08_);
    SHOW(mpi_send_f08ts_);
    MPI_Finalize();
    return 0;
}
