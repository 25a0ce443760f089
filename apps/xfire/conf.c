/* Reads fire.conf: a line for each key, `key = value`; `#` begins a remark. */
#include "xfire.h"

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Conf usual = {
    .points = 6000, .semi_x = 900, .semi_y = 600, .end = 10, .step = 0.25, .substeps = 10, .spacing = 6, .wind_speed = 6, .wind_direction = 60,
    .moisture = 0.06, .fuels = { 5, 8, 9 }, .fuel_count = 3, .patch = 150, .hill_height = 80, .hill_length = 700, .heavy_below = -1e9,
    .heavy_works = 1, .least_chunk = 16,
};

#define NUMBER(name) { #name, offsetof(Conf, name), 'd' }
#define WHOLE(name) { #name, offsetof(Conf, name), 'i' }
#define LARGE(name) { #name, offsetof(Conf, name), 'l' }
static const struct { const char *name; size_t at; char kind; } keys[] = {
    LARGE(points), NUMBER(centre_x), NUMBER(centre_y), NUMBER(semi_x), NUMBER(semi_y), NUMBER(start), NUMBER(end), NUMBER(step), WHOLE(substeps),
    NUMBER(spacing), NUMBER(wind_speed), NUMBER(wind_direction), NUMBER(moisture), NUMBER(patch), NUMBER(hill_height), NUMBER(hill_length),
    NUMBER(heavy_below), NUMBER(heavy), WHOLE(heavy_since), NUMBER(heavy_moves), WHOLE(heavy_works), NUMBER(idle_per_point),
    WHOLE(slow_from), NUMBER(slow), LARGE(least_chunk), WHOLE(show),
};

static void wrong(const char *path, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_fuels(Conf *conf, const char *value, const char *path, int line)
{
    int used;
    for (conf->fuel_count = 0; conf->fuel_count < 8 && sscanf(value, "%d%n", &conf->fuels[conf->fuel_count], &used) == 1; value += used) {
        int fuel = conf->fuels[conf->fuel_count++];
        if (fuel < 1 || fuel > 13) wrong(path, line, "fuel models are numbered from 1 to 13");
    }
    if (conf->fuel_count == 0) wrong(path, line, "a fuel model is missing");
}

static void read_line(Conf *conf, char *text, const char *path, int line)
{
    char key[32], value[128];
    text[strcspn(text, "#\n")] = 0;
    int found = sscanf(text, " %31[a-z_] = %127[^\n]", key, value);
    if (found < 1 && text[strspn(text, " \t")] == 0) return;
    if (found != 2) wrong(path, line, "expected `key = value`");
    if (!strcmp(key, "fuels")) { read_fuels(conf, value, path, line); return; }
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (strcmp(key, keys[k].name)) continue;
        char *end, *place = (char *)conf + keys[k].at;
        double number = strtod(value, &end);
        if (end == value || end[strspn(end, " \t\r")]) wrong(path, line, "expected a number");
        if (keys[k].kind == 'd') *(double *)place = number;
        if (keys[k].kind == 'i') *(int *)place = (int)number;
        if (keys[k].kind == 'l') *(long *)place = (long)number;
        return;
    }
    wrong(path, line, "there is no such key");
}

void conf_read(const char *path, Conf *conf)
{
    *conf = usual;
    FILE *file = fopen(path, "r");
    if (!file) wrong(path, 0, "cannot be read");
    char text[256];
    for (int line = 1; fgets(text, sizeof text, file); line++) read_line(conf, text, path, line);
    fclose(file);
    if (conf->points < 3 || conf->step <= 0 || conf->substeps < 1 || conf->spacing <= 0 || conf->least_chunk < 1) {
        wrong(path, 0, "points must be at least 3, substeps and least_chunk at least 1, step and spacing above 0");
    }
}
