// Ranks that lead to their rows in the timeline.

import { write } from '../ranks';
import { Go } from './go';

const LONGEST = 24;

export function Ranks({ ranks }: { ranks: number[] }) {
    if (ranks.length === 0) return <>–</>;
    const text = write([...ranks].sort((one, other) => one - other));
    return (
        <Go view="timeline" change={{ ranks: text }} title={`Show ${ranks.length === 1 ? 'rank' : 'ranks'} ${text} in the timeline`}>
            {text.length > LONGEST ? `${ranks.length} ranks` : text}
        </Go>
    );
}
