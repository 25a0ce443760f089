// Page frame: header, selection, help and shortcuts.

import { useEffect, useRef } from 'preact/hooks';
import type { About } from '../answers/about';
import { QueryStatus } from '../charts/query-status';
import { view } from '../state/address';
import { currentRecording } from '../state/current-recording';
import { useQuery } from '../state/use-query';
import { allViews } from '../views/all-views';
import { ErrorBoundary } from './error-boundary';
import { Header } from './header';
import { Help } from './help';
import { SelectionBar } from './selection-bar';
import { useShortcuts } from './shortcuts';
import './shell.css';

export function Shell() {
    const about = useQuery<About>(0, 'about');
    if (about.state === 'answered') return <Frame about={about.answer} />;
    return (
        <main class="standalone">
            <h1>Sintonia</h1>
            <QueryStatus query={about}>{() => null}</QueryStatus>
        </main>
    );
}

function Frame({ about }: { about: About }) {
    const help = useRef<HTMLDialogElement>(null);
    const openHelp = () => help.current?.showModal();
    const offered = allViews.filter((one) => one.isAvailable(about));
    const shown = offered.find((one) => one.name === view.value) ?? offered[0];
    useShortcuts(offered, openHelp);
    const { recording, index } = currentRecording(about) ?? {};
    const title = `${recording?.name ?? 'Sintonia'}: ${shown?.title ?? ''}`;
    useEffect(() => {
        document.title = title;
    }, [title]);
    if (!shown) return <main class="standalone">There is nothing to show.</main>;
    return (
        <>
            <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
                Skip to the content
            </button>
            <Header about={about} views={offered} currentView={shown} openHelp={openHelp} />
            {recording && <SelectionBar recording={recording} />}
            <main id="content" tabIndex={-1}>
                <header class="heading">
                    <h1>{shown.title}</h1>
                    <p class="description">{shown.description}</p>
                </header>
                {/* Remount when the recording changes, so that no data of another recording is shown. */}
                <ErrorBoundary key={`${shown.name} ${index}`}>
                    <shown.Component about={about} />
                </ErrorBoundary>
            </main>
            <Help dialog={help} views={offered} currentView={shown} version={about.version} />
        </>
    );
}
