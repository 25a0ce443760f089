// What the time of a rank is made of, and the colour of each.

import type { RankTime } from '../answers/report';
import type { Entry } from '../charts/legend';

/** A kind of time, and its seconds. */
export type RankKind = Entry & { of: (rank: RankTime) => number };

/** Between the end of MPI_Init and MPI_Finalize. */
export const WORK: RankKind[] = [
    { label: 'computation', variable: '--computes', of: ({ outside_s }) => outside_s },
    { label: 'in MPI', variable: '--collective', of: ({ mpi_s, init_s, finalize_s }) => Math.max(0, mpi_s - init_s - finalize_s) },
];

/** All of it. */
export const ALL: RankKind[] = [
    ...WORK,
    { label: 'MPI_Init', variable: '--receiving', of: ({ init_s }) => init_s },
    { label: 'MPI_Finalize', variable: '--completing', of: ({ finalize_s }) => finalize_s },
];
