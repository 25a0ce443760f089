// What the colours of a chart mean.

/** One colour and its meaning. */
export interface Entry {
    label: string;
    /** A variable of style.css, such as `--sending`. */
    variable: string;
    mark?: 'box' | 'line';
}

export function Legend({ entries }: { entries: Entry[] }) {
    return (
        <ul class="legend">
            {entries.map(({ label, variable, mark = 'box' }) => (
                <li key={label}>
                    <span class={`mark ${mark}`} style={{ background: `var(${variable})` }} />
                    {label}
                </li>
            ))}
        </ul>
    );
}
