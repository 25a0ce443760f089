// A place in the source that leads to its call site.

import type { Recorded, Site } from '../answers/about';
import { Go } from './go';
import { placeAtLength, placeName, siteAt } from './place';

interface Props {
    recording: Recorded;
    place: Site;
    /** The function that is called there, if it is known. */
    operation?: string;
}

export function At({ recording, place, operation }: Props) {
    const site = siteAt(recording, place);
    const name = placeName(place);
    if (site === undefined) return <span title={placeAtLength(place)}>{name}</span>;
    return (
        <Go view="sites" change={{ site, operation }} title={placeAtLength(place)}>
            {name}
        </Go>
    );
}
