// Answers embedded in a standalone file.
//
// The element `answers` holds Base64 of a gzip stream of entries: name length (4 bytes), name (`0/report`), answer length (4 bytes), answer.
// Binary answers have the same format as on the wire. Parameters are part of the name, as in `0/source?site=12`.

import type { About } from './about';
import { type AnswerSource, formatQuery, QueryError, type QueryParams } from './answer-source';
import { decodeBinary } from './decode-binary';

export function createEmbeddedSource(): AnswerSource | undefined {
    const element = document.getElementById('answers');
    if (!element) return undefined;
    let entries: Promise<Map<string, Uint8Array<ArrayBuffer>>> | undefined;
    const find = async (recording: number, ...questions: string[]) => {
        entries ??= decodeEntries(element.textContent ?? '');
        const cached = await entries;
        const [entry] = questions.flatMap((question) => cached.get(`${recording}/${question}`) ?? []);
        if (!entry) throw new QueryError(missingReason(cached, recording, questions));
        return entry;
    };
    return {
        isLive: false,
        json: async <Answer>(recording: number, subject: string, query: QueryParams = {}) =>
            JSON.parse(new TextDecoder().decode(await find(recording, formatQuery(subject, query)))) as Answer,
        // Binary answers fall back to the answer without parameters, from which any part can be drawn.
        binary: async <Header>(recording: number, subject: string, query: QueryParams = {}) =>
            decodeBinary<Header>(await find(recording, formatQuery(subject, query), subject)),
    };
}

/** Why a query has no answer. `about` lists the reasons for queries that were tried when the file was written. */
function missingReason(cached: Map<string, Uint8Array<ArrayBuffer>>, recording: number, questions: string[]): string {
    const about = cached.get('0/about');
    const omitted = about && (JSON.parse(new TextDecoder().decode(about)) as About).recordings[recording]?.left_out;
    const [reason] = questions.flatMap((question) => omitted?.[question] ?? []);
    return reason ?? 'This file only contains a summary. Open the recording with `sintonia view` to see more.';
}

async function decodeEntries(base64: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
    const packed = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const all = new Uint8Array(await new Response(stream).arrayBuffer());
    const view = new DataView(all.buffer);
    const entries = new Map<string, Uint8Array<ArrayBuffer>>();
    let index = 0;
    const piece = () => {
        const length = view.getUint32(index, true);
        index += 4 + length;
        return all.subarray(index - length, index);
    };
    while (index < all.length) {
        const name = new TextDecoder().decode(piece());
        entries.set(name, piece());
    }
    return entries;
}
