// What-if changes and how they are written on the command line. See docs/replay.md.

import type { ReplayResult } from '../../answers/replay';
import { bytes, seconds, threeDigits } from '../../units';

/** A dial whose positions are values of a what-if parameter; '' means unchanged. */
export interface Dial {
    name: string;
    label: string;
    description: string;
    positions: string[];
    /** Whether it requires a machine file. */
    needsMachine: boolean;
}

/** A parameter with a few named values. */
export interface Switch {
    name: string;
    label: string;
    description: string;
    values: { value: string; label: string }[];
    needsMachine: boolean;
}

const SMALLER_FACTORS = ['x0.01', 'x0.03', 'x0.1', 'x0.25', 'x0.5', 'x0.7'];
const LARGER_FACTORS = ['x1.4', 'x2', 'x4', 'x10', 'x30', 'x100'];

export const DIALS: Dial[] = [
    {
        name: 'latency',
        label: 'Latency',
        description: 'The cost of a message that does not depend on its size',
        positions: ['0', ...SMALLER_FACTORS, '', ...LARGER_FACTORS],
        needsMachine: false,
    },
    {
        name: 'bandwidth',
        label: 'Bandwidth',
        description: 'Network bandwidth in bytes per second',
        positions: [...SMALLER_FACTORS, '', ...LARGER_FACTORS, 'inf'],
        needsMachine: false,
    },
    {
        name: 'compute',
        label: 'Computation time',
        description: 'Scales the time of all computation',
        positions: [...SMALLER_FACTORS, '', ...LARGER_FACTORS],
        needsMachine: false,
    },
    {
        name: 'noise',
        label: 'Noise',
        description: 'Random slowdown of computation, by this share on average',
        positions: ['', '1%', '2%', '5%', '10%', '20%', '50%', '100%'],
        needsMachine: false,
    },
    {
        name: 'eager',
        label: 'Eager limit',
        description: 'Larger messages use the rendezvous protocol',
        positions: ['0', '256', '1KiB', '4KiB', '16KiB', '', '64KiB', '256KiB', '1MiB', '4MiB', 'inf'],
        needsMachine: true,
    },
];

export const SWITCHES: Switch[] = [
    {
        name: 'balance',
        label: 'Balance',
        description: 'With perfect balance, every rank computes for the mean time between each two call sites',
        values: [
            { value: '', label: 'as recorded' },
            { value: 'perfect', label: 'perfect' },
        ],
        needsMachine: false,
    },
    {
        name: 'contention',
        label: 'Contention',
        description: 'Whether messages share the bandwidth of links',
        values: [
            { value: '', label: 'as on the machine' },
            { value: 'off', label: 'off' },
        ],
        needsMachine: true,
    },
    {
        name: 'algorithm',
        label: 'Collectives',
        description: 'Algorithms of collectives',
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
        description: 'Distribution of ranks over nodes',
        values: [
            { value: '', label: 'block' },
            { value: 'cyclic', label: 'cyclic' },
        ],
        needsMachine: true,
    },
];

/** View parameters in the address: what-if values by name, `more` as free text, and `machine`. */
export type WhatIfParams = Record<string, string>;

export const usesMachine = (whatIf: WhatIfParams): boolean => whatIf.machine === 'given';

/** The argument of `--what-if`. */
export function whatIfText(whatIf: WhatIfParams): string {
    const usable = (one: { name: string; needsMachine: boolean }) => !one.needsMachine || usesMachine(whatIf);
    const parts = [...DIALS, ...SWITCHES].filter(usable).flatMap(({ name }) => (whatIf[name] ? [`${name}=${whatIf[name]}`] : []));
    if (usesMachine(whatIf) && whatIf.nodes) parts.push(`nodes=${whatIf.nodes}`);
    if (whatIf.more?.trim()) parts.push(whatIf.more.trim());
    return parts.join(',');
}

/** Label of a dial's position, with the absolute value if known. */
export function positionLabel(dial: Dial, value: string, network: ReplayResult['recorded_network']): string {
    if (value === '') return dial.name === 'noise' ? 'none' : 'unchanged';
    if (value === 'inf') return dial.name === 'eager' ? 'no limit' : 'infinite';
    if (value === '0') return dial.name === 'eager' ? 'never eager' : 'none';
    const times = value.startsWith('x') ? Number(value.slice(1)) : undefined;
    if (times === undefined) return value.replace(/(\d)([A-Z%])/, '$1 $2');
    const factor = `× ${times < 1 ? times : threeDigits(times).replace(/\.0+$/, '')}`;
    if (dial.name === 'latency' && network) return `${factor} (${seconds(times * network.latency_s)})`;
    if (dial.name === 'bandwidth' && network) return `${factor} (${network.s_per_byte > 0 ? `${bytes(times / network.s_per_byte)}/s` : 'no effect'})`;
    return factor;
}
