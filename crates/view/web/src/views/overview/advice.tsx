// Advice, largest saving first, with links to the locations concerned.

import type { RecordingSummary } from '../../answers/about';
import type { Advice, Efficiency, Report, WaitState } from '../../answers/report';
import { GOOD } from '../../charts/rating';
import { LinkedSentence, locationsIn } from '../../links/linked-sentence';
import { locationName, siteIndexAt } from '../../links/source-location';
import { TextWithCode } from '../../links/text-with-code';
import { ViewLink } from '../../links/view-link';
import { percent, plural, range, seconds } from '../../units';
import { LongestWaitLink } from './longest-wait-link';
import type { OverviewProps } from './overview-props';

export function AdviceList(part: OverviewProps) {
    const { report } = part;
    return (
        <section class="advice">
            <h2>Advice</h2>
            {report.advice.length === 0 && <p>{noAdvice(report.profile, report.efficiency)}</p>}
            {report.advice.length > 0 && (
                <ol>
                    {report.advice.map((advice) => (
                        <AdviceItem key={`${advice.kind} ${advice.what}`} advice={advice} {...part} />
                    ))}
                </ol>
            )}
            <Together report={report} />
            {report.cores.held_back > 0 && <p>{plural(report.cores.held_back, 'other change')} held back: the missing cores explain the saving.</p>}
        </section>
    );
}

function AdviceItem({ advice, ...part }: OverviewProps & { advice: Advice }) {
    const { report, recording } = part;
    const site = siteIndexAt(recording, advice);
    const wait = waitStateOf(advice, report, recording);
    return (
        <li>
            <Saving advice={advice} work_s={report.work_s} />
            <p>
                <LinkedSentence text={advice.what} recording={recording} />
            </p>
            <p>
                <span class="muted">Try: </span>
                <TextWithCode text={advice.try_this} />
            </p>
            <details>
                <summary>Why</summary>
                <p>
                    <LinkedSentence text={advice.evidence} recording={recording} />
                </p>
                {advice.saves_s !== null && <p>Estimate: {advice.basis}.</p>}
            </details>
            {site !== undefined && (
                <p class="jump">
                    <ViewLink view="sites" change={{ site, operation: undefined }}>
                        Source at {locationName(advice)}
                    </ViewLink>
                    <ViewLink view="timeline" change={{ site, operation: undefined }}>
                        On the timeline
                    </ViewLink>
                    {wait && (
                        <LongestWaitLink {...part} wait={wait}>
                            Longest {wait.name} on the timeline
                        </LongestWaitLink>
                    )}
                </p>
            )}
        </li>
    );
}

function Saving({ advice, work_s }: { advice: Advice; work_s: number }) {
    const { saves_s, saves_low_s, saves_high_s: high_s } = advice;
    if (saves_s === null || saves_low_s === null || high_s === null) return null;
    const low_s = Math.max(saves_low_s, 0);
    const share = (time_s: number) => time_s / Math.max(work_s, Number.MIN_VALUE);
    const times = range(seconds(low_s), seconds(high_s));
    const shares = range(percent(share(low_s)), percent(share(high_s)));
    return (
        <p class="saves">
            <span class="gain" aria-hidden="true">
                <span style={{ width: `${Math.min(100, 100 * share(saves_s))}%` }} />
            </span>
            Saves <strong>{shares}</strong> of the run ({times})
        </p>
    );
}

/** What several changes save together. */
function Together({ report }: { report: Report }) {
    const replayed = report.advice.flatMap(({ together_s }, index) => (together_s === null ? [] : [{ number: index + 1, together_s }]));
    if (replayed.length < 2) return null;
    const together_s = Math.max(...replayed.map((change) => change.together_s));
    const numbers = replayed.map(({ number }) => number).join(', ');
    const share = percent(together_s / Math.max(report.work_s, Number.MIN_VALUE));
    return (
        <p>
            Changes {numbers} together save {share} of the run ({seconds(together_s)}).
        </p>
    );
}

/** The wait state an advice refers to: the longest one at the first location it names. */
function waitStateOf({ what }: Advice, { wait_states }: Report, recording: RecordingSummary): WaitState | undefined {
    for (const location of locationsIn(what, recording)) {
        const [longest] = wait_states.filter((state) => siteIndexAt(recording, state) === siteIndexAt(recording, location));
        if (longest) return longest;
    }
    return undefined;
}

/** Text if there is no advice: either all is well, or the largest loss. */
function noAdvice(profile: boolean, efficiency: Efficiency | null): string {
    if (profile) return 'This recording is a profile: record without --profile to get advice.';
    if (!efficiency || efficiency.parallel >= GOOD) return 'Nothing worth changing was found.';
    const lost: [number, string][] = [
        [efficiency.load_balance, 'load imbalance'],
        [efficiency.serialisation ?? 1, 'serialisation (ranks waiting for each other)'],
        [efficiency.transfer ?? 1, 'data transfer and MPI overhead: try larger problems or fewer ranks'],
    ];
    const [, worst] = lost.reduce((one, other) => (other[0] < one[0] ? other : one));
    return `No single change stands out. The largest loss is due to ${worst}.`;
}
