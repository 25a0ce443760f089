// Saves what is shown as a file, without asking anybody: the page makes the file itself.

/** Offers a text as a file. */
export function save(text: string, name: string, type: string): void {
    const link = document.createElement('a');
    const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A name for a file: letters, digits and hyphens only. */
export const fileName = (title: string): string =>
    title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-|-$/g, '') || 'chart';
