// Source of all answers: the server, or the standalone file the page is embedded in.

import { createEmbeddedSource } from './embedded-source';
import { createServerSource } from './server-source';

/** Query parameters; undefined ones are omitted. */
export type QueryParams = Record<string, string | number | undefined>;

/** Formats a query as in a URL: `source?site=12`. */
export function formatQuery(subject: string, query: QueryParams): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) parameters.set(name, String(value));
    }
    return parameters.size > 0 ? `${subject}?${parameters}` : subject;
}

/** A JSON header and the bytes it describes. */
export interface BinaryAnswer<Header> {
    header: Header;
    bytes: Uint8Array<ArrayBuffer>;
}

/** The answer is still being computed. `progress` is between 0 and 1. */
export class PendingError extends Error {
    constructor(
        readonly activity: string,
        readonly progress: number,
    ) {
        super(activity);
    }
}

/** There is no answer; the message is the reason. */
export class QueryError extends Error {}

export interface AnswerSource {
    /** Whether parameters are supported. A standalone file only has the answers without parameters. */
    readonly isLive: boolean;
    json<Answer>(recording: number, subject: string, query?: QueryParams, signal?: AbortSignal): Promise<Answer>;
    binary<Header>(recording: number, subject: string, query?: QueryParams, signal?: AbortSignal): Promise<BinaryAnswer<Header>>;
}

export const answerSource: AnswerSource = createEmbeddedSource() ?? createServerSource();
