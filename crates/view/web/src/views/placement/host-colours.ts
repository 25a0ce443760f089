// A colour per host: the Okabe-Ito palette for a few hosts, otherwise a gradient from dark to light.

const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#8c8c8c'];
/** Five colours of the viridis colour map. */
const GRADIENT: [number, number, number][] = [
    [68, 1, 84],
    [59, 82, 139],
    [33, 145, 140],
    [94, 201, 98],
    [253, 231, 37],
];

export function hostColour(host: number, hosts: number): string {
    if (hosts <= PALETTE.length) return PALETTE[host] ?? '#8c8c8c';
    const index = (host / Math.max(1, hosts - 1)) * (GRADIENT.length - 1);
    const [from, to] = [GRADIENT[Math.floor(index)] ?? [0, 0, 0], GRADIENT[Math.ceil(index)] ?? [0, 0, 0]];
    const part = index - Math.floor(index);
    const mixed = [0, 1, 2].map((channel) => Math.round((from[channel] ?? 0) * (1 - part) + (to[channel] ?? 0) * part));
    return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
