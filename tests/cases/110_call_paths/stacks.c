// Calls MPI on stacks of all kinds: of the main thread, of other threads, of a coroutine, and in a signal handler.
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t main_context, other_context;
static int calls, total;
static void call(void)
{
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    calls++;
    total += all;
}
static void coroutine(void)
{
    for (;;) {
        call();
        swapcontext(&other_context, &main_context);
    }
}
static void *in_thread(void *unused)
{
    call();
    call();
    return unused;
}
static void on_signal(int number) { (void)number; call(); }
int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    call();
    static char stack[2 << 20];
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = sizeof stack;
    makecontext(&other_context, coroutine, 0);
    for (int i = 0; i < 3; i++)
        swapcontext(&main_context, &other_context);
    static char signal_stack[2 << 20];
    stack_t alternate = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&alternate, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    for (int kilobytes = 512; kilobytes <= 2048; kilobytes *= 2) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, kilobytes * 1024);
        pthread_t thread;
        pthread_create(&thread, &attributes, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%d calls, total %d\n", calls, total);
    MPI_Finalize();
    return 0;
}
