// The log of a tuning as it grows: asked again every second for what has come since, until the run is over.

import { useEffect, useState } from 'preact/hooks';
import { source, Working } from '../../answers/source';
import type { Tuning } from '../../answers/tuning';
import type { Asked } from '../../state/asked';

const AGAIN_MS = 1000;

/** All entries so far, and whether more may come. */
export function useLog(recording: number): Asked<Tuning> {
    const [asked, setAsked] = useState<Asked<Tuning>>({ state: 'waiting' });
    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        /** The last answer; a run that was live when it was given may still write. */
        let last: Tuning | undefined;
        const again = () => {
            timer = setTimeout(ask, AGAIN_MS);
        };
        const ask = () => {
            const entries = last?.entries ?? [];
            source
                .json<Tuning>(recording, 'tuning', entries.length > 0 ? { after: entries.length } : {}, stop.signal)
                .then((answer) => {
                    if (stop.signal.aborted) return;
                    const wasLive = last?.live ?? false;
                    last = { entries: answer.entries.length > 0 ? [...entries, ...answer.entries] : entries, live: answer.live, began_ns: answer.began_ns };
                    setAsked({ state: 'answered', answer: last });
                    // Once more after the end: what was written last may have come too late for this answer.
                    if (source.live && (answer.live || wasLive)) again();
                })
                .catch((error: unknown) => {
                    if (stop.signal.aborted) return;
                    // A network that fails for a moment ends nothing: what is known stays, and more is asked for.
                    if (last || error instanceof Working) again();
                    if (last) return;
                    if (error instanceof Working) setAsked({ state: 'working', doing: error.doing, done: error.done });
                    else setAsked({ state: 'refused', why: error instanceof Error ? error.message : String(error) });
                });
        };
        setAsked({ state: 'waiting' });
        ask();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [recording]);
    return asked;
}
