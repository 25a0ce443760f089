/* What the programs with one known problem share: a board, a page of memory outside MPI on which the ranks meet and note when
 * they enter and leave a call. Meeting there costs no MPI call, so a program has no waits but its own, and what the notes add
 * up to is what was really injected, however slow the machine was. It goes to stderr, as `injected KIND at SITE SECONDS`. */
#ifndef WAITS_H
#define WAITS_H
#include "check.h"
#include "timing.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#ifndef TURNS
#define TURNS 8
#endif
enum { RANKS = 4, PLACES = 3 };

/* A place is an operation in which ranks take part; each notes when it entered its own call of it, and when it left. */
struct notes {
    double enter[TURNS], leave[TURNS];
};

struct board {
    _Atomic int met[RANKS];
    struct notes notes[PLACES][RANKS];
    double worked[RANKS][TURNS];
};

static struct board *board;
static _Thread_local int turn;

static inline void nap(double seconds) {
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds))};
    while (nanosleep(&time, &time) != 0) {
    }
}

/* Computation that takes this long on any machine. */
static inline void work(double seconds) {
    double begin = now();
    nap(seconds);
    board->worked[rank][turn] += now() - begin;
}

/* All ranks go on from here together. */
static inline void meet(void) {
    int times = ++board->met[rank];
    for (int other = 0; other < size; other++)
        while (board->met[other] < times) usleep(200);
}

/* The ranks of a host have one parent, so its number names the board of a run. */
static inline void open_board(void) {
    char name[64];
    snprintf(name, sizeof name, "board-%d", (int)getppid());
    int file = open(name, O_RDWR | O_CREAT, 0600);
    CHECK(size <= RANKS && file >= 0 && ftruncate(file, sizeof *board) == 0);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(board != MAP_FAILED);
    close(file);
    meet();
    if (rank == 0) unlink(name);
}

static inline void begin(int *argc, char ***argv) {
    start(argc, argv);
    open_board();
}

static inline void entering(int place) { board->notes[place][rank].enter[turn] = now(); }
static inline void left(int place) { board->notes[place][rank].leave[turn] = now(); }

/* All ranks set out for a place together, and one comes 80 ms after the others. */
static inline void come(int place, int late) {
    meet();
    if (rank == late) nap(0.08);
    entering(place);
}

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

/* How long `waiting` was there before `late` came, all turns together. */
static inline double waited(int place, int waiting, int late) {
    double sum = 0;
    struct notes *own = &board->notes[place][waiting], *other = &board->notes[place][late];
    for (int i = 0; i < TURNS; i++) sum += most(0, least(other->enter[i], own->leave[i]) - own->enter[i]);
    return sum;
}

/* How long `waiting` was there before the last of all ranks came, all turns together. */
static inline double waited_for_all(int place, int waiting) {
    double sum = 0;
    struct notes *notes = board->notes[place], *own = &notes[waiting];
    for (int i = 0; i < TURNS; i++) {
        double last = 0;
        for (int other = 0; other < size; other++) last = most(last, notes[other].enter[i]);
        sum += most(0, least(last, own->leave[i]) - own->enter[i]);
    }
    return sum;
}

/* How long `slow` was still there after all had come and one had left, all turns together. */
static inline double stayed(int place, int slow) {
    double sum = 0;
    struct notes *notes = board->notes[place];
    for (int i = 0; i < TURNS; i++) {
        double last = 0, first = notes[slow].leave[i];
        for (int other = 0; other < size; other++) {
            last = most(last, notes[other].enter[i]);
            first = least(first, notes[other].leave[i]);
        }
        sum += most(0, notes[slow].leave[i] - most(first, last));
    }
    return sum;
}

/* What every turn took longer than its work divided evenly, all turns together. */
static inline double uneven(void) {
    double sum = 0;
    for (int i = 0; i < TURNS; i++) {
        double all = 0, longest = 0;
        for (int r = 0; r < size; r++) {
            all += board->worked[r][i];
            longest = most(longest, board->worked[r][i]);
        }
        sum += longest - all / size;
    }
    return sum;
}

/* Said by one rank when all have noted everything. */
static inline void injected(const char *kind, const char *site, double seconds) {
    fprintf(stderr, "injected %s at %s %.6f\n", kind, site, seconds);
    fflush(stderr);
}

/* The end of a program: what was injected has been said, and no rank waits for another to finalize. */
static inline void finish(void) {
    meet();
    MPI_Finalize();
}
#endif
