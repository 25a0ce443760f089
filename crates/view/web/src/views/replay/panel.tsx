// What can be turned and switched, and what has been.

import type { Machine } from '../../answers/machine';
import type { Replayed } from '../../answers/replay';
import { Choice } from '../../charts/choice';
import { select, setOwn } from '../../state/address';
import { type Chosen, type Dial, DIALS, onMachine, position, type Switch, SWITCHES, told } from './changes';

interface Props {
    chosen: Chosen;
    /** The machine that was given, if one was. */
    machine: Machine | undefined;
    network: Replayed['recorded_network'];
    /** The recording, for the command. */
    name: string;
}

export function Panel({ chosen, machine, network, name }: Props) {
    const there = (one: { needsMachine: boolean }) => !one.needsMachine || onMachine(chosen);
    const changes = told(chosen);
    return (
        <section class="replay-panel" aria-label="What should be different">
            {machine && (
                <Choice
                    label="Network"
                    values={['as recorded', machine.name]}
                    value={onMachine(chosen) ? machine.name : 'as recorded'}
                    choose={(value) => setOwn('machine', value === 'as recorded' ? '' : 'given')}
                />
            )}
            <div class="replay-dials">
                {DIALS.filter(there).map((dial) => (
                    <Turn key={dial.name} dial={dial} value={chosen[dial.name] ?? ''} network={network} />
                ))}
                {SWITCHES.filter(there).map((one) => (
                    <Select key={one.name} one={one} value={chosen[one.name] ?? ''} />
                ))}
                {onMachine(chosen) && (
                    <label title="As many nodes of the first kind">
                        <span>Nodes</span>
                        <input
                            type="number"
                            min={1}
                            placeholder="as on the machine"
                            value={chosen.nodes ?? ''}
                            onChange={(event) => setOwn('nodes', event.currentTarget.value)}
                        />
                    </label>
                )}
                <label title="More changes, with commas between them: segment lu.f:310 x0.5, algorithm.allreduce=ring">
                    <span>More changes</span>
                    <input
                        type="text"
                        placeholder="segment lu.f:310 x0.5, latency=10us"
                        value={chosen.more ?? ''}
                        onChange={(event) => setOwn('more', event.currentTarget.value)}
                    />
                </label>
            </div>
            <p class="replay-told">
                <code>{`sintonia replay ${name}${changes ? ` --what-if '${changes}'` : ''}${onMachine(chosen) ? ' --machine …' : ''}`}</code>
                <button type="button" disabled={changes === ''} onClick={() => select({ own: chosen.machine ? { machine: chosen.machine } : {} })}>
                    Change nothing
                </button>
            </p>
        </section>
    );
}

function Turn({ dial, value, network }: { dial: Dial; value: string; network: Replayed['recorded_network'] }) {
    const at = dial.positions.indexOf(value);
    const words = position(dial, value, network);
    return (
        <label title={dial.says}>
            <span>
                {dial.label} <output>{words}</output>
            </span>
            <input
                type="range"
                min={0}
                max={dial.positions.length - 1}
                step={1}
                value={at < 0 ? dial.positions.indexOf('') : at}
                aria-label={dial.label}
                aria-valuetext={words}
                onInput={(event) => setOwn(dial.name, dial.positions[Number(event.currentTarget.value)] ?? '')}
            />
        </label>
    );
}

function Select({ one, value }: { one: Switch; value: string }) {
    return (
        <label title={one.says}>
            <span>{one.label}</span>
            <select value={value} onChange={(event) => setOwn(one.name, event.currentTarget.value)}>
                {one.values.map(({ value, label }) => (
                    <option key={value} value={value}>
                        {label}
                    </option>
                ))}
            </select>
        </label>
    );
}
