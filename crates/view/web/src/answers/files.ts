// The part `files` of the answer `report`: files used through the C library and through MPI. See docs/report.md.

import type { SourceLocation } from './about';

export interface FileUse {
    path: string;
    ranks: number[];
    bytes_read: number;
    bytes_written: number;
    calls: number;
    failed: number;
    /** In all calls, of all ranks. */
    seconds: number;
    read_s: number;
    write_s: number;
    sync_s: number;
    metadata_s: number;
    slowest_rank: number;
    slowest_s: number;
    /** Most time first. */
    call_sites: FileCallSite[];
}

export interface FileCallSite extends SourceLocation {
    operation: string;
    /** `posix`, `stdio` or `mpi-io`. */
    interface: string;
    calls: number;
    bytes: number;
    seconds: number;
}
