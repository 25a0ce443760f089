/* A program not linked with MPI that loads a plugin, for itself alone, which is linked with MPI (as Python does).
 * The record: 5 Sends of rank 0 and 5 Recvs of rank 1, with call sites inside the plugin.
 * ranks: 2
 * plugin: 031_plugin.lib.c
 * link: none
 * compile: -ldl
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void (*run)(int, char **) = dlsym(plugin, "run");
    run(argc, argv);
    return 0;
}
