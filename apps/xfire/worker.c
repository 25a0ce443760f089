/* A worker: moves the points of a chunk. */
#include "xfire.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void wait_for(double seconds)
{
    struct timespec time = { (time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds)) };
    while (nanosleep(&time, &time) != 0) {}
}

static volatile double nowhere;

/* Moves the points; `message` holds them with one neighbour at each end, and gets the new ones without. */
__attribute__((noinline)) long arcStepKernel(const Conf *conf, int iterId, int batchId, long NTareas, double *message, Point *moved)
{
    (void)batchId;
    const Point *points = (const Point *)(message + HEAD);
    double minute = conf->start + iterId * conf->step, border = conf->heavy_below + iterId * conf->heavy_moves, begin = now(), again = 0;
    long heavy = 0;
    for (long i = 0; i < NTareas; i++) {
        moved[i] = spread_point(conf, points[i], points[i + 1], points[i + 2], minute);
        if (iterId < conf->heavy_since || points[i + 1].y >= border) continue;
        heavy++;
        for (again += conf->heavy; conf->heavy_works && again >= 1; again--) {
            nowhere = spread_point(conf, points[i], points[i + 1], points[i + 2], minute).x;
        }
    }
    double idle = 1e-6 * conf->idle_per_point * (double)NTareas;
    if (!conf->heavy_works) idle += conf->heavy * (now() - begin + idle) * (double)heavy / (double)NTareas;
    if (idle > 0) wait_for(idle);
    memcpy(message + HEAD, moved, (size_t)NTareas * sizeof *moved);
    return heavy;
}

void worker(const Conf *conf)
{
    double *message = NULL;
    Point *moved = NULL;
    for (;;) {
        MPI_Status status;
        int length;
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &length);
        message = realloc(message, ((size_t)length + HEAD) * sizeof *message);
        moved = realloc(moved, ((size_t)length + HEAD) * sizeof *moved);
        if (!message || !moved) abort();
        MPI_Recv(message, length, MPI_DOUBLE, 0, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (status.MPI_TAG == STOP) break;
        long NTareas = (long)message[3];
        double begin = now();
        arcStepKernel(conf, (int)message[0], (int)message[1], NTareas, message, moved);
        message[0] = now() - begin;
        MPI_Send(message, (int)(HEAD + 2 * NTareas), MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
    }
    free(message);
    free(moved);
}
