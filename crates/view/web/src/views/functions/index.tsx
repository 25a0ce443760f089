// Function view: where processor time goes, from samples. It follows the selection of time and ranks.

import { useMemo } from 'preact/hooks';
import type { About } from '../../answers/about';
import { answerSource, type QueryParams } from '../../answers/answer-source';
import type { StackAnswer } from '../../answers/stacks';
import { QueryStatus } from '../../charts/query-status';
import { RanksField, SelectRanks } from '../../links/ranks-field';
import { selection, setViewParam } from '../../state/address';
import { type CurrentRecording, currentRecording } from '../../state/current-recording';
import { useQuery } from '../../state/use-query';
import { nanoseconds, percent, plural } from '../../units';
import type { PageView } from '../view';
import { BaselineSelect } from './baseline-select';
import { buildCallTree, type CallNode } from './call-tree';
import { CallTreeTable } from './call-tree-table';
import { FlameGraph } from './flame-graph';
import { SourceLines } from './source-lines';
import { parseBaseline, type StackQueries, stackQueries } from './stack-query';
import './functions.css';

export const functions: PageView = {
    name: 'functions',
    title: 'Functions',
    key: 'f',
    description: 'Where processor time goes: functions, their callers and source lines, from samples.',
    isAvailable: (about) => about.subjects.includes('stacks'),
    Component: Show,
    shortcuts: [
        ['↑ ↓ ← →', 'in the flame graph: go to the caller, the callee, the neighbours'],
        ['Enter', 'zoom to the function, and show its source'],
        ['0', 'zoom out'],
        ['/', 'search'],
        ['← →', 'in the call tree: close or open a row'],
    ],
};

function Show({ about }: { about: About }) {
    const current = currentRecording(about);
    return current ? <Functions about={about} current={current} /> : <p>There is no recording.</p>;
}

function Functions({ about, current }: { about: About; current: CurrentRecording }) {
    const { viewParams } = selection.value;
    const baseline = parseBaseline(viewParams.base, about.recordings.length);
    const queries = stackQueries(selection.value, current.index, current.recording.ranks, baseline, answerSource.isLive);
    return (
        <>
            <p class="function-controls">
                <SelectRanks most={current.recording.ranks} />
                <BaselineSelect about={about} current={current} baseline={baseline} />
                <label>
                    <input
                        type="checkbox"
                        checked={viewParams.lines === '1'}
                        onChange={(event) => setViewParam('lines', event.currentTarget.checked ? '1' : '')}
                    />{' '}
                    Split by line
                </label>
            </p>
            {queries.coversMore && (
                <p class="muted">
                    This file only has the samples of the whole run and of single ranks, so these figures cover more than the selection.
                </p>
            )}
            {queries.baseline ? (
                <ComparedStacks current={current} queries={queries} baseline={queries.baseline} />
            ) : (
                <SelectedStacks current={current} queries={queries} />
            )}
        </>
    );
}

function withLines(params: QueryParams): QueryParams {
    // Files only have lines of the whole run.
    const isAnswered = answerSource.isLive || params.ranks === undefined;
    return { ...params, lines: selection.value.viewParams.lines === '1' && isAnswered ? 1 : undefined };
}

interface StackProps {
    current: CurrentRecording;
    queries: StackQueries;
}

function SelectedStacks({ current, queries }: StackProps) {
    const query = useQuery<StackAnswer>(current.index, 'stacks', withLines(queries.selected));
    return <QueryStatus query={query}>{(answer) => <Sections current={current} queries={queries} answer={answer} base={undefined} />}</QueryStatus>;
}

function ComparedStacks({ current, queries, baseline }: StackProps & { baseline: NonNullable<StackQueries['baseline']> }) {
    const shown = useQuery<StackAnswer>(current.index, 'stacks', withLines(queries.selected));
    const base = useQuery<StackAnswer>(baseline.recording, 'stacks', withLines(baseline.params));
    return (
        <QueryStatus query={shown}>
            {(answer) => (
                <QueryStatus query={base}>{(base) => <Sections current={current} queries={queries} answer={answer} base={base} />}</QueryStatus>
            )}
        </QueryStatus>
    );
}

function Sections({ current, queries, answer, base }: StackProps & { answer: StackAnswer; base: StackAnswer | undefined }) {
    const { viewParams } = selection.value;
    const direction = viewParams.tree === 'callers' ? 'callers' : 'callees';
    const root = useMemo(() => {
        // Two groups of ranks are compared by the mean of their ranks.
        const side = (answer: StackAnswer) => ({ answer, divisor: base ? Math.max(1, answer.ranks) : 1 });
        return buildCallTree(side(answer), base && side(base), direction);
    }, [answer, base, direction]);
    const number = Number(viewParams.function);
    const selected = viewParams.function !== undefined && Number.isInteger(number) ? number : undefined;
    const choose = (node: CallNode) => node.functionIndex !== undefined && setViewParam('function', String(node.functionIndex));
    if (answer.samples === 0 && (base?.samples ?? 0) === 0) return <p>There are no samples in the selection: its ranks were not on a processor.</p>;
    return (
        <>
            <Summary answer={answer} base={base} root={root} />
            <FlameGraph root={root} direction={direction} choose={choose} />
            <div class="functions">
                <CallTreeTable root={root} direction={direction} selected={selected} choose={choose} />
                <SourceLines number={current.index} functions={answer.functions} selected={selected} params={queries.selected} />
            </div>
        </>
    );
}

function Summary({ answer, base, root }: { answer: StackAnswer; base: StackAnswer | undefined; root: CallNode }) {
    const { total, computation, kernel, mpi } = root.time;
    const share = (ns: number) => percent(ns / Math.max(total, 1));
    const where = `${plural(answer.samples, 'sample')} of ${plural(answer.threads, 'thread')} of ${plural(answer.ranks, 'rank')}`;
    const hasThreads = answer.threads > answer.ranks || selection.value.viewParams.threads !== undefined;
    return (
        <p class="function-summary">
            {nanoseconds(total)} on processors{base ? ' per rank' : ''}: computation {share(computation)}, kernel {share(kernel)}, MPI {share(mpi)}{' '}
            <span class="muted">
                ({where}
                {base &&
                    `, compared with ${nanoseconds(root.base?.total ?? 0)} per rank: ${plural(base.samples, 'sample')} of ${plural(base.ranks, 'rank')}`}
                ).
            </span>
            {answer.truncated > 0 && <span class="muted"> The outermost functions of {plural(answer.truncated, 'stack')} are unknown.</span>}
            {answer.not_recorded.length > 0 && <span class="muted"> Not recorded: {answer.not_recorded.join('; ')}.</span>}
            {hasThreads && answerSource.isLive && (
                <>
                    {' '}
                    <RanksField
                        label="Threads"
                        value={selection.value.viewParams.threads ?? ''}
                        rankCount={answer.last_thread + 1}
                        choose={(threads) => setViewParam('threads', threads)}
                    />
                </>
            )}
        </p>
    );
}
