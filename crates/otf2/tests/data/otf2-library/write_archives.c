/*
 * Writes two archives with the OTF2 library, as Score-P lays them out: `regions` with Enter and Leave of instrumented functions, an OpenMP
 * thread and PAPI metrics; `unwinding` with calling contexts and samples (SCOREP_ENABLE_UNWINDING). The same program in both: in each of
 * three iterations smooth() calls exchange() once, solve() calls it twice, and exchange() calls MPI_Barrier.
 *
 *     gcc write_archives.c -lopen-trace-format2 -o write_archives && ./write_archives regions && ./write_archives unwinding
 */
#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        OTF2_ErrorCode code = (call);                                                                 \
        if (code != OTF2_SUCCESS) {                                                                   \
            fprintf(stderr, "%s: %s\n", #call, OTF2_Error_GetDescription(code));                      \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

enum { RANKS = 2, ITERATIONS = 3, WORKER = 2, LOCATIONS = 3 };
enum { MAIN, SMOOTH, SOLVE, EXCHANGE, COMPUTE, BARRIER, PARALLEL, PROGRESS, REGIONS };
enum { PAPI, RUSAGE };

static const struct {
    const char *name, *file;
    uint32_t line;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
} regions[REGIONS] = {
    [MAIN] = { "main", "main.c", 10, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER },
    [SMOOTH] = { "smooth", "smooth.c", 5, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER },
    [SOLVE] = { "solve", "solve.c", 20, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER },
    [EXCHANGE] = { "exchange", "comm.c", 3, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER },
    [COMPUTE] = { "compute", "solve.c", 30, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER },
    [BARRIER] = { "MPI_Barrier", "MPI", 0, OTF2_REGION_ROLE_BARRIER, OTF2_PARADIGM_MPI },
    [PARALLEL] = { "!$omp parallel @solve.c:22", "solve.c", 22, OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP },
    [PROGRESS] = { "opal_progress", NULL, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_SAMPLING },
};

/* Calling contexts: region, line in it, parent. */
enum { MAIN_12, SMOOTH_7, EXCHANGE_IN_SMOOTH, BARRIER_IN_SMOOTH, MAIN_13, SOLVE_25, EXCHANGE_IN_SOLVE, BARRIER_IN_SOLVE, COMPUTE_31,
       COMPUTE_32, PROGRESS_IN_SOLVE, CONTEXTS };
#define NONE OTF2_UNDEFINED_UINT32
static const struct {
    uint32_t region, line, parent;
} contexts[CONTEXTS] = {
    [MAIN_12] = { MAIN, 12, NONE },
    [SMOOTH_7] = { SMOOTH, 7, MAIN_12 },
    [EXCHANGE_IN_SMOOTH] = { EXCHANGE, 4, SMOOTH_7 },
    [BARRIER_IN_SMOOTH] = { BARRIER, NONE, EXCHANGE_IN_SMOOTH },
    [MAIN_13] = { MAIN, 13, NONE },
    [SOLVE_25] = { SOLVE, 25, MAIN_13 },
    [EXCHANGE_IN_SOLVE] = { EXCHANGE, 4, SOLVE_25 },
    [BARRIER_IN_SOLVE] = { BARRIER, NONE, EXCHANGE_IN_SOLVE },
    [COMPUTE_31] = { COMPUTE, 31, SOLVE_25 },
    [COMPUTE_32] = { COMPUTE, 32, SOLVE_25 },
    [PROGRESS_IN_SOLVE] = { PROGRESS, NONE, BARRIER_IN_SOLVE },
};

static OTF2_Archive *archive;
static OTF2_EvtWriter *writer;
static uint64_t now;
static uint64_t counted;
static int has_metrics;
static int unwinds;

static OTF2_FlushType pre_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    return OTF2_FLUSH;
}

static OTF2_TimeStamp post_flush(void *data, OTF2_FileType type, OTF2_LocationRef location)
{
    return now;
}

static OTF2_FlushCallbacks flush_callbacks = { pre_flush, post_flush };

/* Strictly synchronous metrics precede the event that they belong to, at the same time. */
static void metrics(void)
{
    if (!has_metrics)
        return;
    OTF2_Type types[] = { OTF2_TYPE_UINT64, OTF2_TYPE_INT64, OTF2_TYPE_DOUBLE };
    OTF2_MetricValue values[3];
    counted += 1000;
    values[0].unsigned_int = counted;
    values[1].signed_int = -(int64_t)counted;
    values[2].floating_point = counted / 8.0;
    CHECK(OTF2_EvtWriter_Metric(writer, NULL, now, PAPI, 3, types, values));
}

static void enter(uint32_t region)
{
    now += 10;
    metrics();
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, now, region));
}

static void leave(uint32_t region)
{
    now += 10;
    metrics();
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, now, region));
}

static void sample(uint32_t context, uint32_t distance, int count)
{
    while (count-- > 0) {
        now += 100;
        CHECK(OTF2_EvtWriter_CallingContextSample(writer, NULL, now, context, distance, 0));
    }
}

static void barrier(uint32_t context, uint32_t distance, int samples)
{
    now += 10;
    if (unwinds)
        CHECK(OTF2_EvtWriter_CallingContextEnter(writer, NULL, now, context, distance));
    else
        enter(BARRIER);
    CHECK(OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, now));
    sample(context == BARRIER_IN_SOLVE ? PROGRESS_IN_SOLVE : context, 2, samples);
    now += 10;
    CHECK(OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, now, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_UNDEFINED_UINT32, 0, 0));
    if (unwinds)
        CHECK(OTF2_EvtWriter_CallingContextLeave(writer, NULL, now, context));
    else
        leave(BARRIER);
}

static void run_with_regions(int rank)
{
    enter(MAIN);
    for (int i = 0; i < ITERATIONS; i++) {
        enter(SMOOTH);
        enter(EXCHANGE);
        barrier(0, 0, 0);
        leave(EXCHANGE);
        leave(SMOOTH);
        enter(SOLVE);
        if (rank == 0)
            CHECK(OTF2_EvtWriter_ThreadFork(writer, NULL, now, OTF2_PARADIGM_OPENMP, 2));
        enter(COMPUTE);
        now += 1000;
        leave(COMPUTE);
        if (rank == 0)
            CHECK(OTF2_EvtWriter_ThreadJoin(writer, NULL, now, OTF2_PARADIGM_OPENMP));
        for (int twice = 0; twice < 2; twice++) {
            enter(EXCHANGE);
            barrier(0, 0, 0);
            leave(EXCHANGE);
        }
        leave(SOLVE);
    }
    leave(MAIN);
}

static void run_worker(void)
{
    for (int i = 0; i < ITERATIONS; i++) {
        CHECK(OTF2_EvtWriter_ThreadTeamBegin(writer, NULL, now, 1));
        enter(PARALLEL);
        CHECK(OTF2_EvtWriter_ThreadAcquireLock(writer, NULL, now, OTF2_PARADIGM_OPENMP, 7, i + 1));
        now += 900;
        CHECK(OTF2_EvtWriter_ThreadReleaseLock(writer, NULL, now, OTF2_PARADIGM_OPENMP, 7, i + 1));
        CHECK(OTF2_EvtWriter_ThreadTaskCreate(writer, NULL, now, 1, 0, i + 1));
        leave(PARALLEL);
        CHECK(OTF2_EvtWriter_ThreadTeamEnd(writer, NULL, now, 1));
    }
}

static void run_with_contexts(int rank)
{
    for (int i = 0; i < ITERATIONS; i++) {
        barrier(BARRIER_IN_SMOOTH, i == 0 ? 4 : 5, 1);
        sample(COMPUTE_31, 4, 5 + rank);
        sample(COMPUTE_32, 2, 2);
        barrier(BARRIER_IN_SOLVE, 3, 2);
        barrier(BARRIER_IN_SOLVE, 2, 0);
    }
}

static uint32_t strings;

static uint32_t string(OTF2_GlobalDefWriter *definitions, const char *text)
{
    if (!text)
        return OTF2_UNDEFINED_UINT32;
    CHECK(OTF2_GlobalDefWriter_WriteString(definitions, strings, text));
    return strings++;
}

static void define_metrics(OTF2_GlobalDefWriter *definitions)
{
    static const struct {
        const char *name, *unit;
        OTF2_MetricType type;
        OTF2_Type value;
    } members[] = {
        { "PAPI_TOT_INS", "#", OTF2_METRIC_TYPE_PAPI, OTF2_TYPE_UINT64 },
        { "a signed one", "#", OTF2_METRIC_TYPE_USER, OTF2_TYPE_INT64 },
        { "power", "W", OTF2_METRIC_TYPE_OTHER, OTF2_TYPE_DOUBLE },
    };
    for (int i = 0; i < 3; i++) {
        uint32_t name = string(definitions, members[i].name), unit = string(definitions, members[i].unit);
        OTF2_MetricMode mode = i == 2 ? OTF2_METRIC_ABSOLUTE_POINT : OTF2_METRIC_ACCUMULATED_START;
        CHECK(OTF2_GlobalDefWriter_WriteMetricMember(definitions, i, name, name, members[i].type, mode, members[i].value, OTF2_BASE_DECIMAL,
                                                     i == 2 ? -3 : 0, unit));
    }
    uint32_t papi[] = { 0, 1, 2 }, rusage[] = { 1 };
    CHECK(OTF2_GlobalDefWriter_WriteMetricClass(definitions, PAPI, 3, papi, OTF2_METRIC_SYNCHRONOUS_STRICT, OTF2_RECORDER_KIND_CPU));
    CHECK(OTF2_GlobalDefWriter_WriteMetricClass(definitions, RUSAGE, 1, rusage, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT));
    CHECK(OTF2_GlobalDefWriter_WriteMetricInstance(definitions, 2, RUSAGE, 0, OTF2_SCOPE_LOCATION_GROUP, 0));
    CHECK(OTF2_GlobalDefWriter_WriteMetricClassRecorder(definitions, PAPI, 0));
}

static void define_contexts(OTF2_GlobalDefWriter *definitions, const uint32_t *files)
{
    uint32_t lines = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        uint32_t line = OTF2_UNDEFINED_UINT32;
        if (contexts[i].line != NONE) {
            line = lines++;
            CHECK(OTF2_GlobalDefWriter_WriteSourceCodeLocation(definitions, line, files[contexts[i].region], contexts[i].line));
        }
        CHECK(OTF2_GlobalDefWriter_WriteCallingContext(definitions, i, contexts[i].region, line, contexts[i].parent));
    }
    CHECK(OTF2_GlobalDefWriter_WriteInterruptGenerator(definitions, 0, string(definitions, "timer"), OTF2_INTERRUPT_GENERATOR_MODE_TIME,
                                                       OTF2_BASE_DECIMAL, -9, 100));
}

static void define_all(OTF2_GlobalDefWriter *definitions, int locations, const uint64_t *events, uint64_t end)
{
    uint32_t files[REGIONS];
    CHECK(OTF2_GlobalDefWriter_WriteClockProperties(definitions, 1000000000, 0, end + 1, OTF2_UNDEFINED_TIMESTAMP));
    uint32_t empty = string(definitions, ""), host = string(definitions, "host"), node = string(definitions, "node");
    CHECK(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions, 0, host, node, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (int i = 0; i < REGIONS; i++) {
        uint32_t name = string(definitions, regions[i].name);
        files[i] = string(definitions, regions[i].file);
        CHECK(OTF2_GlobalDefWriter_WriteRegion(definitions, i, name, name, empty, regions[i].role, regions[i].paradigm, OTF2_REGION_FLAG_NONE,
                                               files[i], regions[i].line, regions[i].line ? regions[i].line + 9 : 0));
    }
    for (int rank = 0; rank < RANKS; rank++) {
        uint32_t name = string(definitions, rank ? "MPI Rank 1" : "MPI Rank 0");
        CHECK(OTF2_GlobalDefWriter_WriteLocationGroup(definitions, rank, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                      OTF2_UNDEFINED_LOCATION_GROUP));
    }
    for (int i = 0; i < locations; i++) {
        uint32_t name = string(definitions, i == WORKER ? "OMP thread 1" : "Master thread");
        CHECK(OTF2_GlobalDefWriter_WriteLocation(definitions, i, name, OTF2_LOCATION_TYPE_CPU_THREAD, events[i], i == WORKER ? 0 : i));
    }
    uint64_t ranks[] = { 0, 1 }, team[] = { 0, 1 }, threads[] = { 0, WORKER };
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, 0, empty, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2,
                                          ranks));
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, 1, empty, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2,
                                          team));
    CHECK(OTF2_GlobalDefWriter_WriteComm(definitions, 0, string(definitions, "MPI_COMM_WORLD"), 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    if (unwinds) {
        define_contexts(definitions, files);
        return;
    }
    define_metrics(definitions);
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, 2, empty, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE,
                                          2, threads));
    CHECK(OTF2_GlobalDefWriter_WriteGroup(definitions, 3, empty, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, 2,
                                          team));
    CHECK(OTF2_GlobalDefWriter_WriteComm(definitions, 1, string(definitions, "OpenMP team"), 3, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

int main(int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "regions") && strcmp(argv[1], "unwinding"))) {
        fprintf(stderr, "usage: %s regions|unwinding\n", argv[0]);
        return 2;
    }
    unwinds = !strcmp(argv[1], "unwinding");
    int locations = unwinds ? RANKS : LOCATIONS;
    uint64_t events[LOCATIONS] = { 0 }, end = 0;
    archive = OTF2_Archive_Open(".", argv[1], OTF2_FILEMODE_WRITE, 1 << 18, 1 << 18, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    CHECK(OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL));
    CHECK(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    CHECK(OTF2_Archive_SetCreator(archive, "write_archives.c"));
    CHECK(OTF2_Archive_OpenEvtFiles(archive));
    for (int location = 0; location < locations; location++) {
        writer = OTF2_Archive_GetEvtWriter(archive, location);
        now = 0, counted = 0, has_metrics = !unwinds && location != WORKER;
        if (location == WORKER)
            run_worker();
        else if (unwinds)
            run_with_contexts(location);
        else
            run_with_regions(location);
        CHECK(OTF2_EvtWriter_GetNumberOfEvents(writer, &events[location]));
        CHECK(OTF2_Archive_CloseEvtWriter(archive, writer));
        end = now > end ? now : end;
    }
    CHECK(OTF2_Archive_CloseEvtFiles(archive));
    CHECK(OTF2_Archive_OpenDefFiles(archive));
    for (int location = 0; location < locations; location++)
        CHECK(OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, location)));
    CHECK(OTF2_Archive_CloseDefFiles(archive));
    define_all(OTF2_Archive_GetGlobalDefWriter(archive), locations, events, end);
    CHECK(OTF2_Archive_Close(archive));
    return 0;
}
