#include <mpi.h>
__attribute__((noinline)) static void synchronise(int times)
{
    for (int turn = 0; turn < times; turn++)
        MPI_Barrier(MPI_COMM_SELF);
    __asm__ volatile("");
}

void kernel(void)
{
    synchronise(1);
    __asm__ volatile("");
}
