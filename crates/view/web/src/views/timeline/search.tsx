// Looks for calls: by operation, by call site, and by how long they took.

import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { placeName } from '../../links/place';
import { selection } from '../../state/address';
import { nanoseconds } from '../../units';
import type { Found } from './answers';
import type { Control } from './control';

const UNITS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, '': 1e9 };

/** A time as people write it, `1.5 ms`, in nanoseconds; seconds if there is no unit. */
function readTime(text: string): number | undefined {
    const [, figure, unit = ''] = /^\s*(\d*\.?\d+)\s*(ns|us|µs|ms|s)?\s*$/.exec(text) ?? [];
    const step = UNITS[unit];
    return figure === undefined || step === undefined ? undefined : Math.round(Number(figure) * step);
}

export function Search({ control }: { control: Control }) {
    const id = useId();
    const { sites } = control.recorded;
    const placeNames = sites.map(placeName);
    const operation = useSignal(selection.value.operation ?? '');
    const site = useSignal('');
    const longer = useSignal('');
    const says = useSignal('');
    const look = (back: boolean) => {
        const time = longer.value.trim() === '' ? undefined : readTime(longer.value);
        if (longer.value.trim() !== '' && time === undefined) {
            says.value = `“${longer.value}” is no time: write 1.5 ms.`;
            return;
        }
        // Several calls can be written on one line.
        const numbers = [...sites.keys()].filter((number) => placeNames[number] === site.value.trim());
        if (site.value.trim() !== '' && numbers.length === 0) {
            says.value = `There is no call site “${site.value}”.`;
            return;
        }
        const chosen = control.chosen.value;
        const from = chosen ? chosen.enter + (back ? 0 : 1) : control.span.value[back ? 'to' : 'from'];
        const name = operation.value.trim();
        says.value = 'Looking …';
        const wanted = {
            from,
            back,
            ...(name && { operation: /^mpi_/i.test(name) ? name : `MPI_${name}` }),
            ...(numbers.length > 0 && { sites: numbers }),
            ...(time !== undefined && { longer: time }),
            ...(selection.value.ranks !== undefined && { ranks: selection.value.ranks }),
        };
        const show = (found: Found | null) => {
            says.value = found ? `${found.operation} on rank ${found.rank} at ${nanoseconds(found.enter)}` : `None ${back ? 'before' : 'after'} this.`;
            if (found) control.choose(found);
        };
        control.find(wanted, show, (why) => {
            says.value = why;
        });
    };
    const field = (name: string, label: string, value: typeof operation, hint: string, list?: string) => (
        <label>
            {label}
            <input name={name} value={value.value} placeholder={hint} list={list} autocomplete="off" onInput={(event) => (value.value = event.currentTarget.value)} />
        </label>
    );
    return (
        <form
            class="timeline-search"
            role="search"
            aria-label="Search for calls"
            onSubmit={(event) => {
                event.preventDefault();
                look(false);
            }}
            onKeyDown={(event) => {
                if (event.key !== 'Enter' || !event.shiftKey) return;
                event.preventDefault();
                look(true);
            }}
        >
            {field('operation', 'Find', operation, 'Waitall', `${id}-operations`)}
            {field('site', 'at', site, 'file.c:12', `${id}-sites`)}
            {field('longer', 'longer than', longer, '1 ms')}
            <button type="button" onClick={() => look(true)}>
                Previous
            </button>
            <button type="submit">Next</button>
            <output role="status">{says.value}</output>
            <datalist id={`${id}-operations`}>
                {[...new Set((control.asking.calls.value?.list ?? []).map((call) => call.operation))].map((name) => (
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
