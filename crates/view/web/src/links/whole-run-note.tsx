// States that figures cover more than the selection.

import { selection } from '../state/address';
import { ViewLink } from './view-link';

/** `marksRanks`: the view highlights the selected ranks. */
export function WholeRunNote({ marksRanks = false }: { marksRanks?: boolean }) {
    const { from, to, ranks } = selection.value;
    const parts: string[] = [];
    if (from !== undefined || to !== undefined) parts.push('the whole run');
    if (ranks !== undefined && !marksRanks) parts.push('all ranks');
    if (parts.length === 0) return null;
    return (
        <p class="muted">
            These figures cover {parts.join(' and ')}; the selection is shown on the{' '}
            <ViewLink view="timeline" change={{}}>
                timeline
            </ViewLink>
            .
        </p>
    );
}
