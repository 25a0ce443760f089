// What the colours of a chart mean.

/** One colour and its meaning. */
export interface Entry {
    label: string;
    /** A variable of style.css, such as `--sending`. */
    variable: string;
    mark?: 'box' | 'line';
    /** Whether another one has the same colour: then it is paler, or dashed. */
    again?: boolean;
}

export function Legend({ entries }: { entries: Entry[] }) {
    return (
        <ul class="legend">
            {entries.map(({ label, variable, mark = 'box', again = false }) => (
                <li key={label}>
                    <span class={`mark ${mark} ${again ? 'again' : ''}`} style={{ '--mark': `var(${variable})` }} />
                    {label}
                </li>
            ))}
        </ul>
    );
}
