// A binary answer: the length of its header in four bytes, the header as JSON, the bytes that it describes.

import type { Binary } from './source';

export function unpack<Header>(all: Uint8Array<ArrayBuffer>): Binary<Header> {
    const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))) as Header;
    return { header, bytes: all.subarray(4 + length) };
}
