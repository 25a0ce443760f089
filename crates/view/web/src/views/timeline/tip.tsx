// What is under the pointer, in few words.

import { bytes, nanoseconds, percent } from '../../units';
import { type Call, cellOf } from './answers';
import type { Control } from './control';
import { best, callAt, momentAt, rowAt, type Scene } from './scene';

export function Tip({ control, x, y }: { control: Control; x: number; y: number }) {
    const scene = control.scene.value;
    const row = rowAt(scene, y);
    if (x < scene.gutter || y < scene.axis || row === undefined) return null;
    const moment = momentAt(scene, x);
    const call = callAt(scene, row, moment, y);
    const lines = call ? ofCall(call) : ofCell(scene, row, moment);
    if (lines.length === 0) return null;
    const isRight = x > scene.width - 260;
    const beside = isRight ? { right: `${scene.width - x + 12}px` } : { left: `${x + 12}px` };
    return (
        <div class="timeline-tip" role="presentation" style={{ ...beside, top: `${y + 14}px` }}>
            {lines.map((line) => (
                <div key={line}>{line}</div>
            ))}
        </div>
    );
}

function ofCall(call: Call): string[] {
    const thread = call.thread > 0 ? `, thread ${call.thread}` : '';
    const lines = [`${call.operation} on rank ${call.rank}${thread}`, `${nanoseconds(call.leave - call.enter)} from ${nanoseconds(call.enter)}`];
    if (call.peer !== undefined) lines.push(`peer ${call.peer}`);
    if (call.sent > 0) lines.push(`sent ${bytes(call.sent)}`);
    if (call.received > 0) lines.push(`received ${bytes(call.received)}`);
    if (call.wait > 0) lines.push(`waited ${nanoseconds(call.wait)}${call.cause ? `: ${call.cause}` : ''}`);
    return lines;
}

function ofCell(scene: Scene, row: number, moment: number): string[] {
    const picture = best(scene.pictures, scene.span);
    if (!picture) return [];
    const column = Math.floor((moment - picture.span.from) / cellOf(picture));
    if (column < 0 || column >= picture.columns) return [];
    const cell = row * picture.columns + column;
    const share = (plane: Uint8Array | undefined) => (plane?.[cell] ?? 0) / 255;
    const label = picture.rows[row]?.label ?? '';
    const kind = picture.kinds[picture.kind[cell] ?? 0] ?? '';
    const lines = [
        `${/^\d/.test(label) ? 'rank ' : ''}${label} at ${nanoseconds(moment)}`,
        `${kind} ${percent(share(picture.share))} of ${nanoseconds(cellOf(picture))}`,
    ];
    if (share(picture.waiting) > 0.005) lines.push(`waiting ${percent(share(picture.waiting))}`);
    if (share(picture.path) > 0.005) lines.push(`critical path ${percent(share(picture.path))}`);
    return lines;
}
