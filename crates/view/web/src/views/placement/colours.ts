// A colour for each host: of few, Okabe and Ito's, which colour-blind people tell apart; of many, a row that goes from dark to light.

const FEW = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#8c8c8c'];
/** Five places of the colour map viridis. */
const MANY: [number, number, number][] = [
    [68, 1, 84],
    [59, 82, 139],
    [33, 145, 140],
    [94, 201, 98],
    [253, 231, 37],
];

export function hostColour(host: number, hosts: number): string {
    if (hosts <= FEW.length) return FEW[host] ?? '#8c8c8c';
    const at = (host / Math.max(1, hosts - 1)) * (MANY.length - 1);
    const [from, to] = [MANY[Math.floor(at)] ?? [0, 0, 0], MANY[Math.ceil(at)] ?? [0, 0, 0]];
    const part = at - Math.floor(at);
    const mixed = [0, 1, 2].map((channel) => Math.round((from[channel] ?? 0) * (1 - part) + (to[channel] ?? 0) * part));
    return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}
