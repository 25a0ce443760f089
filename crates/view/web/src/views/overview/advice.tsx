// What to do, most worthwhile first; each piece leads to the place that it is about.

import type { Recorded } from '../../answers/about';
import type { Advice, Efficiency, Report, WaitState } from '../../answers/report';
import { GOOD } from '../../charts/goodness';
import { Go } from '../../links/go';
import { placeName, siteAt } from '../../links/place';
import { placesIn, Sentence } from '../../links/sentence';
import { percent, seconds } from '../../units';
import { Jump } from './jump';
import type { Part } from './part';

export function AdviceList(part: Part) {
    const { report } = part;
    return (
        <section class="advice">
            <h2>What to do</h2>
            {report.advice.length === 0 && <p>{noAdvice(report.profile, report.efficiency)}</p>}
            {report.advice.length > 0 && (
                <ol>
                    {report.advice.map((advice) => (
                        <Item key={`${advice.kind} ${advice.what}`} advice={advice} {...part} />
                    ))}
                </ol>
            )}
        </section>
    );
}

function Item({ advice, ...part }: Part & { advice: Advice }) {
    const { report, recorded } = part;
    const share = advice.saves_s / Math.max(report.work_s, Number.MIN_VALUE);
    const site = siteAt(recorded, advice);
    const wait = waitOf(advice, report, recorded);
    return (
        <li>
            <p class="saves">
                <span class="gain" aria-hidden="true">
                    <span style={{ width: `${Math.min(100, 100 * share)}%` }} />
                </span>
                Saves up to <strong>{seconds(advice.saves_s)}</strong> ({percent(share)} of the run)
            </p>
            <p>
                <Sentence text={advice.what} recording={recorded} />
            </p>
            <p>
                <span class="quiet">Try: </span>
                {advice.try_this}
            </p>
            <details>
                <summary>Why</summary>
                <p>
                    <Sentence text={advice.evidence} recording={recorded} />
                </p>
                <p>Estimate: {advice.basis}. It is what the change saves at best, if it can be made in full and costs nothing.</p>
            </details>
            {site !== undefined && (
                <p class="jump">
                    <Go view="sites" change={{ site, operation: undefined }}>
                        Source at {placeName(advice)}
                    </Go>
                    <Go view="timeline" change={{ site, operation: undefined }}>
                        On the timeline
                    </Go>
                    {wait && (
                        <Jump {...part} wait={wait}>
                            Longest {wait.name} on the timeline
                        </Jump>
                    )}
                </p>
            )}
        </li>
    );
}

/** The wait that a piece of advice is about: the longest at the first place it names that has any. */
function waitOf({ what }: Advice, { wait_states }: Report, recorded: Recorded): WaitState | undefined {
    for (const place of placesIn(what, recorded)) {
        const [longest] = wait_states.filter((state) => siteAt(recorded, state) === siteAt(recorded, place));
        if (longest) return longest;
    }
    return undefined;
}

/** What is said where nothing was found: all is well, or what most is lost to. */
function noAdvice(profile: boolean, efficiency: Efficiency | null): string {
    if (profile) return 'Only sums were recorded: to be advised, record without --profile.';
    if (!efficiency || efficiency.parallel >= GOOD) return 'Nothing was found that is worth changing.';
    const lost: [number, string][] = [
        [efficiency.load_balance, 'an uneven share of the computation'],
        [efficiency.serialisation ?? 1, 'waiting for each other'],
        [efficiency.transfer ?? 1, 'moving data, and MPI itself: try larger problems or fewer ranks'],
    ];
    const [, worst] = lost.reduce((one, other) => (other[0] < one[0] ? other : one));
    return `No single change stands out. Most is lost to ${worst}.`;
}
