// Input for a set of ranks, as in `0-3,7`: the keyboard alternative to clicking.

import { formatRanks, parseRanks } from '../ranks';
import { select, selection } from '../state/address';

interface Props {
    label: string;
    value: string;
    rankCount: number;
    /** Called with the ranks; an empty text means no selection. */
    choose: (ranks: string) => void;
}

export function RanksField({ label, value, rankCount, choose }: Props) {
    return (
        <label>
            {label}{' '}
            <input
                size={7}
                placeholder={`0-${rankCount - 1}`}
                value={value}
                onChange={(event) => {
                    const ranks = formatRanks(parseRanks(event.currentTarget.value, rankCount));
                    // Drop invalid input, even if the ranks stay the same.
                    event.currentTarget.value = ranks;
                    choose(ranks);
                }}
            />
        </label>
    );
}

/** Selects ranks in all views; the alternative to clicking in a chart. */
export function SelectRanks({ most }: { most: number }) {
    const choose = (ranks: string) => select({ ranks: ranks || undefined });
    return <RanksField label="Select ranks" value={selection.value.ranks ?? ''} rankCount={most} choose={choose} />;
}
