/* Calls that longjmp and siglongjmp leave, out of an error handler; once from a nested call into the handler, so that the call returns.
 * The record: every call is there; those left by a jump are marked and end with the jump.
 * Each rank writes its own ledger: function, calls entered, calls left by a jump, seconds in the latter at most.
 * ranks: 2
 */
#include "check.h"
#include "timing.h"
#include <setjmp.h>

static jmp_buf back;
static sigjmp_buf signal_back;
static volatile double before, seconds;
static volatile int sends, barriers;

static void jump(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(back, 1);
}

static void signal_jump(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    siglongjmp(signal_back, 1);
}

/* The jump ends here, inside the handler; the call that failed returns. */
static void jump_inside(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    int data = 0;
    if (setjmp(back) == 0) MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

/* The frame of a left call may lie in memory that nobody has written since. */
static void call_deeper(void) {
    volatile char unwritten[1 << 14];
    unwritten[0] = 0;
    barriers++;
    MPI_Barrier(MPI_COMM_WORLD);
    unwritten[1] = 0;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Errhandler jumping, signal_jumping, inside;
    MPI_Comm other, third;
    int data = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_dup(MPI_COMM_WORLD, &third);
    MPI_Comm_create_errhandler(jump, &jumping);
    MPI_Comm_create_errhandler(signal_jump, &signal_jumping);
    MPI_Comm_create_errhandler(jump_inside, &inside);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, jumping);
    MPI_Comm_set_errhandler(other, signal_jumping);
    MPI_Comm_set_errhandler(third, inside);
    for (volatile int i = 0; i < 50; i++) {
        sends++;
        before = now();
        if (i % 2 == 0 && setjmp(back) == 0) {
            MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
            CHECK(0);
        }
        if (i % 2 == 1 && sigsetjmp(signal_back, 1) == 0) {
            MPI_Send(&data, 1, MPI_INT, 99, 0, other);
            CHECK(0);
        }
        seconds += now() - before;
        usleep(2000);
        if (i % 10 == 0) call_deeper();
    }
    for (int i = 0; i < 5; i++) MPI_Ssend(&data, 1, MPI_INT, 99, 0, third);
    if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    char name[20];
    snprintf(name, sizeof name, "ledger.%d", rank);
    FILE *file = fopen(name, "w");
    fprintf(file, "MPI_Send %d %d %.9f\n", sends + (rank == 0), sends, seconds);
    fprintf(file, "MPI_Ssend 5 0 0\nMPI_Recv %d 0 0\nMPI_Barrier %d 0 0\nMPI_Comm_dup 2 0 0\nMPI_Finalize 1 0 0\n", rank == 1, barriers);
    fclose(file);
    return 0;
}
