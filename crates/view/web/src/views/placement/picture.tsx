// Ranks on their slots: in sockets, in hosts, in groups of hosts. Each rank has the colour of the host where it was before.

import type { Host } from '../../answers/placement';
import { Figure } from '../../charts/figure';
import { growth } from '../../charts/growth';
import { inkOn } from '../../charts/ink';
import { useWidth } from '../../charts/width';
import { parse } from '../../ranks';
import { select, selection } from '../../state/address';
import { hostColour } from './colours';
import { hostsBySlot, layout, type SlotBox } from './hosts';

interface Props {
    title: string;
    hosts: Host[];
    /** The slot of each rank in this picture, and before. */
    slots: number[];
    before: number[];
}

/** How wide a letter of a name is. */
const LETTER = 7;

export function Ranked({ title, hosts, slots, before }: Props) {
    const [place, width] = useWidth<HTMLDivElement>();
    const hostOf = hostsBySlot(hosts);
    const rankAt = new Map(slots.map((slot, rank) => [slot, rank]));
    const chosen = selection.value.ranks === undefined ? undefined : new Set(parse(selection.value.ranks, slots.length));
    // Colours for those hosts alone that ranks come from.
    const places = [...new Set(before.map((slot) => hostOf[slot] ?? 0))].sort((one, other) => one - other);
    const larger = growth();
    const drawn = layout(hosts, Math.max(200, width / larger));
    const nameOf = (slot: number | undefined) => hosts[hostOf[slot ?? -1] ?? -1]?.name ?? '?';
    return (
        <Figure
            title={title}
            table={() => ({
                columns: ['rank', 'host', 'slot', 'host before'],
                rows: slots.map((slot, rank) => [rank, nameOf(slot), slot - hostOf.indexOf(hostOf[slot] ?? -1), nameOf(before[rank])]),
            })}
        >
            <div ref={place}>
                {width > 0 && (
                    <svg
                        width={drawn.width * larger}
                        height={drawn.height * larger}
                        viewBox={`0 0 ${drawn.width} ${drawn.height}`}
                        role="img"
                        aria-label={inWords(title, hosts, slots, hostOf)}
                        class="placement-picture"
                    >
                        {drawn.groups.map(({ name, x, y, width, height }) => (
                            <g key={name}>
                                <rect x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx={6} class="group" />
                                <text x={x + 6} y={y + 13} class="name">
                                    {name}
                                </text>
                            </g>
                        ))}
                        {drawn.hosts.map(({ host, name, x, y, width, height, sockets, slots: boxes }) => (
                            <g key={host}>
                                <rect x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx={4} class="host" />
                                <text x={x + 5} y={y + 12.5} class="name">
                                    {name.length * LETTER > width ? `${name.slice(0, Math.floor(width / LETTER) - 1)}…` : name}
                                    <title>{name}</title>
                                </text>
                                {sockets.map((socket, at) => (
                                    <rect key={at} x={socket.x} y={socket.y} width={socket.width} height={socket.height} rx={2} class="socket" />
                                ))}
                                {boxes.map((box) => {
                                    const rank = rankAt.get(box.slot);
                                    const was = hostOf[before[rank ?? -1] ?? -1] ?? 0;
                                    const fill = hostColour(places.indexOf(was), places.length);
                                    const faded = isFaded(chosen, rank);
                                    return <Slot key={box.slot} box={box} rank={rank} fill={fill} was={hosts[was]?.name ?? '?'} faded={faded} />;
                                })}
                            </g>
                        ))}
                    </svg>
                )}
            </div>
        </Figure>
    );
}

function isFaded(chosen: Set<number> | undefined, rank: number | undefined): boolean {
    return chosen !== undefined && (rank === undefined || !chosen.has(rank));
}

interface SlotProps {
    box: SlotBox;
    rank: number | undefined;
    faded: boolean;
    /** The host where it was before, and the colour of that. */
    was: string;
    fill: string;
}

function Slot({ box: { x, y, width }, rank, faded, was, fill }: SlotProps) {
    const inset = width > 10 ? 1 : 0.5;
    const side = width - 2 * inset;
    if (rank === undefined) return <rect x={x + inset} y={y + inset} width={side} height={side} class="empty" />;
    const middle = { x: x + width / 2, y: y + width / 2, dy: '0.35em', 'text-anchor': 'middle' } as const;
    return (
        <g opacity={faded ? 0.25 : undefined} class="slot" onClick={() => choose(rank)}>
            <rect x={x + inset} y={y + inset} width={side} height={side} rx={width > 10 ? 2 : 0} fill={fill}>
                <title>{`rank ${rank}, before on ${was}`}</title>
            </rect>
            {width >= 16 && (
                <text {...middle} font-size={width >= 24 ? 12 : 9} fill={inkOn(fill)} class="rank">
                    {rank}
                </text>
            )}
        </g>
    );
}

/** Selects a rank, or no longer if it alone is selected. */
function choose(rank: number): void {
    const text = String(rank);
    select({ ranks: selection.value.ranks === text ? undefined : text });
}

function inWords(title: string, hosts: Host[], slots: number[], hostOf: number[]): string {
    const ranks = hosts.map((): number[] => []);
    slots.forEach((slot, rank) => ranks[hostOf[slot] ?? -1]?.push(rank));
    const said = hosts.flatMap(({ name }, host) => ((ranks[host]?.length ?? 0) > 0 ? [`${name}: ${ranks[host]?.join(' ')}`] : []));
    return `${title}: ranks by host. ${said.slice(0, 32).join('; ')}`;
}
