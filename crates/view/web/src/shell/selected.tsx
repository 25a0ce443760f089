// What is selected, in all views: each part can be taken away.

import type { Recorded } from '../answers/about';
import { placeAtLength, placeName } from '../links/place';
import { NOTHING, type Selection, select, selection } from '../state/address';
import { nanoseconds, stretch } from '../units';

/** Selects everything again. */
export function selectAll(): void {
    select(NOTHING);
}

interface Part {
    what: string;
    value: string;
    title?: string;
    without: Partial<Selection>;
}

export function Selected({ recorded }: { recorded: Recorded }) {
    const parts = partsOf(selection.value, recorded);
    if (parts.length === 0) return null;
    return (
        <section class="selected" aria-label="Selection">
            <span class="quiet">Selected:</span>
            {parts.map(({ what, value, title, without }) => (
                <span key={what} class="part" title={title}>
                    <span class="quiet">{what}</span> {value}
                    <button type="button" onClick={() => select(without)} aria-label={`Do not select the ${what} ${value}`} title="Take it away">
                        ×
                    </button>
                </span>
            ))}
            <button type="button" onClick={selectAll} title="Select everything again (x)">
                All
            </button>
        </section>
    );
}

function partsOf({ from, to, ranks, site, operation }: Selection, recorded: Recorded): Part[] {
    const parts: Part[] = [];
    if (from !== undefined || to !== undefined) {
        const [first, last] = [from ?? recorded.begin_ns, to ?? recorded.end_ns];
        const value = `${stretch(first, last)} (${nanoseconds(last - first)})`;
        parts.push({ what: 'time', value, without: { from: undefined, to: undefined } });
    }
    if (ranks !== undefined) parts.push({ what: 'ranks', value: ranks, without: { ranks: undefined } });
    if (site !== undefined) {
        const place = recorded.sites[site];
        const value = place ? placeName(place) : `${site}`;
        parts.push({ what: 'call site', value, title: place && placeAtLength(place), without: { site: undefined } });
    }
    if (operation !== undefined) parts.push({ what: 'operation', value: operation, without: { operation: undefined } });
    return parts;
}
