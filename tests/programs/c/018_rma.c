/* One-sided communication in all its epochs: fence, post/start/complete/wait, lock, lock_all with flush, and every operation.
 * The record: Win_create, the epochs, Put, Get, Accumulate, Get_accumulate, Fetch_and_op, Compare_and_swap, Rput, Rget.
 * ranks: 2
 */
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int memory[8] = {0}, out[2] = {rank + 1, rank + 2}, in[2] = {0}, got = 0, want = 5, peer = 1 - rank;
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window); /*site:win_create*/

    MPI_Win_fence(0, window);
    MPI_Put(out, 2, MPI_INT, peer, 0, 2, MPI_INT, window); /*site:put*/
    MPI_Win_fence(0, window);
    CHECK(memory[0] == peer + 1 && memory[1] == peer + 2);
    MPI_Get(in, 2, MPI_INT, peer, 0, 2, MPI_INT, window); /*site:get*/
    MPI_Accumulate(out, 1, MPI_INT, peer, 2, 1, MPI_INT, MPI_SUM, window); /*site:accumulate*/
    MPI_Win_fence(0, window);
    CHECK(in[0] == rank + 1 && memory[2] == peer + 1);

    MPI_Group world, other;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    if (rank == 0) {
        MPI_Win_start(other, 0, window);
        MPI_Put(out, 1, MPI_INT, peer, 3, 1, MPI_INT, window);
        MPI_Win_complete(window);
    } else {
        MPI_Win_post(other, 0, window);
        MPI_Win_wait(window);
        CHECK(memory[3] == 1);
    }
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /*site:lock*/
        MPI_Put(&want, 1, MPI_INT, 0, 4, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        MPI_Fetch_and_op(&want, &got, MPI_INT, 0, 4, MPI_SUM, window);
        MPI_Win_flush_local(0, window);
        CHECK(got == 5);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Request requests[2];
    int ten = 10, eleven = 11, result = 0;
    MPI_Win_lock_all(0, window);
    MPI_Rput(out, 1, MPI_INT, peer, 5, 1, MPI_INT, window, &requests[0]); /*site:rput*/
    MPI_Rget(in, 1, MPI_INT, peer, 0, 1, MPI_INT, window, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Get_accumulate(out, 1, MPI_INT, in, 1, MPI_INT, peer, 6, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_flush_all(window);
    if (rank == 1) {
        MPI_Compare_and_swap(&eleven, &ten, &result, MPI_INT, 0, 4, window); /* is 10 now */
        MPI_Win_flush(0, window);
        CHECK(result == 10);
    }
    MPI_Win_sync(window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);

    int *shared;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_attach(window, memory, sizeof memory);
    MPI_Win_detach(window, memory);
    MPI_Win_free(&window);

    if (rank == 0) printf("rma: %d %d %d\n", memory[0], memory[4], memory[6]);
    MPI_Finalize();
    return 0;
}
