/* The library of 214_init_completion.c: a wrapper that keeps the caller after MPI has done its part, as a slow system would. */
int PMPI_Init(int *argc, char ***argv);
void after_init(void);

int MPI_Init(int *argc, char ***argv) {
    int result = PMPI_Init(argc, argv);
    after_init();
    return result;
}
