// Key figures in a row, each with its name below.

export function FactList({ facts }: { facts: [name: string, value: string][] }) {
    return (
        <dl class="facts">
            {facts.map(([name, value]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </div>
            ))}
        </dl>
    );
}
