// The overview: what a run was, and how well its time was used.

import type { About } from '../../answers/about';
import type { View } from '../view';

export const overview: View = {
    name: 'overview',
    title: 'Overview',
    key: 'o',
    says: 'How well the time was used, and what to do about it.',
    has: () => true,
    Show,
};

function Show({ about }: { about: About }) {
    const recording = about.recordings[0];
    return <p>{recording ? `${recording.command.join(' ')}: ${recording.ranks} ranks` : 'Nothing is recorded.'}</p>;
}
