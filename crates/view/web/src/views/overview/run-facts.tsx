// Key figures of the run.

import { totalRankSeconds } from '../../answers/report';
import { count, percent, plural, seconds } from '../../units';
import { FactList } from './fact-list';
import type { OverviewProps } from './overview-props';

export function RunFacts({ report }: OverviewProps) {
    const { elapsed_s, work_s, ranks, hosts, calls, exit_status, clock_error_s, parameters, incomplete } = report;
    const facts: [string, string][] = [
        ['Run time', seconds(elapsed_s)],
        ['between MPI_Init and MPI_Finalize', seconds(work_s)],
        [ranks === 1 ? 'rank' : 'ranks', count(ranks)],
        ...(report.threads ? [['threads that call MPI', count(report.threads.threads)] as [string, string]] : []),
        hosts.length > 1 ? ['hosts', `${hosts.length} (clocks within ${seconds(clock_error_s)})`] : ['host', hosts[0] ?? 'unknown'],
        ['MPI calls', count(calls)],
        ['of the time of all ranks in MPI', percent(report.per_rank.reduce((sum, { mpi_s }) => sum + mpi_s, 0) / totalRankSeconds(report))],
        ...Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
    ];
    if (exit_status !== 0) facts.push(['exit status', exit_status === null ? 'unknown' : String(exit_status)]);
    if (incomplete.length > 0) facts.push(['incomplete: see “Limitations”', plural(incomplete.length, 'rank')]);
    return <FactList facts={facts} />;
}
