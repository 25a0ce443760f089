/* A rank that runs other programs: fork and exec of echo, and system().
 * The record: the children leave nothing in it; two ranks, one Barrier each.
 * ranks: 2
 */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank == 0) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/echo", "echo", "from a child", (char *)NULL);
            _exit(127);
        }
        waitpid(child, &status, 0);
        printf("child: %d\n", WEXITSTATUS(status));
        fflush(stdout);
        status = system("echo from a shell; exit 4");
        printf("shell: %d\n", WEXITSTATUS(status));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
