// What to know about efficiencies if several threads of a rank call MPI.

import type { ThreadSummary } from '../../answers/report';
import { percent, plural } from '../../units';

export function threadNotes(threads: ThreadSummary | undefined): string[] {
    if (!threads) return [];
    if (threads.main_only) return ['Only the main threads count: a profile does not tell when others were active.'];
    const { min_per_rank, max_per_rank, communication_threads, communication_share, efficiency_without } = threads;
    const perRank = min_per_rank === max_per_rank ? max_per_rank : `${min_per_rank} to ${max_per_rank}`;
    const notes = [`${plural(threads.threads, 'thread')} that call MPI (${perRank} per rank) count like ranks, while they are active.`];
    if (communication_threads > 0) {
        const without = efficiency_without ? `; the parallel efficiency without is ${percent(efficiency_without.parallel)}` : '';
        const verb = communication_threads === 1 ? 'does' : 'do';
        notes.push(
            `${plural(communication_threads, 'thread')} ${verb} nothing but communicate, ${percent(communication_share)} of the time${without}.`,
        );
    }
    if (!threads.blocked_known) notes.push('Outside MPI a thread counts as computing, also while it waits for another one.');
    return notes;
}
