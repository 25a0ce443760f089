/* The master: cuts the front into batches of chunks, sends a chunk to each idle worker, and joins what comes back. */
#include "xfire.h"

#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double F0 = 1, F1 = 1, F2 = 1;
int NW;
int CHUNKS;
double MARGIN;
double CHUNK, CHUNK_LESS;
double WEIGHT[MOST_WORKERS];
long LEAST;

/* What tuning looks at. */
int iterId;
long TheTotalWork;
int TheWorkSizeUnitBytes = sizeof(Point);
int batchId;
int numChunk;

typedef struct { long tasks; int batch; } Chunk;

/* The chunks that are cut and not yet given away, with the points they have together, and the first point that nobody has yet. */
static struct { Chunk *chunks; int count, given, room; long tasks, next; } queue;

static long left_to_cut(void)
{
    long left = TheTotalWork - queue.next - queue.tasks;
    return left > 0 ? left : 0;
}

/* A value that tuning sets, brought into its range; what is no number is the least. */
static double between(double least, double value, double most) { return fmin(fmax(value, least), most); }

/* The points of the next batch: those of one chunk if its size is set, otherwise a share of what is left. */
static long batch_size(long chunks)
{
    double left = (double)left_to_cut(), factor = batchId == 0 ? F0 : batchId == 1 ? F1 : F2, first = CHUNK;
    if (first > 0) return (long)round(between(1, first - CHUNK_LESS * queue.count, left));
    double margin = between(0, MARGIN, 1e12), shared = left + margin - sqrt(margin * (margin + 2 * left));
    long tasks = (long)ceil(shared * between(0, factor, 1)), least = chunks * (long)between(1, (double)LEAST, 1e6);
    if (tasks < least) tasks = least;
    return (long)left - tasks < least ? (long)left : tasks;
}

/* Cuts the next batch into chunks. */
__attribute__((noinline)) int Factoring_SetNumTuples(int workers)
{
    long chunks = CHUNK > 0 ? 1 : CHUNKS > 0 ? CHUNKS : workers, tasks = batch_size(chunks), chunk = (tasks + chunks - 1) / chunks;
    numChunk = 0;
    for (long cut = 0; cut < tasks; cut += chunk, numChunk++) {
        if (queue.count == queue.room) {
            queue.room = queue.room ? 2 * queue.room : 64;
            queue.chunks = realloc(queue.chunks, (size_t)queue.room * sizeof *queue.chunks);
            if (!queue.chunks) abort();
        }
        long most = tasks - cut;
        queue.chunks[queue.count++] = (Chunk){ most < chunk ? most : chunk, batchId };
    }
    queue.tasks += tasks;
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

/* Gives the next chunk to a worker: its points, times the worker's weight. */
static void give(const Front *front, int workerId)
{
    Chunk *chunk = &queue.chunks[queue.given++];
    double weight = workerId < MOST_WORKERS && WEIGHT[workerId] > 0 ? WEIGHT[workerId] : 1;
    long first = queue.next, tasks = (long)between(1, round((double)chunk->tasks * weight), (double)(TheTotalWork - first));
    queue.tasks -= chunk->tasks;
    queue.next += tasks;
    global_sendwork(front, workerId, chunk->batch, first, tasks);
}

/* How long workers have computed, all together. */
static double computing;

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
    computing += message[0];
    long first = (long)message[2], NTareas = (long)message[3];
    memcpy(moved->points + first, message + HEAD, (size_t)NTareas * sizeof(Point));
    *workerId = status.MPI_SOURCE;
    return NTareas;
}

/* One iteration: the whole front is handed out, and comes back moved; how many workers had a part in it. */
__attribute__((noinline)) int global_sendreceive(int size, const Front *front, Front *moved)
{
    int workers = (int)between(1, NW, size - 1), busy = 0, workerId;
    queue.count = queue.given = 0;
    queue.tasks = queue.next = 0;
    batchId = 0;
    for (long done = 0; done < TheTotalWork;) {
        /* The next batch is cut when few chunks of the last are left. */
        while (left_to_cut() > 0 && queue.count - queue.given < (workers + 1) / 2) Factoring_SetNumTuples(workers);
        int has_work = queue.given < queue.count && queue.next < TheTotalWork;
        if (busy < workers && has_work) {
            workerId = ++busy;
        } else {
            done += global_receivework(moved, &workerId);
        }
        if (has_work) give(front, workerId);
    }
    return workers;
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
        double before = MPI_Wtime(), computed = computing;
        int workers = global_sendreceive(size, &front, &moved);
        if (conf->show) {
            printf("iteration %d: %ld points, %d workers, %d batches, %d chunks, %.4f s, computing %.4f s\n", iterId, TheTotalWork, workers, batchId,
                   queue.given, MPI_Wtime() - before, computing - computed);
            fflush(stdout);
        }
        Front old = front;
        front = moved;
        moved = old;
        front_regrid(&front, conf->spacing);
    }
    for (int workerId = 1; workerId < size; workerId++) MPI_Send(NULL, 0, MPI_DOUBLE, workerId, STOP, MPI_COMM_WORLD);
    fprintf(stderr, "%.3f s, computing %.3f s\n", MPI_Wtime() - begin, computing);
    printf("%d iterations, %ld points, front %.3f m, burned %.1f m2, check %016lx\n", iterId, front.count, front_length(&front), front_area(&front),
           front_check(&front));
}
