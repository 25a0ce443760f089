/* What may be called before MPI_Init and after MPI_Finalize.
 * The record does not matter here; every answer must be that of the bare run.
 * ranks: 1
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    int flag, version, minor, length, level;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    printf("initialized %d\n", flag);
    MPI_Finalized(&flag);
    printf("finalized %d\n", flag);
    MPI_Get_version(&version, &minor);
    MPI_Get_library_version(text, &length);
    printf("version %d.%d, %d characters\n", version, minor, (int)strlen(text) == length);
    MPI_Init(NULL, NULL);
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&flag);
    printf("level %d, main %d\n", level, flag);
    double start = MPI_Wtime(), tick = MPI_Wtick();
    printf("time passes: %d\n", MPI_Wtime() >= start && tick > 0);
    MPI_Finalize();
    MPI_Initialized(&flag);
    printf("initialized %d\n", flag);
    MPI_Finalized(&flag);
    printf("finalized %d\n", flag);
    return 0;
}
