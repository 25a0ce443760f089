/* A coordinator (rank 0) hands out one piece per round to each of 5 ranks, then collects and evaluates the answers.
 * Problem: it receives in the opposite order to the one in which it sent (collect), so it waits for the last piece
 * while the answers to the first ones are there already, and evaluates all of them only afterwards.
 * fixed: it receives in the order in which it sent, and evaluates while the later ones still compute. */
#include "twin.h"
#define ROUNDS 5

static void generate(void) { work(25); }
static double evaluate(double answer) {
    work(25);
    return answer;
}

static double collect(void) {
    double answer, sum = 0;
    for (int i = 1; i < size; i++) {
        int source = fixed ? i : size - i; // PROBLEM
        MPI_Recv(&answer, 1, MPI_DOUBLE, source, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += evaluate(answer);
    }
    return sum;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double piece, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            for (int i = 1; i < size; i++) {
                generate();
                piece = round + i;
                MPI_Send(&piece, 1, MPI_DOUBLE, i, 1, MPI_COMM_WORLD);
            }
            sum += collect();
        } else {
            MPI_Recv(&piece, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(125);
            MPI_Send(&piece, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        }
    }
    finish("receive_order %.0f", sum);
    return 0;
}
