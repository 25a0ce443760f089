// The log of a tuning as it grows: asked again every second for what has come since, until the run is over.

import { useEffect, useState } from 'preact/hooks';
import { source } from '../../answers/source';
import type { Entry, Tuning } from '../../answers/tuning';
import type { Asked } from '../../state/asked';

const AGAIN_MS = 1000;

/** All entries so far, and whether more may come. */
export function useLog(recording: number): Asked<Tuning> {
    const [asked, setAsked] = useState<Asked<Tuning>>({ state: 'waiting' });
    useEffect(() => {
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        let entries: Entry[] = [];
        const ask = () => {
            const query = entries.length > 0 ? { after: entries.length } : {};
            source
                .json<Tuning>(recording, 'tuning', query, stop.signal)
                .then((answer) => {
                    if (stop.signal.aborted) return;
                    if (answer.entries.length > 0) entries = [...entries, ...answer.entries];
                    setAsked({ state: 'answered', answer: { entries, live: answer.live } });
                    if (answer.live && source.live) timer = setTimeout(ask, AGAIN_MS);
                })
                .catch((error: unknown) => {
                    if (!stop.signal.aborted) setAsked({ state: 'refused', why: error instanceof Error ? error.message : String(error) });
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
