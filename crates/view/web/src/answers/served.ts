// Answers of the command that serves the page.

import { asked, type Binary, type Query, Refused, type Source, Working } from './source';
import { unpack } from './unpack';

/** The token of the address: whoever opened the page has it. */
const token = new URLSearchParams(location.search).get('token') ?? '';

export function served(): Source {
    const ask = async (recording: number, subject: string, query: Query, signal?: AbortSignal): Promise<Response> => {
        const response = await fetch(`api/${recording}/${asked(subject, query)}`, {
            headers: { 'X-Sintonia-Token': token },
            // Otherwise the browser asks the same question twice only one after the other, though no answer may be kept.
            cache: 'no-store',
            signal: signal ?? null,
        }).catch((error: unknown) => {
            if (signal?.aborted) throw error;
            throw new Refused('The command that serves this page does not answer: it may have been stopped.');
        });
        if (response.status === 202) {
            const { doing, done } = (await response.json()) as { doing: string; done: number };
            throw new Working(doing, done);
        }
        if (!response.ok) {
            const { error } = (await response.json().catch(() => ({}))) as { error?: string };
            throw new Refused(error ?? `The command answered ${response.status}.`);
        }
        return response;
    };
    return {
        live: true,
        json: async <Answer>(recording: number, subject: string, query: Query = {}, signal?: AbortSignal) =>
            (await (await ask(recording, subject, query, signal)).json()) as Answer,
        binary: async <Header>(recording: number, subject: string, query: Query = {}, signal?: AbortSignal): Promise<Binary<Header>> =>
            unpack<Header>(new Uint8Array(await (await ask(recording, subject, query, signal)).arrayBuffer())),
    };
}
