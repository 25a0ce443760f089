// Everything that is known of one call, as text that can be copied, with the messages that it sent or got.

import { useEffect } from 'preact/hooks';
import { Go } from '../../links/go';
import { placeAtLength, placeName } from '../../links/place';
import { select, selection } from '../../state/address';
import { useAnswer } from '../../state/asked';
import { bytes, count, nanoseconds } from '../../units';
import { type Call, type CallColumns, calls, type Message, type MessageColumns, messages } from './answers';
import type { Control } from './control';
import type { Chosen } from './scene';

export function Details({ control }: { control: Control }) {
    const chosen = control.chosen.value;
    if (!chosen) return <p class="timeline-hint">Choose a call to see all that is known of it.</p>;
    return <OfCall key={`${chosen.rank}@${chosen.enter}`} control={control} chosen={chosen} />;
}

function OfCall({ control, chosen }: { control: Control; chosen: Chosen }) {
    const { rank, enter } = chosen;
    const asked = useAnswer<CallColumns>(control.recording, 'calls', { from: enter, to: enter + 1, ranks: String(rank), most: 100 });
    const columns = asked.state === 'answered' ? asked.answer : undefined;
    const call = columns && calls(columns, enter).find((one) => one.rank === rank && one.enter === enter);
    useEffect(() => {
        if (call) control.leave.value = call.leave;
    }, [call?.leave]);
    if (asked.state === 'refused') return <p>{asked.why}</p>;
    if (!columns) return <p role="status">Asking …</p>;
    if (!call) return <p>No call of rank {rank} begins then.</p>;
    const site = control.recorded.sites[call.site];
    return (
        <section class="timeline-details" aria-label="Details of the call">
            <h3>
                {call.operation}
                <button type="button" onClick={() => control.choose(undefined)} aria-label="Close the details">
                    ✕
                </button>
            </h3>
            <dl>
                <Field name="rank">
                    {rank}
                    {call.thread > 0 && `, thread ${call.thread}`}
                </Field>
                <Field name="took">{nanoseconds(call.leave - enter)}</Field>
                <Field name="entered">{exact(enter)}</Field>
                <Field name="left">{exact(call.leave)}</Field>
                {site && (
                    <Field name="call site">
                        <Go view="sites" change={{ site: call.site }} title={placeAtLength(site)}>
                            {placeName(site)}
                        </Go>
                    </Field>
                )}
                {site?.function && <Field name="in">{site.function}</Field>}
                {call.peer !== undefined && <Field name="peer">{call.peer}</Field>}
                {call.tag !== undefined && call.peer !== undefined && <Field name="tag">{call.tag}</Field>}
                {call.sent > 0 && <Field name="sent">{bytes(call.sent)}</Field>}
                {call.received > 0 && <Field name="received">{bytes(call.received)}</Field>}
                {call.communicator !== undefined && <Field name="communicator">{call.communicator}</Field>}
                {call.wait > 0 && (
                    <Field name="waited">
                        {nanoseconds(call.wait)}
                        {call.cause && `: ${call.cause}`}
                    </Field>
                )}
            </dl>
            <Messages control={control} call={call} />
            <p class="timeline-actions">
                <button type="button" onClick={() => control.zoomTo(call)}>
                    Zoom to it
                </button>
                <LiftOut call={call} />
            </p>
        </section>
    );
}

function Field({ name, children }: { name: string; children: preact.ComponentChildren }) {
    return (
        <>
            <dt>{name}</dt>
            <dd>{children}</dd>
        </>
    );
}

const exact = (moment: number): string => `${(moment / 1e9).toFixed(9)} s`;

/** Buttons that make the calls of the same site or operation stand out, in all views. */
function LiftOut({ call }: { call: Call }) {
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

/** Messages that are asked for, and that are listed of each kind. */
const MOST = 500;
const LISTED = 8;

function Messages({ control, call }: { control: Control; call: Call }) {
    const meanwhile = { from: call.enter, to: Math.max(call.leave, call.enter + 1) };
    const asked = useAnswer<MessageColumns>(control.recording, 'messages', { ...meanwhile, ranks: String(call.rank), most: MOST });
    if (asked.state !== 'answered') return null;
    const { many } = asked.answer;
    if (many !== null) return <p>Meanwhile {count(many)} messages went from or to rank {call.rank}: too many to list.</p>;
    const all = messages(asked.answer);
    const sent = all.filter((one) => one.from === call.rank && one.sent === call.enter);
    const got = all.filter((one) => one.to === call.rank && one.received === call.leave).sort((one, other) => other.sent - one.sent);
    if (sent.length + got.length === 0) return null;
    const isLate = (one: Message) => one.sent > call.enter && call.wait > 0;
    const late = (one: Message) => (isLate(one) ? `, sent ${nanoseconds(one.sent - call.enter)} after this call was entered` : '');
    return (
        <ul class="timeline-messages">
            {sent.slice(0, LISTED).map((one) => (
                <li key={`to ${one.to} ${one.received} ${one.tag}`}>
                    {bytes(one.bytes)} to <Other control={control} rank={one.to} moment={one.received} />, there after{' '}
                    {nanoseconds(one.received - one.sent)}
                </li>
            ))}
            {got.slice(0, LISTED).map((one) => (
                <li key={`from ${one.from} ${one.sent} ${one.tag}`}>
                    {bytes(one.bytes)} from <Other control={control} rank={one.from} moment={one.sent + 1} />
                    {late(one)}
                </li>
            ))}
            {sent.length + got.length > 2 * LISTED && <li>and more</li>}
        </ul>
    );
}

/** Leads to the call at the other end of a message. */
function Other({ control, rank, moment }: { control: Control; rank: number; moment: number }) {
    const follow = () => control.find({ from: moment, back: true, ranks: String(rank) }, (found) => found && control.choose(found));
    return (
        <button type="button" class="link" onClick={follow}>
            rank {rank}
        </button>
    );
}
