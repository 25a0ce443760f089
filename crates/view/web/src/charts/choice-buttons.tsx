// Mutually exclusive buttons in a row.

import './choice-buttons.css';

interface Props<Value extends string> {
    label: string;
    values: readonly Value[];
    value: Value;
    choose: (value: Value) => void;
    /** Values that cannot be chosen, and the reason. */
    disabledReasons?: Partial<Record<Value, string>>;
}

export function ChoiceButtons<Value extends string>({ label, values, value, choose, disabledReasons = {} }: Props<Value>) {
    return (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out inline
        <span class="choice-buttons" role="group" aria-label={label}>
            <span class="muted">{label}</span>
            {values.map((one) => (
                <button
                    key={one}
                    type="button"
                    aria-pressed={one === value}
                    disabled={disabledReasons[one] !== undefined}
                    title={disabledReasons[one]}
                    onClick={() => choose(one)}
                >
                    {one}
                </button>
            ))}
        </span>
    );
}
