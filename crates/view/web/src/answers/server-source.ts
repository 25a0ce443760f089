// Answers from the server.

import { type AnswerSource, type BinaryAnswer, formatQuery, PendingError, QueryError, type QueryParams } from './answer-source';
import { decodeBinary } from './decode-binary';

/** The access token from the URL. */
const token = new URLSearchParams(location.search).get('token') ?? '';

export function createServerSource(): AnswerSource {
    const ask = async (recording: number, subject: string, query: QueryParams, signal?: AbortSignal): Promise<Response> => {
        const response = await fetch(`api/${recording}/${formatQuery(subject, query)}`, {
            headers: { 'X-Sintonia-Token': token },
            // Without this, the browser serialises identical requests even though responses are not cacheable.
            cache: 'no-store',
            signal: signal ?? null,
        }).catch((error: unknown) => {
            if (signal?.aborted) throw error;
            throw new QueryError('The server does not respond; it may have been stopped.');
        });
        if (response.status === 202) {
            const { doing, done } = (await response.json()) as { doing: string; done: number };
            throw new PendingError(doing, done);
        }
        if (!response.ok) {
            const { error } = (await response.json().catch(() => ({}))) as { error?: string };
            throw new QueryError(error ?? `The server answered with status ${response.status}.`);
        }
        return response;
    };
    return {
        isLive: true,
        json: async <Answer>(recording: number, subject: string, query: QueryParams = {}, signal?: AbortSignal) =>
            (await (await ask(recording, subject, query, signal)).json()) as Answer,
        binary: async <Header>(recording: number, subject: string, query: QueryParams = {}, signal?: AbortSignal): Promise<BinaryAnswer<Header>> =>
            decodeBinary<Header>(new Uint8Array(await (await ask(recording, subject, query, signal)).arrayBuffer())),
    };
}
