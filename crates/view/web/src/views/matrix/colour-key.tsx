// Colour scale of the matrix.

import type { ColourRamp } from './colour-ramp';
import { formatAmount, type Unit } from './matrix';

const TICKS = [0, 0.5, 1];

export function ColourKey({ ramp, unit }: { ramp: ColourRamp; unit: Unit }) {
    const stops = ramp.steps.filter((_, step) => step % 15 === 0);
    return (
        <div class="key" role="img" aria-label={`Colours from ${formatAmount(unit, ramp.valueAt(0))} to ${formatAmount(unit, ramp.valueAt(1))}`}>
            <div class="ramp" style={{ background: `linear-gradient(to right, ${stops.join(', ')})` }} />
            <div class="ticks">
                {TICKS.map((share) => (
                    <span key={share}>{formatAmount(unit, ramp.valueAt(share))}</span>
                ))}
            </div>
        </div>
    );
}
