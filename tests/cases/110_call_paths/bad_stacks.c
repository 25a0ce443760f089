/* Calls MPI through frames of which nothing tells who called them: compiled without unwind tables, written in assembly, generated at run time.
 * The frame pointer is used for something else. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int sum;

__attribute__((noinline)) static void work(void) {
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum += all;
}

/* push rbp; mov ebp, 1; call rdi; pop rbp; ret */
static const unsigned char code[] = {0x55, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};

void by_assembly(void (*function)(void));
__asm__(".text\n.globl by_assembly\n.type by_assembly, @function\nby_assembly: push %rbp\nmov $1, %ebp\ncall *%rdi\npop %rbp\nret\n"
        ".size by_assembly, . - by_assembly\n");

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    void (*generated)(void (*)(void)) = (void (*)(void (*)(void)))memory;
    for (int i = 0; i < 100; i++) {
        work();
        by_assembly(work);
        generated(work);
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
