/* A program that never calls MPI_Init: it opens a session and makes its communicator from a group of it.
 * The record: two ranks, one Allreduce and one Sendrecv on each.
 * ranks: 2
 * needs: MPI_Session_init
 */
#include "check.h"

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int me, sum = 0, got = -1;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 1; /*site:session_init*/
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "sintonia", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &me);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm); /*site:allreduce*/
    MPI_Sendrecv(&me, 1, MPI_INT, 1 - me, 0, &got, 1, MPI_INT, 1 - me, 0, comm, MPI_STATUS_IGNORE); /*site:sendrecv*/
    if (me == 0) printf("session: sum %d, got %d\n", sum, got);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
