// Says so where figures are sums over more than what is selected.

import { selection } from '../state/address';
import { Go } from './go';

/** `marksRanks`: the view marks those that are selected. */
export function WholeRun({ marksRanks = false }: { marksRanks?: boolean }) {
    const { from, to, ranks } = selection.value;
    const parts: string[] = [];
    if (from !== undefined || to !== undefined) parts.push('the whole run');
    if (ranks !== undefined && !marksRanks) parts.push('all ranks');
    if (parts.length === 0) return null;
    return (
        <p class="quiet">
            Sums here are of {parts.join(' and ')}; what is selected can be seen on the{' '}
            <Go view="timeline" change={{}}>
                timeline
            </Go>
            .
        </p>
    );
}
