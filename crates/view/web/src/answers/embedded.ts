// Answers that lie in the file beside the page: packed, so that the file stays small.
//
// The element `answers` holds Base64 of a gzip of entries, each: length of the name (4 bytes), the name `0/report`, length of the answer
// (4 bytes), the answer. A binary answer looks as it does when it is served. The answer to a question in particular is named with it, as in
// `0/source?site=12`.

import type { About } from './about';
import { asked, type Query, Refused, type Source } from './source';
import { unpack } from './unpack';

export function embedded(): Source | undefined {
    const element = document.getElementById('answers');
    if (!element) return undefined;
    let entries: Promise<Map<string, Uint8Array<ArrayBuffer>>> | undefined;
    const find = async (recording: number, ...questions: string[]) => {
        entries ??= open(element.textContent ?? '');
        const known = await entries;
        const [entry] = questions.flatMap((question) => known.get(`${recording}/${question}`) ?? []);
        if (!entry) throw new Refused(why(known, recording, questions));
        return entry;
    };
    return {
        live: false,
        json: async <Answer>(recording: number, subject: string, query: Query = {}) =>
            JSON.parse(new TextDecoder().decode(await find(recording, asked(subject, query)))) as Answer,
        // What is drawn from bytes can be drawn from those of the whole.
        binary: async <Header>(recording: number, subject: string, query: Query = {}) =>
            unpack<Header>(await find(recording, asked(subject, query), subject)),
    };
}

/** Why a question has no answer: `about` knows it of those that were asked when the file was made. */
function why(known: Map<string, Uint8Array<ArrayBuffer>>, recording: number, questions: string[]): string {
    const about = known.get('0/about');
    const told = about && (JSON.parse(new TextDecoder().decode(about)) as About).recordings[recording]?.left_out;
    const [reason] = questions.flatMap((question) => told?.[question] ?? []);
    return reason ?? 'This file holds a summary. Open the recording with `sintonia view` to see more.';
}

async function open(base64: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
    const packed = Uint8Array.from(atob(base64.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const all = new Uint8Array(await new Response(stream).arrayBuffer());
    const view = new DataView(all.buffer);
    const entries = new Map<string, Uint8Array<ArrayBuffer>>();
    let at = 0;
    const piece = () => {
        const length = view.getUint32(at, true);
        at += 4 + length;
        return all.subarray(at - length, at);
    };
    while (at < all.length) {
        const name = new TextDecoder().decode(piece());
        entries.set(name, piece());
    }
    return entries;
}
