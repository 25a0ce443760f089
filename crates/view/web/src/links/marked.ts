// What is selected stands out in every table.

import type { Recorded, Site } from '../answers/about';
import { selection } from '../state/address';
import { siteAt, sitesAt } from './place';

/** Whether a place is selected, and the operation that is called there if one is. */
export function isPlaceSelected(recorded: Recorded, place: Site, called?: string): boolean {
    const { site, operation } = selection.value;
    if (site === undefined || !sitesAt(recorded, site).includes(siteAt(recorded, place) ?? -1)) return false;
    return called === undefined || operation === undefined || operation === called;
}
