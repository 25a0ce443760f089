// Decodes a binary answer: header length (4 bytes, little endian), JSON header, payload.

import type { BinaryAnswer } from './answer-source';

export function decodeBinary<Header>(all: Uint8Array<ArrayBuffer>): BinaryAnswer<Header> {
    const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))) as Header;
    return { header, bytes: all.subarray(4 + length) };
}
