// All details of a call as text, with the messages it sent or received.

import { useEffect } from 'preact/hooks';
import { locationDetails, locationName } from '../../links/source-location';
import { ViewLink } from '../../links/view-link';
import { select, selection } from '../../state/address';
import { useQuery } from '../../state/use-query';
import { bytes, count, nanoseconds } from '../../units';
import type { SelectedCall } from './scene';
import type { TimelineController } from './timeline-controller';
import { type Call, type CallColumns, type Message, type MessageColumns, toCalls, toMessages } from './timeline-data';

export function CallDetails({ controller }: { controller: TimelineController }) {
    const selectedCall = controller.selectedCall.value;
    if (!selectedCall) return <p class="timeline-hint">Select a call to see its details.</p>;
    return <SelectedCallDetails key={`${selectedCall.rank}@${selectedCall.enter}`} controller={controller} chosen={selectedCall} />;
}

function SelectedCallDetails({ controller, chosen: selectedCall }: { controller: TimelineController; chosen: SelectedCall }) {
    const { rank, enter } = selectedCall;
    const query = useQuery<CallColumns>(controller.recording, 'calls', { from: enter, to: enter + 1, ranks: String(rank), most: 100 });
    const columns = query.state === 'answered' ? query.answer : undefined;
    const call = columns && toCalls(columns, enter).find((one) => one.rank === rank && one.enter === enter);
    useEffect(() => {
        if (call) controller.selectedCallEnd.value = call.leave;
    }, [call?.leave]);
    if (query.state === 'failed') return <p>{query.reason}</p>;
    if (!columns) return <p role="status">Loading …</p>;
    if (!call) return <p>No call of rank {rank} begins at this time.</p>;
    const site = controller.summary.sites[call.site];
    return (
        <section class="timeline-details" aria-label="Details of the call">
            <h3>
                {call.operation}
                <button type="button" onClick={() => controller.selectCall(undefined)} aria-label="Close the details">
                    ✕
                </button>
            </h3>
            <dl>
                <DetailField name="rank">
                    {rank}
                    {call.thread > 0 && `, thread ${call.thread}`}
                </DetailField>
                <DetailField name="duration">{nanoseconds(call.leave - enter)}</DetailField>
                <DetailField name="entered">{exactSeconds(enter)}</DetailField>
                <DetailField name="left">{exactSeconds(call.leave)}</DetailField>
                {site && (
                    <DetailField name="call site">
                        <ViewLink view="sites" change={{ site: call.site }} title={locationDetails(site)}>
                            {locationName(site)}
                        </ViewLink>
                    </DetailField>
                )}
                {site?.function && <DetailField name="in">{site.function}</DetailField>}
                {call.peer !== undefined && <DetailField name="peer">{call.peer}</DetailField>}
                {call.tag !== undefined && call.peer !== undefined && <DetailField name="tag">{call.tag}</DetailField>}
                {call.sent > 0 && <DetailField name="sent">{bytes(call.sent)}</DetailField>}
                {call.received > 0 && <DetailField name="received">{bytes(call.received)}</DetailField>}
                {call.communicator !== undefined && <DetailField name="communicator">{call.communicator}</DetailField>}
                {call.wait > 0 && (
                    <DetailField name="waited">
                        {nanoseconds(call.wait)}
                        {call.cause && `: ${call.cause}`}
                    </DetailField>
                )}
            </dl>
            <CallMessages controller={controller} call={call} />
            <p class="timeline-actions">
                <button type="button" onClick={() => controller.zoomTo(call)}>
                    Zoom to it
                </button>
                <HighlightButtons call={call} />
            </p>
        </section>
    );
}

function DetailField({ name, children }: { name: string; children: preact.ComponentChildren }) {
    return (
        <>
            <dt>{name}</dt>
            <dd>{children}</dd>
        </>
    );
}

const exactSeconds = (time: number): string => `${(time / 1e9).toFixed(9)} s`;

/** Buttons that highlight the calls of the same site or operation in all views. */
function HighlightButtons({ call }: { call: Call }) {
    const { site, operation } = selection.value;
    return (
        <>
            <button type="button" aria-pressed={site === call.site} onClick={() => select({ site: site === call.site ? undefined : call.site })}>
                This call site
            </button>
            <button
                type="button"
                aria-pressed={operation === call.operation}
                onClick={() => select({ operation: operation === call.operation ? undefined : call.operation })}
            >
                All {call.operation.replace(/^MPI_/, '')}
            </button>
        </>
    );
}

/** Maximum number of messages queried, and listed per direction. */
const MAX_MESSAGES = 500;
const MAX_LISTED = 8;

function CallMessages({ controller, call }: { controller: TimelineController; call: Call }) {
    const meanwhile = { from: call.enter, to: Math.max(call.leave, call.enter + 1) };
    const query = useQuery<MessageColumns>(controller.recording, 'messages', { ...meanwhile, ranks: String(call.rank), most: MAX_MESSAGES });
    if (query.state !== 'answered') return null;
    const { many } = query.answer;
    if (many !== null)
        return (
            <p>
                During this call {count(many)} messages were sent or received by rank {call.rank}, too many to list.
            </p>
        );
    const all = toMessages(query.answer);
    const sent = all.filter((one) => one.from === call.rank && one.sent === call.enter);
    const answer = all.filter((one) => one.to === call.rank && one.received === call.leave).sort((one, other) => other.sent - one.sent);
    if (sent.length + answer.length === 0) return null;
    const isLate = (one: Message) => one.sent > call.enter && call.wait > 0;
    const late = (one: Message) => (isLate(one) ? `, sent ${nanoseconds(one.sent - call.enter)} after this call was entered` : '');
    return (
        <ul class="timeline-messages">
            {sent.slice(0, MAX_LISTED).map((one) => (
                <li key={`to ${one.to} ${one.received} ${one.tag}`}>
                    {bytes(one.bytes)} to <PeerLink controller={controller} rank={one.to} moment={one.received} />; received after{' '}
                    {nanoseconds(one.received - one.sent)}
                </li>
            ))}
            {answer.slice(0, MAX_LISTED).map((one) => (
                <li key={`from ${one.from} ${one.sent} ${one.tag}`}>
                    {bytes(one.bytes)} from <PeerLink controller={controller} rank={one.from} moment={one.sent + 1} />
                    {late(one)}
                </li>
            ))}
            {sent.length + answer.length > 2 * MAX_LISTED && <li>and more</li>}
        </ul>
    );
}

/** A link to the call at the other end of a message. */
function PeerLink({ controller, rank, moment: time }: { controller: TimelineController; rank: number; moment: number }) {
    const follow = () => controller.find({ from: time, back: true, ranks: String(rank) }, (found) => found && controller.selectCall(found));
    return (
        <button type="button" class="link" onClick={follow}>
            rank {rank}
        </button>
    );
}
