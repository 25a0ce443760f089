/* Preloaded: files of scheduler statistics cannot be opened, as in a kernel without them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static int is_hidden(const char *path) {
    if (strstr(path, "schedstat") == NULL) return 0;
    errno = EACCES;
    return 1;
}

/* Every name by which the C library can be asked. */
#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        va_list arguments;                                                          \
        va_start(arguments, flags);                                                 \
        int mode = va_arg(arguments, int);                                          \
        va_end(arguments);                                                          \
        if (is_hidden(path)) return -1;                                             \
        return ((int (*)(const char *, int, int))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
