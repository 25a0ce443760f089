// A set of ranks, as a link to the timeline.

import { displayRanks, formatRanks } from '../ranks';
import { ViewLink } from './view-link';

const MAX_TEXT_LENGTH = 24;

export function RanksLink({ ranks }: { ranks: number[] }) {
    if (ranks.length === 0) return <>–</>;
    const sorted = [...ranks].sort((one, other) => one - other);
    const text = displayRanks(sorted);
    return (
        <ViewLink
            view="timeline"
            change={{ ranks: formatRanks(sorted) }}
            title={`Show ${ranks.length === 1 ? 'rank' : 'ranks'} ${text} in the timeline`}
        >
            {text.length > MAX_TEXT_LENGTH ? `${ranks.length} ranks` : text}
        </ViewLink>
    );
}
