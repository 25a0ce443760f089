/* A rank that forks without exec; the child works and leaves, one by _exit and one by exit (which runs exit handlers).
 * The record: the children neither end nor spoil their parent's: 20 Sends before and after.
 * ranks: 2
 */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static void ten(void) {
    int value = 0;
    for (int i = 0; i < 10; i++) {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD); /*site:send*/
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    ten();
    if (rank == 0) {
        for (int i = 0; i < 2; i++) {
            int status;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                printf("child %d\n", i);
                fflush(stdout);
                if (i == 0) _exit(8);
                exit(9);
            }
            waitpid(child, &status, 0);
            printf("ended with %d\n", WEXITSTATUS(status));
        }
    }
    ten();
    MPI_Finalize();
    return 0;
}
