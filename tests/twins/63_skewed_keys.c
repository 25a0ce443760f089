/* A bucket sort on 4 ranks: in each round keys are generated, exchanged so that each rank gets a range of them, and ranked.
 * Problem: bucket() cuts the range of keys into equal parts, but the keys are skewed: rank 0 gets 70 of 100 keys and computes
 * longer than the others in rank_keys(); they wait for it in the MPI_Alltoall of the next round.
 * fixed: the limits of the buckets follow the distribution, so that all get as many keys. */
#include "twin.h"
#define KEYS 400 /* per rank and round */

static int bucket(int key) {
    if (fixed) return key * size / KEYS;
    return key < KEYS * 7 / 10 ? 0 : 1 + (key - KEYS * 7 / 10) * (size - 1) / (KEYS - KEYS * 7 / 10); // PROBLEM
}

static void generate(int *keys) {
    work(30);
    for (int i = 0; i < KEYS; i++) keys[i] = i;
}

static void rank_keys(int n) { work(n * 0.1); }

int main(int argc, char **argv) {
    start(&argc, &argv);
    int keys[KEYS], sorted[4 * KEYS], counts[8], from[8], offsets[8], starts[8];
    double sum = 0, all;
    for (int round = 0; round < 10; round++) {
        generate(keys);
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < KEYS; i++) counts[bucket(keys[i])]++;
        MPI_Alltoall(counts, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
        offsets[0] = starts[0] = 0;
        for (int r = 1; r < size; r++) {
            offsets[r] = offsets[r - 1] + counts[r - 1];
            starts[r] = starts[r - 1] + from[r - 1];
        }
        MPI_Alltoallv(keys, counts, offsets, MPI_INT, sorted, from, starts, MPI_INT, MPI_COMM_WORLD);
        int n = starts[size - 1] + from[size - 1];
        rank_keys(n);
        sum += n;
    }
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    finish("skewed_keys %.0f", all);
    return 0;
}
