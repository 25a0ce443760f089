// What stands around every view: the navigation, what is selected, and keys.

import { useEffect } from 'preact/hooks';
import type { About } from '../answers/about';
import { go, view } from '../state/address';
import { useAnswer } from '../state/asked';
import { views } from '../views/all';

export function Shell() {
    const about = useAnswer<About>(0, 'about');
    if (about.state === 'refused') return <main class="alone">{about.why}</main>;
    if (about.state !== 'answered') return <main class="alone">Opening …</main>;
    return <Frame about={about.answer} />;
}

function Frame({ about }: { about: About }) {
    const shown = views.filter((one) => one.has(about));
    const present = shown.find((one) => one.name === view.value) ?? shown[0];
    useEffect(() => {
        const press = (event: KeyboardEvent) => {
            const writes = event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]');
            if (writes || event.ctrlKey || event.altKey || event.metaKey) return;
            const found = shown.find((one) => one.key === event.key);
            if (found) go(found.name);
        };
        addEventListener('keydown', press);
        return () => removeEventListener('keydown', press);
    }, [about]);
    if (!present) return null;
    return (
        <>
            <header class="top">
                <nav aria-label="Views">
                    {shown.map((one) => (
                        <a key={one.name} href={`#${one.name}`} title={`${one.says} (${one.key})`} aria-current={one === present ? 'page' : undefined}>
                            {one.title}
                        </a>
                    ))}
                </nav>
            </header>
            <main>
                <h1>{present.title}</h1>
                <present.Show about={about} />
            </main>
        </>
    );
}
