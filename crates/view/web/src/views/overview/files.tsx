// Files by time: who read and wrote them, how much, and where in the program.

import type { FileCallSite, FileUse } from '../../answers/files';
import { totalRankSeconds } from '../../answers/report';
import type { TableColumn } from '../../charts/data-table';
import { TableFigure } from '../../charts/table-figure';
import { LocationLink } from '../../links/location-link';
import { RanksLink } from '../../links/ranks-link';
import { locationName } from '../../links/source-location';
import { bytes, count, percent, seconds } from '../../units';
import type { OverviewProps } from './overview-props';

const INITIAL_ROWS = 8;
/** Longer paths are cut at their begin. */
const MAX_PATH_LENGTH = 60;
/** Call sites shown in a row. */
const MAX_CALL_SITES = 3;

export function Files({ report, recording }: OverviewProps) {
    const { files = [], ranks } = report;
    if (files.length === 0) return null;
    const all = totalRankSeconds(report);
    const max = Math.max(...files.map(({ seconds }) => seconds), Number.MIN_VALUE);
    const size = (name: string, bytesOf: (file: FileUse) => number): TableColumn<FileUse> => ({
        name,
        unit: 'bytes',
        value: bytesOf,
        render: (file) => (bytesOf(file) > 0 ? bytes(bytesOf(file)) : '–'),
    });
    const columns: TableColumn<FileUse>[] = [
        { name: 'file', value: ({ path }) => path, render: ({ path }) => <span title={path}>{shortPath(path)}</span> },
        {
            name: 'ranks',
            value: (file) => file.ranks.length,
            render: (file) => (file.ranks.length === ranks && ranks > 1 ? 'all' : <RanksLink ranks={file.ranks} />),
        },
        size('read', ({ bytes_read }) => bytes_read),
        size('written', ({ bytes_written }) => bytes_written),
        { name: 'calls', value: ({ calls }) => calls, render: ({ calls }) => count(calls) },
        {
            name: 'time',
            unit: 's',
            description: 'In calls of the C library and of MPI-IO, of all ranks',
            value: (file) => file.seconds,
            render: (file) => seconds(file.seconds),
            bar: (file) => file.seconds / max,
            barColour: '--files',
        },
        {
            name: 'of run',
            description: 'Share of the time of all ranks',
            value: (file) => file.seconds / all,
            render: (file) => percent(file.seconds / all),
        },
        {
            name: 'slowest rank',
            description: 'The rank with the most time',
            value: ({ slowest_rank }) => slowest_rank,
            render: ({ slowest_rank, slowest_s }) => (
                <>
                    <RanksLink ranks={[slowest_rank]} /> {seconds(slowest_s)}
                </>
            ),
        },
        {
            name: 'call sites',
            description: 'Where it is used, most time first',
            value: ({ call_sites }) => call_sites.map((site) => `${operationName(site)} at ${locationName(site)}`).join('; '),
            render: ({ call_sites }) => <CallSites sites={call_sites} recording={recording} />,
        },
    ];
    return <TableFigure title="Files by time" columns={columns} rows={files} rowKey={({ path }) => path} initialRows={INITIAL_ROWS} />;
}

function CallSites({ sites, recording }: { sites: FileCallSite[]; recording: OverviewProps['recording'] }) {
    const rest = sites.length - MAX_CALL_SITES;
    return (
        <>
            {sites.slice(0, MAX_CALL_SITES).map((site) => (
                <div key={`${site.operation} ${site.interface} ${locationName(site)}`}>
                    {operationName(site)} at <LocationLink recording={recording} location={site} /> <span class="muted">{seconds(site.seconds)}</span>
                </div>
            ))}
            {rest > 0 && <div class="muted">and {rest} more</div>}
        </>
    );
}

/** What was done, and whether through MPI: the time is then time in MPI. */
const operationName = (site: FileCallSite): string => (site.interface === 'mpi-io' ? `MPI-IO ${site.operation}` : site.operation);

const shortPath = (path: string): string => (path.length > MAX_PATH_LENGTH ? `…${path.slice(1 - MAX_PATH_LENGTH)}` : path);
