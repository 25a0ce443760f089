// The machine: what messages and operations of groups cost on it, its nodes, and how they are connected.

import { useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import type { Figures } from '../../answers/figure';
import type { Machine, Network, Node, Topology } from '../../answers/machine';
import { ListFigure } from '../../charts/list-figure';
import type { Column } from '../../charts/rows';
import { State } from '../../charts/state';
import { useAnswer } from '../../state/asked';
import { bytes, count, percent, seconds, size } from '../../units';
import type { View } from '../view';
import './machine.css';
import { type Named, Timings } from './timing';

export const machine: View = {
    name: 'machine',
    title: 'Machine',
    key: 'h',
    says: 'What computing and communicating cost on the machine that was given.',
    has: ({ subjects }) => subjects.includes('machine'),
    Show,
};

function Show(_: { about: About }) {
    return <State asked={useAnswer<Machine>(0, 'machine')}>{(answer) => <Shown machine={answer} />}</State>;
}

const PLACES: Record<string, string> = { other_node: 'between nodes', same_node: 'inside a node', same_complex: 'between cores that share a cache' };

const inWords = (name: string): string => name.replaceAll('_', ' ');

function Shown({ machine }: { machine: Machine }) {
    return (
        <>
            <Facts machine={machine} />
            {Object.entries(machine.networks).map(([place, network]) => (
                <Messages key={place} where={PLACES[place] ?? inWords(place)} network={network} />
            ))}
            <Groups machine={machine} />
            {machine.nodes.map((node, at) => (
                <NodeKind key={at} node={node} />
            ))}
        </>
    );
}

function Facts({ machine }: { machine: Machine }) {
    const nodes = machine.nodes.map(({ kind, count: many, cores }) => `${many} × ${kind} with ${cores} ${cores === 1 ? 'core' : 'cores'}`);
    const facts: [string, string | null][] = [
        ['Machine', machine.name],
        ['Nodes', nodes.join('; ')],
        ['Topology', machine.topology && topologyInWords(machine.topology)],
        ['MPI', machine.mpi],
        ['Measured', [machine.date, machine.processes === null ? null : `with ${machine.processes} processes`].filter(Boolean).join(' ') || null],
        ['Source', machine.source],
        ['Intervals', machine.confidence === null ? null : `hold the true value ${percent(machine.confidence)} of the time`],
        ['Beware', machine.oversubscribed ? 'more processes than cores while it was measured' : null],
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

function topologyInWords({ kind, size, nodes, link, duplex, sharing }: Topology): string {
    const [slow, rate, fast] = link.bytes_per_s;
    const spread = slow < fast ? ` [${bytes(slow)}/s, ${bytes(fast)}/s]` : '';
    const what = `${inWords(kind)}, ${size}${nodes === null ? '' : ` (${count(nodes)} nodes)`}`;
    return `${what}; links of ${bytes(rate)}/s${spread} and ${seconds(link.latency_s[1])}, ${inWords(duplex)} duplex, shared: ${inWords(sharing)}`;
}

function Messages({ where, network }: { where: string; network: Network }) {
    const all: Named[] = useMemo(() => Object.entries(network.messages).map(([name, timing]) => ({ name: inWords(name), timing })), [network]);
    const limits = [
        network.eager_bytes !== null && `MPI_Send gets rid of messages up to ${size(network.eager_bytes)} before they are received`,
        network.overlap.length > 0 &&
            `computation hides ${network.overlap.map(({ bytes: sent, share }) => `${percent(share[1])} of a transfer of ${size(sent)}`).join(', ')}`,
    ].filter((limit) => limit !== false);
    const says = limits.length > 0 ? `${limits.join('; ')}.`.replace(/^./, (letter) => letter.toUpperCase()) : undefined;
    return (
        <Timings name={where} title={`Messages ${where}`} says={says} usual={['send', 'receive', 'transfer']} mark={network.eager_bytes} all={all} />
    );
}

function Groups({ machine }: { machine: Machine }) {
    const groups = useMemo(() => byProcesses(machine), [machine]);
    return (
        <>
            {[...groups].map(([processes, all]) => (
                <Timings
                    key={processes}
                    name={`${processes}`}
                    title={`Operations of groups of ${processes} processes`}
                    usual={['allreduce', 'bcast', 'alltoall']}
                    all={all}
                />
            ))}
        </>
    );
}

/** Operations of groups by the number of processes that they were measured with. */
function byProcesses({ groups }: Machine): Map<number, Named[]> {
    const found = new Map<number, Named[]>();
    for (const [name, { at }] of Object.entries(groups)) {
        for (const { processes, ...timing } of at) found.set(processes, [...(found.get(processes) ?? []), { name: inWords(name), timing }]);
    }
    return new Map([...found].sort(([one], [other]) => one - other));
}

interface Level {
    level: string;
    size: number | null;
    latency: Figures | null;
    read: Figures | null;
    write: Figures | null;
}

const spread = ([low, middle, high]: Figures): string => (low < high ? `${seconds(middle)} [${seconds(low)}, ${seconds(high)}]` : seconds(middle));

const rate = (figures: Figures | null): string => (figures && figures[1] > 0 ? `${bytes(1 / figures[1])}/s` : '–');

const LEVELS: Column<Level>[] = [
    { name: 'memory', value: ({ level }) => level },
    { name: 'size (bytes)', value: ({ size }) => size, show: ({ size }) => (size === null ? '–' : bytes(size)) },
    { name: 'an access (s)', value: ({ latency }) => latency?.[1], show: ({ latency }) => (latency ? spread(latency) : '–') },
    { name: 'reading (bytes/s)', value: ({ read }) => (read?.[1] ? 1 / read[1] : null), show: ({ read }) => rate(read) },
    { name: 'writing (bytes/s)', value: ({ write }) => (write?.[1] ? 1 / write[1] : null), show: ({ write }) => rate(write) },
];

interface Operation {
    type: string;
    operation: string;
    latency: Figures;
    throughput: Figures;
}

const OPERATIONS: Column<Operation>[] = [
    { name: 'numbers', value: ({ type }) => type },
    { name: 'operation', value: ({ operation }) => operation },
    { name: 'one after another (s)', value: ({ latency }) => latency[1], show: ({ latency }) => spread(latency) },
    { name: 'among others (s)', value: ({ throughput }) => throughput[1], show: ({ throughput }) => spread(throughput) },
];

function NodeKind({ node }: { node: Node }) {
    const figures = (value: unknown): Figures | null => (Array.isArray(value) ? (value as Figures) : null);
    const levels: Level[] = node.memory.map((level) => ({
        level: level.level,
        size: level.size_bytes,
        latency: figures(level.latency_s),
        read: figures(level.read_s_per_byte),
        write: figures(level.write_s_per_byte),
    }));
    const operations: Operation[] = Object.entries(node.compute).flatMap(([type, costs]) =>
        Object.entries(costs).map(([operation, { latency_s, throughput_s }]) => ({ type, operation, latency: latency_s, throughput: throughput_s })),
    );
    return (
        <section>
            <h2>{node.kind}</h2>
            {levels.length > 0 && <ListFigure title={`Memory of ${node.kind}`} columns={LEVELS} rows={levels} name={({ level }) => level} />}
            {operations.length > 0 && (
                <details>
                    <summary>What operations take</summary>
                    <ListFigure
                        title={`Operations of ${node.kind}`}
                        columns={OPERATIONS}
                        rows={operations}
                        name={({ type, operation }) => `${type} ${operation}`}
                        most={40}
                    />
                </details>
            )}
        </section>
    );
}
