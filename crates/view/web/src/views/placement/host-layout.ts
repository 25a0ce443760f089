// Layout of hosts, sockets and slots.

import type { PlacementHost } from '../../answers/placement';

export interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

export interface SlotBox extends Box {
    /** Numbered consecutively over all hosts. */
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

export interface HostLayout {
    width: number;
    height: number;
    side: number;
    groups: GroupBox[];
    hosts: HostBox[];
}

const TITLE_HEIGHT = 17;
const PADDING = 5;
const GAP = 8;
/** Slots per row of a socket. */
const SLOTS_PER_ROW = 8;

/** Arranges hosts in rows of a given width; hosts of a group share a box. */
export function layoutHosts(hosts: PlacementHost[], width: number): HostLayout {
    const used = hosts.map((host, number) => ({ host, number })).filter(({ host }) => host.slots > 0);
    const slots = used.reduce((sum, { host }) => sum + host.slots, 0);
    const side = slots <= 256 ? 26 : slots <= 1024 ? 16 : 8;
    const starts = [0];
    for (const { slots } of hosts) starts.push((starts.at(-1) ?? 0) + slots);
    const result: HostLayout = { width, height: 0, side, groups: [], hosts: [] };
    const groups = [...new Set(used.map(({ host }) => host.group))];
    let top = 0;
    for (const group of groups) {
        const members = used.filter(({ host }) => host.group === group);
        const inset = group === null ? 0 : PADDING;
        const begin = top;
        let [x, y, row] = [inset, top + (group === null ? 0 : TITLE_HEIGHT + 2), 0];
        for (const { host, number } of members) {
            const box = hostBox(host, number, starts[number] ?? 0, side);
            if (x > inset && x + box.width > width - inset) {
                x = inset;
                y += row + GAP;
                row = 0;
            }
            result.hosts.push(translateBox(box, x, y));
            x += box.width + GAP;
            row = Math.max(row, box.height);
        }
        top = y + row + inset;
        if (group !== null) result.groups.push({ name: group, x: 0, y: begin, width, height: top - begin });
        top += GAP;
    }
    return { ...result, height: Math.max(1, top - GAP) };
}

function hostBox(host: PlacementHost, number: number, first: number, side: number): HostBox {
    const perSocket = Math.max(1, Math.min(host.slots, host.slots_per_socket || host.slots));
    const sockets: Box[] = [];
    const slots: SlotBox[] = [];
    const across = Math.min(perSocket, SLOTS_PER_ROW);
    const several = perSocket < host.slots;
    const pad = several ? 3 : 0;
    let y = TITLE_HEIGHT;
    for (let begin = 0; begin < host.slots; begin += perSocket) {
        const inside = Math.min(perSocket, host.slots - begin);
        const height = Math.ceil(inside / across) * side + 2 * pad;
        if (several) sockets.push({ x: PADDING, y, width: across * side + 2 * pad, height });
        for (let index = 0; index < inside; index++) {
            const place = { x: PADDING + pad + (index % across) * side, y: y + pad + Math.floor(index / across) * side };
            slots.push({ ...place, width: side, height: side, slot: first + begin + index });
        }
        y += height + (several ? 3 : 0);
    }
    const width = Math.max(2 * PADDING + across * side + 2 * pad, Math.min(140, 7 * host.name.length + 2 * PADDING));
    return { host: number, name: host.name, sockets, slots, x: 0, y: 0, width, height: y + PADDING };
}

function translateBox(box: HostBox, x: number, y: number): HostBox {
    const by = <One extends Box>(one: One): One => ({ ...one, x: one.x + x, y: one.y + y });
    return { ...by(box), sockets: box.sockets.map(by), slots: box.slots.map(by) };
}

export const hostsBySlot = (hosts: PlacementHost[]): number[] => hosts.flatMap(({ slots }, host) => new Array<number>(slots).fill(host));
