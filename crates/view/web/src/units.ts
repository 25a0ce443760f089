// Numbers for people: three figures and a unit that fits.

const STEPS_S = [
    [1, 's'],
    [1e-3, 'ms'],
    [1e-6, 'µs'],
    [1e-9, 'ns'],
] as const;

/** Seconds, as `12.3 ms`. */
export function seconds(value: number): string {
    if (value === 0) return '0 s';
    if (Math.abs(value) >= 600) return `${figures(value / 60)} min`;
    const [step, unit] = STEPS_S.find(([step]) => Math.abs(value) >= 0.9995 * step) ?? STEPS_S[3];
    return `${figures(value / step)} ${unit}`;
}

/** Nanoseconds, as `12.3 ms`. */
export const nanoseconds = (value: number): string => seconds(value * 1e-9);

/** Bytes, as `1.2 MB`. */
export function bytes(value: number): string {
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
    const step = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
    return `${step === 0 && Number.isInteger(value) ? value : figures(value / 1000 ** step)} ${units[step]}`;
}

/** A share from 0 to 1, as `97 %`; a dash for a share of nothing. */
export function percent(share: number): string {
    if (!Number.isFinite(share)) return '–';
    if (share > 0 && share < 0.0005) return '< 0.1 %';
    return `${share !== 0 && Math.abs(share) < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
}

/** How many, with thin spaces between thousands. */
export const count = (value: number): string => Math.round(value).toLocaleString('en').replaceAll(',', '\u202f');

/** So many of something: `1 rank`, `2 ranks`. */
export const plural = (value: number, what: string): string => `${count(value)} ${what}${value === 1 ? '' : 's'}`;

/** Three figures. */
export function figures(value: number): string {
    const size = Math.abs(value);
    if (size >= 1000) return count(value);
    return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}
