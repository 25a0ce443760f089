/* A signal handler that jumps out of whatever the program is in: MPI_Send to MPI_PROC_NULL, or the probe around it.
 * The record: every call that was completed is there or counted as lost, and none is there that was not entered.
 * The ledger: calls entered, calls completed, jumps.
 * ranks: 1
 */
#include "check.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static volatile long entered, completed, jumps;

static void jump(int number) {
    (void)number;
    siglongjmp(back, 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data = 0;
    signal(SIGALRM, jump);
    while (jumps < 200) {
        if (sigsetjmp(back, 1) == 0) {
            ualarm(100 + 60 * (jumps % 20), 0); /* also in the first calls, which take longest */
            for (;;) {
                entered++;
                MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
                completed++;
            }
        }
        jumps++;
    }
    FILE *file = fopen("ledger", "w");
    fprintf(file, "%ld %ld %ld\n", entered, completed, jumps);
    fclose(file);
    MPI_Finalize();
    printf("signal jumps: done\n");
    return 0;
}
