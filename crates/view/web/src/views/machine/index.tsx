// Machine view: cost of messages and collectives, nodes and topology.

import { useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import type { Estimate } from '../../answers/estimate';
import type { Machine, Network, NodeKind, Topology } from '../../answers/machine';
import type { TableColumn } from '../../charts/data-table';
import { QueryStatus } from '../../charts/query-status';
import { TableFigure } from '../../charts/table-figure';
import { useQuery } from '../../state/use-query';
import { bytes, count, messageSize, percent, seconds } from '../../units';
import type { PageView } from '../view';
import './machine.css';
import { type NamedTiming, TimingChart } from './timing-chart';

export const machine: PageView = {
    name: 'machine',
    title: 'Machine',
    key: 'h',
    description: 'Cost of computation and communication on the given machine.',
    isAvailable: ({ subjects }) => subjects.includes('machine'),
    Component: Show,
};

function Show(_: { about: About }) {
    return <QueryStatus query={useQuery<Machine>(0, 'machine')}>{(answer) => <MachineSections machine={answer} />}</QueryStatus>;
}

const NETWORK_NAMES: Record<string, string> = {
    other_node: 'between nodes',
    same_node: 'inside a node',
    same_complex: 'between cores that share a cache',
};

const withSpaces = (name: string): string => name.replaceAll('_', ' ');

function MachineSections({ machine }: { machine: Machine }) {
    return (
        <>
            <MachineFacts machine={machine} />
            {Object.entries(machine.networks).map(([place, network]) => (
                <MessageTimings key={place} where={NETWORK_NAMES[place] ?? withSpaces(place)} network={network} />
            ))}
            <CollectiveTimings machine={machine} />
            {machine.nodes.map((node, index) => (
                <NodeSection key={index} node={node} />
            ))}
        </>
    );
}

function MachineFacts({ machine }: { machine: Machine }) {
    const nodes = machine.nodes.map(({ kind, count, cores }) => `${count} × ${kind} with ${cores} ${cores === 1 ? 'core' : 'cores'}`);
    const facts: [string, string | null][] = [
        ['Machine', machine.name],
        ['Nodes', nodes.join('; ')],
        ['Topology', machine.topology && describeTopology(machine.topology)],
        ['MPI', machine.mpi],
        ['Measured', [machine.date, machine.processes === null ? null : `with ${machine.processes} processes`].filter(Boolean).join(' ') || null],
        ['Source', machine.source],
        ['Confidence', machine.confidence === null ? null : `intervals contain the true value with ${percent(machine.confidence)} probability`],
        ['Warning', machine.oversubscribed ? 'measured with more processes than cores' : null],
        ['Notes', machine.notes.join('; ') || null],
    ];
    return (
        <dl class="machine-facts">
            {facts.map(
                ([name, fact]) =>
                    fact && (
                        <>
                            <dt>{name}</dt>
                            <dd>{fact}</dd>
                        </>
                    ),
            )}
        </dl>
    );
}

function describeTopology({ kind, size, nodes, link, duplex, sharing }: Topology): string {
    const [slow, rate, fast] = link.bytes_per_s;
    const spread = slow < fast ? ` [${bytes(slow)}/s, ${bytes(fast)}/s]` : '';
    const what = `${withSpaces(kind)}, ${size}${nodes === null ? '' : ` (${count(nodes)} nodes)`}`;
    return `${what}; links of ${bytes(rate)}/s${spread} and ${seconds(link.latency_s[1])}, ${withSpaces(duplex)} duplex, sharing: ${withSpaces(sharing)}`;
}

function MessageTimings({ where, network }: { where: string; network: Network }) {
    const all: NamedTiming[] = useMemo(
        () => Object.entries(network.messages).map(([name, timing]) => ({ name: withSpaces(name), timing })),
        [network],
    );
    const limits = [
        network.eager_bytes !== null && `MPI_Send is eager up to ${messageSize(network.eager_bytes)}`,
        network.overlap.length > 0 &&
            `computation hides ${network.overlap.map(({ bytes: sent, share }) => `${percent(share[1])} of a transfer of ${messageSize(sent)}`).join(', ')}`,
    ].filter((limit) => limit !== false);
    const status = limits.length > 0 ? `${limits.join('; ')}.`.replace(/^./, (letter) => letter.toUpperCase()) : undefined;
    return (
        <TimingChart
            name={where}
            title={`Messages ${where}`}
            description={status}
            defaultOperations={['send', 'receive', 'transfer']}
            mark={network.eager_bytes}
            all={all}
        />
    );
}

function CollectiveTimings({ machine }: { machine: Machine }) {
    const groups = useMemo(() => collectivesByProcesses(machine), [machine]);
    return (
        <>
            {[...groups].map(([processes, all]) => (
                <TimingChart
                    key={processes}
                    name={`${processes}`}
                    title={`Collectives with ${processes} processes`}
                    defaultOperations={['allreduce', 'bcast', 'alltoall']}
                    all={all}
                />
            ))}
        </>
    );
}

/** Collectives, by the number of processes they were measured with. */
function collectivesByProcesses({ groups }: Machine): Map<number, NamedTiming[]> {
    const found = new Map<number, NamedTiming[]>();
    for (const [name, { at }] of Object.entries(groups)) {
        for (const { processes, ...timing } of at) found.set(processes, [...(found.get(processes) ?? []), { name: withSpaces(name), timing }]);
    }
    return new Map([...found].sort(([one], [other]) => one - other));
}

interface MemoryLevel {
    level: string;
    size: number | null;
    latency: Estimate | null;
    read: Estimate | null;
    write: Estimate | null;
}

const withInterval = ([low, middle, high]: Estimate): string =>
    low < high ? `${seconds(middle)} [${seconds(low)}, ${seconds(high)}]` : seconds(middle);

const bandwidth = (figures: Estimate | null): string => (figures && figures[1] > 0 ? `${bytes(1 / figures[1])}/s` : '–');

const LEVELS: TableColumn<MemoryLevel>[] = [
    { name: 'memory', value: ({ level }) => level },
    { name: 'size (bytes)', value: ({ size }) => size, render: ({ size }) => (size === null ? '–' : bytes(size)) },
    { name: 'latency (s)', value: ({ latency }) => latency?.[1], render: ({ latency }) => (latency ? withInterval(latency) : '–') },
    { name: 'read (bytes/s)', value: ({ read }) => (read?.[1] ? 1 / read[1] : null), render: ({ read }) => bandwidth(read) },
    { name: 'write (bytes/s)', value: ({ write }) => (write?.[1] ? 1 / write[1] : null), render: ({ write }) => bandwidth(write) },
];

interface ArithmeticOperation {
    type: string;
    operation: string;
    latency: Estimate;
    throughput: Estimate;
}

const OPERATIONS: TableColumn<ArithmeticOperation>[] = [
    { name: 'data type', value: ({ type }) => type },
    { name: 'operation', value: ({ operation }) => operation },
    { name: 'latency (s)', value: ({ latency }) => latency[1], render: ({ latency }) => withInterval(latency) },
    { name: 'reciprocal throughput (s)', value: ({ throughput }) => throughput[1], render: ({ throughput }) => withInterval(throughput) },
];

function NodeSection({ node }: { node: NodeKind }) {
    const figures = (value: unknown): Estimate | null => (Array.isArray(value) ? (value as Estimate) : null);
    const levels: MemoryLevel[] = node.memory.map((level) => ({
        level: level.level,
        size: level.size_bytes,
        latency: figures(level.latency_s),
        read: figures(level.read_s_per_byte),
        write: figures(level.write_s_per_byte),
    }));
    const operations: ArithmeticOperation[] = Object.entries(node.compute).flatMap(([type, costs]) =>
        Object.entries(costs).map(([operation, { latency_s, throughput_s }]) => ({ type, operation, latency: latency_s, throughput: throughput_s })),
    );
    return (
        <section>
            <h2>{node.kind}</h2>
            {levels.length > 0 && <TableFigure title={`Memory of ${node.kind}`} columns={LEVELS} rows={levels} rowKey={({ level }) => level} />}
            {operations.length > 0 && (
                <details>
                    <summary>Cost of arithmetic operations</summary>
                    <TableFigure
                        title={`Operations of ${node.kind}`}
                        columns={OPERATIONS}
                        rows={operations}
                        rowKey={({ type, operation }) => `${type} ${operation}`}
                        initialRows={40}
                    />
                </details>
            )}
        </section>
    );
}
