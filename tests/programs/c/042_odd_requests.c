/* Requests that end in other ways: a cancelled receive, a generalised request, Isendrecv where the library has it.
 * The record: Cancel, Grequest_start; the cancelled receive is no message.
 * ranks: 2
 */
#include "check.h"

static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int forget(void *state) { return state ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int cancel(void *state, int complete) { return state && complete ? MPI_SUCCESS : MPI_ERR_OTHER; }

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data, cancelled, count;
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(&data, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request); /*site:cancel*/
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);

    MPI_Grequest_start(query, forget, cancel, &data, &request); /*site:grequest*/
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_elements(&status, MPI_INT, &count);
    CHECK(count == 3);
    if (rank == 0) printf("cancelled %d, generalised %d\n", cancelled, count);
    MPI_Finalize();
    return 0;
}
