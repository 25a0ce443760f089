/* Three kinds of work, of 20, 30 and 10 ms, and rank 1 takes half as long again for each of them, whatever it does. Nothing shows that its
 * processor is slow: it may have more of the data.
 * The report: load_imbalance, naming rank 1, once for all three.
 * It would save what rank 1 takes longer than the average of all.
 * ranks: 3
 */
#define TURNS 20
#include "waits.h"

static double slow(double seconds) { return rank == 1 ? 1.5 * seconds : seconds; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double out = rank, in;
    for (turn = 0; turn < TURNS; turn++) {
        work(slow(0.02));
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        work(slow(0.03));
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        work(slow(0.01));
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); /*site:last*/
    }
    meet();
    if (rank == 0) injected("load_imbalance", "last", uneven());
    finish();
    return 0;
}
