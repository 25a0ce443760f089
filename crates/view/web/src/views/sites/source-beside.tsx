// The source around the selected call site, with its line marked.

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Recorded } from '../../answers/about';
import type { Code } from '../../answers/code';
import { source } from '../../answers/source';
import { State } from '../../charts/state';
import { Go } from '../../links/go';
import { placeName } from '../../links/place';
import { useAnswer } from '../../state/asked';

interface Props {
    number: number;
    recorded: Recorded;
    site: number | undefined;
}

export function SourceBeside({ number, recorded, site }: Props) {
    const place = site === undefined ? undefined : recorded.sites[site];
    if (site === undefined || !place) {
        return (
            <section class="source" aria-label="Source">
                <p class="quiet">Select a call site to see its source.</p>
            </section>
        );
    }
    return (
        <section class="source" aria-label="Source">
            <header>
                <h2>{placeName(place)}</h2>
                {place.function !== null && <span class="quiet">in {place.function}</span>}
                <Go view="timeline" change={{}}>
                    On the timeline
                </Go>
            </header>
            {place.file === null ? (
                <p>
                    The program was compiled without debug information (<code>-g</code>), so the line is not known. The call is in {place.module}.
                </p>
            ) : (
                <Asked number={number} site={site} file={place.file} />
            )}
        </section>
    );
}

function Asked({ number, site, file }: { number: number; site: number; file: string }) {
    const asked = useAnswer<Code>(number, 'source', { site });
    return (
        <>
            {asked.state === 'refused' && source.live && <p>The file that was looked for: {file}</p>}
            <State asked={asked}>{(code) => <Lines code={code} />}</State>
        </>
    );
}

function Lines({ code }: { code: Code }) {
    const frame = useRef<HTMLPreElement>(null);
    useLayoutEffect(() => {
        const marked = frame.current?.querySelector('mark');
        if (frame.current && marked) frame.current.scrollTop = marked.offsetTop - frame.current.clientHeight / 3;
    }, [code]);
    return (
        <>
            <p class="quiet file">{code.file}</p>
            <pre ref={frame} class="lines" tabIndex={0} aria-label={`Source, line ${code.line} marked`}>
                {code.lines.map((line, at) => {
                    const number = code.first + at;
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
