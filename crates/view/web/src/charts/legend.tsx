// Chart legend.

export interface LegendEntry {
    label: string;
    /** CSS variable of the colour, such as `--sending`. */
    variable: string;
    mark?: 'box' | 'line';
    /** Whether the colour is already used by another entry; it is then drawn paler or dashed. */
    isRepeated?: boolean;
}

export function Legend({ entries }: { entries: LegendEntry[] }) {
    return (
        <ul class="legend">
            {entries.map(({ label, variable, mark = 'box', isRepeated = false }) => (
                <li key={label}>
                    <span class={`mark ${mark} ${isRepeated ? 'repeated' : ''}`} style={{ '--mark': `var(${variable})` }} />
                    {label}
                </li>
            ))}
        </ul>
    );
}
