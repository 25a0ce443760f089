/* The library of 040_own_names.c: functions that only share a name with MPI's, called from within and without. */
long mpi_wait(long a, long b, long c, long d, long e, long f, long g, long h) { return a + b + c + d + e + f + g + h; }
double mpi_bcast(double x) { return 3 * x; }
double through_library(double x) { return mpi_bcast(x) + 0.25; }
