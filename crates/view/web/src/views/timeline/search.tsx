// Looks for calls: by operation, by call site, by what they waited for, and by how long they took or waited.

import { type Signal, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { placeName } from '../../links/place';
import { select, selection } from '../../state/address';
import { nanoseconds, readTime } from '../../units';
import type { Found } from './answers';
import type { Control } from './control';

/** Keeps what is looked for in the address. */
function keep(wanted: Record<string, string>): void {
    const own = Object.entries({ ...selection.value.own, ...wanted }).filter(([, value]) => value !== '');
    select({ own: Object.fromEntries(own) }, true);
}

export function Search({ control }: { control: Control }) {
    const id = useId();
    const { sites } = control.recorded;
    const placeNames = sites.map(placeName);
    const { own } = selection.value;
    const operation = useSignal(own.find ?? selection.value.operation ?? '');
    const site = useSignal(own.at ?? '');
    const wait = useSignal(own.wait ?? '');
    const longer = useSignal(own.longer ?? '');
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
        keep({ find: name, at: site.value.trim(), wait: wait.value, longer: longer.value.trim() });
        const wanted = {
            from,
            back,
            ...(name && { operation: /^mpi_/i.test(name) ? name : `MPI_${name}` }),
            ...(numbers.length > 0 && { sites: numbers }),
            ...(wait.value && { wait: wait.value }),
            ...(time !== undefined && { longer: time }),
            ...(selection.value.ranks !== undefined && { ranks: selection.value.ranks }),
        };
        const none = `None ${back ? 'before' : 'after'} this.`;
        const show = (found: Found | null) => {
            says.value = found ? `${found.operation} on rank ${found.rank} at ${nanoseconds(found.enter)}` : none;
            if (found) control.choose(found);
        };
        control.find(wanted, show, (why) => {
            says.value = why;
        });
    };
    const field = (name: string, label: string, value: typeof operation, hint: string, list?: string) => (
        <label>
            {label}
            <input
                name={name}
                value={value.value}
                placeholder={hint}
                list={list}
                autocomplete="off"
                onInput={(event) => {
                    value.value = event.currentTarget.value;
                }}
            />
        </label>
    );
    const waits = control.asking.pictures.value.find((picture) => picture.waits.length > 0)?.waits ?? [];
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
            {waits.length > 0 && <Waits waits={waits} chosen={wait} />}
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

function Waits({ waits, chosen }: { waits: string[]; chosen: Signal<string> }) {
    return (
        <label>
            waiting
            <select
                name="wait"
                value={chosen.value}
                onChange={(event) => {
                    chosen.value = event.currentTarget.value;
                }}
            >
                <option value="">or not</option>
                <option value="any">for any reason</option>
                {waits.map((kind) => (
                    <option key={kind} value={kind}>
                        {kind.replaceAll('_', ' ')}
                    </option>
                ))}
            </select>
        </label>
    );
}
