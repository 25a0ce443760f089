// The top of the page: what was recorded, the views, and what concerns the whole page.

import type { About, Recorded } from '../answers/about';
import { distinct } from '../distinct';
import { Copy } from '../links/copy';
import { address, NOTHING, ownOf, select, write } from '../state/address';
import { present } from '../state/present';
import { choose, THEMES, theme } from '../state/theme';
import { plural } from '../units';
import type { View } from '../views/view';

interface Props {
    about: About;
    views: View[];
    shown: View;
    openHelp: () => void;
}

export function Header({ about, views, shown, openHelp }: Props) {
    const { selection } = address.value;
    return (
        <header class="top">
            <div class="what">
                <Name about={about} />
                <span class="tools">
                    <Copy text={() => location.href} what="link to what you see" label="Copy link" />
                    <label>
                        <span class="unseen">Theme</span>
                        <select
                            value={theme.value}
                            title="Light or dark"
                            onChange={(event) => choose(THEMES.find((one) => one === event.currentTarget.value) ?? 'system')}
                        >
                            {THEMES.map((one) => (
                                <option key={one} value={one}>
                                    {one === 'system' ? 'as the system' : one}
                                </option>
                            ))}
                        </select>
                    </label>
                    <button type="button" onClick={openHelp} aria-label="Help" title="Help (?)">
                        ?
                    </button>
                </span>
            </div>
            <nav aria-label="Views">
                {views.map((one) => (
                    <a
                        key={one.name}
                        href={write({ view: one.name, selection: { ...selection, own: ownOf(one.name) } })}
                        title={`${one.says} (${one.key})`}
                        aria-current={one === shown ? 'page' : undefined}
                    >
                        {one.title}
                    </a>
                ))}
            </nav>
        </header>
    );
}

function Name({ about }: { about: About }) {
    const shown = present(about);
    if (!shown) return <strong class="name">Sintonia</strong>;
    const { recorded, number } = shown;
    if (about.recordings.length < 2) {
        return (
            <p class="name" title={described(recorded)}>
                <strong>{recorded.name}</strong> <span class="quiet">{described(recorded)}</span>
            </p>
        );
    }
    // What is selected in one recording means nothing in another.
    const other = (recording: number) => select({ ...NOTHING, own: {}, recording });
    return (
        <p class="name" title={described(recorded)}>
            <label>
                <span class="unseen">Recording</span>
                <select value={number} onChange={(event) => other(Number(event.currentTarget.value))}>
                    {distinct(about.recordings.map(({ name }) => name)).map((name, at) => (
                        <option key={name} value={at}>
                            {name}
                        </option>
                    ))}
                </select>
            </label>{' '}
            <span class="quiet">{described(recorded)}</span>
        </p>
    );
}

function described({ command, ranks, hosts, mpi, profile }: Recorded): string {
    const where = hosts.length === 1 ? ` on ${hosts[0]}` : hosts.length > 1 ? ` on ${hosts.length} hosts` : '';
    return [command.join(' '), `${plural(ranks, 'rank')}${where}`, mpi, profile ? 'sums only' : ''].filter((part) => part !== '').join(' · ');
}
