/* The workers of 270_thread_ledger.c as four ranks. The efficiencies in the report follow from the ledger in the same way.
 * ranks: 4
 * compile: -pthread
 */
#define WORKERS_ARE_RANKS
#include "270_thread_ledger.c"
