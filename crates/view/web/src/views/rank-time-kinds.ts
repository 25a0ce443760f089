// Kinds of time of a rank, and their colours.

import type { RankTime } from '../answers/report';
import type { LegendEntry } from '../charts/legend';

export type RankTimeKind = LegendEntry & { secondsOf: (rank: RankTime) => number };

/** Between the end of MPI_Init and MPI_Finalize. */
export const WORK_TIME: RankTimeKind[] = [
    { label: 'computation', variable: '--computation', secondsOf: ({ outside_s }) => outside_s },
    { label: 'in MPI', variable: '--collective', secondsOf: ({ mpi_s, init_s, finalize_s }) => Math.max(0, mpi_s - init_s - finalize_s) },
];

export const ALL_TIME: RankTimeKind[] = [
    ...WORK_TIME,
    { label: 'MPI_Init', variable: '--receiving', secondsOf: ({ init_s }) => init_s },
    { label: 'MPI_Finalize', variable: '--completing', secondsOf: ({ finalize_s }) => finalize_s },
];
