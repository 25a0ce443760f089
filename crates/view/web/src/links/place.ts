// Places in the source: how they are called, and which call site they are.

import type { Recorded, Site } from '../answers/about';

const numbers = new WeakMap<Recorded, Map<string, number[]>>();

/** What tells places apart. */
export const placeKey = ({ file, line, function: name, module, offset = 0 }: Site): string => JSON.stringify([file, line, name, module, offset]);

function byPlace(recording: Recorded): Map<string, number[]> {
    const known = numbers.get(recording);
    if (known) return known;
    const made = new Map<string, number[]>();
    recording.sites.forEach((site, number) => {
        const same = made.get(placeKey(site));
        if (same) same.push(number);
        else made.set(placeKey(site), [number]);
    });
    numbers.set(recording, made);
    return made;
}

/** The number of the call site at a place: the first, if several calls are written on one line. */
export const siteAt = (recording: Recorded, place: Site): number | undefined => byPlace(recording).get(placeKey(place))?.[0];

/** All call sites at the place of one: several calls on one line are one place to the people who read about it. */
export function sitesAt(recording: Recorded, site: number): number[] {
    const place = recording.sites[site];
    return place ? (byPlace(recording).get(placeKey(place)) ?? []) : [];
}

/** The place that a text names, with its folder or without. */
export const placeNamed = (recording: Recorded, name: string): Site | undefined =>
    recording.sites.find((site) => placeName(site) === name || placeName(site).endsWith(`/${name}`));

/** A place in a few letters, as the report calls it: `apps/cg.c:40`. */
export function placeName({ file, line, function: name, module, offset = 0 }: Site): string {
    if (file !== null && line !== null) return `${lastTwo(file)}:${line}`;
    if (name !== null) return `${name} in ${codeName(module)}`;
    return module === '' ? 'an unknown place' : `0x${offset.toString(16)} in ${codeName(module)}`;
}

/** A place at length. */
export function placeAtLength({ file, line, function: name, module, offset = 0 }: Site): string {
    const where = file === null ? '' : line === null ? file : `${file}:${line}`;
    const code = offset === 0 ? module : `0x${offset.toString(16)} in ${module}`;
    return [name === null ? '' : `in ${name}`, where, code].filter((part) => part !== '').join('\n');
}

const lastTwo = (path: string): string => path.split('/').slice(-2).join('/');

const codeName = (path: string): string => (path.split('/').at(-1) ?? path).split('.cpython-')[0] ?? path;
