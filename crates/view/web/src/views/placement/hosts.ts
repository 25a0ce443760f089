// Where the boxes of hosts, sockets and slots stand in a picture.

import type { Host } from '../../answers/placement';

export interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

export interface SlotBox extends Box {
    /** Numbered through all hosts. */
    slot: number;
}

export interface HostBox extends Box {
    host: number;
    name: string;
    sockets: Box[];
    slots: SlotBox[];
}

export interface GroupBox extends Box {
    name: string;
}

export interface Layout {
    width: number;
    height: number;
    side: number;
    groups: GroupBox[];
    hosts: HostBox[];
}

const TITLE = 17;
const PAD = 5;
const GAP = 8;
/** Slots that stand beside each other in a socket. */
const ROW = 8;

/** Hosts beside and below each other in a width, those that share something in a box of their own. */
export function layout(hosts: Host[], width: number): Layout {
    const used = hosts.map((host, number) => ({ host, number })).filter(({ host }) => host.slots > 0);
    const slots = used.reduce((sum, { host }) => sum + host.slots, 0);
    const side = slots <= 256 ? 26 : slots <= 1024 ? 16 : 8;
    const starts = hosts.reduce<number[]>((starts, { slots }) => [...starts, (starts.at(-1) ?? 0) + slots], [0]);
    const made: Layout = { width, height: 0, side, groups: [], hosts: [] };
    const groups = [...new Set(used.map(({ host }) => host.group))];
    let top = 0;
    for (const group of groups) {
        const members = used.filter(({ host }) => host.group === group);
        const inset = group === null ? 0 : PAD;
        const begin = top;
        let [x, y, row] = [inset, top + (group === null ? 0 : TITLE + 2), 0];
        for (const { host, number } of members) {
            const box = hostBox(host, number, starts[number] ?? 0, side);
            if (x > inset && x + box.width > width - inset) {
                x = inset;
                y += row + GAP;
                row = 0;
            }
            made.hosts.push(moved(box, x, y));
            x += box.width + GAP;
            row = Math.max(row, box.height);
        }
        top = y + row + inset;
        if (group !== null) made.groups.push({ name: group, x: 0, y: begin, width, height: top - begin });
        top += GAP;
    }
    return { ...made, height: Math.max(1, top - GAP) };
}

function hostBox(host: Host, number: number, first: number, side: number): HostBox {
    const perSocket = Math.max(1, Math.min(host.slots, host.slots_per_socket || host.slots));
    const sockets: Box[] = [];
    const slots: SlotBox[] = [];
    const across = Math.min(perSocket, ROW);
    const several = perSocket < host.slots;
    const pad = several ? 3 : 0;
    let y = TITLE;
    for (let begin = 0; begin < host.slots; begin += perSocket) {
        const inside = Math.min(perSocket, host.slots - begin);
        const height = Math.ceil(inside / across) * side + 2 * pad;
        if (several) sockets.push({ x: PAD, y, width: across * side + 2 * pad, height });
        for (let at = 0; at < inside; at++) {
            const place = { x: PAD + pad + (at % across) * side, y: y + pad + Math.floor(at / across) * side };
            slots.push({ ...place, width: side, height: side, slot: first + begin + at });
        }
        y += height + (several ? 3 : 0);
    }
    const width = Math.max(2 * PAD + across * side + 2 * pad, Math.min(140, 7 * host.name.length + 2 * PAD));
    return { host: number, name: host.name, sockets, slots, x: 0, y: 0, width, height: y + PAD };
}

function moved(box: HostBox, x: number, y: number): HostBox {
    const by = <One extends Box>(one: One): One => ({ ...one, x: one.x + x, y: one.y + y });
    return { ...by(box), sockets: box.sockets.map(by), slots: box.slots.map(by) };
}

/** The host of each slot. */
export const hostsBySlot = (hosts: Host[]): number[] => hosts.flatMap(({ slots }, host) => new Array<number>(slots).fill(host));
