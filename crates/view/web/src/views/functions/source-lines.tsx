// The source file of the selected function, with the time beside each line.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { answerSource, type QueryParams } from '../../answers/answer-source';
import type { LineAnswer, StackFunction } from '../../answers/stacks';
import { Figure } from '../../charts/figure';
import { QueryStatus } from '../../charts/query-status';
import { useQuery } from '../../state/use-query';
import { nanoseconds } from '../../units';
import './source-lines.css';

interface Props {
    number: number;
    functions: StackFunction[];
    selected: number | undefined;
    /** Time range, ranks and threads. */
    params: QueryParams;
}

export function SourceLines({ number, functions, selected, params }: Props) {
    const known = selected === undefined ? undefined : functions[selected];
    if (selected === undefined || !known) return <p class="muted">Select a function to see its source with the time beside each line.</p>;
    if (known.file === null) return <p class="muted">{withoutSource(known)}</p>;
    // Files only have the lines of the whole run.
    const stored = answerSource.isLive ? params : {};
    return (
        <div>
            {stored.ranks !== params.ranks && <p class="muted">The times of lines are those of all ranks.</p>}
            <LineQuery number={number} params={{ function: selected, ...stored }} />
        </div>
    );
}

function withoutSource({ name, kind, module }: StackFunction): string {
    if (kind === 'mpi' || kind === 'kernel') return `${name} has no source here: select the function that called it.`;
    return `The source file of ${name} is unknown: ${module || 'its code'} has no debug information (compile with -g).`;
}

function LineQuery({ number, params }: { number: number; params: QueryParams }) {
    const query = useQuery<LineAnswer>(number, 'lines', params);
    return <QueryStatus query={query}>{(answer) => <AnnotatedSource answer={answer} />}</QueryStatus>;
}

interface LineRow {
    line: number;
    self: number;
    total: number;
    text: string | undefined;
}

function AnnotatedSource({ answer }: { answer: LineAnswer }) {
    const frame = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        const marked = frame.current?.querySelector<HTMLElement>('tr[aria-current]');
        if (frame.current && marked) frame.current.scrollTop = marked.offsetTop - frame.current.clientHeight / 3;
    }, [answer]);
    const rows = lineRows(answer);
    const most = Math.max(...rows.map(({ total }) => total), 1);
    const excerpt = answer.text !== null && 'lines' in answer.text;
    const csv = () => ({
        columns: ['line', 'self (s)', 'total (s)', 'text'],
        rows: rows.map(({ line, self, total, text }) => [line, self * 1e-9, total * 1e-9, text]),
    });
    return (
        <Figure title={`Source of ${answer.name}`} svg={null} table={csv}>
            <p class="muted source-file">{answer.file}</p>
            {answer.text !== null && 'why' in answer.text && <p class="muted">{answer.text.why}</p>}
            {answer.text === null && <p class="muted">The text of the source is not in this file (report --html --source).</p>}
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable */}
            <section ref={frame} class="source-lines" tabIndex={0} aria-label={`Source, line ${answer.hottest} marked`}>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">line</th>
                            <th scope="col" title="Without what the line called">
                                self
                            </th>
                            <th scope="col" title="With what the line called">
                                total
                            </th>
                            {excerpt && <th scope="col">source</th>}
                        </tr>
                    </thead>
                    <tbody>
                        {rows.map(({ line, self, total, text }) => (
                            <tr
                                key={line}
                                aria-current={line === answer.hottest ? 'true' : undefined}
                                style={total > 0 ? { '--heat': `${Math.round(4 + (36 * total) / most)}%` } : undefined}
                                class={total > 0 ? 'hot' : undefined}
                            >
                                <td>{line}</td>
                                <td>{self > 0 ? nanoseconds(self) : ''}</td>
                                <td>{total > 0 ? nanoseconds(total) : ''}</td>
                                {excerpt && <td class="code">{text}</td>}
                            </tr>
                        ))}
                    </tbody>
                </table>
            </section>
        </Figure>
    );
}

/** All lines of the excerpt; without one, the lines with time. */
function lineRows({ times, text }: LineAnswer): LineRow[] {
    const timed = new Map(times.line.map((line, index) => [line, { self: times.self[index] ?? 0, total: times.total[index] ?? 0 }]));
    if (text !== null && 'lines' in text) {
        return text.lines.map((code, index) => ({
            line: text.first + index,
            text: code,
            ...(timed.get(text.first + index) ?? { self: 0, total: 0 }),
        }));
    }
    return [...timed].map(([line, time]) => ({ line, text: undefined, ...time }));
}
