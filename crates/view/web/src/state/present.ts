// The recording that is looked at.

import type { About, Recorded } from '../answers/about';
import { selection } from './address';

/** Its number, for questions, and what is known of it. */
export interface Present {
    number: number;
    recorded: Recorded;
}

/** The selected recording, or the first; `undefined` if there is none at all. */
export function present(about: About): Present | undefined {
    const wanted = selection.value.recording;
    const number = wanted < about.recordings.length ? wanted : 0;
    const recorded = about.recordings[number];
    return recorded && { number, recorded };
}
