// Marks the selection in tables.

import type { RecordingSummary, SourceLocation } from '../answers/about';
import { selection } from '../state/address';
import { siteIndexAt, siteIndicesAt } from './source-location';

/** Whether a location is selected, and if an operation is selected too, whether it is the one called there. */
export function isLocationSelected(recording: RecordingSummary, location: SourceLocation, called?: string): boolean {
    const { site, operation } = selection.value;
    if (site === undefined || !siteIndicesAt(recording, site).includes(siteIndexAt(recording, location) ?? -1)) return false;
    return called === undefined || operation === undefined || operation === called;
}
