// Downloads created by the page itself, without a server.

/** Offers a text for download. */
export function downloadFile(text: string, name: string, type: string): void {
    const link = document.createElement('a');
    const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A file name made of letters, digits and hyphens. */
export const fileName = (title: string): string =>
    title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-|-$/g, '') || 'chart';
