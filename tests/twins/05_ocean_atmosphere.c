/* Two coupled codes in one program on 8 ranks: atmosphere and ocean, which exchange their surface in each step.
 * Problem: the ocean has five eighths of the work but only ranks 6 and 7 (ATMOSPHERE_RANKS), so the atmosphere ranks wait
 * for ocean() in each coupling step, in couple().
 * fixed: three ranks for the atmosphere and five for the ocean, in proportion to their work. */
#include "twin.h"
#define STEPS 8
#define ATMOSPHERE_WORK 240.0 /* ms per step, over all its ranks */
#define OCEAN_WORK 400.0

static void atmosphere(int n) { work(ATMOSPHERE_WORK / n); }
static void ocean(int n) { work(OCEAN_WORK / n); }

/* The first ranks of the two codes exchange the surface; each code then has it broadcast among its ranks. */
static double couple(MPI_Comm code, int partner, double *surface) {
    int me;
    double received[512];
    MPI_Comm_rank(code, &me);
    if (me == 0)
        MPI_Sendrecv(surface, 512, MPI_DOUBLE, partner, 7, received, 512, MPI_DOUBLE, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(received, 512, MPI_DOUBLE, 0, code);
    return received[0];
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int atmosphere_ranks = fixed ? 3 : size - 2; // PROBLEM
    int is_ocean = rank >= atmosphere_ranks, partner = is_ocean ? 0 : atmosphere_ranks;
    MPI_Comm code;
    MPI_Comm_split(MPI_COMM_WORLD, is_ocean, rank, &code);
    double surface[512], sum = 0;
    for (int step = 0; step < STEPS; step++) {
        if (is_ocean) ocean(size - atmosphere_ranks);
        else atmosphere(atmosphere_ranks);
        for (int i = 0; i < 512; i++) surface[i] = step + is_ocean;
        sum += couple(code, partner, surface);
    }
    finish("ocean_atmosphere %.0f", sum);
    return 0;
}
