// Loads one of two plugins, lets it call back, and unloads it, in turn: both are mapped at the same address, and call from the same one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#ifdef PLUGIN
int PLUGIN(int (*back)(int), int n) { int all = back(n); asm volatile("" ::: "memory"); return all + 1; }
#else
__attribute__((noinline)) int wrapper(int n)
{
    int all;
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    asm volatile("" ::: "memory");
    return all;
}
static int turn(const char *file, const char *name, int n)
{
    void *library = dlopen(file, RTLD_NOW);
    int (*plugin)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, name);
    int all = plugin(wrapper, n);
    dlclose(library);
    return all;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++)
        sum += turn(i % 2 ? "./first.so" : "./other.so", i % 2 ? "first_plugin" : "other_plugin", i);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
#endif
