// What limits the meaning of the figures, most important first.

import type { ComponentChildren } from 'preact';
import { At } from '../../links/at';
import { Ranks } from '../../links/ranks';
import { count, plural, seconds } from '../../units';
import type { Part } from './part';

export function Remarks({ report, recorded }: Part) {
    const remarks: ComponentChildren[] = [];
    const whys = new Map<string, number[]>();
    for (const { rank, why } of report.incomplete) whys.set(why, [...(whys.get(why) ?? []), rank]);
    for (const [why, ranks] of whys) {
        remarks.push(
            <>
                Incomplete: {ranks.length === 1 ? 'rank' : 'ranks'} <Ranks ranks={ranks} /> ({why}).
            </>,
        );
    }
    for (const call of report.unfinished) {
        remarks.push(
            <>
                Rank <Ranks ranks={[call.rank]} /> was in {call.operation} at{' '}
                <At recording={recorded} place={call} operation={call.operation} /> when it ended.
            </>,
        );
    }
    if (report.unmatched > 0) {
        remarks.push(
            `${plural(report.unmatched, 'message')} with only one end in the recording: never received, received after the cut, ` +
                'or sent by a process that was not recorded.',
        );
    }
    const { violations, largest_s } = report.clock_repair;
    if (violations > 0) remarks.push(`Clocks disagree: ${count(violations)} times were put right, by ${seconds(largest_s)} at most.`);
    for (const sentence of report.not_recorded) remarks.push(`Not recorded: ${sentence}`);
    if (report.profile) remarks.push('Only sums were recorded (--profile): waits are not known, and sizes are averages.');
    for (const [why, questions] of plainQuestions(recorded.left_out ?? {})) remarks.push(`Not in this file: ${questions.join(', ')}: ${why}`);
    if (remarks.length === 0) return null;
    return (
        <section class="remarks">
            <h2>Keep in mind</h2>
            <ul>
                {remarks.map((remark, at) => (
                    <li key={at}>{remark}</li>
                ))}
            </ul>
        </section>
    );
}

/** What was left out as a whole, by reason. */
function plainQuestions(leftOut: Record<string, string>): Map<string, string[]> {
    const whys = new Map<string, string[]>();
    for (const [question, why] of Object.entries(leftOut)) {
        if (!question.includes('?')) whys.set(why, [...(whys.get(why) ?? []), question]);
    }
    return whys;
}
