// Page header: recording, views, and controls for the whole page.

import type { About, RecordingSummary } from '../answers/about';
import { CopyButton } from '../links/copy-button';
import { address, EMPTY_SELECTION, formatHash, paramsOfView, select } from '../state/address';
import { currentRecording } from '../state/current-recording';
import { setTheme, THEMES, theme } from '../state/theme';
import { uniqueNames } from '../unique-names';
import { plural } from '../units';
import type { PageView } from '../views/view';

interface Props {
    about: About;
    views: PageView[];
    currentView: PageView;
    openHelp: () => void;
}

export function Header({ about, views, currentView, openHelp }: Props) {
    const { selection } = address.value;
    return (
        <header class="top">
            <div class="what">
                <RecordingName about={about} />
                <span class="tools">
                    <CopyButton text={() => location.href} what="link to this view" label="Copy link" />
                    <label>
                        <span class="visually-hidden">Theme</span>
                        <select
                            value={theme.value}
                            title="Light or dark theme"
                            onChange={(event) => setTheme(THEMES.find((one) => one === event.currentTarget.value) ?? 'system')}
                        >
                            {THEMES.map((one) => (
                                <option key={one} value={one}>
                                    {one === 'system' ? 'system' : one}
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
                        href={formatHash({ view: one.name, selection: { ...selection, viewParams: paramsOfView(one.name) } })}
                        title={`${one.description} (${one.key})`}
                        aria-current={one === currentView ? 'page' : undefined}
                    >
                        {one.title}
                    </a>
                ))}
            </nav>
        </header>
    );
}

function RecordingName({ about }: { about: About }) {
    const shown = currentRecording(about);
    if (!shown) return <strong class="name">Sintonia</strong>;
    const { recording: summary, index } = shown;
    if (about.recordings.length < 2) {
        return (
            <p class="name" title={describeRecording(summary)}>
                <strong>{summary.name}</strong> <span class="muted">{describeRecording(summary)}</span>
            </p>
        );
    }
    // A selection is only meaningful in its own recording.
    const other = (recording: number) => select({ ...EMPTY_SELECTION, viewParams: {}, recording });
    return (
        <p class="name" title={describeRecording(summary)}>
            <label>
                <span class="visually-hidden">Recording</span>
                <select value={index} onChange={(event) => other(Number(event.currentTarget.value))}>
                    {uniqueNames(about.recordings.map(({ name }) => name)).map((name, index) => (
                        <option key={name} value={index}>
                            {name}
                        </option>
                    ))}
                </select>
            </label>{' '}
            <span class="muted">{describeRecording(summary)}</span>
        </p>
    );
}

function describeRecording({ command, ranks, hosts, mpi, profile }: RecordingSummary): string {
    const where = hosts.length === 1 ? ` on ${hosts[0]}` : hosts.length > 1 ? ` on ${hosts.length} hosts` : '';
    return [command.join(' '), `${plural(ranks, 'rank')}${where}`, mpi, profile ? 'profile' : ''].filter((part) => part !== '').join(' · ');
}
