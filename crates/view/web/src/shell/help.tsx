// Help: what each view shows, and all keys.

import type { RefObject } from 'preact';
import type { View } from '../views/view';
import { KEYS } from './keys';

interface Props {
    dialog: RefObject<HTMLDialogElement | null>;
    views: View[];
    shown: View;
    version: string;
}

export function Help({ dialog, views, shown, version }: Props) {
    return (
        <dialog ref={dialog} class="help" aria-labelledby="help-title">
            <form method="dialog">
                <h2 id="help-title">Sintonia {version}: help</h2>
                <button type="submit" aria-label="Close the help">
                    Close
                </button>
            </form>
            <div class="columns">
                <section>
                    <h3>Views</h3>
                    <Keys rows={views.map(({ key, title, says }) => [key, `${title}: ${says.charAt(0).toLowerCase()}${says.slice(1)}`])} />
                    <p>
                        What is selected in one view, such as ranks, a call site or a window of time, is selected in all. The address holds it:
                        whoever opens a copied link sees the same. Every chart can be saved as a picture (SVG) and its data as a table (CSV).
                    </p>
                </section>
                <section>
                    <h3>Everywhere</h3>
                    <Keys rows={KEYS} />
                    {[shown, ...views.filter((one) => one !== shown)].map(
                        ({ name, title, keys }) =>
                            keys && (
                                <div key={name}>
                                    <h3>{title}</h3>
                                    <Keys rows={keys} />
                                </div>
                            ),
                    )}
                </section>
            </div>
        </dialog>
    );
}

function Keys({ rows }: { rows: [string, string][] }) {
    return (
        <table class="keys">
            <tbody>
                {rows.map(([key, does]) => (
                    <tr key={key}>
                        <th scope="row">
                            <kbd>{key}</kbd>
                        </th>
                        <td>{does}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
