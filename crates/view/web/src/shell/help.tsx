// Help dialog: the views and all keyboard shortcuts.

import type { RefObject } from 'preact';
import type { PageView } from '../views/view';
import { SHORTCUTS } from './shortcuts';

interface Props {
    dialog: RefObject<HTMLDialogElement | null>;
    views: PageView[];
    currentView: PageView;
    version: string;
}

export function Help({ dialog, views, currentView, version }: Props) {
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
                    <ShortcutTable
                        rows={views.map(({ key, title, description }) => [
                            key,
                            `${title}: ${description.charAt(0).toLowerCase()}${description.slice(1)}`,
                        ])}
                    />
                    <p>
                        The selection of ranks, a call site or a time window applies to all views. It is stored in the URL, so a copied link shows the
                        same. Every chart can be saved as SVG, and its data as CSV.
                    </p>
                </section>
                <section>
                    <h3>All views</h3>
                    <ShortcutTable rows={SHORTCUTS} />
                    {[currentView, ...views.filter((one) => one !== currentView)].map(
                        ({ name, title, shortcuts }) =>
                            shortcuts && (
                                <div key={name}>
                                    <h3>{title}</h3>
                                    <ShortcutTable rows={shortcuts} />
                                </div>
                            ),
                    )}
                </section>
            </div>
        </dialog>
    );
}

function ShortcutTable({ rows }: { rows: [string, string][] }) {
    return (
        <table class="keys">
            <tbody>
                {rows.map(([key, action]) => (
                    <tr key={key}>
                        <th scope="row">
                            <kbd>{key}</kbd>
                        </th>
                        <td>{action}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
