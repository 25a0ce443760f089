// Ranks with the same binding and limits, in one row.

import type { ProcessLimits, RankResources, Report } from '../../answers/report';
import { formatRanks } from '../../ranks';

export interface BindingRow {
    ranks: number[];
    host: string;
    /** Threads with this affinity, empty if all threads of the ranks have it. */
    threads: string;
    affinity: string;
    affinityAtEnd: string | null;
    limits: ProcessLimits | undefined;
}

/** One row for each set of threads with the same processors, in the order of their first rank. */
export function bindingRows({ resources, per_rank }: Pick<Report, 'resources' | 'per_rank'>): BindingRow[] {
    const hosts = new Map(per_rank.map(({ rank, host }) => [rank, host]));
    const rows = new Map<string, BindingRow>();
    for (const rank of resources) {
        const host = hosts.get(rank.rank) ?? '';
        for (const binding of bindingsOf(rank)) {
            // Each rank reads the time at its own end: the latest reading is shown for all.
            const { throttled_ns, ...limits } = rank.limits ?? {};
            const key = JSON.stringify([host, binding, limits]);
            const row = rows.get(key);
            if (row === undefined) {
                rows.set(key, { ...binding, ranks: [rank.rank], host, limits: rank.limits });
                continue;
            }
            row.ranks.push(rank.rank);
            if (throttled_ns !== undefined && row.limits !== undefined) {
                row.limits = { ...row.limits, throttled_ns: Math.max(throttled_ns, row.limits.throttled_ns ?? 0) };
            }
        }
    }
    return [...rows.values()];
}

type Binding = Pick<BindingRow, 'threads' | 'affinity' | 'affinityAtEnd'>;

function bindingsOf({ threads }: RankResources): Binding[] {
    const found = new Map<string, { affinity: string; affinityAtEnd: string | null; threads: number[] }>();
    for (const { thread, affinity, affinity_at_end: affinityAtEnd = null } of threads) {
        const key = JSON.stringify([affinity, affinityAtEnd]);
        const known = found.get(key);
        if (known) known.threads.push(thread);
        else found.set(key, { affinity, affinityAtEnd, threads: [thread] });
    }
    return [...found.values()].map((one) => ({ ...one, threads: found.size === 1 ? '' : formatRanks(one.threads) }));
}
