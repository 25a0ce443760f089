/* The workers of 270_thread_ledger.c as four ranks. The report has nearly the same efficiencies.
 * ranks: 4
 * compile: -pthread
 */
#define WORKERS_ARE_RANKS
#include "270_thread_ledger.c"
