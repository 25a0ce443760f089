// Chooses what the selection is compared with.

import type { About } from '../../answers/about';
import { RanksField } from '../../links/ranks-field';
import { setViewParam } from '../../state/address';
import type { CurrentRecording } from '../../state/current-recording';
import { uniqueNames } from '../../unique-names';
import type { Baseline } from './stack-query';

export function BaselineSelect({ about, current, baseline }: { about: About; current: CurrentRecording; baseline: Baseline }) {
    const names = uniqueNames(about.recordings.map(({ name }) => name));
    const value = baseline === undefined ? '' : 'ranks' in baseline ? 'ranks' : `recording:${baseline.recording}`;
    const choose = (next: string) => setViewParam('base', next === 'ranks' ? 'ranks:0' : next);
    const others = names.map((name, index) => ({ name, index })).filter(({ index }) => index !== current.index);
    if (current.recording.ranks < 2 && others.length === 0) return null;
    return (
        <span class="baseline">
            <label>
                Compare with{' '}
                <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
                    <option value="">nothing</option>
                    {current.recording.ranks > 1 && <option value="ranks">ranks</option>}
                    {others.map(({ name, index }) => (
                        <option key={index} value={`recording:${index}`}>
                            {name}
                        </option>
                    ))}
                </select>
            </label>
            {baseline !== undefined && 'ranks' in baseline && (
                <RanksField
                    label="Baseline ranks"
                    value={baseline.ranks}
                    rankCount={current.recording.ranks}
                    choose={(ranks) => setViewParam('base', ranks === '' ? '' : `ranks:${ranks}`)}
                />
            )}
        </span>
    );
}
