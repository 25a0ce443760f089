// Calls MPI through one wrapper from many places. Before each call it prints the path that the unwinder of the C library sees.
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline))
// Keeps the compiler from turning the call before into a jump.
#define AFTER asm volatile("" ::: "memory")
static int rank;
KEEP void truth(void)
{
    void *frames[256];
    int count = backtrace(frames, 256);
    if (rank != 0)
        return;
    Dl_info here, found;
    dladdr((void *)truth, &here);
    printf("path");
    for (int i = 1; i < count; i++)
        if (dladdr((char *)frames[i] - 1, &found) && found.dli_sname && strcmp(found.dli_fname, here.dli_fname) == 0 && strcmp(found.dli_sname, "_start"))
            printf(" %s", found.dli_sname);
    printf("\n");
}
KEEP int wrapper(int n)
{
    int all;
    truth();
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    AFTER;
    return all;
}
KEEP int left(int n) { int all = wrapper(n); AFTER; return all + 1; }
KEEP int right(int n) { int all = wrapper(n); AFTER; return all + 2; }
// A stack frame whose size is known only when it runs.
KEEP int variable(int n)
{
    char *room = alloca(64 * n);
    memset(room, n, 64 * n);
    int all = n % 2 ? left(n) : right(n);
    AFTER;
    return all + room[n];
}
KEEP int deeper(int n) { int all = n > 0 ? deeper(n - 1) : left(n); AFTER; return all + 1; }
// Reached by a pointer, from the C library.
KEEP int compare(const void *a, const void *b)
{
    int all = right(*(const int *)a - *(const int *)b);
    AFTER;
    return all > 0 ? 1 : -1;
}
KEEP int sorted(void)
{
    int two[2] = {rank + 5, rank + 2};
    qsort(two, 2, sizeof *two, compare);
    AFTER;
    return two[0];
}
// An aligned stack frame.
KEEP int aligned(int n)
{
    double room[8] __attribute__((aligned(64)));
    for (int i = 0; i < 8; i++)
        room[i] = n + i;
    asm volatile("" ::"r"(room) : "memory");
    int all = left(n);
    AFTER;
    return all + (int)room[3];
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int sum = 0;
    for (int i = 1; i < 6; i++)
        sum += variable(i) + left(i) + right(i);
    sum += deeper(3) + deeper(4) + sorted() + aligned(1);
    if (argc > 1)
        sum += deeper(atoi(argv[1]));
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
