/* A program not linked with MPI that opens the library for everybody and looks names up in the whole program.
 * The record: 5 Sends of rank 0 and 5 Recvs of rank 1.
 * ranks: 2
 * args: {soname} global
 * link: none
 * compile: -ldl
 */
#include "029_dlopen_handle.c"
