// A sentence of the command in which commands stand between backticks.

export function TextWithCode({ text }: { text: string }) {
    return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>;
}
