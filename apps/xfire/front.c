/* The global model: the front as a closed curve of points. */
#include "xfire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void front_add(Front *front, Point point)
{
    if (front->count == front->room) {
        front->room = front->room ? 2 * front->room : 1024;
        front->points = realloc(front->points, (size_t)front->room * sizeof *front->points);
        if (!front->points) abort();
    }
    front->points[front->count++] = point;
}

void front_begin(Front *front, const Conf *conf)
{
    *front = (Front){ 0 };
    for (long i = 0; i < conf->points; i++) {
        /* Counted so that the burned side is on the left of the way along the front. */
        double angle = 2 * 3.14159265358979323846 * (double)i / (double)conf->points;
        front_add(front, (Point){ conf->centre_x + conf->semi_x * cos(angle), conf->centre_y + conf->semi_y * sin(angle) });
    }
}

static double distance(Point a, Point b) { return hypot(a.x - b.x, a.y - b.y); }

/* Points come between those that are too far apart, and go where they are much too near. */
void front_regrid(Front *front, double spacing)
{
    Front new = { 0 };
    for (long i = 0; i < front->count; i++) {
        Point here = front->points[i], next = front->points[(i + 1) % front->count];
        if (new.count > 0 && distance(new.points[new.count - 1], here) < spacing / 8) continue;
        front_add(&new, here);
        if (distance(here, next) > spacing) front_add(&new, (Point){ (here.x + next.x) / 2, (here.y + next.y) / 2 });
    }
    free(front->points);
    *front = new;
}

double front_length(const Front *front)
{
    double length = 0;
    for (long i = 0; i < front->count; i++) length += distance(front->points[i], front->points[(i + 1) % front->count]);
    return length;
}

double front_area(const Front *front)
{
    double twice = 0;
    for (long i = 0; i < front->count; i++) {
        Point a = front->points[i], b = front->points[(i + 1) % front->count];
        twice += a.x * b.y - b.x * a.y;
    }
    return fabs(twice) / 2;
}

unsigned long front_check(const Front *front)
{
    unsigned long check = 0xCBF29CE484222325ul;
    for (long i = 0; i < front->count; i++) {
        unsigned long bits[2];
        memcpy(bits, &front->points[i], sizeof bits);
        check = (check ^ bits[0]) * 0x100000001B3ul;
        check = (check ^ bits[1]) * 0x100000001B3ul;
    }
    return check;
}
