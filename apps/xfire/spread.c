/* The local model: how far the fire spreads at a point. Rothermel's rate of spread (1972, with Albini's changes of 1976) for the fuel, the
 * slope and the wind there; Anderson's ellipse (1983) for its shape; Richards' equations (1990) for the movement of a point of a front. */
#include "xfire.h"

#include <math.h>

static const double PI = 3.14159265358979323846;
static const double FEET = 0.3048;

/* Anderson's fuel models (1982), fine dead fuel: tons an acre, surface to volume a foot, depth in feet, moisture of extinction. */
static const struct { double load, surface, depth, extinction; } fuels[14] = {
    [1] = { 0.74, 3500, 1.0, 0.12 }, [2] = { 2.00, 3000, 1.0, 0.15 }, [3] = { 3.01, 1500, 2.5, 0.25 }, [4] = { 5.01, 2000, 6.0, 0.20 },
    [5] = { 1.00, 2000, 2.0, 0.20 }, [6] = { 1.50, 1750, 2.5, 0.25 }, [7] = { 1.13, 1750, 2.5, 0.40 }, [8] = { 1.50, 2000, 0.2, 0.30 },
    [9] = { 2.92, 2500, 0.2, 0.25 }, [10] = { 3.01, 2000, 1.0, 0.25 }, [11] = { 1.50, 1500, 1.0, 0.15 }, [12] = { 4.01, 1500, 2.3, 0.20 },
    [13] = { 7.01, 1500, 3.0, 0.25 },
};

static int fuel_at(const Conf *conf, Point p)
{
    unsigned long row = (unsigned long)(long)floor(p.y / conf->patch), column = (unsigned long)(long)floor(p.x / conf->patch);
    unsigned long mixed = (row * 0x9E3779B97F4A7C15ul) ^ (column * 0xC2B2AE3D27D4EB4Ful);
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9ul;
    return conf->fuels[(mixed >> 33) % (unsigned long)conf->fuel_count];
}

/* The rate of spread without wind and slope in metres a minute, and what wind (ft/min) and slope (tangent) multiply it by. */
static double rate(int model, double moisture, double wind, double slope, double *wind_share, double *slope_share)
{
    double load = fuels[model].load * 0.0459137, surface = fuels[model].surface;
    double bulk = load / fuels[model].depth, packing = bulk / 32, best = 3.348 * pow(surface, -0.8189), ratio = packing / best;
    double a = 133 * pow(surface, -0.7913), power = pow(surface, 1.5);
    double velocity = power / (495 + 0.0594 * power) * pow(ratio, a) * exp(a * (1 - ratio));
    double r = fmin(moisture / fuels[model].extinction, 1);
    double damping = fmax(1 - 2.59 * r + 5.11 * r * r - 3.52 * r * r * r, 0);
    double intensity = velocity * load * (1 - 0.0555) * 8000 * damping * 0.4174;
    double flux = exp((0.792 + 0.681 * sqrt(surface)) * (packing + 0.1)) / (192 + 0.2595 * surface);
    double c = 7.47 * exp(-0.133 * pow(surface, 0.55)), b = 0.02526 * pow(surface, 0.54), e = 0.715 * exp(-3.59e-4 * surface);
    *wind_share = c * pow(wind, b) * pow(ratio, -e);
    *slope_share = 5.275 * pow(packing, -0.3) * slope * slope;
    double sink = bulk * exp(-138 / surface) * (250 + 1116 * moisture);
    return FEET * intensity * flux / sink;
}

/* How fast a point of a front with this tangent moves, in metres a minute. */
static Point velocity(const Conf *conf, Point p, double tangent_x, double tangent_y, double minute)
{
    double slope_x = conf->hill_height / conf->hill_length * cos(p.x / conf->hill_length) * cos(p.y / conf->hill_length);
    double slope_y = -conf->hill_height / conf->hill_length * sin(p.x / conf->hill_length) * sin(p.y / conf->hill_length);
    double slope = hypot(slope_x, slope_y);
    double direction = conf->wind_direction * PI / 180 + 0.2 * sin(minute / 17);
    double speed = conf->wind_speed / 3.6, wind_share, slope_share;
    double base = rate(fuel_at(conf, p), conf->moisture, speed * 60 / FEET, slope, &wind_share, &slope_share);
    /* Wind and slope pull together as vectors. */
    double up_x = slope > 0 ? slope_x / slope : 0, up_y = slope > 0 ? slope_y / slope : 0;
    double pull_x = wind_share * sin(direction) + slope_share * up_x, pull_y = wind_share * cos(direction) + slope_share * up_y;
    double pull = hypot(pull_x, pull_y), theta = atan2(pull_x, pull_y), most = base * (1 + pull);
    double effective = fmin(speed * (wind_share > 0 ? sqrt(pull / wind_share) : 0), 15);
    double shape = fmin(0.936 * exp(0.2566 * effective) + 0.461 * exp(-0.1548 * effective) - 0.397, 8);
    double root = sqrt(fmax(shape * shape - 1, 0)), back = most * (shape - root) / (shape + root);
    double half = (most + back) / 2, width = half / shape, offset = half - back;
    double s = sin(theta), t = cos(theta), along = tangent_x * s + tangent_y * t, across = tangent_x * t - tangent_y * s;
    double norm = sqrt(half * half * across * across + width * width * along * along);
    if (norm == 0) return (Point){ 0, 0 };
    return (Point){ (width * width * t * along - half * half * s * across) / norm + offset * s,
                    (-width * width * s * along - half * half * t * across) / norm + offset * t };
}

Point spread_point(const Conf *conf, Point before, Point here, Point after, double minute)
{
    double tangent_x = after.x - before.x, tangent_y = after.y - before.y, time = conf->step / conf->substeps;
    for (int i = 0; i < conf->substeps; i++) {
        Point v = velocity(conf, here, tangent_x, tangent_y, minute + i * time);
        here.x += v.x * time;
        here.y += v.y * time;
    }
    return here;
}
