/* A thread calls `hot` all the time, while iterations read `knob`. Prints every value that the knob had, and whether the code of `hot` is at the
   end what it was at the beginning. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int knob = 1;
static atomic_int stop;

__attribute__((noinline)) long hot(long x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static void *run(void *unused)
{
    (void)unused;
    long x = 0;
    while (!stop)
        for (int i = 0; i < 1000; i++)
            x = hot(x);
    return x ? &stop : NULL;
}

__attribute__((noinline)) int iterate(int index)
{
    __asm__ volatile("" ::"r"(index) : "memory");
    usleep(20000);
    return knob;
}

int main(int argc, char **argv)
{
    unsigned char before[16];
    memcpy(before, (void *)hot, sizeof before);
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    int last = 0;
    for (int i = 0; i < 300; i++) {
        int value = iterate(i);
        if (value != last)
            printf("knob %d\n", value);
        last = value;
    }
    int same = !memcmp(before, (void *)hot, sizeof before);
    stop = 1;
    pthread_join(thread, NULL);
    printf("code %s\n", same ? "same" : "differs");
    MPI_Finalize();
}
