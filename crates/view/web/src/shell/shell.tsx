// What stands around every view: the header, what is selected, help, and keys.

import { useEffect, useRef } from 'preact/hooks';
import type { About } from '../answers/about';
import { State } from '../charts/state';
import { view } from '../state/address';
import { useAnswer } from '../state/asked';
import { present } from '../state/present';
import { views } from '../views/all';
import { Guard } from './guard';
import { Header } from './header';
import { Help } from './help';
import { useKeys } from './keys';
import { Selected } from './selected';
import './shell.css';

export function Shell() {
    const about = useAnswer<About>(0, 'about');
    if (about.state === 'answered') return <Frame about={about.answer} />;
    return (
        <main class="alone">
            <h1>Sintonia</h1>
            <State asked={about}>{() => null}</State>
        </main>
    );
}

function Frame({ about }: { about: About }) {
    const help = useRef<HTMLDialogElement>(null);
    const openHelp = () => help.current?.showModal();
    const offered = views.filter((one) => one.has(about));
    const shown = offered.find((one) => one.name === view.value) ?? offered[0];
    useKeys(offered, openHelp);
    const { recorded, number } = present(about) ?? {};
    const title = `${recorded?.name ?? 'Sintonia'}: ${shown?.title ?? ''}`;
    useEffect(() => {
        document.title = title;
    }, [title]);
    if (!shown) return <main class="alone">There is nothing to show.</main>;
    return (
        <>
            <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
                Skip to the content
            </button>
            <Header about={about} views={offered} shown={shown} openHelp={openHelp} />
            {recorded && <Selected recorded={recorded} />}
            <main id="content" tabIndex={-1}>
                <header class="heading">
                    <h1>{shown.title}</h1>
                    <p class="says">{shown.says}</p>
                </header>
                {/* Nothing of one recording is shown as if it were another's. */}
                <Guard key={`${shown.name} ${number}`}>
                    <shown.Show about={about} />
                </Guard>
            </main>
            <Help dialog={help} views={offered} shown={shown} version={about.version} />
        </>
    );
}
