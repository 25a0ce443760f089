// Limitations of the data, most important first.

import type { ComponentChildren } from 'preact';
import { LocationLink } from '../../links/location-link';
import { RanksLink } from '../../links/ranks-link';
import { count, plural, seconds } from '../../units';
import type { OverviewProps } from './overview-props';

export function Remarks({ report, recording }: OverviewProps) {
    const remarks: ComponentChildren[] = [];
    const byReason = new Map<string, number[]>();
    for (const { rank, why } of report.incomplete) byReason.set(why, [...(byReason.get(why) ?? []), rank]);
    for (const [reason, ranks] of byReason) {
        remarks.push(
            <>
                Incomplete: {ranks.length === 1 ? 'rank' : 'ranks'} <RanksLink ranks={ranks} /> ({reason}).
            </>,
        );
    }
    for (const call of report.unfinished) {
        remarks.push(
            <>
                Rank <RanksLink ranks={[call.rank]} /> was in {call.operation} at{' '}
                <LocationLink recording={recording} location={call} operation={call.operation} /> when the recording ended.
            </>,
        );
    }
    if (report.left_calls > 0) {
        remarks.push(`Calls left by an exception, a jump (longjmp) or the end of their thread: ${count(report.left_calls)}.`);
    }
    if (report.unmatched > 0) {
        remarks.push(
            `${plural(report.unmatched, 'message')} with only one end in the recording: never received, received after the recording was cut, ` +
                'or sent by a process that was not recorded.',
        );
    }
    const { violations, largest_s } = report.clock_repair;
    if (violations > 0) remarks.push(`Clock errors: ${count(violations)} times were corrected, by at most ${seconds(largest_s)}.`);
    for (const sentence of report.not_recorded) remarks.push(`Not recorded: ${sentence}`);
    if (report.profile) remarks.push('This recording is a profile (--profile): wait states are unknown, and sizes are means.');
    for (const [why, questions] of omittedSubjects(recording.left_out ?? {})) remarks.push(`Not in this file: ${questions.join(', ')}: ${why}`);
    if (remarks.length === 0) return null;
    return (
        <section class="remarks">
            <h2>Limitations</h2>
            <ul>
                {remarks.map((remark, index) => (
                    <li key={index}>{remark}</li>
                ))}
            </ul>
        </section>
    );
}

/** Subjects that were omitted entirely, by reason. */
function omittedSubjects(leftOut: Record<string, string>): Map<string, string[]> {
    const byReason = new Map<string, string[]>();
    for (const [question, reason] of Object.entries(leftOut)) {
        if (!question.includes('?')) byReason.set(reason, [...(byReason.get(reason) ?? []), question]);
    }
    return byReason;
}
