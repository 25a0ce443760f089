// A sentence of the report in which places and ranks lead to where they can be seen.

import type { ComponentChildren } from 'preact';
import type { Recorded, Site } from '../answers/about';
import { At } from './at';
import { Go } from './go';
import { placeName } from './place';

const names = new WeakMap<Recorded, Map<string, Site>>();

function places(recording: Recorded): Map<string, Site> {
    const known = names.get(recording) ?? new Map(recording.sites.map((site) => [placeName(site), site]));
    names.set(recording, known);
    return known;
}

/** `rank 3`, `Ranks 0-3, 7`; a place with its line, or an address in a file of code. */
const MARKED = /(\branks? \d+(?:-\d+)?(?:(?:, | and )\d+(?:-\d+)?)*)|([^\s:]+:\d+|0x[\da-f]+ in [^\s,;]*[^\s,;.])/gi;

/** The places that a sentence names, in its order. */
export const placesIn = (text: string, recording: Recorded): Site[] =>
    [...text.matchAll(MARKED)].flatMap(([whole]) => places(recording).get(whole) ?? []);

export function Sentence({ text, recording }: { text: string; recording: Recorded }) {
    const parts: ComponentChildren[] = [];
    let at = 0;
    for (const found of text.matchAll(MARKED)) {
        const [whole, ranks] = found;
        const place = ranks === undefined ? places(recording).get(whole) : undefined;
        if (ranks === undefined && !place) continue;
        parts.push(text.slice(at, found.index));
        if (place) parts.push(<At key={found.index} recording={recording} place={place} />);
        else parts.push(rankLink(whole, found.index));
        at = found.index + whole.length;
    }
    parts.push(text.slice(at));
    return <>{parts}</>;
}

function rankLink(text: string, key: number) {
    const ranks = [...text.matchAll(/\d+(?:-\d+)?/g)].map(([part]) => part).join(',');
    return (
        <Go key={key} view="timeline" change={{ ranks }} title="Show in the timeline">
            {text}
        </Go>
    );
}
