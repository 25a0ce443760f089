/* A fire front that spreads over terrain: the master cuts the front into sections, the workers move the points of each section, the
 * master joins them. After Xfire, which MATE tuned; the names of functions and variables that tuning looks at are the paper's. */
#ifndef XFIRE_H
#define XFIRE_H

typedef struct { double x, y; } Point;

/* A closed curve; the last point is followed by the first. */
typedef struct { Point *points; long count, room; } Front;

/* What fire.conf says. */
typedef struct {
    long points;                            /* of the first front, an ellipse */
    double centre_x, centre_y, semi_x, semi_y;
    double start, end, step;                /* minutes */
    int substeps;                           /* of the local model in each step */
    double spacing;                         /* metres: farther points get one between them, much nearer ones go */
    double wind_speed, wind_direction;      /* km/h; degrees, where it blows to, clockwise from north */
    double moisture;                        /* share of the fuel's weight */
    int fuels[8], fuel_count;               /* models that the vegetation is a patchwork of */
    double patch;                           /* metres: size of a patch */
    double hill_height, hill_length;        /* metres */
    double heavy_below;                     /* points whose y is less are heavier */
    double heavy;                           /* by how many times their own time */
    int heavy_since;                        /* from this iteration on */
    double heavy_moves;                     /* metres that the border moves in each iteration */
    int heavy_works;                        /* heavier points are computed again (1), or waited for (0) */
    double idle_per_point;                  /* microseconds that a worker waits for each point, to stand for a slower processor */
    int slow_from;                          /* workers from this rank on wait longer, as if their processors were slower still; 0: none */
    double slow;                            /* by how many times */
    long least_chunk;                       /* no chunk has fewer points, but the last */
    int show;                               /* a line for each iteration */
} Conf;

/* What tuning changes, in the master, at any time. Values that make no sense are brought into their range; no value changes the result.
 *
 * A batch is a share of the points that are left, cut into chunks; a worker that is idle gets the next chunk. */
extern double F0, F1, F2;                   /* the share of the first, the second and every later batch; 1 is everything that is left */
extern int NW;                              /* workers that are used; the others wait */
extern int CHUNKS;                          /* chunks in a batch; 0: one for each worker */
extern double MARGIN;                       /* points: of R that are left, R + M - sqrt(M (M + 2 R)) are shared; 0 holds none back */
extern double CHUNK;                        /* points in the first chunk, whatever the shares; 0: batches */
extern double CHUNK_LESS;                   /* so many fewer in each chunk that follows, down to 1 */
enum { MOST_WORKERS = 1024 };
extern double WEIGHT[MOST_WORKERS];         /* by rank: the worker gets so many times what the chunk has; 0, and beyond the last, is 1 */
extern long LEAST;                          /* no chunk of a batch has fewer points, but the last: least_chunk of fire.conf */

void conf_read(const char *path, Conf *conf);

void front_begin(Front *front, const Conf *conf);
void front_regrid(Front *front, double spacing);
double front_length(const Front *front);
double front_area(const Front *front);
unsigned long front_check(const Front *front);

/* The new place of a point between its neighbours after one step that begins at `minute`. */
Point spread_point(const Conf *conf, Point before, Point here, Point after, double minute);

void master(const Conf *conf, int size);
void worker(const Conf *conf);

/* Messages are arrays of doubles: a head (iteration, batch, first point, points), then the points with one neighbour at each end. What comes
 * back has the seconds of computing in the place of the iteration, and the points alone. */
enum { WORK = 1, RESULT = 2, STOP = 3, HEAD = 4 };

#endif
