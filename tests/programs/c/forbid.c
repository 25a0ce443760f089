/* Runs a command under a kernel that refuses system calls: `forbid perf_event_open=EPERM rseq=ENOSYS -- COMMAND`. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int number;
} names[] = {
    {"perf_event_open", SYS_perf_event_open}, {"rseq", SYS_rseq}, {"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EACCES", EACCES},
};

static int number_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length && strncmp(names[i].name, name, length) == 0) return names[i].number;
    return -1;
}

static int forbid(const char *rule) {
    size_t name = strcspn(rule, "=");
    int call = number_of(rule, name), error = rule[name] ? number_of(rule + name + 1, strlen(rule + name + 1)) : -1;
    if (call < 0 || error < 0) return -1;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            execvp(argv[i + 1], argv + i + 1);
            break;
        }
        if (forbid(argv[i]) != 0) {
            fprintf(stderr, "forbid: %s: %s\n", argv[i], strerror(errno));
            return 125;
        }
    }
    return 127;
}
