// What the colours of the matrix mean.

import { amount, type Unit } from './matrix';
import type { Ramp } from './ramp';

const TICKS = [0, 0.5, 1];

export function Key({ ramp, unit }: { ramp: Ramp; unit: Unit }) {
    const stops = ramp.steps.filter((_, step) => step % 15 === 0);
    return (
        <div class="key" role="img" aria-label={`Colours from ${amount(unit, ramp.valueAt(0))} to ${amount(unit, ramp.valueAt(1))}`}>
            <div class="ramp" style={{ background: `linear-gradient(to right, ${stops.join(', ')})` }} />
            <div class="ticks">
                {TICKS.map((share) => (
                    <span key={share}>{amount(unit, ramp.valueAt(share))}</span>
                ))}
            </div>
        </div>
    );
}
