/* The program's functions called by MPI that call MPI themselves: a reduction, attribute copy and delete, the latter in Finalize.
 * The record: one Allreduce with the program's own operation; nothing twice.
 * ranks: 2
 */
#include "check.h"

static int deleted;

static void add(void *in, void *inout, int *length, MPI_Datatype *type) {
    int bytes;
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i] + (bytes == 4 ? 0 : 1000);
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra) {
    int me;
    (void)key, (void)value, (void)extra;
    MPI_Comm_rank(comm, &me);
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int key, sum = 0, found, *value;
    MPI_Op own;
    MPI_Comm dup;
    MPI_Op_create(add, 1, &own);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, own, MPI_COMM_WORLD); /*site:allreduce*/
    MPI_Op_free(&own);
    CHECK(sum == 1);

    MPI_Comm_create_keyval(copy, forget, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &sum);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, key, &value, &found);
    CHECK(found && value == &sum);
    MPI_Comm_free(&dup);
    CHECK(deleted == 1);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &sum); /* deleted by MPI_Finalize */
    MPI_Finalize();
    CHECK(deleted >= 2);
    if (rank == 0) printf("callbacks: done\n");
    return 0;
}
