// Ranks by number, as in `0-3,7`: for those who cannot or will not point at them.

import { parse, write } from '../ranks';
import { select, selection } from '../state/address';

interface Props {
    label: string;
    value: string;
    /** How many ranks there are. */
    most: number;
    /** What to do with the ranks; an empty text is none in particular. */
    choose: (ranks: string) => void;
}

export function RanksField({ label, value, most, choose }: Props) {
    return (
        <label>
            {label}{' '}
            <input
                size={7}
                placeholder={`0-${most - 1}`}
                value={value}
                onChange={(event) => {
                    const ranks = write(parse(event.currentTarget.value, most));
                    // What names no rank goes, also where nothing else changes.
                    event.currentTarget.value = ranks;
                    choose(ranks);
                }}
            />
        </label>
    );
}

/** Selects ranks in all views, beside a chart in which they can be pointed at. */
export function SelectRanks({ most }: { most: number }) {
    const choose = (ranks: string) => select({ ranks: ranks || undefined });
    return <RanksField label="Select ranks" value={selection.value.ranks ?? ''} most={most} choose={choose} />;
}
