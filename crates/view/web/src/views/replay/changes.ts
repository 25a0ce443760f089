// What can be different in a replay, and how that is told to the command: docs/replay.md lists the words.

import type { Replayed } from '../../answers/replay';
import { bytes, figures, seconds } from '../../units';

/** Something that can be turned: its positions are values of a what-if, '' leaves everything as it is. */
export interface Dial {
    name: string;
    label: string;
    says: string;
    positions: string[];
    /** Whether it takes a machine file. */
    needsMachine: boolean;
}

/** Something with a few named values. */
export interface Switch {
    name: string;
    label: string;
    says: string;
    values: { value: string; label: string }[];
    needsMachine: boolean;
}

const LESS = ['x0.01', 'x0.03', 'x0.1', 'x0.25', 'x0.5', 'x0.7'];
const MORE = ['x1.4', 'x2', 'x4', 'x10', 'x30', 'x100'];

export const DIALS: Dial[] = [
    {
        name: 'latency',
        label: 'Latency',
        says: 'All that does not depend on the size of messages',
        positions: ['0', ...LESS, '', ...MORE],
        needsMachine: false,
    },
    { name: 'bandwidth', label: 'Bandwidth', says: 'Bytes per second of the network', positions: [...LESS, '', ...MORE, 'inf'], needsMachine: false },
    { name: 'compute', label: 'Computation takes', says: 'The time of all computation', positions: [...LESS, '', ...MORE], needsMachine: false },
    {
        name: 'noise',
        label: 'Noise',
        says: 'Computation takes longer at random, by this share on average',
        positions: ['', '1%', '2%', '5%', '10%', '20%', '50%', '100%'],
        needsMachine: false,
    },
    {
        name: 'eager',
        label: 'Eager limit',
        says: 'Larger messages wait for their receive',
        positions: ['0', '256', '1KiB', '4KiB', '16KiB', '', '64KiB', '256KiB', '1MiB', '4MiB', 'inf'],
        needsMachine: true,
    },
];

export const SWITCHES: Switch[] = [
    {
        name: 'balance',
        label: 'Balance',
        says: 'Whether, between each two call sites, every rank computes as long as the mean',
        values: [
            { value: '', label: 'as recorded' },
            { value: 'perfect', label: 'perfect' },
        ],
        needsMachine: false,
    },
    {
        name: 'contention',
        label: 'Contention',
        says: 'Whether messages are in each other’s way',
        values: [
            { value: '', label: 'as on the machine' },
            { value: 'off', label: 'off' },
        ],
        needsMachine: true,
    },
    {
        name: 'algorithm',
        label: 'Collectives',
        says: 'How operations of groups are built',
        values: [
            { value: '', label: 'as on the machine' },
            { value: 'closed', label: 'by formula' },
            { value: 'openmpi', label: 'as Open MPI' },
            { value: 'mpich', label: 'as MPICH' },
        ],
        needsMachine: true,
    },
    {
        name: 'placement',
        label: 'Placement',
        says: 'Which rank is on which node',
        values: [
            { value: '', label: 'block' },
            { value: 'cyclic', label: 'cyclic' },
        ],
        needsMachine: true,
    },
];

/** What belongs to this view in the address: values of what-ifs by name, `more` as they are written, and `machine`. */
export type Chosen = Record<string, string>;

export const onMachine = (chosen: Chosen): boolean => chosen.machine === 'given';

/** The changes as the command is told them. */
export function told(chosen: Chosen): string {
    const usable = (one: { name: string; needsMachine: boolean }) => !one.needsMachine || onMachine(chosen);
    const parts = [...DIALS, ...SWITCHES].filter(usable).flatMap(({ name }) => (chosen[name] ? [`${name}=${chosen[name]}`] : []));
    if (onMachine(chosen) && chosen.nodes) parts.push(`nodes=${chosen.nodes}`);
    if (chosen.more?.trim()) parts.push(chosen.more.trim());
    return parts.join(',');
}

/** The position of a dial in words, with what it comes to where that is known. */
export function position(dial: Dial, value: string, network: Replayed['recorded_network']): string {
    if (value === '') return dial.name === 'noise' ? 'none' : 'as it is';
    if (value === 'inf') return dial.name === 'eager' ? 'no limit' : 'infinite';
    if (value === '0') return dial.name === 'eager' ? 'none is eager' : 'none';
    const times = value.startsWith('x') ? Number(value.slice(1)) : undefined;
    if (times === undefined) return value.replace(/(\d)([A-Z%])/, '$1 $2');
    const factor = `× ${times < 1 ? times : figures(times).replace(/\.0+$/, '')}`;
    if (dial.name === 'latency' && network) return `${factor} (${seconds(times * network.latency_s)})`;
    if (dial.name === 'bandwidth' && network) return `${factor} (${network.s_per_byte > 0 ? `${bytes(times / network.s_per_byte)}/s` : 'not felt'})`;
    return factor;
}
