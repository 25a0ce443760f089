// Ranks on their slots, in sockets, hosts and groups of hosts. The colour of a rank is that of its host before.

import type { PlacementHost } from '../../answers/placement';
import { textColourOn } from '../../charts/contrast';
import { Figure } from '../../charts/figure';
import { fontScale } from '../../charts/font-scale';
import { useWidth } from '../../charts/use-width';
import { parseRanks } from '../../ranks';
import { select, selection } from '../../state/address';
import { hostColour } from './host-colours';
import { hostsBySlot, layoutHosts, type SlotBox } from './host-layout';

interface Props {
    title: string;
    hosts: PlacementHost[];
    /** Slot of each rank in this chart, and before. */
    slots: number[];
    before: number[];
}

/** Width of a character. */
const CHAR_WIDTH = 7;

export function PlacementChart({ title, hosts, slots, before }: Props) {
    const [container, width] = useWidth<HTMLDivElement>();
    const hostOf = hostsBySlot(hosts);
    const rankAt = new Map(slots.map((slot, rank) => [slot, rank]));
    const selectedRanks = selection.value.ranks === undefined ? undefined : new Set(parseRanks(selection.value.ranks, slots.length));
    // Only hosts that ranks come from need a colour.
    const places = [...new Set(before.map((slot) => hostOf[slot] ?? 0))].sort((one, other) => one - other);
    const scale = fontScale();
    const layout = layoutHosts(hosts, Math.max(200, width / scale));
    const nameOf = (slot: number | undefined) => hosts[hostOf[slot ?? -1] ?? -1]?.name ?? '?';
    return (
        <Figure
            title={title}
            table={() => ({
                columns: ['rank', 'host', 'slot', 'host before'],
                rows: slots.map((slot, rank) => [rank, nameOf(slot), slot - hostOf.indexOf(hostOf[slot] ?? -1), nameOf(before[rank])]),
            })}
        >
            <div ref={container}>
                {width > 0 && (
                    <svg
                        width={layout.width * scale}
                        height={layout.height * scale}
                        viewBox={`0 0 ${layout.width} ${layout.height}`}
                        role="img"
                        aria-label={describePlacement(title, hosts, slots, hostOf)}
                        class="placement-chart"
                    >
                        {layout.groups.map(({ name, x, y, width, height }) => (
                            <g key={name}>
                                <rect x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx={6} class="group" />
                                <text x={x + 6} y={y + 13} class="name">
                                    {name}
                                </text>
                            </g>
                        ))}
                        {layout.hosts.map(({ host, name, x, y, width, height, sockets, slots: boxes }) => (
                            <g key={host}>
                                <rect x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx={4} class="host" />
                                <text x={x + 5} y={y + 12.5} class="name">
                                    {name.length * CHAR_WIDTH > width ? `${name.slice(0, Math.floor(width / CHAR_WIDTH) - 1)}…` : name}
                                    <title>{name}</title>
                                </text>
                                {sockets.map((socket, index) => (
                                    <rect key={index} x={socket.x} y={socket.y} width={socket.width} height={socket.height} rx={2} class="socket" />
                                ))}
                                {boxes.map((box) => {
                                    const rank = rankAt.get(box.slot);
                                    const previousHost = hostOf[before[rank ?? -1] ?? -1] ?? 0;
                                    const fill = hostColour(places.indexOf(previousHost), places.length);
                                    const faded = isFaded(selectedRanks, rank);
                                    return (
                                        <SlotCell
                                            key={box.slot}
                                            box={box}
                                            rank={rank}
                                            fill={fill}
                                            was={hosts[previousHost]?.name ?? '?'}
                                            faded={faded}
                                        />
                                    );
                                })}
                            </g>
                        ))}
                    </svg>
                )}
            </div>
        </Figure>
    );
}

function isFaded(selectedRanks: Set<number> | undefined, rank: number | undefined): boolean {
    return selectedRanks !== undefined && (rank === undefined || !selectedRanks.has(rank));
}

interface SlotProps {
    box: SlotBox;
    rank: number | undefined;
    faded: boolean;
    /** The host before, and its colour. */
    was: string;
    fill: string;
}

function SlotCell({ box: { x, y, width }, rank, faded, was: previousHost, fill }: SlotProps) {
    const inset = width > 10 ? 1 : 0.5;
    const side = width - 2 * inset;
    if (rank === undefined) return <rect x={x + inset} y={y + inset} width={side} height={side} class="empty" />;
    const middle = { x: x + width / 2, y: y + width / 2, dy: '0.35em', 'text-anchor': 'middle' } as const;
    return (
        // biome-ignore lint/a11y/noStaticElementInteractions: the field "Select ranks" is the keyboard alternative
        <g opacity={faded ? 0.25 : undefined} class="slot" onClick={() => toggleRank(rank)}>
            <rect x={x + inset} y={y + inset} width={side} height={side} rx={width > 10 ? 2 : 0} fill={fill}>
                <title>{`rank ${rank}, before on ${previousHost}`}</title>
            </rect>
            {width >= 16 && (
                <text {...middle} font-size={width >= 24 ? 12 : 9} fill={textColourOn(fill)} class="rank">
                    {rank}
                </text>
            )}
        </g>
    );
}

/** Selects a rank, or deselects it if it is the only one. */
function toggleRank(rank: number): void {
    const text = String(rank);
    select({ ranks: selection.value.ranks === text ? undefined : text });
}

function describePlacement(title: string, hosts: PlacementHost[], slots: number[], hostOf: number[]): string {
    const ranks = hosts.map((): number[] => []);
    for (const [rank, slot] of slots.entries()) ranks[hostOf[slot] ?? -1]?.push(rank);
    const text = hosts.flatMap(({ name }, host) => ((ranks[host]?.length ?? 0) > 0 ? [`${name}: ${ranks[host]?.join(' ')}`] : []));
    return `${title}: ranks by host. ${text.slice(0, 32).join('; ')}`;
}
