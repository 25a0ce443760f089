// Controls for what-if changes, and the resulting command line.

import type { Machine } from '../../answers/machine';
import type { ReplayResult } from '../../answers/replay';
import { ChoiceButtons } from '../../charts/choice-buttons';
import { select, setViewParam } from '../../state/address';
import { DIALS, type Dial, positionLabel, SWITCHES, type Switch, usesMachine, type WhatIfParams, whatIfText } from './what-if';

interface Props {
    chosen: WhatIfParams;
    /** The machine, if one was given. */
    machine: Machine | undefined;
    network: ReplayResult['recorded_network'];
    /** Name of the recording, for the command line. */
    name: string;
}

export function WhatIfPanel({ chosen: whatIf, machine, network, name }: Props) {
    const isApplicable = (one: { needsMachine: boolean }) => !one.needsMachine || usesMachine(whatIf);
    const changes = whatIfText(whatIf);
    return (
        <section class="replay-panel" aria-label="What-if changes">
            {machine && (
                <ChoiceButtons
                    label="Network"
                    values={['as recorded', machine.name]}
                    value={usesMachine(whatIf) ? machine.name : 'as recorded'}
                    choose={(value) => setViewParam('machine', value === 'as recorded' ? '' : 'given')}
                />
            )}
            <div class="replay-dials">
                {DIALS.filter(isApplicable).map((dial) => (
                    <DialSlider key={dial.name} dial={dial} value={whatIf[dial.name] ?? ''} network={network} />
                ))}
                {SWITCHES.filter(isApplicable).map((one) => (
                    <SwitchSelect key={one.name} one={one} value={whatIf[one.name] ?? ''} />
                ))}
                {usesMachine(whatIf) && (
                    <label title="Number of nodes of the first kind">
                        <span>Nodes</span>
                        <input
                            type="number"
                            min={1}
                            placeholder="as on the machine"
                            value={whatIf.nodes ?? ''}
                            onChange={(event) => setViewParam('nodes', event.currentTarget.value)}
                        />
                    </label>
                )}
                <label title="Further changes, separated by commas: segment lu.f:310 x0.5, algorithm.allreduce=ring">
                    <span>Further changes</span>
                    <input
                        type="text"
                        placeholder="segment lu.f:310 x0.5, latency=10us"
                        value={whatIf.more ?? ''}
                        onChange={(event) => setViewParam('more', event.currentTarget.value)}
                    />
                </label>
            </div>
            <p class="replay-command">
                <code>{`sintonia replay ${name}${changes ? ` --what-if '${changes}'` : ''}${usesMachine(whatIf) ? ' --machine …' : ''}`}</code>
                <button
                    type="button"
                    disabled={changes === ''}
                    onClick={() => select({ viewParams: whatIf.machine ? { machine: whatIf.machine } : {} })}
                >
                    Reset
                </button>
            </p>
        </section>
    );
}

function DialSlider({ dial, value, network }: { dial: Dial; value: string; network: ReplayResult['recorded_network'] }) {
    const index = dial.positions.indexOf(value);
    const words = positionLabel(dial, value, network);
    return (
        <label title={dial.description}>
            <span>
                {dial.label} <output>{words}</output>
            </span>
            <input
                type="range"
                min={0}
                max={dial.positions.length - 1}
                step={1}
                value={index < 0 ? dial.positions.indexOf('') : index}
                aria-label={dial.label}
                aria-valuetext={words}
                onInput={(event) => setViewParam(dial.name, dial.positions[Number(event.currentTarget.value)] ?? '')}
            />
        </label>
    );
}

function SwitchSelect({ one, value }: { one: Switch; value: string }) {
    return (
        <label title={one.description}>
            <span>{one.label}</span>
            <select value={value} onChange={(event) => setViewParam(one.name, event.currentTarget.value)}>
                {one.values.map(({ value, label }) => (
                    <option key={value} value={value}>
                        {label}
                    </option>
                ))}
            </select>
        </label>
    );
}
