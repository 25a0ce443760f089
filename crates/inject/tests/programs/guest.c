/* Stands for the probe: tells where it was, and meets nobody. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int visits;

int sintonia_attach(const char *door, const char *secret, unsigned rank, unsigned size, volatile unsigned *state, char *said)
{
    visits++;
    if (strcmp(secret, "unwilling") == 0) {
        strcpy(said, "not today");
        *state = 4;
        return 1;
    }
    FILE *file = fopen(door, "a");
    if (file) {
        fprintf(file, "visit %d of rank %u of %u with %s\n", visits, rank, size, secret);
        fclose(file);
    }
    *state = 3;
    return 0;
}
