// The timeline: what each rank did when, from the whole run to single calls.

import { useEffect, useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import { source } from '../../answers/source';
import { Choice } from '../../charts/choice';
import { Figure } from '../../charts/figure';
import { Said } from '../../charts/said';
import { RanksField, SelectRanks } from '../../links/ranks-field';
import { selection, setOwn } from '../../state/address';
import { type Present, present } from '../../state/present';
import { count, nanoseconds, stretch } from '../../units';
import type { View } from '../view';
import { cellOf } from './answers';
import { Canvas } from './canvas';
import { BY, Control } from './control';
import { Details } from './details';
import { KEYS, listen } from './keys';
import { Kinds } from './kinds';
import { svg, table } from './saved';
import { Search } from './search';
import { best, lanesOf } from './scene';
import { lengthOf, same } from './span';
import { Strip } from './strip';
import './timeline.css';

export const timeline: View = {
    name: 'timeline',
    title: 'Timeline',
    key: 't',
    says: 'What each rank did when.',
    has: (about) => about.subjects.includes('timeline'),
    Show,
    keys: KEYS,
};

function Show({ about }: { about: About }) {
    const shown = present(about);
    return shown ? <Timeline key={shown.number} shown={shown} hasRoles={about.subjects.includes('program')} /> : <p>Nothing is recorded.</p>;
}

function Timeline({ shown, hasRoles }: { shown: Present; hasRoles: boolean }) {
    const control = useMemo(() => new Control(shown), [shown.recorded]);
    useEffect(() => {
        const end = listen(control);
        return () => {
            end();
            control.end();
        };
    }, [control]);
    return (
        <Figure
            title="Ranks over time"
            svg={() => svg(control.scene.value)}
            table={() => table(control.scene.value)}
            controls={<Tools control={control} hasRoles={hasRoles} />}
        >
            {source.live && <Search control={control} />}
            <Said class="timeline-said" text={inWords(control)} />
            <div class="timeline-columns">
                <div>
                    <Strip control={control} />
                    <Canvas control={control} />
                    <p id="timeline-keys" class="timeline-hint">
                        {KEYS.map(([key, does]) => `${key}: ${does}`).join(' · ')}
                    </p>
                </div>
                <aside aria-label="What the timeline shows">
                    <Kinds control={control} />
                    {source.live && <Details control={control} />}
                </aside>
            </div>
        </Figure>
    );
}

/** Buttons for those who know no keys, and which ranks are shown. */
function Tools({ control, hasRoles }: { control: Control; hasRoles: boolean }) {
    const { ranks } = selection.value;
    const groups = BY.filter((one) => (one === 'host' ? control.recorded.hosts.length > 1 : one === 'rank' || hasRoles));
    return (
        <span class="timeline-tools">
            {source.live && groups.length > 1 && (
                <Choice label="By" values={groups} value={control.by.value} choose={(next) => setOwn('by', next === 'rank' ? '' : next)} />
            )}
            {source.live && (
                <RanksField label="Show ranks" value={control.show.value ?? ''} most={control.ranks} choose={(next) => setOwn('show', next)} />
            )}
            <SelectRanks most={control.ranks} />
            {ranks !== undefined && source.live && (
                <button type="button" onClick={() => setOwn('show', ranks)} title="Show only the selected ranks">
                    Only {ranks.length < 12 ? ranks : 'selected'}
                </button>
            )}
            <button type="button" onClick={() => control.zoom(0.5)} aria-label="Zoom in" title="Zoom in (+)">
                +
            </button>
            <button type="button" onClick={() => control.zoom(2)} aria-label="Zoom out" title="Zoom out (−)">
                −
            </button>
            <button type="button" onClick={() => control.goWork()} title="From the first MPI_Init to the last MPI_Finalize">
                Work
            </button>
            <button type="button" onClick={() => control.goWhole()} title="The whole run (0)">
                Whole run
            </button>
        </span>
    );
}

/** One line: which window, how much is in it, and what cannot be seen. */
function inWords(control: Control): string {
    const says = control.asking.says.value;
    if (says) return says;
    const { span, pictures, calls, sites, operation } = control.scene.value;
    const picture = best(pictures, span);
    const parts = [`${stretch(span.from, span.to)}: ${nanoseconds(lengthOf(span))}`];
    if (picture && same(picture.asked, span)) parts.push(`${calls ? '' : 'about '}${count(picture.calls)} calls`);
    if (calls && [...lanesOf(calls).values()].some((lanes) => lanes > 1)) parts.push('each thread has a lane');
    const isLifted = sites !== undefined || operation !== undefined;
    if (picture && !source.live && isLifted) parts.push('this file holds no single calls: `sintonia view` shows which are selected');
    else if (picture && !source.live && lengthOf(span) <= 1.01 * control.least())
        parts.push(`this file tells no more: a cell is ${nanoseconds(cellOf(picture))}; \`sintonia view\` shows single calls`);
    if (picture && !calls && source.live && isLifted) parts.push('zoom in to see which calls are selected');
    return parts.join(' · ');
}
