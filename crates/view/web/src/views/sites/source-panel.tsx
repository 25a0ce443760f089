// The source around the selected call site, with its line highlighted.

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { RecordingSummary } from '../../answers/about';
import { answerSource } from '../../answers/answer-source';
import type { SourceExcerpt } from '../../answers/source-excerpt';
import { QueryStatus } from '../../charts/query-status';
import { locationName } from '../../links/source-location';
import { ViewLink } from '../../links/view-link';
import { useQuery } from '../../state/use-query';

interface Props {
    number: number;
    recording: RecordingSummary;
    site: number | undefined;
}

export function SourcePanel({ number, recording, site }: Props) {
    const location = site === undefined ? undefined : recording.sites[site];
    if (site === undefined || !location) {
        return (
            <section class="source" aria-label="Source">
                <p class="muted">Select a call site to see its source.</p>
            </section>
        );
    }
    return (
        <section class="source" aria-label="Source">
            <header>
                <h2>{locationName(location)}</h2>
                {location.function !== null && <span class="muted">in {location.function}</span>}
                <ViewLink view="timeline" change={{}}>
                    On the timeline
                </ViewLink>
            </header>
            {location.file === null ? (
                <p>
                    The program was compiled without debug information (<code>-g</code>), so the line is unknown. The call is in {location.module}.
                </p>
            ) : (
                <SourceQuery number={number} site={site} file={location.file} />
            )}
        </section>
    );
}

function SourceQuery({ number, site, file }: { number: number; site: number; file: string }) {
    const query = useQuery<SourceExcerpt>(number, 'source', { site });
    return (
        <>
            {query.state === 'failed' && answerSource.isLive && <p>Source file: {file}</p>}
            <QueryStatus query={query}>{(code) => <SourceLines code={code} />}</QueryStatus>
        </>
    );
}

function SourceLines({ code }: { code: SourceExcerpt }) {
    const frame = useRef<HTMLPreElement>(null);
    useLayoutEffect(() => {
        const marked = frame.current?.querySelector('mark');
        if (frame.current && marked) frame.current.scrollTop = marked.offsetTop - frame.current.clientHeight / 3;
    }, [code]);
    return (
        <>
            <p class="muted file">{code.file}</p>
            {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: names the focusable region */}
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be focusable */}
            <pre ref={frame} class="lines" tabIndex={0} aria-label={`Source, line ${code.line} marked`}>
                {code.lines.map((line, index) => {
                    const number = code.first + index;
                    const text = `${line}\n`;
                    return number === code.line ? (
                        <mark key={number} data-line={number} aria-current="true">
                            {text}
                        </mark>
                    ) : (
                        <span key={number} data-line={number}>
                            {text}
                        </span>
                    );
                })}
            </pre>
        </>
    );
}
