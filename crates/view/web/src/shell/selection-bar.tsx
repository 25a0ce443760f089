// The current selection; each part can be removed.

import type { RecordingSummary } from '../answers/about';
import { locationDetails, locationName } from '../links/source-location';
import { EMPTY_SELECTION, type Selection, select, selection } from '../state/address';
import { nanoseconds, timeRange } from '../units';

export function clearSelection(): void {
    select(EMPTY_SELECTION);
}

interface SelectionPart {
    label: string;
    value: string;
    title?: string;
    without: Partial<Selection>;
}

export function SelectionBar({ recording }: { recording: RecordingSummary }) {
    const parts = selectionParts(selection.value, recording);
    if (parts.length === 0) return null;
    return (
        <section class="selected" aria-label="Selection">
            <span class="muted">Selected:</span>
            {parts.map(({ label, value, title, without }) => (
                <span key={label} class="part" title={title}>
                    <span class="muted">{label}</span> {value}
                    <button type="button" onClick={() => select(without)} aria-label={`Remove ${label} ${value} from the selection`} title="Remove">
                        ×
                    </button>
                </span>
            ))}
            <button type="button" onClick={clearSelection} title="Clear the selection (x)">
                Clear
            </button>
        </section>
    );
}

function selectionParts({ from, to, ranks, site, operation }: Selection, recording: RecordingSummary): SelectionPart[] {
    const parts: SelectionPart[] = [];
    if (from !== undefined || to !== undefined) {
        const [first, last] = [from ?? recording.begin_ns, to ?? recording.end_ns];
        const value = `${timeRange(first, last)} (${nanoseconds(last - first)})`;
        parts.push({ label: 'time', value, without: { from: undefined, to: undefined } });
    }
    if (ranks !== undefined) parts.push({ label: 'ranks', value: ranks, without: { ranks: undefined } });
    if (site !== undefined) {
        const location = recording.sites[site];
        const value = location ? locationName(location) : `${site}`;
        parts.push({ label: 'call site', value, title: location && locationDetails(location), without: { site: undefined } });
    }
    if (operation !== undefined) parts.push({ label: 'operation', value: operation, without: { operation: undefined } });
    return parts;
}
