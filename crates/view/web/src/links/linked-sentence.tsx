// A sentence of the report in which locations and ranks are links.

import type { ComponentChildren } from 'preact';
import type { RecordingSummary, SourceLocation } from '../answers/about';
import { ranksInText } from '../ranks';
import { LocationLink } from './location-link';
import { locationName } from './source-location';
import { ViewLink } from './view-link';

const locationCache = new WeakMap<RecordingSummary, Map<string, SourceLocation>>();

function locationsByName(recording: RecordingSummary): Map<string, SourceLocation> {
    const cached = locationCache.get(recording) ?? new Map(recording.sites.map((site) => [locationName(site), site]));
    locationCache.set(recording, cached);
    return cached;
}

/** `rank 3`, `Ranks 0-3, 7`, `ranks 0, 4, 8, …, 60`; a file with line, or an address in a module. */
const LINKED_TEXT = /(\branks? \d+(?:-\d+)?(?:(?:, (?:…, )?| and )\d+(?:-\d+)?)*)|([^\s:]+:\d+|0x[\da-f]+ in [^\s,;]*[^\s,;.])/gi;

/** The locations named in a sentence, in order. */
export const locationsIn = (text: string, recording: RecordingSummary): SourceLocation[] =>
    [...text.matchAll(LINKED_TEXT)].flatMap(([whole]) => locationsByName(recording).get(whole) ?? []);

export function LinkedSentence({ text, recording }: { text: string; recording: RecordingSummary }) {
    const parts: ComponentChildren[] = [];
    let index = 0;
    for (const found of text.matchAll(LINKED_TEXT)) {
        const [whole, ranks] = found;
        const location = ranks === undefined ? locationsByName(recording).get(whole) : undefined;
        if (ranks === undefined && !location) continue;
        parts.push(text.slice(index, found.index));
        if (location) parts.push(<LocationLink key={found.index} recording={recording} location={location} />);
        else parts.push(rankLink(whole, found.index));
        index = found.index + whole.length;
    }
    parts.push(text.slice(index));
    return <>{parts}</>;
}

function rankLink(text: string, key: number) {
    return (
        <ViewLink key={key} view="timeline" change={{ ranks: ranksInText(text) }} title="Show in the timeline">
            {text}
        </ViewLink>
    );
}
