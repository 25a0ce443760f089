// A choice of a few words, beside each other.

import './choice.css';

interface Props<Value extends string> {
    label: string;
    values: readonly Value[];
    value: Value;
    choose: (value: Value) => void;
    /** Those that cannot be chosen, and why. */
    refused?: Partial<Record<Value, string>>;
}

export function Choice<Value extends string>({ label, values, value, choose, refused = {} }: Props<Value>) {
    return (
        <span class="choice" role="group" aria-label={label}>
            <span class="quiet">{label}</span>
            {values.map((one) => (
                <button
                    key={one}
                    type="button"
                    aria-pressed={one === value}
                    disabled={refused[one] !== undefined}
                    title={refused[one]}
                    onClick={() => choose(one)}
                >
                    {one}
                </button>
            ))}
        </span>
    );
}
