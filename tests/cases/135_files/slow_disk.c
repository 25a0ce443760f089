/* A file system that gives each process 50 MB/s, however many write. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    size_t (*next)(const void *, size_t, size_t, FILE *) = dlsym(RTLD_NEXT, "fwrite");
    struct timespec t = {0, size * count * 20};
    nanosleep(&t, NULL);
    return next(data, size, count, file);
}
