/* A program that may write no file larger than 4 KiB: writing more would end it by SIGXFSZ.
 * The record may be cut short and must then say so; the program must not notice anything.
 * ranks: 1
 */
#include "check.h"
#include <sys/resource.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    int value = 0;
    for (int i = 0; i < 100000; i++) MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    printf("file limit: done\n");
    MPI_Finalize();
    return 0;
}
