// Search for calls by operation, call site, kind of wait, and duration.

import { type Signal, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { locationName } from '../../links/source-location';
import { select, selection } from '../../state/address';
import { nanoseconds, parseTime } from '../../units';
import type { TimelineController } from './timeline-controller';
import type { FoundCall } from './timeline-data';

/** Stores the search in the address. */
function saveSearch(wanted: Record<string, string>): void {
    const own = Object.entries({ ...selection.value.viewParams, ...wanted }).filter(([, value]) => value !== '');
    select({ viewParams: Object.fromEntries(own) }, true);
}

export function CallSearch({ controller }: { controller: TimelineController }) {
    const id = useId();
    const { sites } = controller.summary;
    const placeNames = sites.map(locationName);
    const { viewParams } = selection.value;
    const operation = useSignal(viewParams.find ?? selection.value.operation ?? '');
    const site = useSignal(viewParams.at ?? '');
    const wait = useSignal(viewParams.wait ?? '');
    const longer = useSignal(viewParams.longer ?? '');
    const status = useSignal('');
    const search = (back: boolean) => {
        const time = longer.value.trim() === '' ? undefined : parseTime(longer.value);
        if (longer.value.trim() !== '' && time === undefined) {
            status.value = `“${longer.value}” is not a time; write for example 1.5 ms.`;
            return;
        }
        // A line can contain several calls.
        const numbers = [...sites.keys()].filter((number) => placeNames[number] === site.value.trim());
        if (site.value.trim() !== '' && numbers.length === 0) {
            status.value = `There is no call site “${site.value}”.`;
            return;
        }
        const selectedCall = controller.selectedCall.value;
        const from = selectedCall ? selectedCall.enter + (back ? 0 : 1) : controller.span.value[back ? 'to' : 'from'];
        const name = operation.value.trim();
        status.value = 'Searching …';
        saveSearch({ find: name, at: site.value.trim(), wait: wait.value, longer: longer.value.trim() });
        const wanted = {
            from,
            back,
            ...(name && { operation: /^mpi_/i.test(name) ? name : `MPI_${name}` }),
            ...(numbers.length > 0 && { sites: numbers }),
            ...(wait.value && { wait: wait.value }),
            ...(time !== undefined && { longer: time }),
            ...(selection.value.ranks !== undefined && { ranks: selection.value.ranks }),
        };
        const none = `No ${back ? 'earlier' : 'later'} match.`;
        const show = (found: FoundCall | null) => {
            status.value = found ? `${found.operation} on rank ${found.rank} at ${nanoseconds(found.enter)}` : none;
            if (found) controller.selectCall(found);
        };
        controller.find(wanted, show, (reason) => {
            status.value = reason;
        });
    };
    const field = (name: string, label: string, value: typeof operation, placeholder: string, list?: string) => (
        <label>
            {label}
            <input
                name={name}
                value={value.value}
                placeholder={placeholder}
                list={list}
                autocomplete="off"
                onInput={(event) => {
                    value.value = event.currentTarget.value;
                }}
            />
        </label>
    );
    const waits = controller.queries.rasters.value.find((raster) => raster.waits.length > 0)?.waits ?? [];
    return (
        // biome-ignore lint/a11y/useSemanticElements: a search element would only wrap the form
        <form
            class="timeline-search"
            role="search"
            aria-label="Search for calls"
            onSubmit={(event) => {
                event.preventDefault();
                search(false);
            }}
            onKeyDown={(event) => {
                if (event.key !== 'Enter' || !event.shiftKey) return;
                event.preventDefault();
                search(true);
            }}
        >
            {field('operation', 'Find', operation, 'Waitall', `${id}-operations`)}
            {field('site', 'at', site, 'file.c:12', `${id}-sites`)}
            {waits.length > 0 && <WaitSelect waits={waits} chosen={wait} />}
            {field('longer', 'longer than', longer, '1 ms')}
            <button type="button" onClick={() => search(true)}>
                Previous
            </button>
            <button type="submit">Next</button>
            <output>{status.value}</output>
            <datalist id={`${id}-operations`}>
                {[...new Set((controller.queries.calls.value?.list ?? []).map((call) => call.operation))].map((name) => (
                    <option key={name} value={name} />
                ))}
            </datalist>
            <datalist id={`${id}-sites`}>
                {[...new Set(placeNames)].slice(0, 500).map((name) => (
                    <option key={name} value={name} />
                ))}
            </datalist>
        </form>
    );
}

function WaitSelect({ waits, chosen }: { waits: string[]; chosen: Signal<string> }) {
    return (
        <label>
            wait state
            <select
                name="wait"
                value={chosen.value}
                onChange={(event) => {
                    chosen.value = event.currentTarget.value;
                }}
            >
                <option value="">any or none</option>
                <option value="any">any kind</option>
                {waits.map((kind) => (
                    <option key={kind} value={kind}>
                        {kind.replaceAll('_', ' ')}
                    </option>
                ))}
            </select>
        </label>
    );
}
