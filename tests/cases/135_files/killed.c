/* Writes 1000 times 8 bytes, and is killed. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    FILE *file = fopen("data", "w");
    for (int i = 0; i < 1000; i++) fwrite("12345678", 1, 8, file);
    fflush(file);
    MPI_Barrier(MPI_COMM_WORLD);
    kill(getpid(), SIGKILL);
}
