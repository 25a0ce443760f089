/* The master: cuts the front into batches of chunks, hands a chunk to whoever is idle, and joins what comes back. */
#include "xfire.h"

#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What tuning looks at, and what it changes: F0, F1, F2 and NW. */
double F0 = 1, F1 = 1, F2 = 1;
int NW;
int iterId;
long TheTotalWork;
int TheWorkSizeUnitBytes = sizeof(Point);
int batchId;
int numChunk;

typedef struct { long first, tasks; int batch; } Chunk;

/* The chunks that are cut and not yet given away, and the points that are not yet cut. */
static struct { Chunk *chunks; int count, given, room; long next; } queue;

/* Cuts the next batch: a share of the points that are left, in one chunk for each worker. */
__attribute__((noinline)) int Factoring_SetNumTuples(const Conf *conf, int workers)
{
    long left = TheTotalWork - queue.next;
    double factor = batchId == 0 ? F0 : batchId == 1 ? F1 : F2;
    long tasks = (long)ceil((double)left * fmin(fmax(factor, 0), 1));
    if (tasks < workers * conf->least_chunk || left - tasks < workers * conf->least_chunk) tasks = left;
    long chunk = (tasks + workers - 1) / workers;
    numChunk = 0;
    for (long cut = 0; cut < tasks; cut += chunk, numChunk++) {
        if (queue.count == queue.room) {
            queue.room = queue.room ? 2 * queue.room : 64;
            queue.chunks = realloc(queue.chunks, (size_t)queue.room * sizeof *queue.chunks);
            if (!queue.chunks) abort();
        }
        long most = tasks - cut;
        queue.chunks[queue.count++] = (Chunk){ queue.next + cut, most < chunk ? most : chunk, batchId };
    }
    queue.next += tasks;
    return batchId++;
}

/* Sends a chunk with one neighbour at each end. */
__attribute__((noinline)) void global_sendwork(const Front *front, int workerId, int batch, long first, long NTareas)
{
    static double *message;
    static long room;
    long length = HEAD + 2 * (NTareas + 2);
    if (length > room) {
        room = length;
        message = realloc(message, (size_t)room * sizeof *message);
        if (!message) abort();
    }
    double head[HEAD] = { iterId, batch, (double)first, (double)NTareas };
    memcpy(message, head, sizeof head);
    for (long i = -1; i <= NTareas; i++) {
        Point p = front->points[(first + i + front->count) % front->count];
        memcpy(message + HEAD + 2 * (i + 1), &p, sizeof p);
    }
    MPI_Send(message, (int)length, MPI_DOUBLE, workerId, WORK, MPI_COMM_WORLD);
}

/* Receives the points of a chunk from whichever worker is done; how many they are. */
__attribute__((noinline)) long global_receivework(Front *moved, int *workerId)
{
    MPI_Status status;
    int length;
    static double *message;
    static int room;
    MPI_Probe(MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &length);
    if (length > room) {
        room = length;
        message = realloc(message, (size_t)room * sizeof *message);
        if (!message) abort();
    }
    MPI_Recv(message, length, MPI_DOUBLE, status.MPI_SOURCE, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long first = (long)message[2], NTareas = (long)message[3];
    memcpy(moved->points + first, message + HEAD, (size_t)NTareas * sizeof(Point));
    *workerId = status.MPI_SOURCE;
    return NTareas;
}

/* One iteration: the whole front is handed out, and comes back moved. */
__attribute__((noinline)) void global_sendreceive(const Conf *conf, const Front *front, Front *moved)
{
    int workers = NW, busy = 0, workerId;
    queue.count = queue.given = 0;
    queue.next = 0;
    batchId = 0;
    for (long done = 0; done < TheTotalWork;) {
        /* The next batch is cut when few chunks of the last are left. */
        while (queue.next < TheTotalWork && queue.count - queue.given < (workers + 1) / 2) Factoring_SetNumTuples(conf, workers);
        if (busy < workers && queue.given < queue.count) {
            workerId = ++busy;
        } else {
            done += global_receivework(moved, &workerId);
        }
        if (queue.given < queue.count) {
            Chunk *chunk = &queue.chunks[queue.given++];
            global_sendwork(front, workerId, chunk->batch, chunk->first, chunk->tasks);
        }
    }
}

void master(const Conf *conf, int size)
{
    Front front, moved = { 0 };
    front_begin(&front, conf);
    double begin = MPI_Wtime();
    for (double minute = conf->start; minute < conf->end; minute += conf->step, iterId++) {
        TheTotalWork = front.count;
        moved.points = realloc(moved.points, (size_t)front.count * sizeof(Point));
        if (!moved.points) abort();
        moved.count = moved.room = front.count;
        if (NW >= size) NW = size - 1;
        if (NW < 1) NW = 1;
        double before = MPI_Wtime();
        global_sendreceive(conf, &front, &moved);
        if (conf->show) {
            printf("iteration %d: %ld points, %d workers, %d batches, %.3f s\n", iterId, TheTotalWork, NW, batchId, MPI_Wtime() - before);
            fflush(stdout);
        }
        Front old = front;
        front = moved;
        moved = old;
        front_regrid(&front, conf->spacing);
    }
    for (int workerId = 1; workerId < size; workerId++) MPI_Send(NULL, 0, MPI_DOUBLE, workerId, STOP, MPI_COMM_WORLD);
    fprintf(stderr, "%.3f s\n", MPI_Wtime() - begin);
    printf("%d iterations, %ld points, front %.3f m, burned %.1f m2, check %016lx\n", iterId, front.count, front_length(&front), front_area(&front),
           front_check(&front));
}
