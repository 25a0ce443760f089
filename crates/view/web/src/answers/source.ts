// Where the page's answers come from: the command that serves it, or the file that it stands in.

import { embedded } from './embedded';
import { served } from './served';

/** What a question asks in particular; what is undefined is not asked. */
export type Query = Record<string, string | number | undefined>;

/** A question as in an address: `source?site=12`. */
export function asked(subject: string, query: Query): string {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) parameters.set(name, String(value));
    }
    return parameters.size > 0 ? `${subject}?${parameters}` : subject;
}

/** A header and the bytes that it describes. */
export interface Binary<Header> {
    header: Header;
    bytes: Uint8Array<ArrayBuffer>;
}

/** There is no answer yet: what is being done, and how much of it is done, from 0 to 1. */
export class Working extends Error {
    constructor(
        readonly doing: string,
        readonly done: number,
    ) {
        super(doing);
    }
}

/** There is no answer, and the message says why. */
export class Refused extends Error {}

export interface Source {
    /** Whether a question may be asked in particular; if not, only the plain one has an answer. */
    readonly live: boolean;
    json<Answer>(recording: number, subject: string, query?: Query, signal?: AbortSignal): Promise<Answer>;
    binary<Header>(recording: number, subject: string, query?: Query, signal?: AbortSignal): Promise<Binary<Header>>;
}

/** The one source of this page. */
export const source: Source = embedded() ?? served();
