// Source locations: their names and their call sites.

import type { RecordingSummary, SourceLocation } from '../answers/about';

const siteIndices = new WeakMap<RecordingSummary, Map<string, number[]>>();

/** A unique key of a location. */
export const locationKey = ({ file, line, function: name, module, offset = 0, callers = [] }: SourceLocation): string =>
    JSON.stringify([file, line, name, module, offset, callers]);

function indicesByLocation(recording: RecordingSummary): Map<string, number[]> {
    const cached = siteIndices.get(recording);
    if (cached) return cached;
    const result = new Map<string, number[]>();
    recording.sites.forEach((site, number) => {
        const same = result.get(locationKey(site));
        if (same) same.push(number);
        else result.set(locationKey(site), [number]);
    });
    siteIndices.set(recording, result);
    return result;
}

/** Index of the call site at a location; the first one if a line has several calls. */
export const siteIndexAt = (recording: RecordingSummary, location: SourceLocation): number | undefined =>
    indicesByLocation(recording).get(locationKey(location))?.[0];

/** All call sites at the same location: several calls on one line share it. */
export function siteIndicesAt(recording: RecordingSummary, site: number): number[] {
    const location = recording.sites[site];
    return location ? (indicesByLocation(recording).get(locationKey(location)) ?? []) : [];
}

/** The location with a name, with or without its directory. */
export const findLocation = (recording: RecordingSummary, name: string): SourceLocation | undefined =>
    recording.sites.find((site) => [locationName(site), lineName(site)].some((known) => known === name || known.endsWith(`/${name}`)));

/** Short name of a location, as in the report: `apps/cg.c:40`, or `apps/cg.c:40 from solve:12`. */
export function locationName(location: SourceLocation): string {
    const { callers = [] } = location;
    return callers.length === 0 ? lineName(location) : `${lineName(location)} from ${callers.join(' < ')}`;
}

/** Short name of a location without its callers. */
function lineName({ file, line, function: name, module, offset = 0 }: SourceLocation): string {
    if (file !== null && line !== null) return `${lastTwoComponents(file)}:${line}`;
    if (name !== null) return `${name} in ${moduleName(module)}`;
    return module === '' ? 'an unknown place' : `0x${offset.toString(16)} in ${moduleName(module)}`;
}

/** Full description of a location. */
export function locationDetails({ file, line, function: name, module, offset = 0, callers = [] }: SourceLocation): string {
    const where = file === null ? '' : line === null ? file : `${file}:${line}`;
    const code = offset === 0 ? module : `0x${offset.toString(16)} in ${module}`;
    const from = callers.length === 0 ? '' : `called from ${callers.join(' < ')}`;
    return [name === null ? '' : `in ${name}`, where, from, code].filter((part) => part !== '').join('\n');
}

const lastTwoComponents = (path: string): string => path.split('/').slice(-2).join('/');

const moduleName = (path: string): string => (path.split('/').at(-1) ?? path).split('.cpython-')[0] ?? path;
