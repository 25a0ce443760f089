/* MPI_BOTTOM with a datatype of absolute addresses, in point to point and in a collective.
 * The record: rank 0 sends 20 bytes to rank 1, and a Bcast of 20 bytes.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    double x = rank == 0 ? 1.5 : 0;
    int three[3] = {0, 0, rank == 0 ? 7 : 0};
    MPI_Aint where[2];
    int lengths[2] = {1, 3};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, both;
    MPI_Get_address(&x, &where[0]);
    MPI_Get_address(three, &where[1]);
    MPI_Type_create_struct(2, lengths, where, types, &both);
    MPI_Type_commit(&both);

    if (rank == 0) MPI_Send(MPI_BOTTOM, 1, both, 1, 0, MPI_COMM_WORLD); /*site:send*/
    if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, both, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(x == 1.5 && three[2] == 7);
    if (rank == 1) three[0] = 9;
    MPI_Bcast(MPI_BOTTOM, 1, both, 1, MPI_COMM_WORLD);
    CHECK(three[0] == 9);

    MPI_Type_free(&both);
    if (rank == 0) printf("bottom: %g %d\n", x, three[0]);
    MPI_Finalize();
    return 0;
}
