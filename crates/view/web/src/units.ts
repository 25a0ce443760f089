// Formats numbers with three digits and a unit, and parses times.

const STEPS_S = [
    [1, 's'],
    [1e-3, 'ms'],
    [1e-6, 'µs'],
    [1e-9, 'ns'],
] as const;

/** Seconds, as in `12.3 ms`. */
export function seconds(value: number): string {
    if (value === 0) return '0 s';
    if (Math.abs(value) >= 600) return `${threeDigits(value / 60)} min`;
    const [step, unit] = STEPS_S.find(([step]) => Math.abs(value) >= 0.9995 * step) ?? STEPS_S[3];
    return `${threeDigits(value / step)} ${unit}`;
}

/** A difference, as in `+12.3 ms`. */
export const signedSeconds = (value: number): string => `${value > 0 ? '+' : value < 0 ? '−' : ''}${seconds(Math.abs(value))}`;

/** Nanoseconds, as in `12.3 ms`. */
export const nanoseconds = (value: number): string => seconds(value * 1e-9);

/** A time range in nanoseconds, as in `1.50012 s to 1.50013 s`: in one unit, with enough digits to distinguish the ends. */
export function timeRange(from: number, to: number): string {
    const last = 1e-9 * Math.max(Math.abs(from), Math.abs(to));
    const [step, unit] = STEPS_S.find(([step]) => last >= 0.9995 * step) ?? STEPS_S[3];
    const length = Math.max(1, Math.abs(to - from)) * (1e-9 / step);
    const digits = Math.min(Math.max(0, Math.ceil(2 - Math.log10(length) - 1e-9)), Math.round(-Math.log10(1e-9 / step)));
    const moment = (value: number) => `${(value * (1e-9 / step)).toFixed(digits)} ${unit}`;
    return `${moment(from)} to ${moment(to)}`;
}

const UNIT_NS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, '': 1e9 };

/** Parses a time such as `1.5 ms` to nanoseconds. Without a unit it is in seconds. */
export function parseTime(text: string): number | undefined {
    const [, figure, unit = ''] = /^\s*(\d*\.?\d+)\s*(ns|us|µs|ms|s)?\s*$/.exec(text) ?? [];
    const step = UNIT_NS[unit];
    return figure === undefined || step === undefined ? undefined : Math.round(Number(figure) * step);
}

/** Removes trailing zeros, for axes: `2.50 s` becomes `2.5 s`, and `8.00 s` becomes `8 s`. */
export const trimZeros = (text: string): string => text.replace(/(\.\d*?)0+(?= )/, '$1').replace('. ', ' ');

/** Bytes, as in `1.2 MB`. */
export function bytes(value: number): string {
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
    const step = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
    return `${step === 0 && Number.isInteger(value) ? value : threeDigits(value / 1000 ** step)} ${units[step]}`;
}

/** A number with the prefix of its power of a thousand, as in `1.23 G`. */
export function quantity(value: number): string {
    const prefixes = ['', ' k', ' M', ' G', ' T', ' P'];
    const step = Math.abs(value) < 1000 ? 0 : Math.min(prefixes.length - 1, Math.floor(Math.log10(Math.abs(value)) / 3));
    return `${step === 0 && Number.isInteger(value) ? value : threeDigits(value / 1000 ** step)}${prefixes[step]}`;
}

/** A power of two in bytes, as in `64 KiB`. */
export function binaryBytes(value: number): string {
    const step = value < 1024 ? 0 : Math.min(3, Math.floor(Math.log2(value) / 10));
    return `${value / 1024 ** step} ${['B', 'KiB', 'MiB', 'GiB'][step]}`;
}

/** A message size, in binary units if it is a power of two. */
export function messageSize(value: number): string {
    return Number.isInteger(Math.log2(value)) ? binaryBytes(value) : bytes(value);
}

/** A share from 0 to 1, as in `97 %`; a dash if it is not finite. */
export function percent(share: number): string {
    if (!Number.isFinite(share)) return '–';
    if (share > 0 && share < 0.0005) return '< 0.1 %';
    return `${share !== 0 && Math.abs(share) < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
}

/** Both ends of a range with the unit once if it is the same: `38 to 45 %`; one end if they read the same. */
export function range(from: string, to: string): string {
    if (from === to) return to;
    const [figure, unit] = from.split(' ');
    return unit === to.split(' ')[1] ? `${figure} to ${to}` : `${from} to ${to}`;
}

/** A count, with thin spaces between thousands. */
export const count = (value: number): string => Math.round(value).toLocaleString('en').replaceAll(',', '\u202f');

/** A count with its noun: `1 rank`, `2 ranks`. */
export const plural = (value: number, what: string): string => `${count(value)} ${what}${value === 1 ? '' : 's'}`;

/** A number with three significant digits. */
export function threeDigits(value: number): string {
    const size = Math.abs(value);
    if (size >= 1000) return count(value);
    return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}
