// Asks a question until it is answered or refused: while the command works on it, again and again.

import { Working } from '../answers/source';

const AGAIN_MS = 500;

interface Told<Answer> {
    answered: (answer: Answer) => void;
    /** What is being done, and how much of it is done, from 0 to 1. */
    working: (doing: string, done: number) => void;
    refused: (why: string) => void;
}

/** The answer, if there is one in so many milliseconds. */
export function askForAWhile<Answer>(ask: (stop: AbortSignal) => Promise<Answer>, patience: number): Promise<Answer | undefined> {
    return new Promise((settle) => {
        const end = askPatiently(ask, { answered: settle, working: () => {}, refused: () => settle(undefined) });
        setTimeout(() => {
            end();
            settle(undefined);
        }, patience);
    });
}

/** Gives a function that ends it: nothing is told any more after that. */
export function askPatiently<Answer>(ask: (stop: AbortSignal) => Promise<Answer>, { answered, working, refused }: Told<Answer>): () => void {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const once = () => {
        ask(stop.signal).then(
            (answer) => {
                if (!stop.signal.aborted) answered(answer);
            },
            (error: unknown) => {
                if (stop.signal.aborted) return;
                if (error instanceof Working) {
                    working(error.doing, error.done);
                    timer = setTimeout(once, AGAIN_MS);
                } else refused(error instanceof Error ? error.message : String(error));
            },
        );
    };
    once();
    return () => {
        stop.abort();
        clearTimeout(timer);
    };
}
