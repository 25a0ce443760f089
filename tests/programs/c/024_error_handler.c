/* The program's own error handler, one that returns and one that jumps out of the failed call.
 * The record: the 10 Sends after the jump are there like any others.
 * ranks: 2
 */
#include "check.h"
#include <setjmp.h>

static int called;
static jmp_buf back;

static void count(MPI_Comm *comm, int *code, ...) {
    int class;
    MPI_Error_class(*code, &class);
    called++;
    if (rank == 0) printf("handler: class %d, world %d\n", class, *comm == MPI_COMM_WORLD);
}

static void jump(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Errhandler counting, jumping;
    int data = 0;
    MPI_Comm_create_errhandler(count, &counting);
    MPI_Comm_create_errhandler(jump, &jumping);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    int code = MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    CHECK(called == 1);
    if (rank == 0) printf("an error came back: %d\n", code != MPI_SUCCESS); /* MPICH 5.0 gives none after a handler */

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, jumping);
    if (setjmp(back) == 0) {
        MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        CHECK(0);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    for (int i = 0; i < 10; i++) {
        if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&data, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Errhandler_free(&counting);
    MPI_Errhandler_free(&jumping);
    if (rank == 0) printf("called %d\n", called);
    MPI_Finalize();
    return 0;
}
